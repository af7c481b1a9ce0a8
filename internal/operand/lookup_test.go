package operand

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// counted is a pmcd that counts requests.
type counted struct {
	*pmapitest.Relay
	conn     *pmapi.Conn
	requests atomic.Int64
}

func newCounted(t *testing.T, metrics ...pmapitest.Metric) *counted {
	t.Helper()
	c := &counted{Relay: pmapitest.NewRelay(t, &pmapitest.Collector{Features: pmapitest.AllFeatures, Metrics: metrics})}
	c.OnRequest(func(int, pdu.Frame) bool {
		c.requests.Add(1)
		return true
	})
	var err error
	c.conn, err = pmapi.Dial(t.Context(), "unix", c.Address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.conn.Close()) })
	return c
}

// took is how many requests there were since it was called before.
func (c *counted) took() int { return int(c.requests.Swap(0)) }

// metricsOf returns n metrics of each of some agents.
func metricsOf(agents, n int) (metrics []pmapitest.Metric, names []string) {
	for a := range agents {
		for i := range n {
			m := pmapitest.Metric{
				Name: fmt.Sprintf("agent%d.metric.m%04d", a, i),
				Desc: pdu.Desc{PMID: pdu.NewPMID(60+a, i>>10, i&1023), InDom: pdu.NoInDom},
			}
			metrics, names = append(metrics, m), append(names, m.Name)
		}
	}
	slices.Sort(names)
	return metrics, names
}

// refuse makes the agents of some metrics refuse their names.
func (c *counted) refuse(code func(name string) pdu.Code) {
	c.Update(func() {
		for i := range c.Metrics {
			c.Metrics[i].Refused = code(c.Metrics[i].Name)
		}
	})
}

// One refused name of 1,000 does not cause more lookups of the others, and is asked for separately until it is
// answered.
func TestRefusedName(t *testing.T) {
	metrics, names := metricsOf(5, 200)
	c := newCounted(t, metrics...)
	c.refuse(func(name string) pdu.Code {
		if name == "agent2.metric.m0145" {
			return pdu.ErrAgain
		}
		return 0
	})
	d := &MetadataCache{}
	c.took()
	require.NoError(t, d.LookUp(t.Context(), c.conn, slices.Values(names), true))
	assert.Len(t, d.Catalog.Descs(), 999)
	n, name, why := d.Refused()
	assert.Equal(t, 1, n)
	assert.Equal(t, "agent2.metric.m0145", name)
	require.ErrorIs(t, why, pdu.ErrAgain)
	first := c.took()
	t.Log(first, "requests for all")

	require.NoError(t, d.LookUp(t.Context(), c.conn, slices.Values(names), false))
	assert.Zero(t, c.took(), "it is asked for apart")
	require.NoError(t, d.LookUp(t.Context(), c.conn, slices.Values(names), true))
	assert.Less(t, c.took(), first, "nor is it in the way again")

	now := time.Now()
	assert.False(t, d.RefusedDue(now.Add(-time.Hour)))
	assert.True(t, d.RefusedDue(d.NextDue()))
	changed, err := d.LookUpRefused(t.Context(), c.conn, slices.Values(names))
	require.NoError(t, err)
	assert.False(t, changed)
	assert.Equal(t, 1, c.took())
	c.refuse(func(string) pdu.Code { return 0 })
	changed, err = d.LookUpRefused(t.Context(), c.conn, slices.Values(names))
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Len(t, d.Catalog.Descs(), 1000)
	assert.True(t, d.NextDue().IsZero())
}

// Of an agent that refuses all names, a few are asked for, and all after the first answer.
func TestRefusedAgent(t *testing.T) {
	metrics, names := metricsOf(5, 200)
	c := newCounted(t, metrics...)
	c.refuse(func(name string) pdu.Code {
		if strings.HasPrefix(name, "agent2.") {
			return pdu.ErrPermission
		}
		return 0
	})
	d := &MetadataCache{}
	c.took()
	require.NoError(t, d.LookUp(t.Context(), c.conn, slices.Values(names), true))
	assert.Len(t, d.Catalog.Descs(), 800)
	t.Log(c.took(), "requests for all")
	for range 3 {
		changed, err := d.LookUpRefused(t.Context(), c.conn, slices.Values(names))
		require.NoError(t, err)
		assert.False(t, changed)
		assert.Equal(t, maxProbes, c.took())
	}
	c.refuse(func(string) pdu.Code { return 0 })
	changed, err := d.LookUpRefused(t.Context(), c.conn, slices.Values(names))
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Len(t, d.Catalog.Descs(), 1000)
	assert.Less(t, c.took(), 20)
}

