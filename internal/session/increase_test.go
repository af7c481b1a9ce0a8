package session

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/window"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// world is a source with counters that come, go, come back and are reset, and all that is sampled of it.
type world struct {
	*rand.Rand
	longest time.Duration // gap so far
	quiet   bool          // nothing casts doubt on a birth, and no counter is reset
	now     time.Time
	numbers map[pdu.Inst]*counter
	seen    map[pdu.Inst]time.Time // in a sample
	samples []sampled
}

// counter is the life of a number.
type counter struct {
	life    int
	value   uint64 // what it shows
	counted uint64 // all that it has counted in this world
}

// sampled is a sample, and what the model knows of it.
type sampled struct {
	at      time.Time
	changes pdu.Change
	code    pdu.Code
	values  map[pdu.Inst]uint64
	lives   map[pdu.Inst]int
	counted map[pdu.Inst]uint64
}

// good reports whether it has instances.
func (s *sampled) good() bool { return s.code == 0 && len(s.values) > 0 }

// step lets the world go on, and samples it. A number that is new shows only what it has counted, unless something casts
// doubt on the sample: then it may have counted for long.
func (w *world) step() *sampled {
	s := sampled{}
	gap, gone := time.Second, false // gone: all numbers have gone
	if !w.quiet {
		switch w.IntN(40) {
		case 0:
			gap = 7 * time.Second
		case 1:
			gap = 26 * time.Hour
		case 2:
			s.changes = [...]pdu.Change{pdu.ChangeAddAgent, pdu.ChangeDropAgent, pdu.ChangeRestartAgent}[w.IntN(3)]
		case 3:
			s.code = pdu.ErrAgain
		case 4:
			clear(w.numbers)
			gone = true
		case 5:
			s.changes = pdu.ChangeNames | pdu.ChangeLabels // says nothing about agents
		}
	}
	w.now = w.now.Add(gap)
	s.at = w.now
	doubt := len(w.samples) == 0 || w.longest > 0 && gap > 3*w.longest || marked(s) || !w.samples[len(w.samples)-1].good()
	if len(w.samples) > 0 && w.samples[len(w.samples)-1].good() && !marked(s) {
		w.longest = max(w.longest, gap)
	}
	for id := range pdu.Inst(8) {
		switch c := w.numbers[id]; {
		case c == nil && !gone && w.IntN(6) == 0:
			c = &counter{life: w.Int(), value: w.Uint64N(20)}
			if c.counted = c.value; doubt || w.now.Sub(w.seen[id]) < 24*time.Hour && w.IntN(2) == 0 {
				c.value += 1000 * w.Uint64N(5)
			}
			w.numbers[id] = c
		case c != nil && s.code == 0 && w.IntN(8) == 0: // nobody would know of a number that comes back unseen
			delete(w.numbers, id)
		case c != nil && !w.quiet && w.IntN(12) == 0:
			c.value = w.Uint64N(3)
			c.counted += c.value
		case c != nil:
			n := w.Uint64N(4)
			c.value, c.counted = c.value+n, c.counted+n
		}
	}
	if s.code == 0 {
		s.values, s.lives, s.counted = map[pdu.Inst]uint64{}, map[pdu.Inst]int{}, map[pdu.Inst]uint64{}
		for id, c := range w.numbers {
			s.values[id], s.lives[id], s.counted[id] = c.value, c.life, c.counted
			w.seen[id] = w.now
		}
	}
	w.samples = append(w.samples, s)
	return &w.samples[len(w.samples)-1]
}

// increase returns what a client has, in words: whose previous sample is prev, and whose newest one is the last.
func (w *world) increase(prev int) map[pdu.Inst]float64 {
	now, before, all := &w.samples[len(w.samples)-1], &w.samples[prev], map[pdu.Inst]float64{}
	if now.code < 0 || before.code < 0 {
		return all
	}
	for id, value := range now.values {
		first := len(w.samples) - 1 // the first sample of this life
		for k := first - 1; k >= 0; k-- {
			if w.samples[k].code < 0 {
				continue // it says nothing
			}
			if _, ok := w.samples[k].values[id]; !ok {
				break
			}
			first = k
		}
		if first <= prev {
			switch reset := value < before.values[id]; {
			case !reset:
				all[id] = float64(value - before.values[id])
			case !slices.ContainsFunc(w.samples[prev+1:], marked):
				all[id] = float64(value)
			}
		} else if w.born(id, first) {
			all[id] = float64(value)
		}
	}
	return all
}

// born reports whether a number came into being with a sample.
func (w *world) born(id pdu.Inst, first int) bool {
	s := &w.samples[first]
	if first == 0 || !w.samples[first-1].good() || marked(*s) {
		return false
	}
	var gaps []time.Duration // between samples without doubt; a pause is none of them unless another follows
	previous, paused := -1, false
	for k := range first {
		if w.samples[k].code < 0 {
			continue
		}
		if k > 0 && previous >= 0 {
			gap := w.samples[k].at.Sub(w.samples[previous].at)
			pause := isPause(gap, gaps)
			if w.samples[k-1].good() && !marked(w.samples[k]) && (!pause || paused) {
				gaps = append(gaps, gap)
			}
			paused = pause
		}
		previous = k
	}
	if isPause(s.at.Sub(w.samples[first-1].at), gaps) {
		return false
	}
	for k := range first {
		if _, ok := w.samples[k].values[id]; ok && s.at.Sub(w.samples[k].at) < 24*time.Hour {
			return false
		}
	}
	return true
}

