package replay

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/session"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
	"pmdaderived/pmda/pmapi/archive/writer"
)

// counted is what an archive has of a counter: its records and marks, in order.
type counted struct {
	records []entry
	showed  map[pdu.Inst]uint64 // all that the number can have counted, as far as anybody can see
}

// entry is a record of a counter; a mark if values is nil.
type entry struct {
	at     time.Time
	code   pdu.Code
	values map[pdu.Inst]uint64
}

// life is the life of a number, up to a record.
type life struct {
	first, last int // the indexes of its first and last record
	born        bool
	gaps        []time.Duration // up to four between its records, without pauses
	paused      bool            // there was a pause before the last one
}

// lives returns those of the numbers after the records up to a time, in words: a number has gone if a record lacks it
// and has one that was in the same record before, or if the only group has no instances. One that is new was born if
// another in its record was there before, and nothing was amiss since. So was one that is lower.
func (c *counted) lives(until time.Time) map[pdu.Inst]life {
	all, gone, doubt := map[pdu.Inst]life{}, map[pdu.Inst]bool{}, 0
	for n, r := range c.records {
		if r.at.After(until) {
			break
		}
		if len(r.values) == 0 {
			groups := map[int]bool{}
			for _, l := range all {
				groups[l.last] = true
			}
			if r.values != nil && r.code == 0 && len(groups) == 1 {
				for id := range all {
					gone[id] = true
				}
				clear(all)
			}
			doubt = n + 1
			continue
		}
		before, sure, gaps, paused, pause := -1, true, []time.Duration(nil), false, false
		for id := range r.values {
			if l, ok := all[id]; ok {
				if sure = sure && l.last >= doubt; l.last > before {
					before, gaps, paused = l.last, l.gaps, l.paused
				}
			}
		}
		if sure = sure && before >= 0; before >= 0 {
			gap := r.at.Sub(c.records[before].at)
			pause = len(gaps) > 0 && gap > 3*slices.Max(gaps)
			if sure && (!pause || paused) {
				gaps = append(slices.Clone(gaps), gap)
				gaps = gaps[max(0, len(gaps)-4):]
			}
		}
		for id, l := range all {
			if _, ok := r.values[id]; !ok && l.last == before {
				delete(all, id)
				gone[id] = true
			}
		}
		for id, value := range r.values {
			l, ok := all[id]
			switch {
			case !ok:
				l = life{first: n, born: sure && !pause && !gone[id]}
			case value < c.records[l.last].values[id]:
				l = life{first: n, born: sure}
			}
			l.last, l.gaps, l.paused = n, gaps, pause
			all[id] = l
		}
	}
	return all
}

// increase returns the increases from a sample to the next one, in words.
func (c *counted) increase(from time.Time, before map[pdu.Inst]uint64, to time.Time, now map[pdu.Inst]uint64) map[pdu.Inst]float64 {
	all, lives := map[pdu.Inst]float64{}, c.lives(to)
	for id, value := range now {
		l, ok := lives[id]
		older, had := before[id]
		switch began := ok && c.records[l.first].at.After(from); {
		case !ok, began && !l.born, !began && !had:
		case began:
			all[id] = float64(value)
		case value >= older:
			all[id] = float64(value - older)
		}
	}
	return all
}

