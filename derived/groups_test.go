package derived

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

var kinds = pdu.NewInDom(groupsOf, firstGroupSerial)

// when is a time of these tests, so many seconds after the first.
func when(seconds int64) time.Time { return time.Unix(20_000*day+seconds, 0) }

// grouper evaluates sum(x) by (some.texts) for keys that it is given.
type grouper struct {
	*testing.T
	*Groups
	eval   *Evaluation
	metric *Metric
}

func newGrouper(t *testing.T) *grouper {
	t.Helper()
	return grouperOf(t, "sum(x) by (some.texts)")
}

func grouperOf(t *testing.T, expr string) *grouper {
	t.Helper()
	set, m := only(t, expr, groupCatalog())
	require.Nil(t, m.Err)
	require.Equal(t, kinds, m.Desc.InDom)
	g := &grouper{t, NewGroups(), set.NewEvaluation(), m}
	g.Restore(func(func(Group) bool) {})
	g.eval.Number(g.Groups)
	return g
}

// at evaluates at a time, and gives the numbers of the groups.
func (g *grouper) at(now time.Time, keys ...string) []pdu.Inst {
	g.Helper()
	g.Begin(now)
	ids, x, texts := make([]pdu.Inst, len(keys)), &Vector{Type: pdu.TypeDouble}, &Vector{Type: pdu.TypeString}
	for i, key := range keys {
		ids[i] = pdu.Inst(i)
		x.Bits, texts.Blobs = append(x.Bits, fromDouble(1)), append(texts.Blobs, []byte(key))
	}
	x.Insts = NewInstSet(ids)
	texts.Insts = x.Insts
	cat := groupCatalog()
	g.eval.Reset(&moment{at: now, values: map[pdu.PMID]*Vector{cat["x"].PMID: x, cat["some.texts"].PMID: texts}})
	v := g.eval.Value(g.metric)
	require.Zero(g, v.Code)
	return v.Insts.IDs()
}

// members are the names that are listed.
func (g *grouper) members() (names []string) {
	for _, in := range g.Members(kinds) {
		names = append(names, in.Name)
	}
	return names
}

// noted are the changes since they were asked for last, as text.
func (g *grouper) noted() (all []string) {
	for _, c := range g.Changes() {
		all = append(all, fmt.Sprintf("%s %d %t", c.Name, c.Day, c.Gone))
	}
	slices.Sort(all)
	return all
}

func TestGroupsAreListedWhileTheyMayBeServed(t *testing.T) {
	g := newGrouper(t)
	a := g.at(when(0), "a", "b")[0]
	g.at(when(60), "b", "c")
	assert.Equal(t, []string{"a", "b", "c"}, g.members())
	g.at(when(groupServed), "b", "c")
	assert.Equal(t, []string{"a", "b", "c"}, g.members())
	g.at(when(groupServed+1), "b", "c")
	assert.Equal(t, []string{"b", "c"}, g.members())
	found, ok := g.Find(kinds, pdu.NoInst, "a")
	assert.Equal(t, pdu.Instance{ID: a, Name: "a"}, found)
	assert.True(t, ok)
	found, ok = g.Find(kinds, a, "")
	assert.Equal(t, "a", found.Name)
	assert.True(t, ok)
	_, ok = g.Find(kinds, a+1, "")
	assert.False(t, ok)
}

// Groups that only the names of others have are listed as well: there is a value for them in this domain.
func TestGroupsThatAreRenamedAreListed(t *testing.T) {
	g := grouperOf(t, "default(sum(x) by (group=some.texts), sum(y) by (other=some.texts))")
	cat := groupCatalog()
	two, one := NewInstSet([]pdu.Inst{1, 2}), NewInstSet([]pdu.Inst{1})
	x := &Vector{Type: pdu.TypeDouble, Insts: one, Bits: []uint64{fromDouble(1)}}
	y := &Vector{Type: pdu.TypeDouble, Insts: two, Bits: []uint64{fromDouble(2), fromDouble(3)}}
	texts := &Vector{Type: pdu.TypeString, Insts: two, Blobs: [][]byte{[]byte("a"), []byte("b")}}
	for s := int64(0); s <= 3*groupServed; s += 10 {
		g.Begin(when(s))
		g.eval.Reset(&moment{at: when(s), values: map[pdu.PMID]*Vector{cat["x"].PMID: x, cat["y"].PMID: y, cat["some.texts"].PMID: texts}})
		v := g.eval.Value(g.metric)
		require.Equal(t, []uint64{fromDouble(1), fromDouble(3)}, v.Bits)
		for i, id := range v.Insts.IDs() {
			found, _ := g.Find(kinds, id, "")
			require.Equal(t, []string{"a", "b"}[i], found.Name)
		}
		require.Equal(t, []string{"a", "b"}, g.members(), "after %d s", s)
	}
}

