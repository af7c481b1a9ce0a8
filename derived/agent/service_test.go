package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/agent/control"
	"pmdaderived/derived/agent/identity"
	"pmdaderived/pdu"
)

// site is everything that services are built from, as the binder has it.
type site struct {
	t       *testing.T
	ids     *identity.Registry
	catalog catalog // nil: not looked up yet
	before  *service
	protect []string
}

func newSite(t *testing.T) *site {
	ids, err := identity.Load("", testDomain)
	require.NoError(t, err)
	return &site{t: t, ids: ids, catalog: catalog{
		"up.load":  {desc: pdu.Desc{PMID: loadID, Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant}},
		"up.count": {desc: pdu.Desc{PMID: countID, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}},
		"up.name":  {desc: pdu.Desc{PMID: nameID, Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}},
		"up.bin":   {desc: pdu.Desc{PMID: binID, Type: pdu.Type32, InDom: binDom, Sem: pdu.SemInstant}},
		"up.alive": {code: pdu.ErrNoAgent},
		"proc.io":  {desc: pdu.Desc{PMID: procID, Type: pdu.TypeU64, InDom: procDom, Sem: pdu.SemCounter}},
	}}
}

// serve builds the next service.
func (s *site) serve(c Config) *service {
	s.t.Helper()
	b := blueprint{config: c, before: s.before, ids: s.ids, protected: s.protect, operands: map[pdu.PMID]pdu.Desc{}}
	if s.catalog != nil {
		b.catalog = s.catalog
	}
	for _, o := range s.catalog {
		b.operands[o.desc.PMID] = o.desc
	}
	s.before = b.build()
	return s.before
}

// restart forgets everything but the identities.
func (s *site) restart() { s.before = nil }

func (s *site) metric(name string) *metric {
	s.t.Helper()
	m := s.before.find(Root + "." + name)
	require.NotNil(s.t, m, name)
	return m
}

// names lists the definitions that a traversal shows.
func shown(t *testing.T, svc *service) []string {
	t.Helper()
	all, err := svc.names.Traverse(0, Root)
	require.NoError(t, err)
	var names []string
	for _, name := range all {
		if short := strings.TrimPrefix(name, Root+"."); !strings.HasPrefix(short, "control.") {
			names = append(names, short)
		}
	}
	return names
}

func TestStatesOfADefinition(t *testing.T) {
	for _, row := range []struct {
		name, definition string
		state, problem   string
		described        bool
		fetched          pdu.Code // what a fetch answers for want of values
	}{
		{"good", "m = up.load + 1", stateBound, "", true, 0},
		{"constant", "m = 42", stateBound, "", true, 0},
		{"no such operand", "m = up.load + nosuch", stateUnbound, "Unknown operand metric", false, pdu.ErrBadDerive},
		{"operand without a descriptor", "m = up.alive + 1", stateUnbound, "Metadata for operand metric not available", false, pdu.ErrBadDerive},
		{"against the rules", "m = up.name + 1", stateFailed, "Non-arithmetic type for left operand", false, pdu.ErrBadDerive},
		{"itself", "m = derived.m + 1", stateFailed, "Definition depends on itself", false, pdu.ErrBadDerive},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t)
			svc := s.serve(conf(row.definition))
			m := s.metric("m")
			assert.Equal(t, row.state, m.state)
			assert.Contains(t, m.problem, row.problem)
			assert.Equal(t, row.problem == "", m.problem == "")
			assert.Equal(t, row.described, m.described)
			assert.Equal(t, row.state == stateBound, m.derived != nil)
			assert.Equal(t, row.state == stateBound, m.feed != nil)
			assert.Equal(t, row.state == stateBound, svc.good == 1)
			assert.Equal(t, row.state == stateFailed, svc.failed() == 1)
			assert.Equal(t, row.state == stateBound, len(shown(t, svc)) == 1, "in traversals only if it has values")
			id, err := svc.names.Lookup(0, "derived.m")
			require.NoError(t, err, "its name can always be looked up")
			assert.Equal(t, m.id, id)
			require1(t, svc.metrics)
			assert.Equal(t, "m", svc.metrics[0].def.Name)
			if row.state != stateBound {
				assert.Equal(t, row.fetched, m.code())
			}
		})
	}
}

func TestNothingIsBoundBeforeTheLookup(t *testing.T) {
	s := newSite(t)
	s.catalog = nil
	svc := s.serve(conf("a = up.load", "b = 42", "c = up.name + 1"))
	for _, m := range svc.metrics {
		assert.Equal(t, stateWaiting, m.state)
		assert.Empty(t, m.problem)
		assert.Equal(t, pdu.ErrAgain, m.code())
	}
	assert.False(t, svc.bound)
	assert.Zero(t, svc.failed())
	assert.Empty(t, shown(t, svc))
}