// countedWorld writes an archive of counters that come, go, come back and are reset. pmlogger records them in groups, some
// milliseconds apart, and so a singular counter, which may have any number, and a metric that is none. A quiet world
// has only births, deaths and resets.
func countedWorld(t *testing.T, r *rand.Rand, quiet bool) (a *archive.Archive, some, single *counted) {
	t.Helper()
	base := filepath.Join(t.TempDir(), "world")
	w, err := writer.Create(base, writer.Label{Version: 3, PID: 1, Start: night, Host: "web1.example", TimeZone: "UTC"})
	require.NoError(t, err)
	x := pdu.Desc{PMID: pdu.NewPMID(60, 3, 0), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	c := pdu.Desc{PMID: pdu.NewPMID(60, 3, 1), Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemCounter}
	s := pdu.Desc{PMID: pdu.NewPMID(60, 3, 2), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}
	require.NoError(t, w.Metric(x, "w.x"))
	require.NoError(t, w.Metric(c, "w.c"))
	require.NoError(t, w.Metric(s, "w.s"))
	var all []pdu.Instance
	groups := 1 + r.IntN(3)
	for id := range pdu.Inst(3 * groups) {
		all = append(all, pdu.Instance{ID: id, Name: fmt.Sprint(id)})
	}
	require.NoError(t, w.InDom(night, disks, all))
	some, single = &counted{showed: map[pdu.Inst]uint64{}}, &counted{showed: map[pdu.Inst]uint64{}}
	put := func(d pdu.Desc, of *counted, e entry) {
		of.records = append(of.records, e)
		var bits []uint64
		ids := slices.Sorted(maps.Keys(e.values))
		for _, id := range ids {
			bits = append(bits, e.values[id])
		}
		if d.InDom == pdu.NoInDom {
			ids = []pdu.Inst{[]pdu.Inst{0, pdu.NoInst, 7}[r.IntN(3)]}[:len(ids)]
		}
		if e.code < 0 {
			w.Values().Fail(d.PMID, e.code)
		} else {
			w.Values().Numbers(d.PMID, d.Type, ids, bits)
		}
		require.NoError(t, w.Put(e.at))
	}
	values, there, seen, fresh := map[pdu.Inst]uint64{}, map[pdu.Inst]bool{}, map[pdu.Inst]bool{}, true
	anchor := func(id pdu.Inst) bool { return quiet && int(id) < groups } // its group always has it
	count := func(id pdu.Inst, of *counted, known bool) {
		switch n := r.Uint64N(300); {
		case known && r.IntN(9) == 0: // it is reset
			values[id] = n
			of.showed[id] += n
		default:
			values[id] += n
			of.showed[id] += n
		}
	}
	for round := range 30 {
		at := night.Add(time.Duration(round) * 10 * time.Second)
		for g := range groups {
			if g > 0 && round%[]int{1, 2, 7}[g] > 0 { // other groups have longer intervals
				continue
			}
			e := entry{at: at.Add(time.Duration(g) * 5 * time.Millisecond), values: map[pdu.Inst]uint64{}}
			doubtful := fresh || round == 0
			if !quiet && r.IntN(12) == 0 {
				e.code, fresh = pdu.ErrNoAgent, true
				e.values = map[pdu.Inst]uint64{}
				put(c, some, e)
				continue
			}
			for id := pdu.Inst(g); int(id) < 3*groups; id += pdu.Inst(groups) {
				switch {
				case there[id] && !anchor(id) && r.IntN(7) == 0:
					delete(there, id)
				case there[id]:
					count(id, some, true)
				case anchor(id) || r.IntN(4) == 0:
					there[id] = true
					old := values[id]
					values[id] = r.Uint64N(300)
					switch {
					case doubtful || seen[id]: // it may have counted for long
						values[id] += 5000 * r.Uint64N(4)
						some.showed[id] += max(values[id], old) - old
						if values[id] < old {
							some.showed[id] += values[id]
						}
						if !seen[id] {
							some.showed[id] = 0
						}
					default:
						some.showed[id] += values[id]
					}
					seen[id] = true
				}
				if there[id] {
					e.values[id] = values[id]
				}
			}
			put(c, some, e)
		}
		if fresh = false; r.IntN(3) > 0 {
			w.Values().Numbers(x.PMID, x.Type, []pdu.Inst{pdu.NoInst}, []uint64{uint64(round)})
			require.NoError(t, w.Put(at.Add(20*time.Millisecond)))
		}
		count(pdu.NoInst, single, true)
		put(s, single, entry{at: at.Add(25 * time.Millisecond), values: map[pdu.Inst]uint64{pdu.NoInst: values[pdu.NoInst]}})
		if !quiet && r.IntN(15) == 0 {
			mark := at.Add(5 * time.Second)
			require.NoError(t, w.Mark(mark))
			some.records, single.records = append(some.records, entry{at: mark}), append(single.records, entry{at: mark})
			fresh = true
		}
	}
	require.NoError(t, w.Close())
	a, err = archive.Open(base)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.Close()) })
	return a, some, single
}