// At any time the cache has, of names that are not refused, the answer that a lookup of each name alone gives.
// Refused names have it when they are refused no more.
func TestMetadataCache(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	metrics, names := metricsOf(4, 30)
	c := newCounted(t, metrics...)
	d := &MetadataCache{}
	names = append(names, "no.such", "nor.this")
	slices.Sort(names)
	codes := []pdu.Code{0, 0, 0, 0, 0, pdu.ErrAgain, pdu.ErrPermission, -2}
	for round := range 60 {
		share := random.Float64()
		refused := make(map[string]pdu.Code)
		for _, name := range names {
			if random.Float64() < share {
				refused[name] = codes[random.IntN(len(codes))]
			}
		}
		c.refuse(func(name string) pdu.Code { return refused[name] })
		wanted := slices.DeleteFunc(slices.Clone(names), func(string) bool { return random.IntN(10) == 0 })
		require.NoError(t, d.LookUp(t.Context(), c.conn, slices.Values(wanted), round%2 == 0))
		for _, name := range wanted {
			if refused[name] == 0 {
				alone, err := LookUp(t.Context(), c.conn, []string{name})
				require.NoError(t, err)
				assert.Equal(t, alone.entries[name], d.Catalog.entries[name], name)
			}
		}
		for tries := 0; len(d.refused) > 0; tries++ {
			require.Less(t, tries, 10)
			_, err := d.LookUpRefused(t.Context(), c.conn, slices.Values(wanted))
			require.NoError(t, err)
			c.refuse(func(string) pdu.Code { return 0 })
		}
		assert.Len(t, d.Catalog.entries, len(wanted))
	}
}

// A lookup of names that are all known sends no request, and keeps the catalog. After a new or a refused name the
// catalog has only used names.
func TestKnownNames(t *testing.T) {
	metrics, names := metricsOf(2, 5)
	c := newCounted(t, metrics...)
	d := &MetadataCache{}
	require.NoError(t, d.LookUp(t.Context(), c.conn, slices.Values(names[1:]), false))
	first := d.Catalog
	c.took()
	for _, used := range [][]string{names[1:], names[2:], {names[1], names[1]}} {
		require.NoError(t, d.LookUp(t.Context(), c.conn, slices.Values(used), false))
		assert.Same(t, first, d.Catalog)
	}
	assert.Zero(t, c.took())
	require.NoError(t, d.LookUp(t.Context(), c.conn, slices.Values([]string{names[2], names[0], names[2]}), false))
	assert.ElementsMatch(t, []string{names[0], names[2]}, slices.Collect(maps.Keys(d.Catalog.entries)))
	assert.NotZero(t, c.took())
	require.NoError(t, d.LookUp(t.Context(), c.conn, slices.Values(names[:1]), true))
	assert.ElementsMatch(t, names[:1], slices.Collect(maps.Keys(d.Catalog.entries)))
	assert.NotZero(t, c.took())

	c.refuse(func(name string) pdu.Code {
		if name == names[1] {
			return pdu.ErrAgain
		}
		return 0
	})
	require.NoError(t, d.LookUp(t.Context(), c.conn, slices.Values(names[:2]), false))
	n, _, _ := d.Refused()
	assert.Equal(t, 1, n)
	c.took()
	require.NoError(t, d.LookUp(t.Context(), c.conn, slices.Values(names[:1]), false))
	n, _, _ = d.Refused()
	assert.Zero(t, n, "it is not used any more")
	assert.ElementsMatch(t, names[:1], slices.Collect(maps.Keys(d.Catalog.entries)))
	assert.Zero(t, c.took())
}

// After a change of one instance, one of 3,000 selectors is asked for, or none if no selector is a prefix of its
// name.
func TestSelectorsOfAChangedInstance(t *testing.T) {
	const many = 3000
	c := newCounted(t)
	indom := pdu.NewInDom(60, 1)
	needed := InDomNeeds{indom: {Selectors: map[string]bool{}}}
	instances := make([]pdu.Instance, many)
	for i := range instances {
		instances[i] = pdu.Instance{ID: pdu.Inst(i), Name: fmt.Sprintf("process%d", i)}
		needed[indom].Selectors[instances[i].Name] = true
	}
	needed[indom].Selectors["nobody"] = true
	names := &InstanceCache{}
	look := func(instances []pdu.Instance) int {
		t.Helper()
		c.Update(func() { c.InDoms = map[pdu.InDom]pmapitest.InDom{indom: {Instances: instances}} })
		c.took()
		require.NoError(t, names.LookUp(t.Context(), c.conn, needed, []pdu.InDom{indom}, nil))
		return c.took()
	}
	selected := func(name string) (pdu.Inst, bool) { return names.Table(indom).Select(name) }

	assert.Equal(t, 1+many+1, look(instances))
	assert.Empty(t, names.Missing(needed))
	before := names.Snapshot()
	assert.Equal(t, 1, look(instances))
	assert.Same(t, before, names.Snapshot(), "nothing has changed")
	assert.Equal(t, 1, look(append(slices.Clone(instances), pdu.Instance{ID: many, Name: "stranger"})))
	assert.Equal(t, 1+1, look(append(slices.Clone(instances), pdu.Instance{ID: many, Name: "nobody"})))
	id, ok := selected("nobody")
	assert.True(t, ok)
	assert.EqualValues(t, many, id)
	assert.Equal(t, 1+1+1, look(instances[1:]), "nobody and process0 have gone")
	_, ok = selected("process0")
	assert.False(t, ok)
	renamed := slices.Clone(instances[1:])
	renamed[0].Name, renamed[1].Name = renamed[1].Name, renamed[0].Name
	assert.LessOrEqual(t, look(renamed), 1+2)
	id, _ = selected("process1")
	assert.EqualValues(t, 2, id)
	delete(needed[indom].Selectors, "process5")
	needed[indom].Selectors["process6"] = true
	assert.Equal(t, 1, look(renamed))
	_, ok = selected("process5")
	assert.False(t, ok, "nobody needs it any more")
}

