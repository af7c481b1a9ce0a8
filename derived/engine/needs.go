package engine

import (
	"cmp"
	"slices"

	"pmdaderived/derived/check"
	"pmdaderived/derived/group"
	"pmdaderived/pdu"
)

// Needs lists what a sample must contain so that a metric can be computed from it. Every list is sorted and without
// repetition.
type Needs struct {
	Operands []pdu.PMID // metrics whose values it needs
	History  int        // number of earlier samples, 0 without delta(), rate() and histograms in windows
	HasDelta bool       // there is a delta() that is not within a rate(): the values of successive samples add up

	// The other lists are about instance domains.
	Names     []pdu.InDom // external names of the instances, for matchinst() and functions over time
	Members   []pdu.InDom // list of instances, for constants over a domain
	Selectors []Selector  // instances by their names, for x[name]
	Labels    []Selector  // labels of instances, for by (label(NAME))
	Groups    []pdu.InDom // domains of groups that the metric makes: no need
	Windows   []uint32    // positions in [Set.Windows] of the windows whose results it needs, those within latch() too

	Divides bool // there is a division
	Clock   bool // there is a now(): without operands, a sample of the time without values
}

// Selector is an instance of a domain by its name, or a label of its instances.
type Selector struct {
	InDom pdu.InDom
	Name  string
}

func (s Selector) compare(t Selector) int {
	return cmp.Or(cmp.Compare(s.InDom, t.InDom), cmp.Compare(s.Name, t.Name))
}

// freeNeeds is the number of entries in the lists of a Needs that do not count, so that nothing can take them from the
// definitions that people write.
const freeNeeds = 32

// MaxNeeds is the number of entries in all Needs of the metrics of a file that come from other definitions, or from
// windows within a window, but for freeNeeds of each. A chain of definitions that each add an operand has as many as
// half the square of its length. What a definition's own text adds does not count: it grows with the text.
const MaxNeeds = 250_000

const (
	maxAllNeeds = 10 * MaxNeeds  // likewise, of all files together
	minNeeds    = MaxNeeds / 100 // of a file that loses nothing, whatever other files need
)

// size returns the number of entries of all lists.
func (n *Needs) size() int {
	return len(n.Operands) + len(n.Names) + len(n.Members) + len(n.Selectors) + len(n.Labels) + len(n.Groups) + len(n.Windows)
}

// collectNeeds returns the needs of a step and of all steps below it. n is the tree of the step. ok is false if they
// are beyond MaxNeeds, or something that is compiled with the step is.
func (c *compiler) collectNeeds(root int32, n *check.Node) (needs Needs, ok bool) {
	if c.beyond {
		return Needs{}, false
	}
	needs = Needs{History: int(n.History), HasDelta: n.HasDelta}
	if known := c.needs[root]; known != nil { // of a metric with the same expression: the lists are shared
		same := *known
		same.HasDelta, same.History = needs.HasDelta, max(needs.History, known.History)
		return same, true
	}
	others := 0 // the number of entries that others have
	room := c.room()
	c.walks++
	for todo := []int32{root}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if c.walked[i] == c.walks {
			continue
		}
		c.walked[i] = c.walks
		if known, ok := c.needs[i]; ok { // of a metric that this one uses: a chain is not walked again for each
			if known.size() > room+freeNeeds {
				return Needs{}, false
			}
			others += known.size()
			needs.Operands = append(needs.Operands, known.Operands...)
			needs.Windows = append(needs.Windows, known.Windows...)
			needs.Divides, needs.Clock = needs.Divides || known.Divides, needs.Clock || known.Clock
			needs.History = max(needs.History, known.History)
			needs.addDomains(known)
			continue
		}
		s := &c.program.steps[i]
		if s.op == opWindow {
			others += c.program.window(s).needs.size()
		}
		c.addStepNeeds(&needs, s)
		s.takes(func(k int32) { todo = append(todo, k) })
	}
	needs.Operands = distinct(needs.Operands, cmp.Compare)
	needs.Names = distinct(needs.Names, cmp.Compare)
	needs.Members = distinct(needs.Members, cmp.Compare)
	needs.Selectors = distinct(needs.Selectors, Selector.compare)
	needs.Labels = distinct(needs.Labels, Selector.compare)
	needs.Groups = distinct(needs.Groups, cmp.Compare)
	needs.Windows = distinct(needs.Windows, cmp.Compare)
	if more := min(others, needs.size()) - freeNeeds; more > 0 {
		if room < more {
			return Needs{}, false
		}
		c.counted[c.file] += more
		c.countedAll += more
	}
	return needs, true
}

// room returns the number of entries that the metrics of the file may still take from other definitions.
func (c *compiler) room() int {
	taken := c.counted[c.file]
	return max(minNeeds-taken, min(MaxNeeds-taken, maxAllNeeds-c.countedAll))
}

// addDomains adds the needs of others that are about instance domains.
func (n *Needs) addDomains(others *Needs) {
	n.Names = append(n.Names, others.Names...)
	n.Members = append(n.Members, others.Members...)
	n.Selectors = append(n.Selectors, others.Selectors...)
	n.Labels = append(n.Labels, others.Labels...)
	n.Groups = append(n.Groups, others.Groups...)
}

// distinct sorts a list and drops repetitions.
func distinct[T comparable](list []T, compare func(T, T) int) []T {
	slices.SortFunc(list, compare)
	return slices.Compact(list)
}

// addStepNeeds adds the needs of a step without those of its operands.
func (c *compiler) addStepNeeds(n *Needs, s *step) {
	d := s.domain
	n.Divides = n.Divides || s.divides()
	switch s.key {
	case group.KeyPattern, group.KeyName:
		c.addNames(n, d)
	case group.KeyLabel:
		n.Labels = append(n.Labels, Selector{d, c.program.text(s)})
	default:
	}
	if d, ok := c.set.bucketDomain(s); ok {
		c.addNames(n, d)
		if _, ours := c.set.groupDomains[d]; !ours {
			n.Labels = append(n.Labels, Selector{d, BoundLabelName})
		}
	}
	switch s.op {
	case opOperand:
		n.Operands, n.History = append(n.Operands, s.pmid()), max(n.History, int(s.age))
	case opWindow: // the operand of a window is sampled separately
		of := &c.program.window(s).needs
		n.addDomains(of)
		n.Windows = append(append(n.Windows, uint32(s.entry)), of.Windows...)
	case opNow:
		n.Clock = true
	case opConstSet:
		n.Members = append(n.Members, d)
	case opGroup, opSpread, opRename:
		n.Groups = append(n.Groups, d)
	case opMatch:
		if s.second < 0 {
			c.addNames(n, d)
		}
	case opSelect:
		if _, ours := c.set.groupDomains[d]; !ours {
			n.Selectors = append(n.Selectors, Selector{d, c.program.text(s)})
		}
	default:
	}
}

// addNames adds the names of a domain, but not of one of groups: their names are in Groups. A metric that is missing has
// no domain.
func (c *compiler) addNames(n *Needs, d pdu.InDom) {
	if _, ours := c.set.groupDomains[d]; !ours && d != pdu.NoInDom {
		n.Names = append(n.Names, d)
	}
}
