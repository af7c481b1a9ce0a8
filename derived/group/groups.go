package group

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"pmdaderived/derived/column"
	"pmdaderived/pdu"
)

// Domain identifies an instance domain of groups: those of the instances of domain Of, each with labels of the names in
// Label, which commas separate: one for each key. An aggregate with by (KEY) has such a domain.
type Domain struct {
	Of    pdu.InDom
	Label string
}

// Labels returns the names of the labels, in the order of the keys.
func (d Domain) Labels() []string { return strings.Split(d.Label, ",") }

// Meets reports whether groups of two domains can have the same names and mean the same by them.
func (d Domain) Meets(other Domain) bool {
	ours, theirs := d.Labels(), other.Labels()
	if len(ours) != len(theirs) {
		return false
	}
	inOrder := slices.Equal(ours, theirs)
	slices.Sort(ours)
	slices.Sort(theirs)
	return inOrder || !slices.Equal(ours, theirs)
}

// Times and limits of Groups.
const (
	// listedTime is how long a group is listed after its last use: a sample with it may still be served.
	listedTime = 120 // s

	// keptTime is how long a group is remembered after its last use: an hour after it was listed.
	keptTime = listedTime + 60*60

	// maxGroups is the number of groups of a domain above which those that are not listed are forgotten.
	maxGroups = 10_000

	// maxListed is the number of groups of a domain above which all but those of the newest sample and those that are
	// held are forgotten. A key that is different in each sample reaches it. Above it, TooMany asks to hold none.
	maxListed = 50_000

	sweepInterval = 10 * 60
	maxGroupings  = 16 // groupings that a domain remembers for steps with the same keys
)

// Groups numbers the groups of all domains, so that a name has one number in all evaluations that share the Groups. It
// is not safe for concurrent use, nor are the evaluations that share it.
//
//	a group is    from                          until
//	numbered      its first use                 it is forgotten
//	listed        a use in an evaluation        two minutes after the last use
//	forgotten     an hour later; or its domain has too many groups (maxGroups, maxListed), and all
//	              others were used later or are held
//
// A group that a Holder holds is in use, however long ago an evaluation used it: it is not forgotten.
//
// A number is a hash of the name. So a forgotten group gets its number again, unless another name with that hash was
// first.
type Groups struct {
	domains map[pdu.InDom]*domainGroups
	holders map[Holder]bool
	now     int64 // seconds since 1970, set by SetTime
}

// Holder keeps values of groups by their numbers, from evaluations that share the Groups.
type Holder interface {
	// HeldGroups returns the groups of a domain of which it has values.
	HeldGroups(d pdu.InDom) []*column.InstSet
}

// Hold makes a holder known.
func (g *Groups) Hold(by Holder) { g.holders[by] = true }

// Release forgets a holder, which holds nothing any more.
func (g *Groups) Release(by Holder) { delete(g.holders, by) }

// Group is a group and its number.
type Group struct {
	InDom pdu.InDom
	Name  string
	Inst  pdu.Inst
}

// NewGroups returns Groups without a group.
func NewGroups() *Groups {
	return &Groups{domains: make(map[pdu.InDom]*domainGroups), holders: make(map[Holder]bool)}
}

// Restore adds groups with their numbers. A group whose name or number g has already is ignored.
func (g *Groups) Restore(all iter.Seq[Group]) {
	for one := range all {
		n := g.domainGroups(one.InDom)
		if n.byName[one.Name] == nil && n.byInst[one.Inst] == nil {
			made := &group{name: one.Name, inst: one.Inst, seen: g.now}
			n.byName[one.Name], n.byInst[one.Inst] = made, made
		}
	}
}

// SetTime sets the time, and from time to time forgets groups that have not been used for long. After a long pause,
// or if the clock was set back, it waits for another sweepInterval: perhaps no client asked for the groups during the
// pause.
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
			return // other domains at the next times
		}
	}
}

// domainGroups has the groups of one domain.
type domainGroups struct {
	all       *Groups
	inDom     pdu.InDom
	byName    map[string]*group
	byInst    map[pdu.Inst]*group
	table     *column.NameTable // of all groups; nil: to be made
	sorted    []*group          // all groups by name; nil: to be made
	name      []byte            // memory for a name of several keys
	recent    []*Grouping       // the groupings that it remembers, the last used first
	rounds    uint32            // the number of groupings made so far, and of searches for held groups
	forgotten uint32            // how often a group was forgotten: groupings from before are invalid
	limit     int               // the number of groups above which forgetExcess is called
	lastSweep int64
}

// group is one group of a domain.
type group struct {
	name string
	inst pdu.Inst
	seen int64 // s, the last use; a use by a remembered grouping is only in Grouping.used: see updateSeen

	round uint32 // the last grouping, by its round, that it has a member in; or the last search for held groups that found it
	index int32  // among the groups of that grouping
}

// domainGroups returns the groups of a domain.
func (g *Groups) domainGroups(d pdu.InDom) *domainGroups {
	known := g.domains[d]
	if known == nil {
		known = &domainGroups{
			all: g, inDom: d, limit: maxGroups, lastSweep: g.now,
			byName: make(map[string]*group), byInst: make(map[pdu.Inst]*group),
		}
		g.domains[d] = known
	}
	return known
}

// updateSeen sets the last use of the groups of remembered groupings.
func (n *domainGroups) updateSeen() {
	for _, g := range n.recent {
		g.updateSeen()
	}
}

