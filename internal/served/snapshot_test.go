package served

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/identity"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const testDomain = 510

var (
	loadID = pdu.NewPMID(60, 0, 0)
	binDom = pdu.NewInDom(60, 1)
)

// own are metrics of the agent.
var own = []pmda.Entry{{Name: "derived.control.reload", PMID: pdu.NewPMID(testDomain, 0, 0)}}

// catalog is what a collector has, by name.
type catalog map[string]known

type known struct {
	pdu.Desc
	code pdu.Code // < 0: why there is no descriptor
}

func (c catalog) Desc(name string) (pdu.Desc, error) {
	switch k, ok := c[name]; {
	case !ok:
		return pdu.Desc{}, pdu.ErrName
	case k.code < 0:
		return pdu.Desc{}, k.code
	default:
		return k.Desc, nil
	}
}

// conf makes a configuration of lines "name = expression". One that does not parse is a Failure.
func conf(lines ...string) Config { return confFile("test.conf", lines...) }

func confFile(file string, lines ...string) Config {
	var c Config
	for i, line := range lines {
		name, text, _ := strings.Cut(line, " = ")
		d, err := derived.Parse(name, text)
		if err != nil {
			c.Failures = append(c.Failures, Failure{Name: name, Message: err.Error()})
			continue
		}
		d.File = file
		c.Definitions = append(c.Definitions, Definition{Definition: d, Line: i + 1})
	}
	return c
}

// site is everything that snapshots are made from.
type site struct {
	t       *testing.T
	ids     *identity.Registry
	catalog catalog // nil: not looked up yet
	before  *Snapshot
	protect []string
	most    int // operands
}

func newSite(t *testing.T) *site {
	ids, err := identity.Load("", testDomain)
	require.NoError(t, err)
	metric := func(item int, typ pdu.Type, d pdu.InDom, sem pdu.Semantics) known {
		return known{Desc: pdu.Desc{PMID: pdu.NewPMID(60, 0, item), Type: typ, InDom: d, Sem: sem}}
	}
	return &site{t: t, ids: ids, catalog: catalog{
		"up.load":  metric(0, pdu.TypeDouble, pdu.NoInDom, pdu.SemInstant),
		"up.count": metric(1, pdu.TypeU64, pdu.NoInDom, pdu.SemCounter),
		"up.name":  metric(2, pdu.TypeString, pdu.NoInDom, pdu.SemDiscrete),
		"up.bin":   metric(3, pdu.Type32, binDom, pdu.SemInstant),
		"up.alive": {code: pdu.ErrNoAgent},
		"proc.io":  metric(4, pdu.TypeU64, pdu.NewInDom(3, 9), pdu.SemCounter),
	}}
}

// serve makes the next snapshot.
func (s *site) serve(c Config) *Snapshot {
	in := Input{Config: c, Before: s.before, IDs: s.ids, OwnEntries: own, ProtectedNodes: s.protect, MaxOperands: s.most}
	if s.catalog != nil {
		now := maps.Clone(s.catalog) // one that is built with does not change
		in.Catalog = &now
	}
	s.before = Build(in)
	return s.before
}

// restart forgets everything but the identities.
func (s *site) restart() { s.before = nil }

func (s *site) metric(name string) *Served {
	s.t.Helper()
	m := s.before.find(derived.FullName(name))
	require.NotNil(s.t, m, name)
	return m
}

// states of some definitions.
func (s *site) states(names ...string) (all []State) {
	for _, name := range names {
		all = append(all, s.metric(name).State)
	}
	return all
}

// shown lists the definitions that a traversal shows.
func shown(t *testing.T, s *Snapshot) []string {
	t.Helper()
	all, err := s.Namespace.Traverse(0, derived.Root)
	require.NoError(t, err)
	var names []string
	for _, name := range all {
		if short := derived.ShortName(name); !strings.HasPrefix(short, "control.") {
			names = append(names, short)
		}
	}
	return names
}

func namesOf(metrics iter.Seq[*Served]) string {
	var names []string
	for m := range metrics {
		names = append(names, m.Def.Name)
	}
	return strings.Join(names, " ")
}