// owner answers for a domain as agents do: it matches whole names, else up to the first blank, else any abbreviation.
type owner struct {
	instances []pdu.Instance
	abbrev    bool
}

func (o *owner) instance(name string) (pdu.Inst, bool) {
	for _, fits := range []func(in string) bool{
		func(in string) bool { return in == name },
		func(in string) bool { first, _, _ := strings.Cut(in, " "); return first == name },
		func(in string) bool { return o.abbrev && strings.HasPrefix(in, name) },
	} {
		if i := slices.IndexFunc(o.instances, func(in pdu.Instance) bool { return fits(in.Name) }); i >= 0 {
			return o.instances[i].ID, true
		}
	}
	return 0, false
}

// However an instance domain changes, a selector selects the instance that its agent matches: the model asks for
// every selector every time. An instance that has not changed stays selected, even if the agent would match another
// one now, as in libpcp.
func TestSelectors(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	o := &owner{}
	address := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) {
		p.Greet(pmapitest.AllFeatures)
		for {
			m, ok := p.Next()
			if !ok {
				return
			}
			req := m.(*pdu.InstanceReq)
			if req.Name == "" {
				p.Send(&pdu.InstanceReply{Instances: o.instances})
			} else if id, ok := o.instance(req.Name); ok {
				p.Send(&pdu.InstanceReply{Instances: []pdu.Instance{{ID: id}}})
			} else {
				p.Fail(pdu.ErrInst)
			}
		}
	})
	conn, err := pmapi.Dial(t.Context(), "unix", address)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	indom := pdu.NewInDom(60, 1)
	words := []string{"a", "ab", "abc", "b", "ba", "a b", "ab c", "b a", "b abc", "abc a"}
	for range 40 {
		names := &InstanceCache{}
		o.abbrev = random.IntN(2) == 0
		needed := InDomNeeds{indom: {Selectors: map[string]bool{}}}
		for range 12 {
			o.instances = nil
			for id, i := range random.Perm(len(words))[:random.IntN(len(words))] {
				if random.IntN(3) == 0 {
					id = 100 + i
				}
				o.instances = append(o.instances, pdu.Instance{ID: pdu.Inst(id), Name: words[i]})
			}
			for range 2 {
				needed[indom].Selectors[words[random.IntN(len(words))]] = true
			}
			before := names.inDom(indom)
			require.NoError(t, names.LookUp(t.Context(), conn, needed, []pdu.InDom{indom}, nil))
			table := names.Table(indom)
			for name := range needed[indom].Selectors {
				want, there := o.instance(name)
				got, ok := table.Select(name)
				require.Equal(t, there, ok, "%s of %v", name, o.instances)
				if got != want {
					was, wasThere := before.names[got]
					is, isThere := table.Name(got)
					assert.True(t, wasThere && isThere && was == is && before.selections[name].inst == got, "%s of %v", name,
						o.instances)
				}
			}
		}
	}
}

