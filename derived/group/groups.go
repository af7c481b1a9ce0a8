package group

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pmdaderived/derived/column"
	"pmdaderived/pdu"
)

// Domain is what an instance domain of ours is for: the groups of the instances of a domain, each with a label of
// this name. An aggregate with by (KEY) has one.
type Domain struct {
	Of    pdu.InDom
	Label string
}

// What Groups keeps.
const (
	// A group is listed for a while after it was evaluated last: its sample may still be served.
	listedTime = 120 // s

	// A group that has not been listed for an hour is forgotten.
	keptTime = listedTime + 60*60

	// maxGroups is how many groups of a domain are remembered that are not listed.
	maxGroups = 10_000

	// maxListed is how many are listed, but for those of the newest sample: a key that is another one each time has so many soon.
	maxListed = 50_000

	sweepInterval = 10 * 60
	maxGroupings  = 16 // groupings of a domain that are remembered for whoever needs the same
)

// Groups numbers the groups of all domains, so that a name has one number whatever it is computed by. It belongs to one
// goroutine, as do the evaluations that use it.
//
//	a group is      from                          until
//	numbered        it is met first               it is forgotten
//	listed          it is in an evaluation        two minutes later
//	forgotten       an hour after it was listed last, or when there are more than maxGroups, or listed ones than maxListed, and it
//	                was not used for longest
//
// A number is a hash of the name, so what was forgotten gets it again, unless another name with that hash has come first.
type Groups struct {
	domains map[pdu.InDom]*domainGroups
	now     int64 // seconds since 1970, by Begin
}

// Group is a group and its number.
type Group struct {
	InDom pdu.InDom
	Name  string
	Inst  pdu.Inst
}

// NewGroups makes one that knows no group.
func NewGroups() *Groups { return &Groups{domains: make(map[pdu.InDom]*domainGroups)} }

// Restore makes g know groups. Of those with one number or name the first counts.
func (g *Groups) Restore(all iter.Seq[Group]) {
	for one := range all {
		n := g.domainGroups(one.InDom)
		if n.byName[one.Name] == nil && n.byInst[one.Inst] == nil {
			made := &group{name: one.Name, inst: one.Inst, seen: g.now}
			n.byName[one.Name], n.byInst[one.Inst] = made, made
		}
	}
}

// SetTime says what time it is. What was not used for long is forgotten now and then; but not at once where long has passed since the
// time before, as nobody may have asked meanwhile, or the clock was set.
func (g *Groups) SetTime(now time.Time) {
	before := g.now
	if g.now = now.Unix(); g.now == before {
		return
	}
	if g.now < before || g.now-before > keptTime {
		for _, n := range g.domains {
			n.resetTimes()
		}
	}
	for _, n := range g.domains {
		if g.now-n.lastSweep >= sweepInterval {
			n.forgetUnused()
			return // another one next time
		}
	}
}

// domainGroups is the groups of one domain.
type domainGroups struct {
	all       *Groups
	inDom     pdu.InDom
	byName    map[string]*group
	byInst    map[pdu.Inst]*group
	table     *column.NameTable // of all; nil: to be made
	sorted    []*group          // all by name; nil: to be made
	recent    []*Grouping       // the last one that was made or met again first
	rounds    uint32            // groupings made
	forgotten uint32            // times that groups have been forgotten
	limit     int               // groups before some are forgotten
	lastSweep int64
}

// group is one group of a domain.
type group struct {
	name string
	inst pdu.Inst
	seen int64 // s, at least when it was used last but for its groupings

	round uint32 // of the grouping that is being made in which it has a member
	index int32  // in that
}

// domainGroups is what is known of the groups of a domain.
func (g *Groups) domainGroups(d pdu.InDom) *domainGroups {
	known := g.domains[d]
	if known == nil {
		known = &domainGroups{
			all: g, inDom: d, byName: make(map[string]*group), byInst: make(map[pdu.Inst]*group), limit: maxGroups, lastSweep: g.now,
		}
		g.domains[d] = known
	}
	return known
}

// updateSeen says of the members of remembered groupings when they were used.
func (n *domainGroups) updateSeen() {
	for _, g := range n.recent {
		g.updateSeen()
	}
}

// resetTimes begins again to count the time, with nothing that was used later than now.
func (n *domainGroups) resetTimes() {
	n.lastSweep = n.all.now
	for _, g := range n.recent {
		g.used = min(g.used, n.all.now)
	}
	for _, one := range n.byName {
		one.seen = min(one.seen, n.all.now)
	}
}

// forgetUnused forgets the groups that were not used for long.
func (n *domainGroups) forgetUnused() {
	n.lastSweep = n.all.now
	n.updateSeen()
	for _, one := range n.byName {
		if n.all.now-one.seen > keptTime {
			n.forget(one)
		}
	}
}

