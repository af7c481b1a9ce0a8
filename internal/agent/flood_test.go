package agent

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// These tests are about clients that take so much that contexts must be removed.

const victim, flooder, bystander = pmda.Client(1), pmda.Client(2), pmda.Client(3)

// permutations calls f with n lists of the metrics, most of them different.
func permutations(b *bench, n int, metrics []string, f func(list []string)) {
	b.tb.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	for range n {
		random.Shuffle(len(metrics), func(i, j int) { metrics[i], metrics[j] = metrics[j], metrics[i] })
		b.pass(time.Millisecond)
		f(metrics)
	}
}

// A flood of one client takes nothing from a client that fetches seldom, whatever the flood consists of.
func TestFloods(t *testing.T) {
	eight := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for name, flood := range map[string]func(t *testing.T, b *bench){
		"permutations of a list": func(t *testing.T, b *bench) {
			t.Helper()
			b.agent.contexts.maxCount = 100
			permutations(b, 500, slices.Clone(eight), func(list []string) { b.fetch(flooder, 0, list...) })
			assert.Len(t, b.agent.contexts.byKey, 100)
		},
		"numbers of contexts": func(t *testing.T, b *bench) {
			t.Helper()
			b.agent.contexts.maxCount = 100
			for n := range pdu.ContextID(500) {
				b.pass(time.Millisecond)
				b.fetch(flooder, n, "a")
			}
			assert.Len(t, b.agent.contexts.byKey, 100)
		},
		"many connections with a few lists each": func(t *testing.T, b *bench) {
			t.Helper()
			b.agent.contexts.maxCount = 100
			permutations(b, 500, slices.Clone(eight), func(list []string) {
				b.fetch(flooder+pmda.Client(rand.IntN(20)), 0, list...)
			})
			assert.Len(t, b.agent.contexts.byKey, 100)
		},
		"PMIDs of no metrics": func(t *testing.T, b *bench) {
			t.Helper()
			places := b.agent.contexts.places
			for range 80 {
				list := make([]pdu.PMID, 16_000)
				for i := range list {
					list[i] = pdu.NewPMID(testDomain, 4095, 0) | pdu.PMID(rand.IntN(1024))
				}
				b.pass(time.Millisecond)
				for _, set := range b.fetchRequest(&pmda.FetchRequest{
					Client: flooder, PMIDs: list, Profile: &pdu.Profile{}, Arrived: b.now,
				}) {
					if set.Code != pdu.ErrPMID {
						t.Fatal(set)
					}
				}
			}
			assert.Equal(t, places, b.agent.contexts.places, "nothing of them is kept")
		},
		"long lists": func(t *testing.T, b *bench) {
			t.Helper()
			for n := range maxPlaces/16_000 + 10 {
				list := slices.Repeat([]pdu.PMID{b.metric("a").Served.ID}, 16_000+n)
				b.pass(time.Millisecond)
				b.fetchRequest(&pmda.FetchRequest{Client: flooder, PMIDs: list, Profile: &pdu.Profile{}, Arrived: b.now})
			}
			assert.LessOrEqual(t, b.agent.contexts.places, maxPlaces)
		},
		"bytes of samples": func(t *testing.T, b *bench) {
			t.Helper()
			const most = 8000
			b.agent.contexts.maxBytes = most
			permutations(b, 500, slices.Clone(eight), func(list []string) {
				b.sample(1, eight...).Size = most / 8
				b.fetch(flooder, 0, list[0])
			})
			assert.LessOrEqual(t, b.agent.contexts.sampleBytes.Total, most)
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines := []string{"x = delta(up.count)", "y = 2 * delta(up.count)", `w = sum_sample(instant(up.count))`}
			for _, m := range eight {
				lines = append(lines, m+" = delta(up.count)")
			}
			b := newBench(t, conf(lines...))
			lists := [][]string{{"x", "w"}, {"y"}, {"x", "y"}}
			b.sample(100, "x", "y")
			for _, list := range lists {
				b.fetch(victim, 0, list...)
			}
			b.agent.sampler.RunDue(b.now) // wakeRun
			for range 3 {
				b.tick(7)
			}
			b.sample(101, eight...)
			flood(t, b)
			b.sample(5100, "x", "y")
			sets := b.fetch(victim, 0, lists[0]...)
			assert.Equal(t, "5000", number(b.metric("x"), sets[0]))
			assert.Equal(t, "21", number(b.metric("w"), sets[1]))
			assert.Equal(t, "10000", number(b.metric("y"), b.fetch(victim, 0, lists[1]...)[0]))
			assert.Equal(t, "10000", number(b.metric("y"), b.fetch(victim, 0, lists[2]...)[1]))
		})
	}
}