func TestStatesOfADefinition(t *testing.T) {
	for _, row := range []struct {
		name, definition string
		state            State
		problem          string
	}{
		{"good", "m = up.load + 1", Bound, ""},
		{"constant", "m = 42", Bound, ""},
		{"no such operand", "m = up.load + nosuch", Unbound, "Unknown operand metric"},
		{"operand without a descriptor", "m = up.alive + 1", Unbound, "Metadata for operand metric not available"},
		{"against the rules", "m = up.name + 1", Failed, "Non-arithmetic type for left operand"},
		{"itself", "m = derived.m + 1", Failed, "Definition depends on itself"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t)
			now := s.serve(conf(row.definition))
			m, bound := s.metric("m"), row.state == Bound
			assert.Equal(t, row.state, m.State)
			assert.Contains(t, m.Problem, row.problem)
			assert.Equal(t, bound, m.Problem == "")
			assert.Equal(t, bound, m.HasDesc)
			assert.Equal(t, bound, m.Derived != nil)
			assert.Equal(t, bound, m.Operands != nil)
			assert.Equal(t, bound, now.Bound == 1)
			assert.Equal(t, row.state == Failed, now.Failures() == 1)
			assert.Equal(t, bound, len(shown(t, now)) == 1, "in traversals only if it has values")
			id, err := now.Namespace.Lookup(0, "derived.m")
			if bound {
				require.NoError(t, err)
				assert.Equal(t, m.ID, id)
			} else {
				assert.Equal(t, pdu.ErrName, err, "without a descriptor it has no name")
			}
			assert.Equal(t, []*Served{m}, now.Served)
			if !bound {
				assert.Equal(t, pdu.ErrBadDerive, m.Code())
			}
		})
	}
}

func TestNothingIsBoundBeforeTheLookup(t *testing.T) {
	s := newSite(t)
	s.catalog = nil
	now := s.serve(conf("a = up.load", "b = 42", "c = up.name + 1"))
	for _, m := range now.Served {
		assert.Equal(t, Waiting, m.State)
		assert.Empty(t, m.Problem)
		assert.Equal(t, pdu.ErrAgain, m.Code())
	}
	assert.False(t, now.LookedUp)
	assert.Zero(t, now.Failures())
	assert.Empty(t, shown(t, now))
}

// After a restart, names and descriptors are served before the first lookup: pmlogger exits without them.
func TestWarmStart(t *testing.T) {
	s := newSite(t)
	s.serve(conf("a = up.load", "b = up.count", "c = nosuch"))
	a, b := s.metric("a"), s.metric("b")

	s.restart()
	found := s.catalog
	s.catalog = nil
	now := s.serve(conf("a = up.load", "b = up.count + 1", "c = nosuch"))
	m := s.metric("a")
	assert.Equal(t, Waiting, m.State)
	assert.Equal(t, a.ID, m.ID)
	assert.Equal(t, a.Desc, m.Desc)
	assert.True(t, m.HasDesc)
	assert.Equal(t, pdu.ErrAgain, m.Code())
	assert.Equal(t, b.ID, s.metric("b").ID)
	assert.Equal(t, b.Desc, s.metric("b").Desc, "pmlogger goes on if another expression has the same descriptor")
	assert.Equal(t, []string{"a", "b"}, shown(t, now))
	assert.Equal(t, len(own)+2, now.Namespace.Len(), "only what has a descriptor has a name")

	s.catalog = found
	now = s.serve(conf("a = up.load", "b = up.count", "c = nosuch"))
	assert.Equal(t, a.Desc, s.metric("a").Desc)
	assert.Equal(t, []string{"a", "b"}, shown(t, now))
}

// An agent that goes takes the values of metrics with it, but not their names and descriptors.
func TestOperandsThatGo(t *testing.T) {
	s := newSite(t)
	s.serve(conf("a = up.load"))
	was := s.metric("a")
	for _, gone := range []catalog{{"up.load": {code: pdu.ErrNoAgent}}, {}} {
		s.catalog = gone
		now := s.serve(conf("a = up.load"))
		m := s.metric("a")
		assert.Equal(t, Unbound, m.State)
		assert.Equal(t, was.ID, m.ID)
		assert.Equal(t, was.Desc, m.Desc)
		assert.True(t, m.HasDesc)
		assert.Equal(t, pdu.ErrAgain, m.Code())
		assert.Empty(t, shown(t, now))
		id, err := now.Namespace.Lookup(0, "derived.a")
		require.NoError(t, err)
		assert.Equal(t, was.ID, id)
	}
}

// A definition that waits for its operand, and one that is wrong, get their names when they get their descriptors.
func TestNameThatComes(t *testing.T) {
	s := newSite(t)
	before := s.serve(conf("waits = up.late", "wrong = up.name + 1", "below.waits = up.late"))
	ids := []pdu.PMID{s.metric("waits").ID, s.metric("wrong").ID, s.metric("below.waits").ID}
	for _, name := range []string{"waits", "wrong", "below.waits", "below"} {
		_, err := before.Namespace.Traverse(0, derived.FullName(name))
		assert.Equal(t, pdu.ErrName, err, name)
	}
	_, err := before.Namespace.Names(0, ids[0])
	assert.Equal(t, pdu.ErrPMID, err)

	s.catalog["up.late"] = s.catalog["up.load"]
	now := s.serve(conf("waits = up.late", "wrong = up.load + 1", "below.waits = up.late"))
	assert.False(t, now.SameNames(before), "so that clients are told")
	for i, name := range []string{"waits", "wrong", "below.waits"} {
		id, err := now.Namespace.Lookup(0, derived.FullName(name))
		require.NoError(t, err, name)
		assert.Equal(t, ids[i], id, name)
	}
}