// An instance domain whose lookup is incomplete has an error, keeps its former data, and does not delay others.
func TestFailingDomains(t *testing.T) {
	c := newCounted(t)
	bad, good := pdu.NewInDom(60, 1), pdu.NewInDom(61, 1)
	of := func(names ...string) (in pmapitest.InDom) {
		for i, name := range names {
			in.Instances = append(in.Instances, pdu.Instance{ID: pdu.Inst(i), Name: name})
		}
		return in
	}
	many := make(map[string]bool)
	for i := range 100 {
		many[fmt.Sprint("x", i)] = true
	}
	needed := InDomNeeds{bad: {Selectors: many}, good: {Selectors: map[string]bool{"a": true}}}
	names, waiting := &InstanceCache{}, make(LookupQueue)
	var in pmapitest.InDom
	look := func() int {
		t.Helper()
		c.Update(func() { c.InDoms = map[pdu.InDom]pmapitest.InDom{bad: in, good: of("a")} })
		c.took()
		require.NoError(
			t,
			names.LookUp(t.Context(), c.conn, needed, []pdu.InDom{bad, good}, func(d pdu.InDom, took time.Duration, err error) {
				waiting.RecordLookup(d, time.Now(), took, err)
			}),
		)
		id, ok := names.Table(good).Select("a")
		assert.True(t, ok)
		assert.Zero(t, id)
		return c.took()
	}
	in = pmapitest.InDom{Code: pdu.ErrAgain}
	look()
	assert.False(t, names.Has(bad))
	require.ErrorIs(t, names.Err(bad), pdu.ErrAgain)
	assert.ElementsMatch(t, []pdu.InDom{bad}, slices.Collect(maps.Keys(waitingOnly(waiting))))

	in = of(slices.Collect(maps.Keys(many))...)
	in.Unnamed = pdu.ErrPermission
	assert.Equal(t, 1+mostRefused+1, look(), "who refuses selectors is not asked for all of them")
	assert.True(t, names.Has(bad))
	require.ErrorIs(t, names.Err(bad), pdu.ErrPermission)
	assert.Equal(t, []pdu.InDom{bad}, names.Missing(needed))

	in.Unnamed = 0
	look()
	require.NoError(t, names.Err(bad))
	assert.Empty(t, names.Missing(needed))
	in.Code = pdu.ErrAgain
	look()
	require.Error(t, names.Err(bad))
	_, ok := names.Table(bad).Select("x7")
	assert.True(t, ok, "what was known still is")

	in.Code = pdu.ErrNoAgent
	clear(waiting)
	look()
	require.ErrorIs(t, names.Err(bad), pdu.ErrNoAgent)
	assert.Empty(t, waitingOnly(waiting), "pmcd announces when it is back")

	in.Code = 0
	in.Instances = append(in.Instances, in.Instances[0])
	look()
	assert.Equal(t, 100, names.Members(bad).Len(), "an instance that is told twice is one")
}

func waitingOnly(w LookupQueue) LookupQueue {
	only := maps.Clone(w)
	maps.DeleteFunc(only, func(_ pdu.InDom, x *queuedDomain) bool { return !x.queued })
	return only
}

// A refused request is repeated with longer and longer gaps, and a long one takes a tenth of pmcd's time.
func TestRetry(t *testing.T) {
	now := time.Now()
	var p retry
	var gaps []time.Duration
	for range 13 {
		p.recordAnswer(now, 0, pdu.ErrPermission)
		gaps = append(gaps, p.next.Sub(now))
	}
	const ms = time.Millisecond
	assert.Equal(t, []time.Duration{50 * ms, 100 * ms, 200 * ms}, gaps[:3])
	assert.Equal(t, time.Minute, gaps[12])
	p.recordAnswer(now, 0, pdu.ErrAgain)
	assert.Equal(t, 5*time.Second, p.next.Sub(now), "that is worth trying sooner")
	p.restart(now)
	assert.Equal(t, 50*ms, p.next.Sub(now))
	p.recordAnswer(now, time.Second, pdu.ErrPermission)
	assert.Equal(t, 9*time.Second, p.next.Sub(now))
	p.restart(now)
	assert.Equal(t, 9*time.Second, p.next.Sub(now), "whatever it is for")
	p.recordAnswer(now, ms, 0)
	assert.Equal(t, 9*ms, p.next.Sub(now))
}

// Domains wait until they are due, those whose lookup takes longest at the end. A domain that a new definition needs
// does not wait, unless its agent has refused.
func TestLookupQueue(t *testing.T) {
	now := time.Now()
	quick, churning, slow := pdu.NewInDom(1, 1), pdu.NewInDom(2, 1), pdu.NewInDom(3, 1)
	needed := InDomNeeds{}
	for _, d := range []pdu.InDom{quick, churning, slow} {
		needed.Add(d)
	}
	w := make(LookupQueue)
	w.Add(quick, churning, slow, pdu.NewInDom(4, 1))
	assert.ElementsMatch(t, []pdu.InDom{quick, churning, slow}, w.TakeDue(now, needed))
	assert.Empty(t, w.TakeDue(now, needed), "each once")
	w.RecordLookup(quick, now, 0, nil)
	w.RecordLookup(churning, now, 20*time.Millisecond, nil)
	w.RecordLookup(slow, now, 200*time.Millisecond, nil)
	assert.True(t, w.NextDue().IsZero())
	w.Add(quick, churning, slow)
	assert.Equal(t, []pdu.InDom{quick}, w.TakeDue(now, needed))
	assert.Equal(t, now.Add(180*time.Millisecond), w.NextDue())
	w.RecordLookup(slow, now, 200*time.Millisecond, pdu.ErrAgain)
	assert.Equal(t, []pdu.InDom{churning}, w.TakeReady(now, []pdu.InDom{churning, slow}))
	w.Add(churning)
	assert.Equal(t, []pdu.InDom{churning, slow}, w.TakeDue(now.Add(2*time.Second), needed))
}