// numbers returns the values of a metric, as U64 and as DOUBLE.
func numbers(s *session.Session, name string) (map[pdu.Inst]uint64, map[pdu.Inst]float64) {
	m, _ := s.Set().Lookup(name)
	v, bits, floats := s.Value(m), map[pdu.Inst]uint64{}, map[pdu.Inst]float64{}
	for i, b := range v.Bits {
		bits[v.At(i)], floats[v.At(i)] = b, math.Float64frombits(b)
	}
	return bits, floats
}

// Increases over an archive are those of a model that knows lives from records, whatever samples there are. None is more
// than its number can have counted, and in a quiet world nothing is lost of what records show.
func TestIncreaseFollowsRecords(t *testing.T) {
	fromZero := 0
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 65))
		a, some, single := countedWorld(t, r, seed%3 == 0)
		lines := []string{"ci = increase(w.c)", "cv = instant(w.c)", "si = increase(w.s)", "sv = instant(w.s)", "x = w.x"}
		for _, every := range []time.Duration{0, 700 * time.Millisecond, 2500 * time.Millisecond, 10 * time.Second, 33 * time.Second} {
			source := NewSource(a)
			s := watching(t, source, lines...)
			o := Options{Start: night.Add(time.Duration(r.IntN(4)) * 20 * time.Second), End: a.End(), Every: every}
			type sample struct {
				at     time.Time
				values [2]map[pdu.Inst]uint64
			}
			var last *sample
			var sums [2]map[pdu.Inst]float64
			sums[0], sums[1] = map[pdu.Inst]float64{}, map[pdu.Inst]float64{}
			require.NoError(t, NewPlayer(source, s).Play(t.Context(), o, func(s *session.Session, at time.Time) error {
				now := &sample{at: at}
				for k, of := range []*counted{some, single} {
					name := []string{"c", "s"}[k]
					now.values[k], _ = numbers(s, name+"v")
					_, got := numbers(s, name+"i")
					want := map[pdu.Inst]float64{}
					if last != nil {
						want = of.increase(last.at, last.values[k], at, now.values[k])
					}
					if last != nil && (len(last.values[k]) > 0 || k == 0) {
						require.Equal(t, want, got, "world %d every %v at %v: %s", seed, every, at.Sub(night), name)
					}
					for id, value := range got {
						if sums[k][id] += value; value > 0 && last != nil && last.values[k][id] == 0 {
							fromZero++
						}
					}
				}
				last = now
				return nil
			}))
			source.Close()
			for k, of := range []*counted{some, single} {
				for id, sum := range sums[k] {
					require.LessOrEqual(t, sum, float64(of.showed[id])+30, "world %d every %v: %v", seed, every, id)
				}
			}
		}
	}
	assert.Positive(t, fromZero)
}

// A session gets the records of its own operands, once each: a metric of another one costs it nothing.
func TestRecordsAreForTheirSessions(t *testing.T) {
	a, _, _ := countedWorld(t, rand.New(rand.NewPCG(1, 66)), true)
	source := NewSource(a)
	defer source.Close()
	s := watching(t, source, "one = increase(w.c) + max(increase(w.c[0]))", "two = increase(w.s)")
	one, _ := s.Set().Lookup("one")
	s.Watch(one)
	p := NewPlayer(source, s)
	o := Options{Start: night, End: a.End()}
	require.NoError(t, p.Play(t.Context(), o, func(*session.Session, time.Time) error { return nil }))
	require.Len(t, p.births, 1)
	assert.Len(t, p.births[pdu.NewPMID(60, 3, 1)], 1)
}