// A definition that had a descriptor keeps it, and its name, whatever becomes wrong: pmlogger exits if a name has gone. A
// fetch gets the error.
func TestNameThatStays(t *testing.T) {
	text := pdu.Desc{PMID: loadID, Type: pdu.TypeString, InDom: pdu.NoInDom}
	for _, row := range []struct {
		name   string
		change func(s *site) Config
		state  State
		code   pdu.Code
	}{
		{"its operand becomes a string", func(s *site) Config {
			s.catalog["up.load"] = known{Desc: text}
			return conf("node.a = up.load * 2")
		}, Failed, pdu.ErrBadDerive},
		{"a restart with another operand, that does not exist", func(s *site) Config {
			s.restart()
			return conf("node.a = nosuch")
		}, Unbound, pdu.ErrAgain},
		{"a restart with a text that is wrong", func(s *site) Config {
			s.restart()
			return conf("node.a = up.name + 1")
		}, Failed, pdu.ErrBadDerive},
		{"a restart with a text that cannot be read", func(s *site) Config {
			s.restart()
			return conf("node.a = up.load +")
		}, Failed, pdu.ErrBadDerive},
		{"a restart with a text that cannot be read, before operands are looked up", func(s *site) Config {
			s.restart()
			s.catalog = nil
			return conf("node.a = up.load +")
		}, Failed, pdu.ErrBadDerive},
		{"a restart before operands are looked up", func(s *site) Config {
			s.restart()
			s.catalog = nil
			return conf("node.a = up.count")
		}, Waiting, pdu.ErrAgain},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t)
			s.serve(conf("node.a = up.load * 2"))
			was := s.metric("node.a")
			c := row.change(s)
			for range 2 { // it stays so
				now := s.serve(c)
				m := s.metric("node.a")
				assert.Equal(t, row.state, m.State)
				assert.Equal(t, row.code, m.Code())
				assert.True(t, m.HasDesc)
				assert.Equal(t, was.Desc, m.Desc)
				assert.Same(t, m, now.ByID[was.ID])
				id, err := now.Namespace.Lookup(0, "derived.node.a")
				require.NoError(t, err)
				assert.Equal(t, was.ID, id)
				assert.Equal(t, row.state == Waiting, len(shown(t, now)) == 1, "in traversals only if it may have values")
			}
		})
	}
}

// Whether operands exist does not decide which of two definitions has a name that only one can have, nor does a text that
// can no longer be read.
func TestNamesThatClashWithWaitingOnes(t *testing.T) {
	s := newSite(t)
	now := s.serve(conf("a = up.late", "a.b = up.load"))
	assert.Equal(t, []State{Unbound, Failed}, s.states("a", "a.b"))
	assert.Equal(t, len(own), now.Namespace.Len())

	s.serve(conf("a = up.load"))
	s.restart()
	now = s.serve(conf("a = up.load +", "a.b = up.load"))
	assert.Equal(t, []State{Failed, Failed}, s.states("a", "a.b"))
	assert.Equal(t, len(own)+1, now.Namespace.Len())
}

func TestBrokenDefinitionKeepsTheLastGoodOne(t *testing.T) {
	for name, broken := range map[string]string{
		"syntax": "a = up.load +", "semantics": "a = up.name + 1", "operand": "a = up.lod * 2",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.serve(conf("a = up.load * 2", "other = up.count"))
			was := s.metric("a")
			for range 3 { // however often the configuration is read again
				c := conf(broken, "other = up.count")
				now := s.serve(c)
				m := s.metric("a")
				assert.Equal(t, []State{Kept, Bound}, s.states("a", "other"))
				assert.Equal(t, was.ID, m.ID)
				assert.Equal(t, "up.load * 2", m.Def.Text)
				assert.Contains(t, m.Problem, "error")
				assert.Same(t, was.Operands, m.Operands)
				assert.NotNil(t, m.Derived)
				assert.Equal(t, []string{"a", "other"}, shown(t, now))
				assert.Equal(t, 1, now.Failures()+len(c.Failures), "it counts once")
				assert.Equal(t, "up.load * 2", slices.Collect(now.Candidates(&c))[len(c.Definitions)].Text)
			}
			s.serve(conf("a = up.load * 3"))
			assert.Equal(t, Bound, s.metric("a").State)
			assert.Empty(t, s.metric("a").Problem)
			assert.Equal(t, was.ID, s.metric("a").ID)
		})
	}
}

