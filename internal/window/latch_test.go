package window

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// addAll gives all windows a sample, in order.
func (ws *Windows) addAll(tick int64, s derived.Sample) {
	for i := range ws.windows {
		ws.Add(i, tick, s, true)
	}
}

// binsAt is a sample of bin, by instance.
func binsAt(tick int64, ids []pdu.Inst, values ...uint64) *moment {
	m := at(tick, 0, 0)
	m.values[binID] = &derived.Vector{Type: pdu.Type32, Insts: derived.NewInstSet(ids), Bits: values}
	return m
}

func TestLatch(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{
		"a": "latch(load > 90, load < 70)",
		"b": `latch(min_sample(load, "2s") > 90, max_sample(load, "2s") < 70, "1s")`,
		"c": "latch(a, b)", // on has precedence over off
		"d": "latch(1, 0)",
	}))
	for tick, row := range []struct {
		load       float64
		a, b, c, d uint64
	}{
		{80, 0, 0, 0, 1},
		{95, 1, 0, 1, 1},
		{89, 1, 0, 1, 1},
		{91, 1, 0, 1, 1},
		{92, 1, 1, 1, 1},
		{69, 0, 1, 0, 1},
		{71, 0, 1, 0, 1},
		{69, 0, 1, 0, 1},
		{68, 0, 0, 0, 1},
		{99, 1, 0, 1, 1},
	} {
		now := at(int64(tick), row.load, 0)
		ws.addAll(int64(tick), now)
		for name, want := range map[string]uint64{"a": row.a, "b": row.b, "c": row.c, "d": row.d} {
			assert.Equal(t, []uint64{want}, ws.value(t, name, now).Bits, "%s at tick %d", name, tick)
		}
	}
}

// A tick without a value leaves the state, and so does a clock that was set back. After four ticks in a row the latch
// has the error until there is a value.
func TestLatchWithoutValues(t *testing.T) {
	set := newSet(t, map[string]string{"a": "latch(load > 90, load < 70)", "b": "latch(load / (load - 95) > 9, 0)"})
	ws := windowsOf(set)
	state := func(name string) *derived.Vector { return ws.value(t, name, at(0, 0, 0)) }
	assert.Equal(t, []uint64{0}, state("a").Bits, "before the first tick")
	ws.Expire(0, 4)
	assert.Equal(t, pdu.ErrAgain, state("a").Code, "no record of an archive had all operands")
	ws = windowsOf(set)
	for tick := int64(5); tick < 8; tick++ {
		ws.addAll(tick, &moment{})
		assert.Equal(t, []uint64{0}, state("a").Bits)
	}
	ws.addAll(8, &moment{})
	assert.Equal(t, pdu.ErrNoAgent, state("a").Code)
	ws.addAll(10, at(10, 95, 0))
	assert.Equal(t, []uint64{1}, state("a").Bits)
	for tick := int64(11); tick < 14; tick++ {
		ws.addAll(tick, &moment{})
		assert.Equal(t, []uint64{1}, state("a").Bits)
	}
	ws.addAll(14, &moment{})
	assert.Equal(t, pdu.ErrNoAgent, state("a").Code)
	ws.addAll(15, at(15, 80, 0))
	assert.Equal(t, []uint64{1}, state("a").Bits, "the state was not lost")
	ws.addAll(3, at(3, 80, 0))
	assert.Equal(t, []uint64{1}, state("a").Bits, "the clock was set back")
	ws.Expire(0, 1000)
	assert.Equal(t, []uint64{1}, state("a").Bits)
	ws = ws.ForSet(newSet(t, map[string]string{
		"a": "latch(load > 90, load < 70)", "c": "latch(load > 90, load < 71)", "d": "latch(load > 90, load < 70)",
	}))
	assert.Equal(t, []uint64{1}, state("a").Bits, "another set with the same latch")
	assert.Equal(t, []uint64{1}, state("d").Bits, "a new latch that is equal to one there is")
	assert.Equal(t, []uint64{0}, state("c").Bits, "its condition is another one")
	assert.Equal(t, 2, ws.Retained())
}