// forgetExcess forgets the groups that were not used for longest: such as are not listed, and where there are far too many of those, whatever is
// not of now.
func (n *domainGroups) forgetExcess() {
	n.updateSeen()
	all := slices.SortedFunc(maps.Values(n.byName), func(x, y *group) int { return cmp.Compare(x.seen, y.seen) })
	kept, since := maxGroups*3/4, n.all.now-listedTime
	if len(all) >= maxListed {
		kept, since = maxListed/2, n.all.now
	}
	for _, one := range all[:max(0, len(all)-kept)] {
		if one.seen >= since {
			break
		}
		n.forget(one)
	}
	n.limit = max(maxGroups, len(n.byName)*5/4)
}

// listed reports whether a sample with the group may still be served.
func (n *domainGroups) listed(one *group) bool { return n.all.now-one.seen <= listedTime }

func (n *domainGroups) forget(one *group) {
	delete(n.byName, one.name)
	delete(n.byInst, one.inst)
	n.forgotten++
	n.table, n.sorted = nil, nil
}

// Members are the groups of a domain that samples have which may still be served, by name.
func (g *Groups) Members(d pdu.InDom) []pdu.Instance {
	n := g.domainGroups(d)
	n.updateSeen()
	if n.sorted == nil {
		n.sorted = slices.SortedFunc(maps.Values(n.byName), byGroupName)
	}
	var all []pdu.Instance
	for _, one := range n.sorted {
		if n.listed(one) {
			all = append(all, pdu.Instance{ID: one.inst, Name: one.name})
		}
	}
	return all
}

// Find finds a group by its name, or, if that is empty, by its number. It need not be listed.
func (g *Groups) Find(d pdu.InDom, id pdu.Inst, name string) (pdu.Instance, bool) {
	n := g.domainGroups(d)
	one := n.byInst[id]
	if name != "" {
		one = n.byName[name]
	}
	if one == nil {
		return pdu.Instance{}, false
	}
	return pdu.Instance{ID: one.inst, Name: one.name}, true
}

// Table is the names of all groups of a domain, what their names select, and their labels, which are these names.
func (g *Groups) Table(d pdu.InDom) *column.NameTable {
	n := g.domainGroups(d)
	if n.table == nil {
		names, selectors := make(map[pdu.Inst]string, len(n.byInst)), make(map[string]pdu.Inst, len(n.byInst))
		for id, one := range n.byInst {
			names[id], selectors[one.name] = one.name, id
		}
		n.table = column.NewNameTable(names, selectors)
	}
	return n.table
}

// groupOfKey is the group of a key, nil for the empty one.
func (n *domainGroups) groupOfKey(key string) *group {
	if key == "" {
		return nil
	}
	if known := n.byName[key]; known != nil {
		return n.markSeen(known)
	}
	return n.groupNamed(GroupName(key))
}

// markSeen notes that a group is used now.
func (n *domainGroups) markSeen(one *group) *group {
	one.seen = max(one.seen, n.all.now)
	return one
}

// groupNamed is the group of a name. Its number is a hash of the name, so that it is the same without anything having been
// remembered; or the next one that is free.
func (n *domainGroups) groupNamed(name string) *group {
	if known := n.byName[name]; known != nil {
		return n.markSeen(known)
	}
	if len(n.byName) >= n.limit {
		n.forgetExcess()
	}
	made := &group{name: strings.Clone(name), inst: hashOf(name), seen: n.all.now} // it may be a part of a long one
	for n.byInst[made.inst] != nil {
		made.inst = (made.inst + 1) & lastInst
	}
	n.byName[made.name], n.byInst[made.inst] = made, made
	n.table, n.sorted = nil, nil
	return made
}

// lastInst is the largest number of an instance.
const lastInst = 1<<31 - 1

// hashOf is a number for a name: FNV-1a without its sign.
func hashOf(name string) pdu.Inst {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return pdu.Inst(h & lastInst)
}

// maxGroupName is how long the name of a group can be, in bytes.
const maxGroupName = 1024

// GroupName makes a key the name of a group. PCP wants names that are unique up to their first blank, so that a blank
// becomes "_". What no terminal shows and what is no UTF-8 becomes "?". Of a name that is too long the end is a number in its place.
func GroupName(key string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return '_'
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, key)
	if len(name) <= maxGroupName {
		return name
	}
	const digits = "0123456789abcdef"
	end := []byte("#........")
	for i, h := len(end)-1, uint32(hashOf(name)); i > 0; i, h = i-1, h>>4 {
		end[i] = digits[h&15]
	}
	return strings.ToValidUTF8(name[:maxGroupName-len(end)], "") + string(end)
}

// byGroupName is the order in which values of groups are served.
func byGroupName(x, y *group) int { return strings.Compare(x.name, y.name) }

// markUsed notes that what is served has the groups of g, which its domain remembers for whoever needs the same, in place of the one that was
// met longest ago.
func (g *Grouping) markUsed() {
	n := g.domain
	if g.used = n.all.now; g.recent {
		return
	}
	if len(n.recent) == maxGroupings {
		last := n.recent[maxGroupings-1]
		last.updateSeen()
		last.recent = false
		n.recent = n.recent[:maxGroupings-1]
	}
	g.recent = true
	n.recent = slices.Insert(n.recent, 0, g)
}

// updateSeen says of the groups when they were used.
func (g *Grouping) updateSeen() {
	for _, one := range g.groups {
		one.seen = max(one.seen, g.used)
	}
}