// After a restart names and descriptors are there at once: a pmlogger ends when they are not.
func TestWarmStart(t *testing.T) {
	s := newSite(t)
	s.serve(conf("a = up.load", "b = up.count", "c = nosuch"))
	a, b := s.metric("a"), s.metric("b")

	s.restart()
	found := s.catalog
	s.catalog = nil
	svc := s.serve(conf("a = up.load", "b = up.count + 1", "c = nosuch"))
	assert.Equal(t, stateWaiting, s.metric("a").state)
	assert.Equal(t, a.id, s.metric("a").id)
	assert.Equal(t, a.desc, s.metric("a").desc)
	assert.True(t, s.metric("a").described)
	assert.Equal(t, pdu.ErrAgain, s.metric("a").code())
	assert.Equal(t, b.id, s.metric("b").id)
	assert.False(t, s.metric("b").described, "another expression may have another descriptor")
	assert.Equal(t, []string{"a"}, shown(t, svc))

	s.catalog = found
	svc = s.serve(conf("a = up.load", "b = up.count", "c = nosuch"))
	assert.Equal(t, a.desc, s.metric("a").desc)
	assert.Equal(t, []string{"a", "b"}, shown(t, svc))
}

// An agent that goes takes the values with it, not the names and descriptors of what was served.
func TestOperandsThatGo(t *testing.T) {
	s := newSite(t)
	s.serve(conf("a = up.load"))
	was := s.metric("a")
	s.catalog["up.load"] = known{code: pdu.ErrNoAgent}
	svc := s.serve(conf("a = up.load"))
	m := s.metric("a")
	assert.Equal(t, stateUnbound, m.state)
	assert.Equal(t, was.id, m.id)
	assert.Equal(t, was.desc, m.desc)
	assert.True(t, m.described)
	assert.Equal(t, pdu.ErrAgain, m.code())
	assert.Empty(t, shown(t, svc))

	delete(s.catalog, "up.load")
	s.serve(conf("a = up.load"))
	assert.True(t, s.metric("a").described)
}

func TestBrokenDefinitionKeepsTheLastGoodOne(t *testing.T) {
	for name, broken := range map[string]string{
		"syntax":    "a = up.load +",
		"semantics": "a = up.name + 1",
		"operand":   "a = up.lod * 2",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.serve(conf("a = up.load * 2", "other = up.count"))
			was := s.metric("a")
			for range 3 { // however often the configuration is read again
				c := conf(broken, "other = up.count")
				svc := s.serve(c)
				m := s.metric("a")
				assert.Equal(t, stateKept, m.state)
				assert.Equal(t, was.id, m.id)
				assert.Equal(t, "up.load * 2", m.def.Text)
				assert.Contains(t, m.problem, "error")
				assert.Same(t, was.feed, m.feed, "its history goes on")
				assert.NotNil(t, m.derived)
				assert.Equal(t, stateBound, s.metric("other").state)
				assert.Equal(t, []string{"a", "other"}, shown(t, svc))
				assert.Equal(t, 1, svc.failed()+len(c.Failures), "it counts once")
			}
			s.serve(conf("a = up.load * 3"))
			assert.Equal(t, stateBound, s.metric("a").state)
			assert.Empty(t, s.metric("a").problem)
			assert.Equal(t, was.id, s.metric("a").id)
		})
	}
}

func TestBrokenDefinitionThatWasNeverServed(t *testing.T) {
	s := newSite(t)
	svc := s.serve(conf("a = up.load +", "b = up.name + 1", "c = up.load"))
	assert.Equal(t, stateFailed, s.metric("a").state)
	assert.Contains(t, s.metric("a").problem, "syntax error")
	_, err := svc.names.Lookup(0, "derived.a")
	require.ErrorIs(t, err, pdu.ErrName, "only its status is there")
	assert.Nil(t, svc.byID[s.metric("a").id])
	assert.Equal(t, stateFailed, s.metric("b").state)
	assert.Equal(t, 1, svc.failed(), "a is among the failures of the configuration")
	assert.Equal(t, stateBound, s.metric("c").state)
	svc = s.serve(conf("b = -up.name", "c = up.load"))
	assert.Equal(t, stateFailed, s.metric("b").state, "there is nothing good to go back to")
	assert.Equal(t, 1, svc.failed())
}

