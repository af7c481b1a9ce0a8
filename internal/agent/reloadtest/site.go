package reloadtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"pmdaderived/pdu"
)

const (
	// slots is the number of definitions that change, beside those that show the generation.
	slots = 40

	// unit is the distance between the constants of two slots. Generations are less.
	unit = 100_000

	// maxGenerations limits the remembered generations. No fetch is so late that its generation is forgotten.
	maxGenerations = 256

	// brokenShare is the percentage of edits that make a definition wrong.
	brokenShare = 5
)

// Operands names the metrics of a collector that the definitions use.
type Operands struct {
	Number string // singular, not a counter, a number; served all the time
	Bins   string // likewise, with the instances of a domain
	Count  int    // number of instances of Bins
	Names  []string
	Text   string // a string: arithmetic with it is wrong
}

// form is a way to write a definition. Most forms differ in their metadata.
type form int

const (
	constant form = iota
	kilobytes
	counter
	nested   // uses the definition that shows the generation
	sampled  // needs a sample
	members  // has a value for each instance
	selected // names an instance
	summed
	grouped  // has a value for each group, which is each instance
	historic // needs a sample before
	forms
)

// fault is a mistake in a definition.
type fault int

const (
	none    fault = iota
	syntax        // cannot be read
	meaning       // breaks a rule
	operand       // uses a metric that does not exist
	absent        // there is no definition
)

// definition is the definition of one slot, in the file or as it is served.
type definition struct {
	fault    fault
	form     form
	constant int
	instance int // for selected
	comment  int
}

// serving is what an agent must serve for one slot.
type serving struct {
	configured bool // the file defines the name
	served     bool
	definition definition
	since      int // generation from which on the name has been served
	sampled    int // generation from which on the same operands have been sampled for it
}

// generation is what an agent must serve after one edit.
type generation struct {
	number int
	made   time.Time
	slots  [slots]serving
}

// Site is a set of definitions under random edits. Any goroutine may call its methods.
type Site struct {
	operands Operands

	mu           sync.Mutex
	rand         *rand.Rand
	file         [slots]definition
	generations  []*generation // the last ones, with consecutive numbers
	newestServed int           // the newest generation that a client got values of
	broken       int           // number of edits that made a definition wrong
	names        map[pdu.PMID]identity
	ids          map[identity]pdu.PMID
	metadata     map[form]pdu.Desc // without PMID
}

// identity is what a PMID stands for. desc has no PMID.
type identity struct {
	name string
	desc pdu.Desc
}

// Names of the definitions that show the generation.
const (
	first  = "gen.first"
	second = "gen.second"
	third  = "gen.third"
)

func slotName(i int) string { return fmt.Sprintf("slot%d.m", i) }

// NewSite returns a site in generation 0, in which all definitions are right.
func NewSite(seed uint64, o Operands) *Site {
	s := &Site{
		operands: o, rand: rand.New(rand.NewPCG(seed, 0)),
		names: make(map[pdu.PMID]identity), ids: make(map[identity]pdu.PMID), metadata: make(map[form]pdu.Desc),
	}
	for i := range s.file {
		s.file[i] = definition{form: form(i) % forms}
	}
	s.addGeneration()
	return s
}

// Edit changes some definitions, and returns the number of the new generation.
func (s *Site) Edit() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 1 + s.rand.IntN(3) {
		s.editDefinition(&s.file[s.rand.IntN(slots)], s.latest().number+1)
	}
	return s.addGeneration()
}

// Repair makes all existing definitions right, and returns the number of the new generation. Until the next edit, an
// agent that starts serves the same as one that has seen all edits.
func (s *Site) Repair() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.file {
		if d := &s.file[i]; d.fault != absent {
			d.fault = none
		}
	}
	return s.addGeneration()
}

// editDefinition makes one random edit of a definition.
func (s *Site) editDefinition(d *definition, number int) {
	switch dice := s.rand.IntN(100); {
	case dice < brokenShare:
		d.fault = []fault{syntax, meaning, operand}[s.rand.IntN(3)]
		s.broken++
	case d.fault == absent || dice < 40:
		*d = definition{form: form(s.rand.IntN(int(forms))), constant: number, instance: s.rand.IntN(len(s.operands.Names))}
	case dice < 60:
		d.fault = absent
	case dice < 90:
		d.fault, d.constant = none, number
		if d.form == selected {
			d.instance = s.rand.IntN(len(s.operands.Names))
		}
	default:
		d.comment = number
	}
}