func TestBrokenDefinitionThatWasNeverServed(t *testing.T) {
	s := newSite(t)
	now := s.serve(conf("a = up.load +", "b = up.name + 1", "c = up.load"))
	assert.Equal(t, []State{Failed, Failed, Bound}, s.states("a", "b", "c"))
	assert.Contains(t, s.metric("a").Problem, "syntax error")
	_, err := now.Namespace.Lookup(0, "derived.a")
	require.ErrorIs(t, err, pdu.ErrName, "only its state is there")
	assert.Nil(t, now.ByID[s.metric("a").ID])
	assert.Equal(t, 1, now.Failures(), "a is among the failures of the configuration")
	now = s.serve(conf("b = -up.name", "c = up.load"))
	assert.Equal(t, Failed, s.metric("b").State, "there is nothing good to go back to")
	assert.Equal(t, 1, now.Failures())
}

// When operands have changed, the former text of a definition can be wrong like the new one.
func TestKeptDefinitionThatBreaksToo(t *testing.T) {
	s := newSite(t)
	s.serve(conf("a = up.load + up.count"))
	s.catalog["up.load"] = known{Desc: pdu.Desc{PMID: loadID, Type: pdu.TypeString, InDom: pdu.NoInDom}}
	s.serve(conf("a = -up.name"))
	assert.Equal(t, Failed, s.metric("a").State)
	assert.NotEmpty(t, s.metric("a").Problem)
}

func TestUnreadableFileKeepsItsDefinitions(t *testing.T) {
	s := newSite(t)
	both := conf("a = up.load")
	both.Definitions = append(both.Definitions, confFile("other.conf", "b = up.count", "c = up.load + 1").Definitions...)
	s.serve(both)
	was := s.metric("b")

	c := conf("a = up.load", "c = up.load + 2")
	c.Failures = []Failure{{Message: "other.conf: permission denied"}}
	c.Files = []File{{Path: "other.conf"}, {Path: "test.conf"}}
	c.Unread = func(file string) int { return slices.Index([]string{"other.conf"}, file) }
	for range 2 {
		now := s.serve(c)
		assert.Equal(t, []State{Kept, Bound}, s.states("b", "c"))
		assert.Equal(t, "other.conf could not be read", s.metric("b").Problem)
		assert.Same(t, was.Operands, s.metric("b").Operands)
		assert.Equal(t, "up.load + 2", s.metric("c").Def.Text, "a later file defines it now")
		assert.Equal(t, 1, now.Failures()+len(c.Failures), "the file counts, not what was in it")
	}

	c = conf("a = up.load")
	c.Unread = func(string) int { return -1 }
	assert.Nil(t, s.serve(c).find("derived.b"), "the file is readable again and does not define it")
}

// A definition that could never be read keeps its state when its file becomes unreadable.
func TestUnreadableDefinitionInAnUnreadableFile(t *testing.T) {
	s := newSite(t)
	for _, c := range []Config{{Failures: []Failure{
		{Name: "bad", Text: "1 +", File: "f", Line: 1, Message: "the first"},
		{Name: "bad", Text: "1 -", File: "f", Line: 2, Message: "the last"},
	}}, {Unread: func(string) int { return 0 }}} {
		assert.Len(t, s.serve(c).Served, 1)
		assert.Equal(t, Failed, s.metric("bad").State)
		assert.Equal(t, "the last", s.metric("bad").Problem)
	}
}

func TestDeletedDefinitionVanishes(t *testing.T) {
	s := newSite(t)
	before := s.serve(conf("a = up.load", "b = up.count"))
	gone := s.metric("b")
	now := s.serve(conf("a = up.load"))
	assert.Nil(t, now.find("derived.b"))
	assert.Nil(t, now.ByID[gone.ID])
	assert.NotContains(t, now.Retired, gone.ID)
	_, err := now.Namespace.Lookup(0, "derived.b")
	require.ErrorIs(t, err, pdu.ErrName)
	assert.False(t, now.SameNames(before))

	s.serve(conf("a = up.load", "b = up.count"))
	assert.Equal(t, gone.ID, s.metric("b").ID, "it comes back as what it was")
}

