package agent

import (
	"fmt"
	"math"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/history"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
)

// steady is an agent in the middle of serving one client: every call of next is one fetch of n
// metrics, each time from a new sample.
func steady(tb testing.TB, n, samples int) (next func()) {
	tb.Helper()
	site := newSite(tb)
	var descs []pdu.Desc
	var lines []string
	var sets []pdu.ValueSet
	for i := range n {
		d := pdu.Desc{PMID: pdu.NewPMID(60, i>>10, i&1023), Type: pdu.TypeU64, InDom: binDom, Sem: pdu.SemCounter}
		site.catalog[fmt.Sprintf("up.m%d", i)] = d
		descs = append(descs, d)
		sets = append(sets, valuesOf(d.PMID, 1, 2, 3, 4))
		function := "rate"
		if i%2 == 0 {
			function = "sum"
		}
		lines = append(lines, fmt.Sprintf("m%d = %s(up.m%d)", i, function, i))
	}
	log, _ := logtest.NewNullLogger()
	a := New(Options{Domain: testDomain, Load: func() served.Config { return served.Config{} }, Log: log})
	snap := site.serve(conf(lines...))
	require.Equal(tb, n, snap.Bound)
	a.snapshot.Store(snap)

	at := time.Unix(1_000_000, 0)
	maker := operand.NewMaker(&a.names, at)
	made, asked := make([]*operand.Sample, samples), operand.NewList(descs...)
	for i := range made {
		at = at.Add(time.Second)
		made[i] = sampleOf(maker, result(tb, at, sets...), at, at, asked)
	}
	req := pmda.FetchRequest{Profile: &pdu.Profile{}}
	for _, m := range snap.ServedStates {
		req.PMIDs = append(req.PMIDs, m.Served.ID)
	}
	var w pdu.ResultWriter
	i := 0
	return func() {
		s := made[i%samples]
		i++
		if i%samples == 0 { // time starts again: samples are not used twice
			for k, old := range made {
				moved := *old
				all := time.Duration(samples) * time.Second
				moved.At, moved.Taken = old.At.Add(all), old.Taken.Add(all)
				made[k] = &moved
			}
		}
		a.upstream.Store(s, snap.Series...)
		w.Reset()
		req.Arrived = s.Taken
		if err := a.Fetch(&req, &w); err != nil || w.Len() != n {
			panic("wrong answer")
		}
		a.Replied(req.Client, pdu.KindFetch, 0)
	}
}

// A fetch in the steady state, with a sample that is new each time, allocates nothing.
func TestFetchDoesNotAllocate(t *testing.T) {
	next := steady(t, 100, 400)
	for range 3 * history.MaxEvaluations { // all memory there is to be used again
		next()
	}
	require.Zero(t, testing.AllocsPerRun(200, next))
}

func BenchmarkFetch(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("metrics=%d", n), func(b *testing.B) {
			next := steady(b, n, 1000)
			for range 3 * history.MaxEvaluations {
				next()
			}
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
		})
	}
}

