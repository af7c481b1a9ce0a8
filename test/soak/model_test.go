package soak

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

func valuesOf(cells []cell) []pdu.Value {
	var all []pdu.Value
	for _, c := range cells {
		all = append(all, pdu.DoubleValue(c.inst, c.value))
	}
	return all
}

// Each form refuses what an agent could do wrong.
func TestModelRefusesWrongValues(t *testing.T) {
	at := moment{at: 1_700_000_004_123_456_000, before: 1_700_000_003_000_000_000, took: 1.1234}
	m := newModel(len(forms()))
	for _, x := range m.metrics {
		t.Run(x.form.name, func(t *testing.T) {
			right := x.form.cells(at, float64(x.k))
			require.NotEmpty(t, right)
			assert.Empty(t, x.wrong(at, pdu.TypeDouble, valuesOf(right)))

			assert.Contains(t, x.wrong(at, pdu.TypeDouble, nil), "0 values")
			other := x.form.cells(moment{at.at + 7_123_000_000, at.before + 1_000_000, at.took}, float64(x.k))
			assert.NotEmpty(t, x.wrong(at, pdu.TypeDouble, valuesOf(other)), "values of another moment")
			shifted := valuesOf(right)
			shifted[0].Inst = 77 // who is not there
			assert.Contains(t, x.wrong(at, pdu.TypeDouble, shifted), "instance 77")
			if x.form.historic {
				fresh := at
				fresh.before = 0
				assert.Contains(t, x.wrong(fresh, pdu.TypeDouble, valuesOf(right)), "the step of its track has none")
			}
		})
	}
}

func TestBurstComesAndGoes(t *testing.T) {
	seen := map[int]bool{}
	for era := range uint64(20) {
		insts := burstMembers(era * 5e9)
		seen[len(insts)] = true
		assert.Less(t, int(insts[len(insts)-1]), 10)
	}
	assert.Equal(t, map[int]bool{3: true, 4: true, 5: true, 6: true, 7: true}, seen)
}

// What the time was follows from the operands alone, however long ago.
func TestTracksKnowTheTime(t *testing.T) {
	const at = 1_700_000_004_123_456_000
	metrics := waveMetrics()
	operand := map[string]int{"nanos": 0, "phase": 1, "both": 1, "size": 3, "member": 4, "load": 5, "burst": 6, "surge": 7}
	for _, track := range tracks() {
		t.Run(track.name, func(t *testing.T) {
			m := metrics[operand[track.name]]
			for _, ref := range []uint64{at, at + 300e9, at - 300e9} {
				got := track.when(m.value(at, 0), ref)
				assert.InDelta(t, at, float64(got), 1e6, "to the millisecond: size knows no more")
				assert.Equal(t, m.value(at, 0), m.value(got, 0))
			}
		})
	}
}