// Equal operand sets of two snapshots are the same pointer, so that state beside them goes on.
func TestOperandSetsOutliveSnapshots(t *testing.T) {
	for _, row := range []struct {
		name, before, after string
		same                bool
	}{
		{"unchanged", "m = up.load + sum(up.bin)", "m = up.load + sum(up.bin)", true},
		{"another expression over the same", "m = up.load * 2", "m = up.load * 3", true},
		{"another operand", "m = up.load", "m = up.bin", false},
		{"one more operand", "m = up.bin", "m = up.bin + up.load", false},
		{"with a history now", "m = up.load", "m = delta(up.load)", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t)
			s.serve(conf(row.before))
			was := s.metric("m").Operands
			require.NotNil(t, was)
			s.serve(conf(row.after))
			assert.Equal(t, row.same, was == s.metric("m").Operands)
		})
	}
	t.Run("operand with another descriptor", func(t *testing.T) {
		s := newSite(t)
		s.serve(conf("m = up.bin"))
		was := s.metric("m").Operands
		other := s.catalog["up.bin"]
		other.InDom = pdu.NewInDom(60, 2)
		s.catalog["up.bin"] = other
		s.serve(conf("m = up.bin"))
		assert.NotSame(t, was, s.metric("m").Operands)
	})
	t.Run("operand whose PMID names that are not used have, too", func(t *testing.T) {
		s := newSite(t)
		other := known{Desc: pdu.Desc{PMID: loadID, Type: pdu.TypeString, InDom: binDom}}
		for i := range 20 {
			s.catalog[fmt.Sprint("up.gone", i)] = other
		}
		s.serve(conf("m = up.load"))
		assert.Equal(t, []pdu.Desc{s.catalog["up.load"].Desc}, s.metric("m").Operands.Descs)
	})
	t.Run("the same catalog", func(t *testing.T) {
		s := newSite(t)
		build := func(lines ...string) {
			s.before = Build(Input{Config: conf(lines...), Before: s.before, IDs: s.ids, OwnEntries: own, Catalog: &s.catalog})
		}
		build("m = up.load")
		was := s.metric("m").Operands
		build("m = up.load * 2", "n = sum(up.bin)")
		assert.Same(t, was, s.metric("m").Operands)
		assert.Equal(t, []pdu.Desc{s.catalog["up.bin"].Desc}, s.metric("n").Operands.Descs)
	})
	s := newSite(t)
	now := s.serve(conf("a = up.load + up.bin", "b = up.load - up.bin", "c = up.load", "d = 1"))
	assert.Same(t, s.metric("a").Operands, s.metric("b").Operands)
	assert.Equal(t, []*OperandSet{s.metric("a").Operands, s.metric("c").Operands, s.metric("d").Operands}, now.OperandSets,
		"each once")
}

// A metric whose metadata changes gets another PMID. The snapshot still has the descriptor of the former one.
func TestRetiredPMIDs(t *testing.T) {
	s := newSite(t)
	before := s.serve(conf("a = up.load", "b = up.count"))
	old := s.metric("a")
	for _, text := range []string{"a = up.bin", "a = up.name"} {
		now := s.serve(conf(text, "b = up.count"))
		assert.NotEqual(t, old.ID, s.metric("a").ID)
		assert.Equal(t, old.Desc, now.Retired[old.ID])
		assert.Nil(t, now.ByID[old.ID])
		_, err := now.Namespace.Names(0, old.ID)
		require.ErrorIs(t, err, pdu.ErrPMID)
		assert.False(t, now.SameNames(before), "the name has another identity")
	}
	assert.Len(t, s.before.Retired, 2)
	s.serve(conf("a = up.load", "b = up.count"))
	assert.NotContains(t, s.before.Retired, old.ID, "it is served again")

	s.restart()
	assert.Len(t, s.serve(conf("a = up.name")).Retired, 2)
	assert.Empty(t, s.serve(conf("b = up.count")).Retired)
}

func TestNestedDefinitions(t *testing.T) {
	s := newSite(t)
	s.serve(
		conf("top = derived.middle + 1", "middle = base * 2", "base = up.load", "lame = wrong + 1", "wrong = -up.name"),
	)
	assert.Equal(t, []State{Bound, Bound, Bound, Failed, Failed}, s.states("top", "middle", "base", "wrong", "lame"))
	for _, name := range []string{"top", "middle", "base"} {
		assert.Equal(t, []pdu.PMID{loadID}, s.metric(name).Derived.Needs().Operands)
	}
	// A definition that breaks stays as it was, and so do those that use it.
	s.serve(conf("top = derived.middle + 1", "middle = base +", "base = -up.name"))
	assert.Equal(t, []State{Bound, Kept, Kept}, s.states("top", "middle", "base"))
}

// A metric that is computed from protected operands is protected.
func TestProtectedOperands(t *testing.T) {
	for definition, protected := range map[string]bool{
		"m = proc.io":                         true,
		"m = sum(proc.io) + up.count":         true,
		"m = up.count":                        false,
		"m = derived.inner":                   true,
		"m = inner + 1":                       true,
		"m = outer":                           true,
		"m = sum(up.bin) by (/x/ -> proc.io)": true,
		"m = matchinst(/x/, up.bin, /x/ -> procs by (proc.io))":          true,
		"m = sum(up.bin) by (/x/ -> procs by (label(x)))":                true,
		"m = sum(up.bin) by (/x/ -> up.bin by (up.bin), label(proc.io))": false,
		"m = proc2.io": false,
		`m = max(max_sample(rate(proc.io), "1min"))`:           true,
		`m = up.load / sum(avg_sample(rate(proc.io), "1min"))`: true,
		"m = defined(proc.io) ? up.load : up.load + 1":         false,
	} {
		t.Run(definition, func(t *testing.T) {
			s := newSite(t)
			s.catalog["proc2.io"] = s.catalog["up.count"]
			s.protect = []string{"proc"}
			s.serve(conf(definition, "inner = max(proc.io)", "procs = proc.io", "outer = derived.inner"))
			require.Equal(t, Bound, s.metric("m").State)
			assert.Equal(t, protected, s.metric("m").Protected)
		})
	}
}