// A domain whose agent is away or fenced is not looked up before pmcd announces something or it is sampled, and then
// at once: also if pmcd has given the agent up in a long lookup.
func TestDomainWhoseAgentIsAway(t *testing.T) {
	for _, away := range []pdu.Code{pdu.ErrNoAgent, pdu.ErrPMDAFenced} {
		d, now, q, needed := pdu.NewInDom(1, 1), time.Now(), make(LookupQueue), make(InDomNeeds)
		needed.Add(d)
		q.RecordLookup(d, now, 5*time.Second, pdu.ErrIPC)
		now = now.Add(firstGap)
		require.Equal(t, []pdu.InDom{d}, q.TakeDue(now, needed))
		for range 10 {
			q.RecordLookup(d, now, 0, away)
			assert.Empty(t, q.TakeDue(now.Add(time.Hour), needed))
			assert.Equal(t, []pdu.InDom{d}, q.TakeReady(now, []pdu.InDom{d}))
		}
		now = now.Add(2 * refreshLimit)
		q.AddOld(now, map[pdu.InDom]time.Time{d: now})
		assert.Equal(t, []pdu.InDom{d}, q.TakeDue(now, needed))
	}
}

// refreshGap is the time between two searches, which package reload makes.
const refreshGap = 5 * time.Second

// Domains that are sampled are looked up again when their last lookup is refreshAge ago, half of them at a time. Others,
// and those that are queued, are not.
func TestOldDomains(t *testing.T) {
	const domains = 100
	q, needed, sampled := make(LookupQueue), make(InDomNeeds), make(map[pdu.InDom]time.Time)
	start := time.Now()
	for i := range domains {
		d := pdu.NewInDom(60+i, 0)
		needed.Add(d)
		sampled[d] = start
		q.RecordLookup(d, start, time.Millisecond, nil)
	}
	idle := pdu.NewInDom(200, 0)
	needed.Add(idle)
	q.RecordLookup(idle, start, time.Millisecond, nil)
	now, last := start, make(map[pdu.InDom]time.Time)
	for range 2 * refreshLimit / refreshGap {
		now = now.Add(refreshGap)
		q.AddOld(now, sampled)
		due := q.TakeDue(now, needed)
		assert.LessOrEqual(t, len(due), domains/refreshShare+1)
		for _, d := range due {
			assert.LessOrEqual(t, now.Sub(q[d].asked), 3*refreshGap)
			assert.LessOrEqual(t, now.Sub(start), refreshLimit+3*refreshGap)
			last[d] = now
			q.RecordLookup(d, now, time.Millisecond, nil)
		}
	}
	assert.Len(t, last, domains)
	asked := maps.Clone(last)
	for range 3 * refreshLimit / refreshGap { // nobody samples any of them
		now = now.Add(refreshGap)
		q.AddOld(now, sampled)
		for _, d := range q.TakeDue(now, needed) {
			asked[d] = now
			q.RecordLookup(d, now, time.Millisecond, nil)
		}
	}
	assert.Equal(t, last, asked)
}

// An instance that keeps its number and gets another name or label without a word has them in definitions after a
// while.
func TestInstanceWithAnotherNameOrLabel(t *testing.T) {
	c := newCounted(t)
	indom, now := pdu.NewInDom(60, 1), time.Now()
	needed := InDomNeeds{indom: {Selectors: map[string]bool{"new": true}, Labels: map[string]bool{"kind": true}}}
	names, queue := &InstanceCache{}, make(LookupQueue)
	set := func(name, label string) {
		labels, err := pdu.NewLabelSet(3, pdu.LabelInstances, map[string]any{"kind": label})
		require.NoError(t, err)
		c.Update(func() {
			c.InDoms = map[pdu.InDom]pmapitest.InDom{indom: {Instances: []pdu.Instance{{ID: 3, Name: name}}}}
			c.Labels = map[pmapitest.LabelKey][]pdu.LabelSet{{Type: pdu.LabelInstances, Ident: uint32(indom)}: {labels}}
		})
	}
	look := func(domains ...pdu.InDom) {
		t.Helper()
		require.NoError(t, names.LookUp(t.Context(), c.conn, needed, domains,
			func(d pdu.InDom, took time.Duration, err error) { queue.RecordLookup(d, now, took, err) }))
	}
	holds := func(name, label string) {
		t.Helper()
		table := names.Table(indom)
		known, _ := table.Name(3)
		assert.Equal(t, name, known)
		assert.Equal(t, label, table.Labels()["kind"][3])
		_, selected := table.Select("new")
		assert.Equal(t, name == "new", selected)
	}
	set("old", "disk")
	look(indom)
	holds("old", "disk")
	for _, row := range []struct{ name, label string }{{"new", "disk"}, {"new", "tape"}, {"old", "disk"}} {
		before := now
		set(row.name, row.label)
		for len(queue.TakeDue(now, needed)) == 0 {
			require.LessOrEqual(t, now.Sub(before), 3*refreshGap)
			now = now.Add(refreshGap)
			queue.AddOld(now, map[pdu.InDom]time.Time{indom: now})
		}
		look(indom)
		holds(row.name, row.label)
	}
}