// Who keeps groups is told what is new, once a day what is in use, and what is forgotten.
func TestGroupsThatAreKept(t *testing.T) {
	g := newGrouper(t)
	g.at(when(0), "a", "b")
	assert.Equal(t, []string{"a 20000 false", "b 20000 false"}, g.noted())
	g.at(when(100), "b", "a")
	assert.Empty(t, g.noted(), "nothing is new")
	for hour := int64(1); hour <= 24*32; hour++ {
		g.at(when(hour*3600), "a")
		if hour == 25 {
			assert.Contains(t, g.noted(), "a 20001 false")
		}
	}
	assert.Contains(t, g.noted(), "b 20000 true")
	_, ok := g.Find(kinds, pdu.NoInst, "b")
	assert.False(t, ok)
	_, ok = g.Find(kinds, pdu.NoInst, "a")
	assert.True(t, ok)

	fresh := newGrouper(t)
	fresh.at(when(0), "x")
	fresh.forgetAll(t)
	assert.Empty(t, fresh.noted(), "nobody was told of it")
}

// forgetAll has everything forgotten.
func (g *grouper) forgetAll(t *testing.T) {
	t.Helper()
	for _, one := range g.domains[kinds].byName {
		g.domains[kinds].forget(one)
	}
}

// A clock that is wrong for a while, or an agent that nobody asks for a month, costs nobody his numbers.
func TestGroupsSurviveAClockThatIsSet(t *testing.T) {
	g := newGrouper(t)
	g.Restore(slices.Values([]Group{{InDom: kinds, Name: "rare", Inst: 1, Day: 20_000}}))
	a := g.at(when(0), "a")
	later := int64(400 * day)
	assert.Equal(t, a, g.at(when(later), "a"))
	assert.Equal(t, []string{"a 20000 false"}, g.noted(), "nothing is forgotten")
	g.at(when(0), "a", "rare")
	for hour := range int64(3) {
		g.at(when(hour*3600), "a")
	}
	_, ok := g.Find(kinds, 1, "")
	assert.True(t, ok)
}

// What was used in a future that is none is not listed for years, and is forgotten in its time, before a start and after.
func TestGroupsOfAClockThatWasAhead(t *testing.T) {
	g := newGrouper(t)
	g.Restore(slices.Values([]Group{{InDom: kinds, Name: "kept", Inst: 1, Day: 30_000}}))
	g.at(when(0), "x")
	g.at(when(5000*day), "ahead")
	g.noted()
	g.at(when(0), "x")
	for s := range int64(groupServed + 2) {
		g.at(when(s), "x")
	}
	assert.Equal(t, []string{"x"}, g.members())
	for hour := range int64(24 * 33) {
		g.at(when(hour*3600), "x")
	}
	assert.Subset(t, g.noted(), []string{"ahead 20000 true", "kept 20000 true"})
}

