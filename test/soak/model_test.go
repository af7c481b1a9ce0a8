package soak

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/test/rig"
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
	at := moment{
		at: 1_700_000_034_123_456_000, before: 1_700_000_033_000_000_000, interval: 1.1234,
		first: 1_700_000_032_003_000_000, whole: true,
		known: 1_700_000_012_123_456_000, answered: 1_700_000_034_124_000_000, names: 1_700_000_034_123_456_000,
	}
	m := newModel(len(forms()))
	for _, x := range m.metrics {
		t.Run(x.form.name, func(t *testing.T) {
			right := x.form.cells(at, float64(x.k))
			require.NotEmpty(t, right)
			assert.Empty(t, x.problem(at, pdu.TypeDouble, valuesOf(right)))

			assert.Contains(t, x.problem(at, pdu.TypeDouble, nil), "0 values")
			other := x.form.cells(moment{at: at.at + 47_123_000_000, before: at.before + 1_000_000, interval: at.interval},
				float64(x.k))
			assert.NotEmpty(t, x.problem(at, pdu.TypeDouble, valuesOf(other)), "values of another moment")
			shifted := valuesOf(right)
			shifted[0].Inst = 77 // who is not there
			assert.Contains(t, x.problem(at, pdu.TypeDouble, shifted), "instance 77")
			if x.form.historic {
				fresh := at
				fresh.before = 0
				assert.Contains(t, x.problem(fresh, pdu.TypeDouble, valuesOf(right)), "the step of its track has none")
			}
		})
	}
}

// Names are those of the last 20 s and a grace: until then values may belong to the names before an exchange, and
// values that are missing have a cause. Afterwards what belongs to the other name is wrong. A value of neither is wrong
// at any time.
func TestModelKnowsWhenNamesAreKnown(t *testing.T) {
	const life = uint64(rig.SwapTime)
	j := &judge{shared: &shared{disturbances: &disturbances{}}}
	for _, f := range forms() {
		if !f.named {
			continue
		}
		x := metric{name: f.name, form: &f, k: 1}
		problem := func(after time.Duration, spoil func(*[]cell)) string {
			at := 40_000_000*life - 250e6 + uint64(after)
			m := moment{at: at, answered: at, known: at - uint64(j.lookUpTime(at, time.Unix(0, int64(at))))}
			m.names = 40_000_000*life - 250e6 - 1
			values := f.cells(m, 1)
			spoil(&values)
			return x.problem(m, pdu.TypeDouble, valuesOf(values))
		}
		keep := func(*[]cell) {}
		assert.Empty(t, problem(21*time.Second, keep), f.name)
		assert.NotEmpty(t, problem(23*time.Second, keep), f.name)
		assert.Empty(t, problem(21*time.Second, func(all *[]cell) { *all = (*all)[1:] }), f.name)
		assert.NotEmpty(t, problem(23*time.Second, func(all *[]cell) { *all = (*all)[1:] }), f.name)
		assert.NotEmpty(t, problem(time.Second, func(all *[]cell) { (*all)[0].value += 100 }), f.name)
	}
	now := time.Now()
	j.disturbances.begin(agentGone)
	assert.Equal(t, rig.SwapTime, j.lookUpTime(uint64(now.UnixNano()), now.Add(time.Second)), "its agent was gone")
}

// operandOf returns the value of the operand of a track.
func operandOf(t *testing.T, track *track) func(at uint64, inst pdu.Inst) uint64 {
	t.Helper()
	name := regexp.MustCompile(`wave\.(\w+)`).FindStringSubmatch(track.operands)[1]
	all := rig.Metrics()
	i := slices.IndexFunc(all, func(m rig.Metric) bool { return m.Name == name })
	require.GreaterOrEqual(t, i, 0, track.operands)
	return all[i].Value
}

// The time follows from the operands alone, however long ago it was.
func TestTracksKnowTheTime(t *testing.T) {
	const at = 1_700_000_004_123_456_000
	for _, track := range tracks() {
		t.Run(track.name, func(t *testing.T) {
			value := operandOf(t, &track)
			for _, ref := range []uint64{at, at + 300e9, at - 300e9} {
				got := track.when(value(at, 0), ref)
				assert.InDelta(t, at, float64(got), 1e6, "to the millisecond: size knows no more")
				assert.Equal(t, value(at, 0), value(got, 0))
			}
		})
	}
}

// A sample that wave has taken long after its tick does not tell its tick.
func TestLate(t *testing.T) {
	const tick = 1_700_000_004_000_000_000
	for after, late := range map[time.Duration]bool{
		-10 * time.Millisecond: false, 0: false, 400 * time.Millisecond: false, 500 * time.Millisecond: true,
		800 * time.Millisecond: true, 940 * time.Millisecond: true,
	} {
		assert.Equal(t, late, isLate(uint64(tick+after)), after)
	}
}