// All descriptors are looked up by turns, a few at a time, also those of an agent that was fenced. One that has changed
// is in the catalog then, and the error of a lookup changes nothing.
func TestDescriptorsAreLookedUpByTurns(t *testing.T) {
	metrics, names := metricsOf(5, 20)
	c := newCounted(t, metrics...)
	source, d := &away{MetadataSource: c.conn}, &MetadataCache{}
	require.NoError(t, d.LookUp(t.Context(), source, slices.Values(names), true))
	turns := func() (changes int) {
		for range 2 * len(names) / oldMost {
			before := d.Catalog
			changed, err := d.LookUpOld(t.Context(), source)
			require.NoError(t, err)
			assert.Equal(t, changed, d.Catalog != before)
			if changed {
				changes++
			}
		}
		return changes
	}
	c.took()
	assert.Zero(t, turns())
	assert.LessOrEqual(t, c.took(), 2*len(names)/oldMost)
	units := pdu.Units{Time: 1}
	c.Update(func() { c.Metrics[70].Desc.Units = units })
	assert.Equal(t, 1, turns())
	desc, err := d.Catalog.Desc(names[70])
	require.NoError(t, err)
	assert.Equal(t, units, desc.Units)
	source.code = pdu.ErrPMDAFenced
	require.NoError(t, d.LookUp(t.Context(), source, slices.Values(names), true))
	source.code = 0 // pmcd does not announce the end of a fence
	c.Update(func() { c.Metrics[25].Desc.Units = units })
	assert.Equal(t, 1, turns())
	c.Update(func() { c.Metrics = nil })
	assert.Zero(t, turns())
	assert.Len(t, d.Catalog.Descs(), len(names))
}

// away is a pmcd whose agent of domain 61 answers with a code, or is away with one.
type away struct {
	MetadataSource
	code    pdu.Code // 0: it is there
	dynamic bool     // pmcd asks the agent for its names, too
	back    bool     // it comes back after the next lookup of names
	asked   int      // lookups of names
}

func (a *away) LookupNames(ctx context.Context, names []string) ([]pmapi.NameResult, error) {
	a.asked++
	found, err := a.MetadataSource.LookupNames(ctx, names)
	for i := range found {
		if a.dynamic && a.code < 0 && found[i].PMID.Domain() == 61 {
			found[i] = pmapi.NameResult{PMID: pdu.NoPMID, Code: pdu.ErrName}
			if len(names) == 1 || a.code != pdu.ErrNoAgent { // of several names pmcd does not tell this one
				found[i].Code = a.code
			}
		}
	}
	if a.back {
		a.code, a.back = 0, false
	}
	return found, err
}

func (a *away) Descs(ctx context.Context, ids []pdu.PMID) ([]pmapi.DescResult, error) {
	found, err := a.MetadataSource.Descs(ctx, ids)
	for i := range found {
		if a.code < 0 && ids[i].Domain() == 61 {
			found[i] = pmapi.DescResult{Desc: pdu.Desc{PMID: ids[i]}, Code: a.code}
		}
	}
	return found, err
}