// A condition of 0 / 0 is no value: the latch of a new instance is 0, and others keep their state.
func TestLatchOfDivisions(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{
		"a": "latch(bin / bin > 0, bin > 8)", "b": "latch(max(bin) > 5, max(bin) < 2)",
	}))
	ids := []pdu.Inst{1, 2}
	for tick, row := range []struct{ values, want []uint64 }{
		{[]uint64{0, 1}, []uint64{0, 1}},
		{[]uint64{1, 0}, []uint64{1, 1}},
		{[]uint64{0, 0}, []uint64{1, 1}},
	} {
		s := binsAt(int64(tick), ids, row.values...)
		ws.addAll(int64(tick), s)
		assert.Equal(t, row.want, ws.value(t, "a", s).Bits, "tick %d", tick)
		assert.Equal(t, []uint64{0}, ws.value(t, "b", s).Bits)
	}
	ws.addAll(4, binsAt(4, nil))
	assert.Empty(t, ws.value(t, "a", binsAt(4, nil)).Bits)
	assert.Equal(t, []uint64{0}, ws.value(t, "b", binsAt(4, nil)).Bits, "max() of nothing has no value")
}

// An instance that only one condition has for a time keeps its state.
func TestLatchOfDifferentInstances(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{
		"a": `latch(max_sample(bin / bin, "2s", "1s") > 0, bin > 8)`, "b": "latch(1 ? novalue(indom=\"60.1\") : bin, bin)",
	}))
	for tick, row := range []struct{ value, want uint64 }{{0, 0}, {9, 1}, {0, 1}, {0, 1}, {0, 1}, {1, 1}} {
		s := binsAt(int64(tick), []pdu.Inst{1}, row.value)
		ws.addAll(int64(tick), s)
		v := ws.value(t, "a", s)
		assert.Equal(t, []uint64{row.want}, v.Bits, "tick %d", tick)
		assert.Equal(t, []pdu.Inst{1}, v.Insts.IDs())
		assert.Equal(t, []uint64{0}, ws.value(t, "b", s).Bits)
	}
}

// The instances of a latch are those of the first condition in their order, and then those that only the second has.
func TestOrderOfInstancesOfLatch(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{
		"a": "latch(matchinst(/red/, bin) > 0, bin < 0)", "b": "latch(bin > 0, matchinst(/red/, bin))",
	}))
	for tick, ids := range [][]pdu.Inst{{3, 1, 2}, {2, 3, 1}, {1, 2, 3}} {
		s := binsAt(int64(tick), ids, 1, 1, 1)
		ws.addAll(int64(tick), s)
		red := slices.DeleteFunc(slices.Clone(ids), func(id pdu.Inst) bool { return id == 3 })
		assert.Equal(t, append(red, 3), ws.value(t, "a", s).Insts.IDs())
		assert.Equal(t, ids, ws.value(t, "b", s).Insts.IDs())
	}
}

// TestLatchesOfInstances compares latches with a map: instances that come, go and return, in any order, by themselves
// and in groups.
func TestLatchesOfInstances(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{
		"a": "latch(bin > 6, bin < 3)", "b": "latch(sum(bin) by (/.*/) > 9, sum(bin) by (/.*/) < 4)",
	}))
	r := rand.New(rand.NewPCG(53, 3))
	model := func(former map[string]uint64, values map[string]uint64, on, off uint64) map[string]uint64 {
		next := make(map[string]uint64)
		for name, x := range values {
			switch {
			case x > on:
				next[name] = 1
			case x >= off:
				next[name] = former[name]
			default:
				next[name] = 0
			}
		}
		return next
	}
	var single, grouped map[string]uint64
	for tick := range int64(3000) {
		ids := []pdu.Inst{1, 2, 3}[:r.IntN(4)]
		r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		values, groups := make(map[string]uint64), make(map[string]uint64)
		var bits []uint64
		for _, id := range ids {
			x := r.Uint64N(10)
			group, _ := bins.Name(id)
			bits, values[string(rune(id))] = append(bits, x), x
			groups[group] += x
		}
		s := binsAt(tick, ids, bits...)
		ws.addAll(tick, s)
		single, grouped = model(single, values, 6, 3), model(grouped, groups, 9, 4)
		got := make(map[string]uint64)
		a := ws.value(t, "a", s)
		for i, state := range a.Bits {
			got[string(rune(a.At(i)))] = state
		}
		require.Equal(t, single, got, "tick %d", tick)
		clear(got)
		b := ws.value(t, "b", s)
		m, _ := ws.set.Lookup("b")
		for i, state := range b.Bits {
			g, ok := ws.groups.Find(m.Desc.InDom, b.At(i), "")
			require.True(t, ok)
			got[g.Name] = state
		}
		require.Equal(t, grouped, got, "tick %d", tick)
	}
}