// resetTimes moves times that are later than now to now: the clock was set back, and such groups would not be forgotten
// until it has caught up. If the clock has jumped ahead, only lastSweep changes: groups that are in use are used again
// before the next sweep.
func (n *domainGroups) resetTimes() {
	n.lastSweep = n.all.now
	for _, g := range n.recent {
		g.used = min(g.used, n.all.now)
	}
	for _, one := range n.byName {
		one.seen = min(one.seen, n.all.now)
	}
}

// markHeld sets the round of the groups that holders hold to a new one.
func (n *domainGroups) markHeld() {
	n.rounds++
	for by := range n.all.holders {
		for _, held := range by.HeldGroups(n.inDom) {
			for _, id := range held.IDs() {
				if one := n.byInst[id]; one != nil {
					one.round = n.rounds
				}
			}
		}
	}
}

// forgetUnused forgets the groups that were last used before keptTime and are not held.
func (n *domainGroups) forgetUnused() {
	n.lastSweep = n.all.now
	n.updateSeen()
	n.markHeld()
	for _, one := range n.byName {
		if n.all.now-one.seen > keptTime && one.round != n.rounds {
			n.forget(one)
		}
	}
}

// forgetExcess forgets the groups with the oldest last use that are neither listed nor held. If there are more than
// maxListed groups, it also forgets listed ones, but none of the newest sample.
func (n *domainGroups) forgetExcess() {
	n.updateSeen()
	n.markHeld()
	all := slices.SortedFunc(maps.Values(n.byName), func(x, y *group) int { return cmp.Compare(x.seen, y.seen) })
	kept, since := maxGroups*3/4, n.all.now-listedTime
	if len(all) >= maxListed {
		kept, since = maxListed/2, n.all.now
	}
	for _, one := range all[:max(0, len(all)-kept)] {
		if one.seen >= since {
			break
		}
		if one.round != n.rounds {
			n.forget(one)
		}
	}
	n.limit = max(maxGroups, len(n.byName)*5/4)
}

// TooMany reports whether a domain has so many groups that a Holder must not go on to hold those of the past.
func (g *Groups) TooMany(d pdu.InDom) bool {
	n := g.domainGroups(d)
	if len(n.byName) > maxListed {
		n.forgetExcess()
	}
	return len(n.byName) > maxListed
}

// listed reports whether a sample with the group may still be served.
func (n *domainGroups) listed(one *group) bool { return n.all.now-one.seen <= listedTime }

func (n *domainGroups) forget(one *group) {
	delete(n.byName, one.name)
	delete(n.byInst, one.inst)
	n.forgotten++
	n.table, n.sorted = nil, nil
}

// Members returns the listed groups of a domain, by name: samples with them may still be served.
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

// MemberBytes returns the length of the names of all Members.
func (g *Groups) MemberBytes(d pdu.InDom) (sum int) {
	n := g.domainGroups(d)
	n.updateSeen()
	for _, one := range n.byName {
		if n.listed(one) {
			sum += len(one.name)
		}
	}
	return sum
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

// Table returns the names of all groups of a domain. A name selects its group.
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

// groupOfKeys returns the group of an instance by its keys. It is nil if one is empty.
func (n *domainGroups) groupOfKeys(keys []*Texts, at int) *group {
	n.name = n.name[:0]
	for i, texts := range keys {
		key := texts.Of[at]
		switch {
		case key == "":
			return nil
		case len(keys) == 1 && n.byName[key] != nil:
			return n.markSeen(n.byName[key])
		case len(keys) == 1:
			return n.groupNamed(groupName(key))
		case i > 0:
			n.name = append(n.name, ':')
		}
		n.name = appendKey(n.name, key, (maxGroupName+1-len(keys))/len(keys))
	}
	if known := n.byName[string(n.name)]; known != nil { // this look-up does not allocate
		return n.markSeen(known)
	}
	return n.groupNamed(string(n.name))
}

// markSeen sets the last use of a group to now.
func (n *domainGroups) markSeen(one *group) *group {
	one.seen = max(one.seen, n.all.now)
	return one
}

// groupNamed returns the group of a name. The number of a new group is a hash of the name, which needs no memory to be
// the same again, or the next free number.
func (n *domainGroups) groupNamed(name string) *group {
	if known := n.byName[name]; known != nil {
		return n.markSeen(known)
	}
	if len(n.byName) >= n.limit {
		n.forgetExcess()
	}
	made := &group{name: strings.Clone(name), inst: hashOf(name), seen: n.all.now} // name may be a part of a long text
	for n.byInst[made.inst] != nil {
		made.inst = (made.inst + 1) & lastInst
	}
	n.byName[made.name], n.byInst[made.inst] = made, made
	n.table, n.sorted = nil, nil
	return made
}

// lastInst is the largest number of an instance.
const lastInst = 1<<31 - 1

// hashOf returns a number for a name: FNV-1a without its sign.
func hashOf(name string) pdu.Inst {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return pdu.Inst(h & lastInst)
}

// byGroupName compares names: it is the order of the values of groups.
func byGroupName(x, y *group) int { return strings.Compare(x.name, y.name) }

// markUsed sets the last use of g, and so of its groups. The domain remembers g for steps with the same keys, in place
// of the grouping that it has remembered for longest.
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

// updateSeen sets the last use of the groups of g.
func (g *Grouping) updateSeen() {
	for _, one := range g.groups {
		one.seen = max(one.seen, g.used)
	}
}