// Operands whose agent is away or refuses keep their descriptors, until the agent is back and says something else. Those
// that were not known before do not exist, and are looked up with each lookup.
func TestAgentThatIsAway(t *testing.T) {
	for _, row := range []struct {
		name    string
		code    pdu.Code
		dynamic bool
		stay    bool
		refused int // operands that are looked up separately
	}{
		{"static names", pdu.ErrNoAgent, false, true, 0},
		{"dynamic names", pdu.ErrNoAgent, true, true, 0},
		{"fenced", pdu.ErrPMDAFenced, false, true, 0},
		{"fenced, with dynamic names", pdu.ErrPMDAFenced, true, true, 0},
		{"not ready", pdu.ErrAgain, false, true, 10},
		{"not ready, with dynamic names", pdu.ErrAgain, true, true, 10},
		{"refused", pdu.ErrPermission, false, true, 10},
		{"refused, with dynamic names", pdu.ErrPermission, true, true, 10},
		{"too late", pdu.ErrTimeout, false, true, 10},
		{"lost", pdu.ErrIPC, true, true, 10},
		{"back before it is asked for alone", pdu.ErrNoAgent, true, true, 10},
		{"metrics that have gone", pdu.ErrPMID, false, false, 0},
		{"names that have gone", pdu.ErrName, true, false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			metrics, names := metricsOf(2, 10)
			c := newCounted(t, metrics...)
			source, d := &away{MetadataSource: c.conn, dynamic: row.dynamic}, &MetadataCache{}
			look := func(code pdu.Code, afresh bool) {
				t.Helper()
				source.code, source.asked = code, 0
				require.NoError(t, d.LookUp(t.Context(), source, slices.Values(names), afresh))
				assert.LessOrEqual(t, source.asked, 2)
			}
			look(0, true)
			before := d.Catalog
			require.Len(t, before.Descs(), 20)

			source.back = row.code == pdu.ErrNoAgent && row.refused > 0
			look(row.code, true)
			assert.False(t, d.Catalog.Equal(before), "the agent has gone")
			n, _, _ := d.Refused()
			assert.Equal(t, row.refused, n)
			d.Doubt(map[pdu.PMID]struct{}{metrics[13].Desc.PMID: {}, metrics[14].Desc.PMID: {}}, time.Now())
			_, err := d.LookUpRefused(t.Context(), source, slices.Values(names))
			require.NoError(t, err)
			if row.stay {
				assert.Equal(t, before.Descs(), d.Catalog.Descs())
			} else {
				assert.Len(t, d.Catalog.Descs(), 10)
			}
			look(0, true)
			if row.refused > 0 {
				_, err := d.LookUpRefused(t.Context(), source, slices.Values(names))
				require.NoError(t, err)
			}
			assert.True(t, d.Catalog.Equal(before), "the agent is back")

			look(pdu.ErrNoAgent, true)
			c.Update(func() { c.Metrics[13].Desc.Type, c.Metrics[14].Name = pdu.TypeDouble, "another.name" })
			look(0, true)
			desc, err := d.Catalog.Desc(names[13])
			require.NoError(t, err)
			assert.Equal(t, pdu.TypeDouble, desc.Type)
			_, err = d.Catalog.Desc(names[14])
			require.ErrorIs(t, err, pdu.ErrName)

			d = &MetadataCache{}
			look(pdu.ErrNoAgent, true)
			assert.Len(t, d.Catalog.Descs(), 10, "the others were never known")
			look(0, false)
			assert.Len(t, d.Catalog.Descs(), 19)
		})
	}
}

// A descriptor that is in doubt is looked up with the refused names, less and less often while it does not change.
func TestDoubtedDescriptor(t *testing.T) {
	metrics, names := metricsOf(2, 50)
	c := newCounted(t, metrics...)
	d := &MetadataCache{}
	require.NoError(t, d.LookUp(t.Context(), c.conn, slices.Values(names), false))
	assert.True(t, d.NextDue().IsZero())
	doubts := map[pdu.PMID]struct{}{metrics[3].Desc.PMID: {}}
	now, gap := time.Now(), time.Duration(0)
	for range 4 {
		d.Doubt(doubts, now)
		d.Doubt(doubts, now)
		c.took()
		changed, err := d.LookUpRefused(t.Context(), c.conn, slices.Values(names))
		require.NoError(t, err)
		assert.False(t, changed)
		assert.Equal(t, 2, c.took(), "its name and its descriptor")
		assert.True(t, d.NextDue().IsZero(), "there is no doubt any more")
		d.Doubt(doubts, now)
		assert.False(t, d.RefusedDue(now))
		assert.Greater(t, d.NextDue().Sub(now), gap)
		now = d.NextDue()
		gap = d.retry.backoff.Last()
		assert.True(t, d.RefusedDue(now))
	}
	c.Update(func() { c.Metrics[3].Desc.Type = pdu.TypeDouble })
	changed, err := d.LookUpRefused(t.Context(), c.conn, slices.Values(names))
	require.NoError(t, err)
	assert.True(t, changed)
	d.Doubt(doubts, now.Add(time.Hour))
	assert.Zero(t, d.retry.backoff.Last(), "the gaps begin again")
}

