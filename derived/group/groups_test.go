package group

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/column"
	"pmdaderived/pdu"
)

var kinds = pdu.NewInDom(510, 64)

// when is a time of these tests, so many seconds after the first.
func when(seconds int64) time.Time { return time.Unix(20_000*24*60*60+seconds, 0) }

// grouper groups instances by keys that it is given.
type grouper struct {
	*testing.T
	*Groups
	last *Grouping
}

func newGrouper(t *testing.T) *grouper {
	t.Helper()
	return &grouper{T: t, Groups: NewGroups()}
}

// at groups at a time, and gives the numbers of the groups.
func (g *grouper) at(now time.Time, texts ...string) []pdu.Inst {
	g.Helper()
	g.SetTime(now)
	ids, values := make([]pdu.Inst, len(texts)), &column.Vector{Type: pdu.TypeString}
	for i, text := range texts {
		ids[i] = pdu.Inst(i)
		values.Blobs = append(values.Blobs, []byte(text))
	}
	values.Insts = column.NewInstSet(ids)
	g.last = g.Grouping(kinds, g.last, &Keys{values.Insts, []Key{{Kind: KeyMetric, Values: values}}})
	return g.last.Insts.IDs()
}

// members are the names that are listed.
func (g *grouper) members() (names []string) {
	for _, in := range g.Members(kinds) {
		names = append(names, in.Name)
	}
	return names
}

func TestGroupsAreListedWhileTheyMayBeServed(t *testing.T) {
	g := newGrouper(t)
	a := g.at(when(0), "a", "b")[0]
	g.at(when(60), "b", "c")
	assert.Equal(t, []string{"a", "b", "c"}, g.members())
	g.at(when(listedTime), "b", "c")
	assert.Equal(t, []string{"a", "b", "c"}, g.members())
	g.at(when(listedTime+1), "b", "c")
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
	g := newGrouper(t)
	others := column.NewNameTable(map[pdu.Inst]string{1: "a", 2: "b"}, nil)
	from := column.NewInstSet([]pdu.Inst{1, 2})
	var renamed *Grouping
	var at []int32
	for s := int64(0); s <= 3*listedTime; s += 10 {
		g.at(when(s), "a")
		renamed, at = g.Renamed(kinds, renamed, others, from, at)
		require.Equal(t, []int32{0, 1}, at)
		for i, id := range renamed.Insts.IDs() {
			found, _ := g.Find(kinds, id, "")
			require.Equal(t, []string{"a", "b"}[i], found.Name)
		}
		require.Equal(t, []string{"a", "b"}, g.members(), "after %d s", s)
	}
}

// A group is forgotten an hour after it was listed last.
func TestGroupsAreForgotten(t *testing.T) {
	g := newGrouper(t)
	g.at(when(0), "a", "b")
	g.at(when(keptTime), "a")
	_, ok := g.Find(kinds, pdu.NoInst, "b")
	assert.True(t, ok)
	g.at(when(keptTime+sweepInterval), "a")
	_, ok = g.Find(kinds, pdu.NoInst, "b")
	assert.False(t, ok)
	_, ok = g.Find(kinds, pdu.NoInst, "a")
	assert.True(t, ok)
}

// holder holds some groups.
type holder struct{ ids []pdu.Inst }

func (h *holder) HeldGroups(d pdu.InDom) []*column.InstSet {
	if d != kinds {
		return nil
	}
	return []*column.InstSet{nil, column.NewInstSet(h.ids)}
}

// A group that is held is not forgotten, and no other name gets its number, however long ago it was used and however
// many others there are. A holder in whose place there is another one holds nothing.
func TestGroupsThatAreHeld(t *testing.T) {
	g := newGrouper(t)
	held := &holder{ids: g.at(when(0), "costarring")}
	g.Hold(held)
	first := held.ids[0]
	keys := make([]string, maxGroups)
	for round := range int64(5) {
		for i := range keys {
			keys[i] = fmt.Sprint(round, " ", i)
		}
		g.at(when((round+1)*2*keptTime), keys...)
		one, ok := g.Find(kinds, first, "")
		require.True(t, ok)
		require.Equal(t, "costarring", one.Name)
	}
	assert.NotContains(t, g.members(), "costarring", "it is not listed")
	assert.Equal(t, []pdu.Inst{first + 1}, g.at(when(20*keptTime), "liquid"), "they have the same hash")

	g.Release(held)
	g.at(when(21*keptTime), "x")
	g.at(when(21*keptTime+sweepInterval), "x")
	_, ok := g.Find(kinds, first, "")
	assert.False(t, ok)
}

// Holders that hold every group of a key that changes all the time are told that these are too many. Once they hold
// none, they may hold those of the present again.
func TestTooManyGroupsAreHeld(t *testing.T) {
	g := newGrouper(t)
	held := &holder{}
	g.Hold(held)
	keys, told := make([]string, maxListed/10), 0
	for s := range int64(12) {
		for i := range keys {
			keys[i] = fmt.Sprint(s, " ", i)
		}
		held.ids = append(held.ids, g.at(when(s), keys...)...)
		require.LessOrEqual(t, len(g.domainGroups(kinds).byName), maxListed+2*len(keys))
		if g.TooMany(kinds) {
			held.ids = nil
			told++
			require.False(t, g.TooMany(kinds))
		}
	}
	assert.Positive(t, told)
}