// refreshing makes an agent. Every call of next is one refresh, from the bytes of pmcd's answer to those of
// our reply: n metrics, each the sum of two operands with a number of instances; 0: singular.
func refreshing(tb testing.TB, n, instances int) (next func()) {
	tb.Helper()
	site := newSite(tb)
	insts, d := []pdu.Inst{pdu.NoInst}, pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}
	if instances > 0 {
		d.InDom, insts = binDom, make([]pdu.Inst, instances)
		for i := range insts {
			insts[i] = pdu.Inst(i)
		}
	}
	lines, answer := make([]string, n), pdu.HighResResult{Sets: make([]pdu.ValueSet, 0, 2*n)}
	for i := range n {
		for k := range 2 {
			d.PMID = pdu.NewPMID(60, (2*i+k)>>10, (2*i+k)&1023)
			site.catalog[fmt.Sprintf("up.m%d_%d", i, k)] = d
			answer.Sets = append(answer.Sets, valuesOf(d.PMID, insts...))
		}
		lines[i] = fmt.Sprintf("m%d = up.m%d_0 + up.m%d_1", i, i, i)
	}
	log, _ := logtest.NewNullLogger()
	a := New(Options{Domain: testDomain, Load: func() served.Config { return served.Config{} }, Log: log})
	snap := site.serve(conf(lines...))
	require.Equal(tb, n, snap.Bound)
	a.snapshot.Store(snap)
	req := pmda.FetchRequest{Profile: &pdu.Profile{}}
	for _, m := range snap.ServedStates {
		req.PMIDs = append(req.PMIDs, m.Served.ID)
	}
	frame := pdu.Frame{Kind: answer.Kind(), Body: answer.Append(nil, 0)[pdu.HeaderSize:]}
	var columns pdu.Columns
	var batches operand.BatchCache[*upstream.Series]
	var w pdu.ResultWriter
	maker, now := operand.NewMaker(&a.names, time.Unix(1_000_000, 0)), time.Unix(1_000_000, 0)
	return func() {
		now = now.Add(time.Second)
		asked := batches.Batch(snap.Series, math.MaxInt, math.MaxInt)
		if err := columns.Decode(frame); err != nil {
			panic(err)
		}
		made := sampleOf(maker, &pmapi.Columns{Time: now, Sets: columns.Sets}, now, now, asked.List)
		asked.CountValues(made, func(*upstream.Series, int) {})
		a.upstream.Store(made, asked.Sources...)
		req.Arrived = now
		w.Reset()
		if err := a.Fetch(&req, &w); err != nil || w.Len() != n {
			panic("wrong answer")
		}
	}
}

// A refresh allocates its sample: the numbers, a list of vectors and the sample itself, however many metrics there
// are. The reply is small enough for the memory that a writer keeps: larger memory comes from a sync.Pool, which drops
// some of it at random with the race detector.
func TestRefreshAllocatesTheSample(t *testing.T) {
	for _, instances := range []int{0, 20} {
		next := refreshing(t, 100, instances)
		for range 3 * history.MaxEvaluations {
			next()
		}
		require.LessOrEqual(t, testing.AllocsPerRun(200, next), 3.0, "%d instances", instances)
	}
}

func BenchmarkRefresh(b *testing.B) {
	for _, row := range []struct {
		name               string
		metrics, instances int
	}{{"scalars=1000", 1000, 0}, {"instances=10x1000", 10, 1000}} {
		b.Run(row.name, func(b *testing.B) {
			next := refreshing(b, row.metrics, row.instances)
			for range 3 * history.MaxEvaluations {
				next()
			}
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
		})
	}
}

// BenchmarkGroupRequests is how long pmcd waits for the instances and the labels of 10,000 groups.
func BenchmarkGroupRequests(b *testing.B) {
	const n = 10_000
	log, _ := logtest.NewNullLogger()
	a := New(Options{Domain: testDomain, Load: func() served.Config { return served.Config{} }, Log: log})
	a.snapshot.Store(newSite(b).serve(conf("kind = sum(up.bin) by (kind=/x/)")))
	now := time.Now()
	a.groups.SetTime(now)
	a.groups.Restore(func(yield func(derived.Group) bool) {
		for i := range n {
			yield(derived.Group{InDom: groupDom, Name: fmt.Sprint("name of ", i), Inst: pdu.Inst(i)})
		}
	})
	for name, ask := range map[string]func() int{
		"instances": func() int {
			all, _ := a.Instances(0, groupDom)
			return len(all)
		},
		"labels": func() int {
			all, _ := a.Labels(0, uint32(groupDom), pdu.LabelInstances, &pdu.Profile{})
			return len((&pdu.Labels{Sets: all}).Append(nil, 0)) / len(`{"kind":"name of 1"}`)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ask() < n {
					b.Fatal("too few")
				}
			}
		})
	}
}
