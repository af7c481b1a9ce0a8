package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// foresee lets every context be expected now, and computes ahead what can be.
func (b *bench) foresee() {
	b.agent.ahead.mu.Lock()
	b.agent.catchUp()
	for _, v := range b.agent.views.byKey {
		b.agent.ahead.expect(v, b.now)
	}
	b.agent.ahead.mu.Unlock()
	b.agent.prepare()
}

// regular is an agent with a client that has fetched metrics each second, often enough to be trusted. Its next fetch
// is a second after the last one.
func regular(t *testing.T, c Config, names ...string) *bench {
	t.Helper()
	b := newBench(t, c)
	b.agent.ahead.least = 0
	for i := range uint64(8) {
		b.pass(time.Second - lead)
		b.sample(100*i, names...)
		b.agent.prepare()
		b.pass(lead)
		b.fetch(1, 0, names...)
		b.agent.Replied(1, pdu.KindFetch, 0)
	}
	return b
}

// What a fetch will need is computed when its sample arrives, and the fetch is answered with a reply that is there.
func TestComputedAhead(t *testing.T) {
	names := []string{"c", "d", "k"}
	b := regular(t, conf("c = up.count", "d = delta(up.count)", "k = 7"), names...)
	for i := range uint64(5) {
		b.pass(time.Second - lead)
		b.sample(1000+10*i, names...)
		before := b.agent.stats.evaluations.Load()
		b.agent.prepare()
		assert.Greater(t, b.agent.stats.evaluations.Load(), before)
		b.pass(lead)
		evaluated, served := b.agent.stats.evaluations.Load(), b.agent.stats.values.Load()
		sets := b.fetch(1, 0, names...)
		require.NotNil(t, b.agent.answered.view, "the reply was ready")
		assert.Equal(t, evaluated, b.agent.stats.evaluations.Load(), "nothing is left to be computed")
		assert.Equal(t, fmt.Sprint(1000+10*i), number(b.metric("c"), sets[0]))
		assert.Equal(t, "7", number(b.metric("k"), sets[2]))
		if i > 0 {
			assert.Equal(t, "10", number(b.metric("d"), sets[1]))
		}
		b.agent.Replied(1, pdu.KindFetch, 0)
		assert.Nil(t, b.agent.answered.view)
		assert.Equal(t, served+3, b.agent.stats.values.Load())
		assert.Equal(t, b.now, b.metric("c").usage.fetched)
	}
	var ages Buckets
	b.agent.stats.ages[regularFetch].add(&ages)
	assert.EqualValues(t, 2*11, sum(ages), "of the metrics with a sample, since the third fetch")
	b.agent.EndContext(1)
	assert.Empty(t, b.agent.ahead.foretold)
}

func sum(all Buckets) (n uint64) {
	for _, count := range all {
		n += count
	}
	return n
}

// A reply that is ready is not what the fetch wants if anything has happened since.
func TestReadyReplyThatIsNotServed(t *testing.T) {
	for name, row := range map[string]struct {
		happen func(b *bench)
		want   string
	}{
		"nothing":            {func(*bench) {}, "5"},
		"a newer sample":     {func(b *bench) { b.sample(6, "c") }, "6"},
		"a reload":           {func(b *bench) { b.serve(conf("c = instant(up.count) + 1")) }, "6"},
		"the fetch is late":  {func(b *bench) { b.pass(missedAge) }, "5"},
		"the client is gone": {func(b *bench) { b.agent.EndContext(1) }, "5"},
	} {
		t.Run(name, func(t *testing.T) {
			b := regular(t, conf("c = instant(up.count)"), "c")
			b.pass(time.Second - lead)
			b.sample(5, "c")
			b.agent.prepare()
			row.happen(b)
			b.pass(lead)
			assert.Equal(t, row.want, b.value(1, 0, "c"))
			assert.Equal(t, name == "nothing", b.agent.answered.view != nil)
		})
	}
}