// Numbers are those of before, whatever comes first, also where names have one hash.
func TestGroupsThatAreRestored(t *testing.T) {
	require.Equal(t, hashOf("costarring"), hashOf("liquid"), "these names are known for it")
	g := newGrouper(t)
	first, second := g.at(when(0), "costarring")[0], g.at(when(1), "liquid")[0]
	assert.Equal(t, hashOf("liquid"), first)
	assert.Equal(t, first+1, second)
	kept := g.Changes()

	again := newGrouper(t)
	again.Restore(slices.Values(append(kept, Group{InDom: kinds, Name: "liquid", Inst: 7}, Group{InDom: kinds, Name: "other", Inst: first})))
	assert.Equal(t, []pdu.Inst{second}, again.at(when(1000), "liquid"))
	assert.Equal(t, []string{"liquid"}, again.members(), "others were not there lately")
	assert.Equal(t, []pdu.Inst{first}, again.at(when(1001), "costarring"))
	assert.Empty(t, again.noted(), "what was kept need not be told again that day")
}

// Of a hundred thousand names over time, and of one that is new at each sample, so many are remembered as a domain may have.
func TestGroupsAreBounded(t *testing.T) {
	g := newGrouper(t)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	kept := map[string]bool{}
	number := g.at(when(0), "stays")[0]
	for i := range int64(100_000) {
		assert.Equal(t, number, g.at(when(i*10), "stays", fmt.Sprint("key ", i))[1])
		for _, c := range g.Changes() {
			if kept[c.Name] = true; c.Gone {
				delete(kept, c.Name)
			}
		}
	}
	assert.LessOrEqual(t, len(g.domain(kinds).byName), maxGroups)
	assert.Len(t, kept, len(g.domain(kinds).byName), "who keeps them knows the same")
	assert.LessOrEqual(t, len(g.members()), 15)
	after := heap()
	assert.Less(t, after-min(before, after), uint64(16<<20), "bytes")
}

// As many as are in use are remembered, however many that are.
func TestMoreGroupsInUseThanAreRemembered(t *testing.T) {
	g := newGrouper(t)
	keys := make([]string, 2*maxGroups)
	for i := range keys {
		keys[i] = fmt.Sprintf("key%06d", i)
	}
	numbers := g.at(when(0), keys...)
	assert.Equal(t, numbers, g.at(when(5), keys...))
	slices.Reverse(keys)
	assert.Equal(t, numbers, g.at(when(10), keys...), "groups are in the order of their names")
	g.at(when(1000), "x")
	g.at(when(1000+sweepGap), keys[:maxGroups]...)
	assert.LessOrEqual(t, len(g.domain(kinds).byName), 2*maxGroups+1)
}

// A key that is another one at each sample for each instance: the latest are listed, and no more than there may be.
func TestFarTooManyGroups(t *testing.T) {
	g := newGrouper(t)
	const each = maxListed / 20
	keys := make([]string, each)
	var last []pdu.Inst
	for s := range int64(2 * groupServed) {
		for i := range keys {
			keys[i] = fmt.Sprintf("%d at %d", i, s)
		}
		last = g.at(when(s), keys...)
		require.LessOrEqual(t, len(g.domain(kinds).byName), maxListed*5/4)
	}
	listed := map[pdu.Inst]bool{}
	for _, in := range g.Members(kinds) {
		listed[in.ID] = true
	}
	for _, id := range last {
		require.True(t, listed[id], "what is served now is listed")
	}
	assert.GreaterOrEqual(t, len(listed), maxListed/2)
}

func TestGroupNames(t *testing.T) {
	for key, want := range map[string]string{
		"root": "root", "www data": "www_data", "a\tb\nc\u00a0d": "a_b_c_d", "\x01\x1b[m": "??[m", "\xff\xfe": "??", "ü": "ü", "a\u2028b": "a_b",
		"\u202e": "?", "\ufffd": "?", "\\": "\\", " ": "_",
	} {
		assert.Equal(t, want, GroupName(key), "%q", key)
	}
	long := strings.Repeat("ü", maxGroupName)
	one, other := GroupName(long), GroupName(long+"x")
	for _, name := range []string{one, other} {
		assert.LessOrEqual(t, len(name), maxGroupName)
		assert.Greater(t, len(name), maxGroupName-4)
		assert.True(t, strings.HasPrefix(name, "üüü"))
	}
	assert.NotEqual(t, one, other, "the end tells them apart")
	assert.Equal(t, strings.Repeat("x", maxGroupName), GroupName(strings.Repeat("x", maxGroupName)))
}