// A definition is protected by its name, with the root or without, or by that of a node above it. So is what uses it.
func TestProtectedDefinitions(t *testing.T) {
	definitions := []string{
		"open = up.load", "app.key = 42", "app.bin = up.bin", "apple = up.load",
		"use = app.key + up.load", "deep = derived.use * 2", "deeper = max_sample(deep, \"1min\")",
		"guard = app.key ? up.load : up.load * 2", "groups = sum(app.bin) by (k=/./)", "by = sum(up.bin) by (app.bin)",
		"like = mkconst(1, meta=app.bin)", "exists = defined(app.key) ? up.load : 1", "old = app.key + 1",
	}
	used := []string{"app.bin", "app.key", "by", "deep", "deeper", "groups", "guard", "like", "old", "use"}
	for node, protected := range map[string][]string{
		"derived.app": used, "app": used,
		"derived.app.key": {"app.key", "deep", "deeper", "guard", "old", "use"},
		"deep":            {"deep", "deeper"}, "derived.up": nil, "derived.control": nil, "other": nil,
	} {
		t.Run(node, func(t *testing.T) {
			s := newSite(t)
			s.protect = []string{"proc", node}
			s.serve(conf(definitions...))
			all := func() (names []string) {
				for _, m := range s.before.Served {
					require.Equal(t, Bound, m.State, "%s: %s", m.Def.Name, m.Problem)
					if m.Protected {
						names = append(names, m.Def.Name)
					}
				}
				return names
			}
			assert.Equal(t, protected, all())

			s.serve(conf("x = 1"))
			assert.Empty(t, all())
			s.serve(conf(definitions...))
			assert.Equal(t, protected, all(), "a reload has added them again")
		})
	}
	s := newSite(t)
	s.protect = []string{"derived"}
	s.serve(conf("a = 1", "b.c = up.load"))
	assert.True(t, s.metric("a").Protected && s.metric("b.c").Protected, "all")
}

// A definition that is served as before is protected as before.
func TestProtectedDefinitionThatBreaks(t *testing.T) {
	s := newSite(t)
	s.protect = []string{"derived.app"}
	s.serve(conf("app = up.load", "m = app + 1"))
	s.serve(conf("app = -up.name", "m = -up.name"))
	assert.Equal(t, []State{Kept, Kept}, s.states("app", "m"))
	assert.True(t, s.metric("app").Protected && s.metric("m").Protected)
}

// The operands of functions over time are a set of their own, and only if a served metric uses the function.
func TestOperandsOfWindows(t *testing.T) {
	s := newSite(t)
	s.most = 1
	now := s.serve(conf(
		`a = up.load / max_sample(rate(up.count), "1min")`,
		`b = min_sample(up.load, "1min")`,
		`c = max_sample(up.load / rate(up.count), "1min")`,
	))
	assert.Equal(t, Bound, s.metric("a").State)
	assert.Equal(t, []pdu.Desc{s.catalog["up.load"].Desc}, s.metric("a").Operands.Descs)
	assert.Empty(t, s.metric("b").Operands.Descs)
	assert.Equal(t, Failed, s.metric("c").State)
	require.Len(t, now.Windows, 3)
	assert.Equal(t, []pdu.Desc{s.catalog["up.count"].Desc}, now.Windows[0].Descs)
	assert.Same(t, s.metric("a").Operands, now.Windows[1])
	assert.Nil(t, now.Windows[2])
}

func TestDuplicateNames(t *testing.T) {
	s := newSite(t)
	now := s.serve(conf("a = up.load", "b = up.load", "a = up.count"))
	assert.Equal(t, []string{"a", "b"}, shown(t, now))
	assert.Len(t, now.Served, 2)
	assert.Equal(t, "up.count", s.metric("a").Def.Text, "the last one counts")
}