// The old text of a definition can be as wrong as the new one, when operands have changed.
func TestKeptDefinitionThatBreaksToo(t *testing.T) {
	s := newSite(t)
	s.serve(conf("a = up.load + up.count"))
	s.catalog["up.load"] = known{desc: pdu.Desc{PMID: loadID, Type: pdu.TypeString, InDom: pdu.NoInDom}}
	s.serve(conf("a = -up.name"))
	assert.Equal(t, stateFailed, s.metric("a").state)
	assert.NotEmpty(t, s.metric("a").problem)
}

func TestUnreadableFileKeepsItsDefinitions(t *testing.T) {
	s := newSite(t)
	both := conf("a = up.load")
	both.Definitions = append(both.Definitions, confFile("other.conf", "b = up.count", "c = up.load + 1").Definitions...)
	s.serve(both)
	was := s.metric("b")

	c := conf("a = up.load", "c = up.load + 2")
	c.Failures = []Failure{{Message: "other.conf: permission denied"}}
	c.Unread = func(file string) bool { return file == "other.conf" }
	for range 2 {
		svc := s.serve(c)
		assert.Equal(t, stateKept, s.metric("b").state)
		assert.Equal(t, "other.conf could not be read", s.metric("b").problem)
		assert.Same(t, was.feed, s.metric("b").feed)
		assert.Equal(t, "up.load + 2", s.metric("c").def.Text, "another file defines it now")
		assert.Equal(t, stateBound, s.metric("c").state)
		assert.Equal(t, 1, svc.failed()+len(c.Failures), "the file counts, not what was in it")
	}

	c = conf("a = up.load")
	c.Unread = func(string) bool { return false }
	svc := s.serve(c)
	assert.Nil(t, svc.find("derived.b"), "the file is readable again and does not define it")
}

func TestDeletedDefinitionVanishes(t *testing.T) {
	s := newSite(t)
	before := s.serve(conf("a = up.load", "b = up.count"))
	gone := s.metric("b")
	svc := s.serve(conf("a = up.load"))
	assert.Nil(t, svc.find("derived.b"))
	assert.Nil(t, svc.byID[gone.id])
	assert.NotContains(t, svc.retired, gone.id)
	_, err := svc.names.Lookup(0, "derived.b")
	require.ErrorIs(t, err, pdu.ErrName)
	assert.False(t, svc.sameNames(before))

	s.serve(conf("a = up.load", "b = up.count"))
	assert.Equal(t, gone.id, s.metric("b").id, "it comes back as what it was")
}

// A feed is of operands: it outlives everything that does not change those.
func TestFeedsOutliveServices(t *testing.T) {
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
			was := s.metric("m").feed
			require.NotNil(t, was)
			s.serve(conf(row.after))
			assert.Equal(t, row.same, was == s.metric("m").feed)
		})
	}
	t.Run("operand with another descriptor", func(t *testing.T) {
		s := newSite(t)
		s.serve(conf("m = up.bin"))
		was := s.metric("m").feed
		o := s.catalog["up.bin"]
		o.desc.InDom = pdu.NewInDom(60, 2)
		s.catalog["up.bin"] = o
		s.serve(conf("m = up.bin"))
		assert.NotSame(t, was, s.metric("m").feed)
	})
}

// What changes its metadata is another metric; the old one is known until the process ends.
func TestRetiredIdentities(t *testing.T) {
	s := newSite(t)
	before := s.serve(conf("a = up.load", "b = up.count"))
	old := s.metric("a")
	for _, text := range []string{"a = up.bin", "a = up.name"} {
		svc := s.serve(conf(text, "b = up.count"))
		assert.NotEqual(t, old.id, s.metric("a").id)
		assert.Equal(t, old.desc, svc.retired[old.id])
		assert.Nil(t, svc.byID[old.id])
		_, err := svc.names.Names(0, old.id)
		require.ErrorIs(t, err, pdu.ErrPMID)
		assert.False(t, svc.sameNames(before), "the name has another identity")
	}
	assert.Len(t, s.before.retired, 2)

	s.restart()
	assert.Empty(t, s.serve(conf("a = up.name")).retired)
}