// No group loses its number because the clock was set, or because no client has fetched for long.
func TestGroupsSurviveAClockThatIsSet(t *testing.T) {
	g := newGrouper(t)
	a := g.at(when(0), "a", "rare")[0]
	later := int64(400 * keptTime)
	assert.Equal(t, a, g.at(when(later), "a")[0])
	_, ok := g.Find(kinds, pdu.NoInst, "rare")
	assert.True(t, ok, "nothing is forgotten at once")
	g.at(when(0), "a")
	g.at(when(sweepInterval), "a")
	_, ok = g.Find(kinds, pdu.NoInst, "rare")
	assert.True(t, ok)
}

// A group that was used while the clock was years ahead is not listed for years, and is forgotten in its time.
func TestGroupsOfAClockThatWasAhead(t *testing.T) {
	g := newGrouper(t)
	g.at(when(0), "x")
	g.at(when(5000*keptTime), "ahead")
	g.at(when(0), "x")
	for s := range int64(listedTime + 2) {
		g.at(when(s), "x")
	}
	assert.Equal(t, []string{"x"}, g.members())
	for s := int64(0); s <= keptTime+2*sweepInterval; s += sweepInterval {
		g.at(when(s), "x")
	}
	_, ok := g.Find(kinds, pdu.NoInst, "ahead")
	assert.False(t, ok)
}

// Numbers that are known are kept, whatever comes first, also where names have one hash.
func TestGroupsThatAreRestored(t *testing.T) {
	require.Equal(t, hashOf("costarring"), hashOf("liquid"), "these names are known for it")
	g := newGrouper(t)
	first, second := g.at(when(0), "costarring")[0], g.at(when(1), "liquid")[0]
	assert.Equal(t, hashOf("liquid"), first)
	assert.Equal(t, first+1, second)

	again := newGrouper(t)
	again.Restore(slices.Values([]Group{
		{InDom: kinds, Name: "costarring", Inst: first},
		{InDom: kinds, Name: "liquid", Inst: second},
		{InDom: kinds, Name: "liquid", Inst: 7},
		{InDom: kinds, Name: "other", Inst: first},
	}))
	assert.Equal(t, []pdu.Inst{second}, again.at(when(1000), "liquid"))
	assert.Equal(t, []string{"liquid"}, again.members(), "others were not there lately")
	assert.Equal(t, []pdu.Inst{first}, again.at(when(1001), "costarring"))
}

// A hundred thousand names over time, of which one is new in each sample, do not make more groups than the limit.
func TestGroupsAreBounded(t *testing.T) {
	g := newGrouper(t)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	number := g.at(when(0), "stays")[0]
	for i := range int64(100_000) {
		assert.Equal(t, number, g.at(when(i*10), "stays", fmt.Sprint("key ", i))[1])
	}
	assert.LessOrEqual(t, len(g.domainGroups(kinds).byName), maxGroups)
	assert.LessOrEqual(t, len(g.members()), 15)
	after := heap()
	assert.Less(t, after-min(before, after), uint64(16<<20), "bytes")
}

// All groups in use are remembered, even if they exceed the limit.
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
	g.at(when(1000+sweepInterval), keys[:maxGroups]...)
	assert.LessOrEqual(t, len(g.domainGroups(kinds).byName), 2*maxGroups+1)
}

// If each sample has new keys for all instances, the latest groups are listed, within the limit.
func TestFarTooManyGroups(t *testing.T) {
	g := newGrouper(t)
	const each = maxListed / 20
	keys := make([]string, each)
	var last []pdu.Inst
	for s := range int64(2 * listedTime) {
		for i := range keys {
			keys[i] = fmt.Sprintf("%d at %d", i, s)
		}
		last = g.at(when(s), keys...)
		require.LessOrEqual(t, len(g.domainGroups(kinds).byName), maxListed*5/4)
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
		"root": "root", "www data": "www_data",
		"a\tb\nc\u00a0d": "a_b_c_d", "\x01\x1b[m": "??[m", "\xff\xfe": "??", "ü": "ü", "a\u2028b": "a_b",
		"\u202e": "?", "\ufffd": "?", "\\": "\\", " ": "_",
	} {
		assert.Equal(t, want, groupName(key), "%q", key)
	}
	long := strings.Repeat("ü", maxGroupName)
	one, other := groupName(long), groupName(long+"x")
	for _, name := range []string{one, other} {
		assert.LessOrEqual(t, len(name), maxGroupName)
		assert.Greater(t, len(name), maxGroupName-4)
		assert.True(t, strings.HasPrefix(name, "üüü"))
	}
	assert.NotEqual(t, one, other, "the end tells them apart")
	assert.Equal(t, strings.Repeat("x", maxGroupName), groupName(strings.Repeat("x", maxGroupName)))
}