// An error is not the answer that there are no labels. Labels that are not known are missing until the agent tells them,
// unless the instances are those of the last answer. A pmcd without labels says that there are none.
func TestRefusedLabels(t *testing.T) {
	indom := pdu.NewInDom(60, 1)
	one, two, other := pdu.Instance{ID: 1, Name: "one"}, pdu.Instance{ID: 2, Name: "two"}, pdu.Instance{ID: 1, Name: "new"}
	refusals := []pdu.Code{pdu.ErrAgain, pdu.ErrPermission, pdu.ErrTimeout, pdu.ErrIPC}
	for _, row := range []struct {
		name     string
		first    []pdu.Instance // those with labels; nil: there is no first answer
		then     []pdu.Instance // those of the refused lookup
		refusals []pdu.Code
		ofEach   bool // the refusal is that of each instance
		known    bool // then
	}{
		{"at the start", nil, []pdu.Instance{one}, refusals, false, false},
		{"of an instance", nil, []pdu.Instance{one, two}, refusals, true, false},
		{"later", []pdu.Instance{one, two}, []pdu.Instance{two, one}, refusals, false, true},
		{"an instance has gone", []pdu.Instance{one, two}, []pdu.Instance{one}, refusals, false, true},
		{"a new instance", []pdu.Instance{one}, []pdu.Instance{one, two}, refusals, false, false},
		{"an instance with another name", []pdu.Instance{one, two}, []pdu.Instance{other, two}, refusals, false, false},
		{"a pmcd without labels", nil, []pdu.Instance{one}, []pdu.Code{pdu.ErrNoLabels}, false, true},
	} {
		for _, refusal := range row.refusals {
			t.Run(row.name+": "+refusal.Error(), func(t *testing.T) {
				c := newCounted(t)
				needed := InDomNeeds{indom: {Labels: map[string]bool{"le": true, "kind": true}}}
				names := &InstanceCache{}
				look := func(instances []pdu.Instance, code pdu.Code) {
					in := pmapitest.InDom{Instances: instances}
					var sets []pdu.LabelSet
					for _, one := range instances {
						set, err := pdu.NewLabelSet(one.ID, pdu.LabelInstances, map[string]any{"le": one.ID, "kind": "disk"})
						require.NoError(t, err)
						if row.ofEach && code < 0 {
							set = pdu.LabelSet{Inst: one.ID, Code: code}
						}
						sets = append(sets, set)
					}
					if !row.ofEach {
						in.Unlabelled = code
					}
					c.Update(func() {
						c.InDoms = map[pdu.InDom]pmapitest.InDom{indom: in}
						c.Labels = map[pmapitest.LabelKey][]pdu.LabelSet{{Type: pdu.LabelInstances, Ident: uint32(indom)}: sets}
					})
					require.NoError(t, names.LookUp(t.Context(), c.conn, needed, []pdu.InDom{indom}, nil))
				}
				if row.first != nil {
					look(row.first, 0)
				}
				look(row.then, refusal)
				code := pdu.Code(0)
				if !row.known {
					code = refusal
				}
				assert.Equal(t, code, names.Table(indom).LabelCode("le"))
				assert.Equal(t, code, names.Table(indom).LabelCode("kind"))
				assert.Equal(t, !row.known, len(names.Missing(needed)) > 0)
				require.ErrorIs(t, names.Err(indom), refusal, "it is asked for again")

				look(row.then, 0)
				require.NoError(t, names.Err(indom))
				assert.Empty(t, names.Missing(needed))
				for _, in := range row.then {
					le, _ := names.Table(indom).Label("le", in.ID)
					assert.Equal(t, fmt.Sprint(in.ID), le)
				}
				assert.Equal(t, pdu.ErrAgain, names.Table(indom).LabelCode("other"), "nobody has asked for it")
			})
		}
	}
}

// Names that an agent refuses to tell are unknown, and those that it has told stay.
func TestRefusedNames(t *testing.T) {
	c := newCounted(t)
	indom, names := pdu.NewInDom(60, 1), &InstanceCache{}
	old, both := derived.NewInstSet([]pdu.Inst{1}), derived.NewInstSet([]pdu.Inst{1, 2})
	needed := InDomNeeds{}
	needed.Add(indom)
	look := func(in pmapitest.InDom) {
		c.Update(func() { c.InDoms = map[pdu.InDom]pmapitest.InDom{indom: in} })
		require.NoError(t, names.LookUp(t.Context(), c.conn, needed, []pdu.InDom{indom}, nil))
	}
	look(pmapitest.InDom{Code: pdu.ErrPermission})
	assert.Equal(t, pdu.ErrPermission, names.Table(indom).NameCode(old))
	assert.Equal(t, []pdu.InDom{indom}, names.Missing(needed))
	look(pmapitest.InDom{Instances: []pdu.Instance{{ID: 1, Name: "one"}}})
	assert.Zero(t, names.Table(indom).NameCode(both), "nobody has asked for the name of the new one")
	look(pmapitest.InDom{Code: pdu.ErrAgain})
	assert.Zero(t, names.Table(indom).NameCode(old))
	assert.Equal(t, pdu.ErrAgain, names.Table(indom).NameCode(both))
}