func TestNestedDefinitions(t *testing.T) {
	s := newSite(t)
	s.serve(conf("top = derived.middle + 1", "middle = base * 2", "base = up.load", "lame = wrong + 1", "wrong = -up.name"))
	for _, name := range []string{"top", "middle", "base"} {
		assert.Equal(t, stateBound, s.metric(name).state, name)
		assert.Equal(t, []pdu.PMID{loadID}, s.metric(name).derived.Needs().Operands)
	}
	assert.Equal(t, stateFailed, s.metric("wrong").state)
	assert.Equal(t, stateFailed, s.metric("lame").state)

	// A definition that breaks stays as it was, and so do those that use it.
	s.serve(conf("top = derived.middle + 1", "middle = base +", "base = -up.name"))
	assert.Equal(t, stateBound, s.metric("top").state)
	assert.Equal(t, stateKept, s.metric("middle").state)
	assert.Equal(t, stateKept, s.metric("base").state)
}

// Values that only known users may see are not laundered by computing with them.
func TestProtectedOperands(t *testing.T) {
	for _, row := range []struct {
		definition string
		protected  bool
	}{
		{"m = proc.io", true},
		{"m = sum(proc.io) + up.count", true},
		{"m = up.count", false},
		{"m = derived.inner", true},
		{"m = inner + 1", true},
		{"m = outer", true},
		{"m = proc2.io", false},
		{"m = defined(proc.io) ? up.load : up.load + 1", false},
	} {
		t.Run(row.definition, func(t *testing.T) {
			s := newSite(t)
			s.catalog["proc2.io"] = s.catalog["up.count"]
			s.protect = []string{"proc"}
			s.serve(conf(row.definition, "inner = max(proc.io)", "outer = derived.inner"))
			require.Equal(t, stateBound, s.metric("m").state)
			assert.Equal(t, row.protected, s.metric("m").protected)
		})
	}
}

func TestDuplicateNames(t *testing.T) {
	s := newSite(t)
	svc := s.serve(conf("a = up.load", "b = up.load", "a = up.count"))
	assert.Equal(t, []string{"a", "b"}, shown(t, svc))
	require.Len(t, svc.metrics, 2)
	require.Len(t, svc.metrics, 2)
	assert.Equal(t, "up.count", s.metric("a").def.Text, "the last one counts")
}