// A name cannot be a metric and a node above other metrics.
func TestNamesThatClash(t *testing.T) {
	for _, row := range []struct {
		name    string
		first   []string // what is served already
		lines   []string
		refused string
		reason  string
	}{
		{"leaf, then below it", nil, []string{"a = up.load", "a.b = up.load"}, "a.b", `the name is below the metric "derived.a"`},
		{"below it, then leaf", nil, []string{"a.b = up.load", "a = up.load"}, "a", "the name has other metrics below it"},
		{"what is served stays", []string{"a.b = up.load"}, []string{"a = up.load", "a.b = up.load"}, "a", "the name has other metrics below it"},
		{
			"what is served stays, with another descriptor",
			[]string{"a.b = up.load"},
			[]string{"a = up.load", "a.b = up.bin"},
			"a", "the name has other metrics below it",
		},
		{"our own metric", nil, []string{"control.reload = up.load"}, "control.reload", "the name is in use"},
		{"above our own metrics", nil, []string{"control = up.load"}, "control", "the name has other metrics below it"},
		{"below our own metric", nil, []string{"control.reload.x = up.load"}, "control.reload.x", `the name is below the metric "derived.control.reload"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t)
			if row.first != nil {
				s.serve(conf(row.first...))
			}
			now := s.serve(conf(append(row.lines, "other = up.load")...))
			m := s.metric(row.refused)
			assert.Equal(t, Failed, m.State)
			assert.Contains(t, m.Problem, row.reason)
			assert.Nil(t, m.Derived)
			assert.Nil(t, m.Operands)
			assert.Equal(t, pdu.ErrBadDerive, m.Code())
			assert.Equal(t, 1, now.Failures())
			assert.Equal(t, len(row.lines), now.Bound)
			assert.NotContains(t, shown(t, now), row.refused)
			assert.Contains(t, shown(t, now), "other")
			assert.Equal(t, len(own)+now.Bound, now.Namespace.Len())
		})
	}
}

// All operands of a metric must fit into one fetch.
func TestTooManyOperands(t *testing.T) {
	s := newSite(t)
	s.most = 2
	c := conf("two = up.load * up.count", "m = two * up.bin")
	s.serve(conf("two = up.load * up.count", "m = up.load"))
	require.Equal(t, []State{Bound, Bound}, s.states("two", "m"))
	now := s.serve(c)
	assert.Equal(t, []State{Bound, Kept}, s.states("two", "m"))
	assert.Contains(t, s.metric("m").Problem, "3 operands, but at most 2")
	assert.Equal(t, 1, now.Failures())

	s.restart()
	s.serve(c)
	assert.Equal(t, []State{Bound, Failed}, s.states("two", "m"))
}

func TestPMIDsThatRunOutLeaveDefinitionsOut(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	last := fmt.Appendf(nil, `{"version": 1, "domain": 510, "next": %d}`, pdu.MaxCluster*(pdu.MaxItem+1)-1)
	require.NoError(t, os.WriteFile(state, last, 0o600))
	s := newSite(t)
	var err error
	s.ids, err = identity.Load(state, testDomain)
	require.NoError(t, err)
	now := s.serve(conf("a = up.load", "b = up.load"))
	assert.Equal(t, []string{"a"}, shown(t, now))
	assert.Equal(t, []string{"b"}, now.WithoutPMID)
}

// SameNames and SameLabels compare two snapshots, however they differ otherwise.
func TestSameNames(t *testing.T) {
	s := newSite(t)
	first := s.serve(conf("a = up.load", "b = nosuch"))
	assert.True(t, s.serve(conf("a = up.load * 2", "b = nosuch")).SameNames(first), "another text")
	assert.True(t, s.serve(conf("a = up.load", "b = nosuch", "c = nosuch")).SameNames(first), "hidden names")
	assert.False(t, s.serve(conf("a = up.load", "b = up.load")).SameNames(first), "a name more")
}

func TestMetricsUnderANode(t *testing.T) {
	s := newSite(t)
	now := s.serve(conf("a.b = up.load", "a.bc = up.load", "a.b2.c = up.load", "b = up.load", "ab = up.load"))
	for node, want := range map[string]string{
		"derived":          "a.b a.b2.c a.bc ab b",
		"":                 "a.b a.b2.c a.bc ab b",
		"derived.a":        "a.b a.b2.c a.bc",
		"derived.a.b":      "a.b",
		"derived.a.b2":     "a.b2.c",
		"derived.a.b2.c":   "a.b2.c",
		"derived.a.b2.c.d": "",
		"derived.b":        "b",
		"derived.control":  "",
		"derived.z":        "",
		"derivedb":         "",
	} {
		assert.Equal(t, want, namesOf(now.Under(node)), node)
	}
}

// A look-up of a name causes one of operands only if no metric has the name, nor one below it, for lack of operands.
func TestAwaits(t *testing.T) {
	s := newSite(t)
	now := s.serve(conf("all.a = up.load", "all.b = up.count", "some.a = up.load", "some.late = nosuch", "late = nosuch",
		"node.late = nosuch", "node.wrong = up.name + 1"))
	for node, want := range map[string]bool{
		"derived.all": false, "derived.all.a": false, "derived.some": false, "derived.some.late": true, "derived.late": true,
		"derived.node": true, "derived": false, "derived.other": false, "derived.all.c": false,
	} {
		assert.Equal(t, want, now.Awaits(node), node)
	}
}

func TestCheck(t *testing.T) {
	defs := conf("good = up.load", "bad = 1 + up.name", "net.in = 1", "net = no.such", "control = 1",
		"three = up.load * up.count * up.bin").Definitions
	type row struct {
		name   string
		offset int
		reason string
	}
	check := func(defs []Definition, c derived.Catalog) (rows []row) {
		for _, f := range Check(defs, own, c, derived.Language{}, 2) {
			rows = append(rows, row{f.Definition.Name, f.Offset, f.Message})
		}
		return rows
	}
	names := []row{
		{"net", -1, "derived metric net: the name has other metrics below it"},
		{"control", -1, "derived metric control: the name has other metrics below it"},
	}
	assert.Equal(t, names, check(defs, nil))
	c := newSite(t).catalog
	assert.Equal(t, []row{
		{"bad", 0, "Semantic error: derived metric bad: 1 + up.name: Non-arithmetic type for right operand"},
		names[0],
		{"net", 0, "Semantic error: derived metric net: operand no.such: Unknown operand metric"},
		names[1],
		{"three", 0, "derived metric three: 3 operands, but at most 2 can be sampled together"},
	}, check(defs, c))
	assert.Empty(t, check(slices.Clip(defs[:0]), c))
}

// Hosts have the same digest if they serve the same names, expressions and metadata, whatever their PMIDs are.
func TestDigest(t *testing.T) {
	lines := []string{"a = up.load + 1", "b = sum(up.bin)"}
	host := func(change func(*site), c Config) string {
		s := newSite(t)
		change(s)
		return s.serve(c).Digest
	}
	asIs := func(*site) {}
	want := host(asIs, conf(lines...))
	assert.Len(t, want, 16)
	secret := func(text string) Config {
		c := conf(lines[0], text)
		c.Definitions[1].Secret = true
		return c
	}
	for _, row := range []struct {
		name   string
		change func(*site)
		config Config
		same   bool
	}{
		{"again", asIs, conf(lines...), true},
		{"other order and file", asIs, confFile("other.conf", lines[1], lines[0]), true},
		{"other PMIDs", func(s *site) { s.serve(conf("z = 1", lines[1])) }, conf(lines...), true},
		{"a definition that is not bound", asIs, conf(append(lines, "c = no.such", "d = up.name + 1")...), true},
		{"a misspelt operand", asIs, conf(lines[0], "b = sum(up.bim)"), false},
		{"an operand that the host lacks", func(s *site) { delete(s.catalog, "up.bin") }, conf(lines...), false},
		{"an operand with other units", func(s *site) {
			s.catalog["up.bin"] = known{Desc: pdu.Desc{
				PMID: s.catalog["up.bin"].PMID, Type: pdu.Type32, InDom: binDom, Sem: pdu.SemInstant, Units: pdu.Units{Count: 1},
			}}
		}, conf(lines...), false},
		{"other expression", asIs, conf("a = up.load + 2", lines[1]), false},
		{"other name", asIs, conf("c = up.load + 1", lines[1]), false},
		{"broken, and served as before", func(s *site) { s.serve(conf(lines...)) }, conf("a = up.load +", lines[1]), true},
		{"nothing", asIs, conf(), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.same, host(row.change, row.config) == want)
		})
	}
	assert.Equal(t, host(asIs, secret("b = 1")), host(asIs, secret("b = 2")), "nobody can test guesses of it")
}

// Each file counts its definitions that are served.
func TestBoundByFile(t *testing.T) {
	s := newSite(t)
	c := confFile("a.conf", "a = up.load", "b = no.such", "c = 1")
	c.Definitions = append(c.Definitions, confFile("b.conf", "c = 2", "d = 3").Definitions...)
	c.Files = []File{{Path: "a.conf"}, {Path: "b.conf"}, {Path: "c.conf"}}
	for i, want := range []int{1, 2, 0} {
		assert.Equal(t, want, s.serve(c).Files[i].Bound, c.Files[i].Path)
	}
}

// A file with many wrong definitions fills no log: the first ones are logged, and how many more there are. Those of other
// files are logged as ever.
func TestReportIsBounded(t *testing.T) {
	s := newSite(t)
	log, hook := logtest.NewNullLogger()
	report := func(wrong int) map[string]int {
		var lines []string
		for i := range wrong {
			lines = append(lines, fmt.Sprintf("m%d = sqrt(up.load, %d)", i, i), fmt.Sprintf("w%d = up.load + sum(up.name)", i))
		}
		before := s.before
		if before == nil {
			before = &Snapshot{}
		}
		c := confFile("many.conf", lines...)
		c.Definitions = append(c.Definitions, confFile("other.conf", "o = up.load + sum(up.name)").Definitions...)
		hook.Reset()
		s.serve(c).Report(log, before, 0)
		messages := make(map[string]int)
		for _, e := range hook.AllEntries() {
			messages[e.Message]++
		}
		return messages
	}
	const wrong, more = "definition is wrong", "more definitions are wrong, run pmdaderived check --all"
	got := report(3 * MaxReported)
	assert.Equal(t, MaxReported+1, got[wrong])
	assert.Equal(t, 1, got[more])
	assert.Empty(t, report(3*MaxReported), "nothing is new")
}