// isPause reports whether a gap is longer than three of the longest of the last four.
func isPause(gap time.Duration, gaps []time.Duration) bool {
	n := len(gaps)
	return n > 0 && gap > 3*slices.Max(gaps[max(0, n-4):])
}

func marked(s sampled) bool {
	return s.changes&(pdu.ChangeAddAgent|pdu.ChangeDropAgent|pdu.ChangeRestartAgent) != 0
}

// client fetches at some samples.
type client struct {
	every   int
	prev    int // the index of its last sample; -1: none
	history []derived.Sample
	first   map[int]uint64 // what the client saw first of each life
	last    map[int]uint64
	sums    map[int]float64 // of its values, by life
}

// Each client has, at each of its samples, the values of a model that looks through all samples of all clients, and so
// has a function over time at its ticks. The values of a life add up to the last one that the client sampled if its
// number was born since the client's first sample, else to what the life grew after it. No sum exceeds what was counted.
func TestIncreaseFollowsTheModel(t *testing.T) {
	desc := pdu.Desc{PMID: pdu.NewPMID(60, 0, 1), Type: pdu.TypeU64, InDom: pdu.NewInDom(60, 1), Sem: pdu.SemCounter}
	var defs []*derived.Definition
	for name, text := range map[string]string{"i": "increase(x)", "w": `last_sample(increase(x), "1s")`} {
		d, err := derived.Parse(name, text)
		require.NoError(t, err)
		defs = append(defs, d)
	}
	set := derived.Language{}.NewSet(defs, derived.CatalogMap{"x": desc}, "")
	increase, _ := set.Lookup("i")
	require.Equal(t, []pdu.PMID{desc.PMID}, set.Increases())
	fromZero, lost := 0, 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 64))
		w := &world{
			Rand: r, quiet: seed%4 == 0, now: time.Unix(1_000_000, 0), numbers: map[pdu.Inst]*counter{}, seen: map[pdu.Inst]time.Time{},
		}
		maker := operand.NewMaker(&operand.InstanceCache{}, w.now)
		maker.FindBirths(set.Increases(), w.now)
		windows := window.NewSingleClient(set, derived.NewGroups(), window.FirstTicks)
		eval := set.NewEvaluation()
		clients := []*client{{every: 1}, {every: 2}, {every: 3 + r.IntN(9)}}
		for _, c := range clients {
			c.prev, c.first, c.last, c.sums = -1, map[int]uint64{}, map[int]uint64{}, map[int]float64{}
		}
		begin, tick := w.now, -1
		for n := range 40 {
			s := w.step()
			maker.NoteChanges(s.changes)
			made, _ := maker.Make(s.columns(desc), s.at, s.at, operand.NewList(desc))
			windows.Sample(s.at.Sub(begin), made)
			if s.code == 0 {
				if got := windows.Read().Values[0]; tick >= 0 && (got.Code == 0 || s.good()) {
					require.Equal(t, w.increase(tick), floats(got), "world %d, tick %d", seed, n)
				}
				tick = n
			}
			for k, c := range clients {
				if n%c.every != 0 {
					continue
				}
				c.history = append([]derived.Sample{made}, c.history[:min(len(c.history), 1)]...)
				eval.Reset(c.history...)
				got := map[pdu.Inst]float64{}
				if v := eval.Value(increase); v.Code == 0 {
					got = floats(v)
				}
				if c.prev >= 0 {
					require.Equal(t, w.increase(c.prev), got, "world %d, client %d, sample %d", seed, k, n)
				}
				c.prev = n
				for id, value := range s.values {
					life := s.lives[id]
					if _, ok := c.first[life]; !ok {
						if c.first[life] = value; got[id] == float64(value) && value > 0 {
							fromZero++
						}
					}
					c.last[life] = value
					c.sums[life] += got[id]
					require.LessOrEqual(t, c.sums[life], float64(s.counted[id]), "world %d, client %d, sample %d", seed, k, n)
					lost += int(s.counted[id]) - int(c.sums[life])
				}
			}
		}
		if w.quiet {
			w.requireSums(t, clients)
		}
	}
	assert.Greater(t, fromZero, 1000)
	assert.Positive(t, lost, "of lives that began before")
}

// requireSums compares the sums of each client in a world without doubts and resets.
func (w *world) requireSums(t *testing.T, clients []*client) {
	t.Helper()
	numbers, comesBack := map[pdu.Inst]int{}, map[int]bool{}
	for i := range w.samples {
		for id, life := range w.samples[i].lives {
			if before, ok := numbers[id]; i == 0 || ok && before != life || !w.samples[max(0, i-1)].good() && !ok {
				comesBack[life] = true
			}
			numbers[id] = life
		}
	}
	for k, c := range clients {
		for life, last := range c.last {
			want := float64(last)
			if comesBack[life] {
				want -= float64(c.first[life])
			}
			require.InDelta(t, want, c.sums[life], 0, "client %d", k)
		}
	}
}

// columns returns the sample as pmcd returns it.
func (s *sampled) columns(d pdu.Desc) *pmapi.Columns {
	set := pdu.Column{PMID: d.PMID, Code: s.code, Type: d.Type}
	for _, id := range slices.Sorted(maps.Keys(s.values)) {
		set.Insts, set.Bits = append(set.Insts, id), append(set.Bits, s.values[id])
	}
	return &pmapi.Columns{Time: s.at, Sets: []pdu.Column{set}, Changes: s.changes}
}

// floats returns the values of a column of DOUBLE.
func floats(v *derived.Vector) map[pdu.Inst]float64 {
	all := map[pdu.Inst]float64{}
	for i, bits := range v.Bits {
		all[v.At(i)] = math.Float64frombits(bits)
	}
	return all
}