// A client that has lost a history is not told a change over another time than since its last fetch.
func TestFirstFetchAfterLostHistory(t *testing.T) {
	b := newBench(t, conf(
		"x = delta(up.count)", "r = rate(up.count)", "p = up.count", `w = sum_sample(instant(up.count))`,
		`s = sum_sample(instant(up.count), "5s")`,
	))
	all := []string{"x", "r", "p", "w", "s"}
	read := func(c pmda.Client) (values []string) {
		for i, set := range b.fetch(c, 0, all...) {
			values = append(values, number(b.metric(all[i]), set))
		}
		return values
	}
	b.agent.contexts.maxCount = 3
	b.agent.upstream.RetainNext(true, b.metric("x").Series, b.metric("r").Series)
	b.sample(100, all[:3]...)
	b.fetch(flooder, 0, all...)
	b.agent.sampler.RunDue(b.now) // wakeRun
	for range 10 {
		b.tick(1)
	}
	b.sample(150, all[:3]...)
	want := []string{"50", "5", "150", "10", "5"}
	assert.Equal(t, want, read(bystander), "a client that lost nothing")

	permutations(b, 10, slices.Clone(all), func(list []string) { b.fetch(flooder, 0, list[:4]...) })
	assert.Equal(t, []string{"no value", "no value", "150", "no value", "5"}, read(flooder)[:5])
	assert.Equal(t, want, read(bystander+1), "another client")
	for range 2 {
		b.tick(4)
	}
	b.sample(160, all[:3]...)
	assert.Equal(t, "10", read(flooder)[0], "its second fetch")

	b.agent.EndContext(flooder)
	assert.Equal(t, "60", read(flooder)[0], "the next client with its number")
}

// A PMID of a list that becomes a definition leaves the histories of the others alone.
func TestListWithNewDefinition(t *testing.T) {
	b := newBench(t, conf("x = delta(up.count)", "y = delta(up.count)"), withoutWarmStart)
	x, y := b.metric("x"), b.metric("y")
	fetch := func() (values []string) {
		b.pass(time.Second)
		for _, set := range b.fetchRequest(&pmda.FetchRequest{
			Client: victim, PMIDs: []pdu.PMID{y.Served.ID, x.Served.ID}, Profile: &pdu.Profile{}, Arrived: b.now,
		}) {
			values = append(values, number(x, set))
		}
		return values
	}
	b.serve(conf("x = delta(up.count)"))
	b.sample(100, "x")
	unknown := pdu.ErrPMID.Error()
	assert.Equal(t, []string{unknown, "no value"}, fetch())
	b.serve(conf("x = delta(up.count)", "y = delta(up.count)"))
	b.sample(107, "x", "y")
	assert.Equal(t, []string{"no value", "7"}, fetch())
	b.sample(110, "x", "y")
	assert.Equal(t, []string{"3", "3"}, fetch())
	assert.Equal(t, 2, b.agent.contexts.places)
	b.serve(conf("y = delta(up.count)"))
	b.sample(115, "y")
	assert.Equal(t, []string{"5", unknown}, fetch())
}

// Whoever comes after thousands of lists and look-ups has samples made for its next fetch like everybody else.
func TestFloodOfSchedules(t *testing.T) {
	eight := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	var lines []string
	for _, m := range eight {
		lines = append(lines, m+" = delta(up.count)")
	}
	b := newBench(t, conf(lines...))
	permutations(b, maxContexts-1, slices.Clone(eight), func(list []string) { b.fetch(flooder, 0, list...) })
	for n := range pmda.Client(200) {
		b.agent.recordLookup(bystander+1+n, b.metric("a"))
	}
	b.fetch(victim, 0, "a")
	assert.True(t, b.agent.contexts.ofClient[victim].contexts[0].timer.Active())
	b.agent.recordLookup(bystander, b.metric("a"))
	assert.True(t, b.agent.clients[bystander].lookups.timer.Active())
}

// Many look-ups of one client, or of many, cost the client with most of them its samples, and nobody else.
func TestFloodOfLookups(t *testing.T) {
	b := newBench(t, conf("a = up.count", "b = up.load"))
	b.agent.recordLookup(victim, b.metric("a"))
	total := func() (n int) {
		for _, cl := range b.agent.clients {
			n += len(cl.lookups.series)
		}
		return n
	}
	for n := range maxLookups + 1000 {
		c := flooder + pmda.Client(n%2)
		for _, m := range []string{"a", "b"} {
			b.agent.recordLookup(c, b.metric(m))
		}
		if n%1000 == 0 {
			assert.LessOrEqual(t, total(), maxLookups)
		}
	}
	assert.True(t, b.agent.clients[victim].lookups.timer.Active())
	for c := range b.agent.clients {
		b.agent.EndContext(c)
	}
	assert.Zero(t, b.agent.lookedUp)
}