// addGeneration adds the generation that an agent must serve when it reads the file now.
func (s *Site) addGeneration() int {
	g := &generation{made: time.Now()}
	var before *generation
	if len(s.generations) > 0 {
		before = s.latest()
		g.number = before.number + 1
		g.slots = before.slots
	}
	for i, d := range s.file {
		g.slots[i].update(d, g.number)
	}
	s.generations = append(s.generations, g)
	if len(s.generations) > maxGenerations {
		s.generations = slices.Delete(s.generations, 0, 1)
	}
	return g.number
}

// update sets what an agent must serve when the file has this definition.
func (v *serving) update(d definition, number int) {
	v.configured = d.fault != absent
	switch d.fault {
	case absent:
		v.served = false
	case none:
		if !v.served {
			v.since = number
		}
		if !v.served || v.definition.form != d.form {
			v.sampled = number
		}
		v.served, v.definition = true, d
	}
}

func (s *Site) latest() *generation { return s.generations[len(s.generations)-1] }

// generation returns the generation with a number; nil: it does not exist yet or is no longer remembered.
func (s *Site) generation(number int) *generation {
	i := number - s.generations[0].number
	if i < 0 || i >= len(s.generations) {
		return nil
	}
	return s.generations[i]
}

// State describes the progress of a site.
type State struct {
	Generation int // the newest one
	Served     int // the newest generation that a client got values of
	Broken     int // edits that have made a definition wrong
	IDs        int // different metric identifiers that clients have seen
}

// State returns the progress of the site.
func (s *Site) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{Generation: s.latest().number, Served: s.newestServed, Broken: s.broken, IDs: len(s.names)}
}

// Lines returns the lines of the definition file: definitions and comments. The definitions that show the generation
// are at both ends.
func (s *Site) Lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := s.latest().number
	lines := []string{
		fmt.Sprintf("%s = mkconst(%d, type=u32)", first, number), fmt.Sprintf("%s = derived.%s", second, first),
	}
	for i, d := range s.file {
		if d.comment > 0 {
			lines = append(lines, fmt.Sprintf("# %d", d.comment))
		}
		if d.fault != absent {
			lines = append(lines, slotName(i)+" = "+s.text(i, d))
		}
	}
	return append(lines, fmt.Sprintf("%s = %s * 0 + %d", third, s.operands.Number, number))
}

func (s *Site) text(i int, d definition) string {
	value := i*unit + d.constant
	switch d.fault {
	case syntax:
		return fmt.Sprintf("%d +", value)
	case meaning:
		return fmt.Sprintf("%s + %d", s.operands.Text, value)
	case operand:
		return fmt.Sprintf("reloadtest.nosuch + %d", value)
	}
	switch d.form {
	case constant:
		return fmt.Sprintf("mkconst(%d, type=u32)", value)
	case kilobytes:
		return fmt.Sprintf("mkconst(%d, type=double, units=Kbyte)", value)
	case counter:
		return fmt.Sprintf("mkconst(%d, type=u64, semantics=counter, units=count)", value)
	case nested:
		return fmt.Sprintf("%s + %d", first, value)
	case sampled:
		return fmt.Sprintf("%s * 0 + %d", s.operands.Number, value)
	case members:
		return fmt.Sprintf("%s * 0 + %d", s.operands.Bins, value)
	case selected:
		return fmt.Sprintf("%s[%s] * 0 + %d", s.operands.Bins, s.operands.Names[d.instance], value)
	case grouped:
		return fmt.Sprintf("max(%s) by (/.*/) * 0 + %d", s.operands.Bins, value)
	case summed:
		return fmt.Sprintf("sum(%s) * 0 + %d", s.operands.Bins, value)
	default:
		return fmt.Sprintf("delta(%s) * 0 + %d", s.operands.Number, value)
	}
}

// Names returns the full names of all metrics that the newest generation serves, sorted.
func (s *Site) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest().names()
}

func (g *generation) names() []string {
	names := []string{full(first), full(second), full(third)}
	for i, v := range g.slots {
		if v.served {
			names = append(names, full(slotName(i)))
		}
	}
	slices.Sort(names)
	return names
}

// CheckNames returns what is wrong with a list of the names that the agent shows. from is the newest generation that
// a client had values of when it asked for them.
func (s *Site) CheckNames(names []string, from int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sorted := slices.Sorted(slices.Values(names))
	for _, g := range s.generations {
		if g.number >= from && slices.Equal(g.names(), sorted) {
			return nil
		}
	}
	return fmt.Errorf("these names are those of no generation from %d on: %v", from, sorted)
}

// Metrics returns the names of the PMIDs that clients have seen.
func (s *Site) Metrics() map[pdu.PMID]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[pdu.PMID]string, len(s.names))
	for id, metric := range s.names {
		all[id] = metric.name
	}
	return all
}

func full(name string) string { return "derived." + name }