// A name cannot be a metric and have others below it.
func TestNamesThatClash(t *testing.T) {
	for _, row := range []struct {
		name    string
		first   []string // what is served already
		lines   []string
		refused string
		reason  string
	}{
		{"leaf, then below it", nil, []string{"a = up.load", "a.b = up.load"}, "a.b", `below the metric "derived.a"`},
		{"below it, then leaf", nil, []string{"a.b = up.load", "a = up.load"}, "a", "has names below it"},
		{"what is served stays", []string{"a.b = up.load"}, []string{"a = up.load", "a.b = up.load"}, "a", "has names below it"},
		{
			"what is served stays, with another descriptor",
			[]string{"a.b = up.load"},
			[]string{"a = up.load", "a.b = up.bin"},
			"a", "has names below it",
		},
		{"our own metric", nil, []string{"control.reload = up.load"}, "control.reload", "there already"},
		{"above our own metrics", nil, []string{"control = up.load"}, "control", "has names below it"},
		{"below our own metric", nil, []string{"control.reload.x = up.load"}, "control.reload.x", `below the metric "derived.control.reload"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t)
			if row.first != nil {
				s.serve(conf(row.first...))
			}
			svc := s.serve(conf(append(row.lines, "other = up.load")...))
			m := s.metric(row.refused)
			assert.Equal(t, stateFailed, m.state)
			assert.Contains(t, m.problem, row.reason)
			assert.Nil(t, m.derived)
			assert.Nil(t, m.feed)
			assert.Equal(t, pdu.ErrBadDerive, m.code())
			assert.Equal(t, 1, svc.failed())
			assert.Equal(t, len(row.lines), svc.good)
			assert.NotContains(t, shown(t, svc), row.refused)
			assert.Contains(t, shown(t, svc), "other")
			assert.Equal(t, len(control.Entries(testDomain))+svc.good, svc.names.Len())
		})
	}
}

// One fetch brings all operands of a metric, and pmcd refuses fetches that are too long.
func TestTooManyOperands(t *testing.T) {
	s := newSite(t)
	const half = maxPart/2 + 1
	lines := make([]string, 0, 2*half/100+3)
	for _, part := range []string{"x", "y"} {
		var groups []string
		for g := range (half + 99) / 100 {
			var names []string
			for i := range min(100, half-100*g) {
				name := fmt.Sprintf("up.%s%d", part, 100*g+i)
				names = append(names, name)
				s.catalog[name] = known{desc: pdu.Desc{
					PMID: pdu.NewPMID(61, int(part[0])+(100*g+i)>>10<<8, (100*g+i)&pdu.MaxItem),
					Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant,
				}}
			}
			lines = append(lines, fmt.Sprintf("%s.g%d = %s", part, g, strings.Join(names, " + ")))
			groups = append(groups, fmt.Sprintf("%s.g%d", part, g))
		}
		lines = append(lines, part+".all = "+strings.Join(groups, " + "))
	}
	s.serve(conf(append(lines, "m = up.load")...))
	require.Equal(t, stateBound, s.metric("m").state)
	svc := s.serve(conf(append(lines, "m = x.all + y.all")...))
	require.Equal(t, stateBound, s.metric("x.all").state)
	assert.Equal(t, stateKept, s.metric("m").state)
	assert.Contains(t, s.metric("m").problem, "operand metrics")
	assert.Equal(t, 1, svc.failed())

	s.restart()
	s.serve(conf(append(lines, "m = x.all + y.all")...))
	assert.Equal(t, stateFailed, s.metric("m").state)
}

func TestIdentitiesThatRunOutLeaveDefinitionsOut(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.WriteFile(state, fmt.Appendf(nil, `{"version": 1, "domain": 510, "next": %d}`, pdu.MaxCluster*(pdu.MaxItem+1)-1), 0o600))
	s := newSite(t)
	var err error
	s.ids, err = identity.Load(state, testDomain)
	require.NoError(t, err)
	s.serve(conf("a = up.load"))
	log, hook := logtest.NewNullLogger()
	b := blueprint{
		config: conf("a = up.load", "b = up.load"), catalog: s.catalog, before: s.before, ids: s.ids,
		operands: map[pdu.PMID]pdu.Desc{loadID: s.catalog["up.load"].desc}, log: log,
	}
	assert.Equal(t, []string{"a"}, shown(t, b.build()))
	assert.Equal(t, "definition has no identity", hook.LastEntry().Message)
}

// What a service shows is told from what the one before showed, whatever else has changed.
func TestSameNames(t *testing.T) {
	s := newSite(t)
	first := s.serve(conf("a = up.load", "b = nosuch"))
	assert.False(t, first.sameNames(nil))
	assert.True(t, s.serve(conf("a = up.load * 2", "b = nosuch")).sameNames(first), "another text")
	assert.True(t, s.serve(conf("a = up.load", "b = nosuch", "c = nosuch")).sameNames(first), "hidden names")
	assert.False(t, s.serve(conf("a = up.load", "b = up.load")).sameNames(first), "a name more")
}

func TestMetricsUnderANode(t *testing.T) {
	s := newSite(t)
	svc := s.serve(conf("a.b = up.load", "a.bc = up.load", "a.b2.c = up.load", "b = up.load", "ab = up.load"))
	for _, row := range []struct{ node, want string }{
		{"derived", "a.b a.b2.c a.bc ab b"},
		{"", "a.b a.b2.c a.bc ab b"},
		{"derived.a", "a.b a.b2.c a.bc"},
		{"derived.a.b", "a.b"},
		{"derived.a.b2", "a.b2.c"},
		{"derived.a.b2.c", "a.b2.c"},
		{"derived.a.b2.c.d", ""},
		{"derived.b", "b"},
		{"derived.control", ""},
		{"derived.z", ""},
	} {
		t.Run(row.node, func(t *testing.T) {
			var names []string
			svc.under(row.node, func(m *metric) bool {
				names = append(names, m.def.Name)
				return true
			})
			assert.Equal(t, row.want, strings.Join(names, " "))
		})
	}
}

func TestCatalogAnswers(t *testing.T) {
	c := newSite(t).catalog
	desc, err := c.Desc("up.load")
	require.NoError(t, err)
	assert.Equal(t, loadID, desc.PMID)
	_, err = c.Desc("up.alive")
	require.ErrorIs(t, err, pdu.ErrNoAgent)
	_, err = c.Desc("nosuch")
	require.ErrorIs(t, err, pdu.ErrName)
}

// The status of a definition that could never be read outlives the file's becoming unreadable.
func TestUnreadableDefinitionInAnUnreadableFile(t *testing.T) {
	s := newSite(t)
	s.serve(Config{Failures: []Failure{
		{Name: "bad", Text: "1 +", File: "f", Line: 1, Message: "the first"},
		{Name: "bad", Text: "1 -", File: "f", Line: 2, Message: "the last"},
	}})
	require1(t, s.before.metrics)
	assert.Equal(t, "the last", s.metric("bad").problem)
	s.serve(Config{Unread: func(string) bool { return true }})
	assert.Equal(t, stateFailed, s.metric("bad").state)
	assert.Equal(t, "the last", s.metric("bad").problem)
}
