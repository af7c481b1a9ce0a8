package replay

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/session"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
	"pmdaderived/pmda/pmapi/archive/writer"
)

// worldLength is the length of the archive of a world.
const worldLength = 10 * time.Minute

// world writes an archive of random values at random times, in which a metric or an instance can be missing, and opens
// it. Some worlds have marks.
func world(t *testing.T, random *rand.Rand) *archive.Archive {
	t.Helper()
	base := filepath.Join(t.TempDir(), "world")
	w, err := writer.Create(base, writer.Label{Version: 3, PID: 1, Start: night, Host: "web1.example", TimeZone: "UTC"})
	require.NoError(t, err)
	x := pdu.Desc{PMID: pdu.NewPMID(60, 3, 0), Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemInstant}
	c := pdu.Desc{PMID: pdu.NewPMID(60, 3, 1), Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemCounter}
	require.NoError(t, w.Metric(x, "w.x"))
	require.NoError(t, w.Metric(c, "w.c"))
	all := []pdu.Instance{{ID: 0, Name: "a"}, {ID: 1, Name: "b"}, {ID: 2, Name: "c"}}
	require.NoError(t, w.InDom(night, disks, all))
	pace, total := []int{3, 12, 50}[random.IntN(3)], uint64(0)
	for since := time.Duration(0); since < worldLength; since += time.Duration(1+random.IntN(pace)) * time.Second {
		if random.IntN(40) == 0 {
			require.NoError(t, w.Mark(night.Add(since)))
			continue
		}
		var ids []pdu.Inst
		var values, counts []uint64
		for _, one := range all {
			if random.IntN(8) > 0 {
				total += uint64(random.IntN(100))
				ids, values, counts = append(ids, one.ID), append(values, uint64(random.IntN(10))), append(counts, total)
			}
		}
		if random.IntN(4) > 0 {
			w.Values().Numbers(x.PMID, x.Type, ids, values)
		}
		if random.IntN(4) > 0 {
			w.Values().Numbers(c.PMID, c.Type, ids, counts)
		}
		require.NoError(t, w.Put(night.Add(since)))
	}
	require.NoError(t, w.Close())
	a, err := archive.Open(base)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.Close()) })
	return a
}

// values reads what records from a time on have.
func values(t *testing.T, a *archive.Archive, start time.Time) (all []string) {
	t.Helper()
	c := a.NewContext(start, time.Time{})
	defer c.Close()
	for {
		r, err := c.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		for i := range r.Sets {
			set := &r.Sets[i]
			all = append(all, fmt.Sprint(r.Time.Sub(night), set.PMID, set.Code, set.Insts, set.Bits))
		}
	}
}

// The first value of a function without a window is that of the newest record, however old it is, and of those within ten
// seconds before it, whatever else is played.
func TestPartBeginsWithNewestTick(t *testing.T) {
	base := filepath.Join(t.TempDir(), "world")
	w, err := writer.Create(base, writer.Label{Version: 3, PID: 1, Start: night, Host: "web1.example", TimeZone: "UTC"})
	require.NoError(t, err)
	x := pdu.Desc{PMID: pdu.NewPMID(60, 3, 0), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	require.NoError(t, w.Metric(x, "w.x"))
	for k := range 20 {
		for n, value := range []uint64{200, uint64(100 + k), uint64(k)} {
			w.Values().Numbers(x.PMID, x.Type, []pdu.Inst{pdu.NoInst}, []uint64{value})
			require.NoError(t, w.Put(night.Add(time.Duration(k)*time.Minute+time.Duration(n)*6*time.Second)))
		}
	}
	require.NoError(t, w.Close())
	a, err := archive.Open(base)
	require.NoError(t, err)
	defer a.Close()
	start := night.Add(5*time.Minute + 51*time.Second)
	o := Options{Start: start, End: start.Add(time.Second), Every: time.Second}
	for _, other := range []string{"k = 1", `k = max_sample(w.x, "5min")`} {
		source := NewSource(a)
		s := watching(t, source, "m = max_sample(w.x)", other)
		require.NoError(t, NewPlayer(source, s).Play(t.Context(), o, func(s *session.Session, _ time.Time) error {
			m, _ := s.Set().Lookup("m")
			assert.Equal(t, []uint64{105}, s.Value(m).Bits, other)
			return ErrEnough
		}))
		source.Close()
	}
}

// From its first sample on a part of an archive has the values that the whole archive has there, and so has the archive
// that is written.
func TestPartHasValuesOfWhole(t *testing.T) {
	lines := []string{
		"state = latch(w.x > 8, w.x < 2)",
		`states = latch(sum(w.x) > 20 && w.c, avg(w.x) < 3, "10s")`,
		`nested = latch(max_sample(rate(w.c), "30s") > 20, max_sample(w.x, "10s", "5s") < 4)`,
		`peak = max_sample(w.x, "10s")`, `rest = count_sample(w.x, "1min", "20s")`,
		`change = sum_sample(delta(w.c), "20s")`, `mean = avg_sample(rate(w.c), "30s", "15s")`,
		`change2 = sum_sample(delta(delta(w.c)) + w.x, "20s", "4s")`, `last = last_sample(sum(rate(w.c)), "50s", "5s")`,
	}
	// In these parts the newest tick is nearly a span old, and the first tick is the second record in its interval.
	seeds := []uint64{40, 3029}
	for seed := range uint64(30) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 61))
		a := world(t, random)
		o := Options{Start: night, End: a.End(), Every: time.Second}
		start := night.Add(time.Duration(random.IntN(int(a.End().Sub(night)/time.Second))) * time.Second)
		var some []string
		for _, k := range random.Perm(len(lines))[:1+random.IntN(3)] {
			some = append(some, lines[k])
		}
		rows := func(o Options) (rows []string) {
			source := NewSource(a)
			defer source.Close()
			require.NoError(t, NewPlayer(source, watching(t, source, some...)).Play(t.Context(), o,
				func(s *session.Session, at time.Time) error {
					rows = append(rows, row(s, at))
					return nil
				}))
			return rows
		}
		part := o
		part.Start = start
		why := fmt.Sprint("seed ", seed, " from ", start, " of ", some)
		require.Equal(t, rows(o)[int(start.Sub(night)/time.Second):], rows(part), why)
		whole, _, err := record(t, a, &Recording{Options: o}, some...)
		require.NoError(t, err, why)
		written, _, err := record(t, a, &Recording{Options: part}, some...)
		if errors.Is(err, ErrNoValues) {
			continue
		}
		require.NoError(t, err, why)
		require.Equal(t, values(t, whole, start), values(t, written, start), why)
	}
}