// Instances are selected by the fetch; a reply that was made ahead has all of them.
func TestReadyReplyAndProfiles(t *testing.T) {
	b := newBench(t, conf("b = up.bin"))
	b.agent.ahead.least = 0
	all := &pdu.Profile{Default: pdu.Include}
	one := &pdu.Profile{Default: pdu.Include, InDoms: []pdu.ProfileInDom{{InDom: binDom, State: pdu.Exclude, Insts: []pdu.Inst{2}}}}
	req := pmda.FetchRequest{Client: 1, PMIDs: []pdu.PMID{b.metric("b").id}}
	for _, profile := range []*pdu.Profile{all, all, one, all} {
		b.pass(time.Second)
		set := pdu.ValueSet{PMID: binID, Format: pdu.InSitu}
		for i := range pdu.Inst(3) {
			set.Values = append(set.Values, pdu.Int32Value(i+1, 7))
		}
		asked := newOperandList(b.site.catalog["up.bin"].desc)
		asked.feeds, asked.places = []*feed{b.metric("b").feed}, []int32{0}
		asked.give(sampleOf(b.maker, result(t, b.now, set), b.now, b.now, asked))
		b.agent.sampler.given++
		b.foresee()
		req.Arrived, req.Profile = b.now, profile
		want := 3
		if profile == one {
			want = 1
		}
		assert.Len(t, b.fetchRequest(&req)[0].Values, want)
	}
	assert.NotNil(t, b.agent.answered.view, "the last one was ready")
}

// Memory for replies is bounded, and used again.
func TestReadyRepliesAreBounded(t *testing.T) {
	b := newBench(t, conf("c = up.count"))
	b.agent.ahead.least = 0
	for i := range uint64(3) {
		for c := range pmda.Client(maxForetold + 10) {
			b.fetch(c, 0, "c")
		}
		b.pass(time.Second)
		b.sample(i, "c")
		b.foresee()
		assert.Equal(t, maxReady, b.agent.ahead.made)
		assert.Empty(t, b.agent.ahead.spare)
	}
	for c := range pmda.Client(maxForetold + 10) {
		b.agent.EndContext(c)
	}
	assert.Len(t, b.agent.ahead.spare, maxReady)
	for _, r := range b.agent.ahead.spare {
		for _, s := range r.samples[:cap(r.samples)] {
			assert.Nil(t, s, "a sample is not kept in memory")
		}
	}
	b.agent.ahead.expect(&view{}, b.now)
	b.agent.ahead.trim()
	assert.Len(t, b.agent.ahead.spare, maxReady, "somebody is foretold")
	b.agent.ahead.foretold = nil
	b.agent.check(b.now)
	assert.Empty(t, b.agent.ahead.spare)
	assert.Zero(t, b.agent.ahead.made)
}

// A request waits for what is being computed ahead. Together that is not more for many contexts than for one.
func TestComputedAheadIsBounded(t *testing.T) {
	b := newBench(t, conf("c = up.count", "d = delta(up.count)"))
	const contexts = 5
	b.sample(1, "c", "d")
	for c := range pmda.Client(contexts) {
		b.fetch(c, 0, "c", "d")
	}
	b.pass(time.Second)
	b.sample(2, "c", "d")
	b.agent.ahead.least = 0
	ready := func() (n int) {
		b.foresee()
		for _, v := range b.agent.views.byKey {
			if v.ready != nil {
				n++
			}
			b.agent.ahead.giveBack(v)
		}
		return n
	}
	f := b.metric("c").feed
	assert.Equal(t, contexts, ready(), "a few values each")
	const share = maxAheadValues / contexts / 2 // of each of two metrics
	f.values = share
	assert.Equal(t, contexts, ready(), "as many as may be")
	f.values = share + 1
	assert.Equal(t, contexts-1, ready())
	f.values = maxAheadValues + 1
	assert.Zero(t, ready())
}

// A fetch in the steady state allocates nothing, whether or not it was foretold.
func TestForetoldFetchDoesNotAllocate(t *testing.T) {
	b := regular(t, conf("c = up.count", "d = delta(up.count)"), "c", "d")
	samples := make([]*operand.Sample, 200)
	for i := range samples {
		b.pass(time.Second)
		samples[i] = b.sample(uint64(i))
	}
	b.now = samples[0].Taken.Add(-time.Second)
	req := pmda.FetchRequest{Client: 1, Profile: &pdu.Profile{}, PMIDs: []pdu.PMID{b.metric("c").id, b.metric("d").id}}
	var w pdu.ResultWriter
	i, ready := 0, 0
	f := b.metric("c").feed
	next := func() {
		s := samples[i]
		i++
		b.pass(time.Second)
		f.push(s)
		b.foresee()
		w.Reset()
		req.Arrived = b.now
		if b.agent.Fetch(&req, &w) != nil || w.Len() != 2 {
			panic("wrong answer")
		}
		if b.agent.answered.view != nil {
			ready++
		}
		b.agent.Replied(1, pdu.KindFetch, 0)
	}
	for range 3 * maxMoments {
		next()
	}
	require.Zero(t, testing.AllocsPerRun(100, next))
	assert.Greater(t, ready, 100)
}
