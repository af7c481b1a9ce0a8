package agent

import (
	"context"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/await"
	"pmdaderived/internal/identity"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmdatest"
)

const testDomain = 510

// conf makes a configuration of lines "name = expression". One that does not parse is a served.Failure.
func conf(lines ...string) served.Config { return confFile("test.conf", lines...) }

func confFile(file string, lines ...string) served.Config {
	var c served.Config
	for i, line := range lines {
		name, text, _ := strings.Cut(line, " = ")
		d, err := derived.Parse(name, text)
		if err != nil {
			c.Failures = append(c.Failures, served.Failure{Name: name, Message: err.Error()})
			continue
		}
		d.File = file
		c.Definitions = append(c.Definitions, served.Definition{Definition: d, Line: i + 1})
	}
	return c
}

// harness is an agent at work: between a scripted pmcd that asks it and an upstream that it asks.
type harness struct {
	tb     testing.TB
	agent  *Agent
	pmcd   *pmdatest.PMCD
	up     *collector
	config atomic.Pointer[served.Config]
	log    *logtest.Hook
	stop   func() // and wait until it has ended
}

// start runs an agent. change adapts its options.
func start(tb testing.TB, up *collector, c served.Config, change ...func(*Options)) *harness {
	tb.Helper()
	h := &harness{tb: tb, up: up}
	h.config.Store(&c)
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	h.log = hook
	o := Options{
		Domain: testDomain, Version: "1.2.3", Load: func() served.Config { return *h.config.Load() },
		Log: log, Debug: func(bool) {}, retryInterval: time.Hour,
	}
	if up != nil {
		o.Dial = up.dial
	}
	for _, f := range change {
		f(&o)
	}
	h.agent = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { h.agent.Run(ctx) })
	h.stop = func() {
		cancel()
		running.Wait()
	}
	tb.Cleanup(h.stop)
	h.pmcd = pmdatest.StartServer(tb, &pmda.Server{Agent: h.agent})
	h.pmcd.Handshake()
	return h
}

// bound waits until the operands have been looked up.
func (h *harness) bound() *harness {
	h.tb.Helper()
	await.Until(h.tb, "operands looked up", func() bool { return h.agent.snapshot.Load().LookedUp })
	return h
}

// reload puts another configuration in place and waits until it is served.
func (h *harness) reload(c served.Config) {
	h.tb.Helper()
	h.config.Store(&c)
	before := h.agent.figures.Reloads.Load()
	h.agent.Reload()
	await.Until(h.tb, "configuration read again", func() bool { return h.agent.figures.Reloads.Load() > before })
}

// id looks a metric up by its full name.
func (h *harness) id(name string) pdu.PMID {
	h.tb.Helper()
	reply := h.pmcd.Request(&pdu.PMNSNames{Names: []string{name}})
	return pmdatest.As[*pdu.PMNSIDs](h.pmcd, reply).PMIDs[0]
}

// unnamed returns the PMID of a definition that may have no name yet.
func (h *harness) unnamed(name string) pdu.PMID {
	h.tb.Helper()
	for m := range h.agent.snapshot.Load().Under(name) {
		return m.ID
	}
	require.Fail(h.tb, "no definition", name)
	return pdu.NoPMID
}

// fetch fetches metrics as the client number h.pmcd.Client.
func (h *harness) fetch(ids ...pdu.PMID) []pdu.ValueSet {
	h.tb.Helper()
	r := pmdatest.As[*pdu.Result](h.pmcd, h.pmcd.Request(&pdu.Fetch{PMIDs: ids}))
	if r.Sec != 0 && h.up != nil { // pmcd tells all its clients, of which we are one
		h.up.Announce(pdu.Change(r.Sec))
	}
	return r.Sets
}

// value fetches one metric until it has values.
func (h *harness) value(id pdu.PMID) []pdu.Value {
	h.tb.Helper()
	var values []pdu.Value
	await.Until(h.tb, "values of "+id.String(), func() bool {
		values = h.fetch(id)[0].Values
		return len(values) > 0
	})
	return values
}

// logged reports whether a message has been logged, and if so the last time.
func (h *harness) logged(message string) *logrus.Entry {
	for _, e := range h.log.AllEntries() {
		if e.Message == message {
			return e
		}
	}
	return nil
}

func require1[T any](tb testing.TB, list []T) T {
	tb.Helper()
	require.Len(tb, list, 1)
	return list[0]
}

// site is what snapshots are made from, as the reloader has it.
type site struct {
	tb      testing.TB
	ids     *identity.Registry
	catalog catalog
	before  *reload.Snapshot
}

func newSite(tb testing.TB) *site {
	tb.Helper()
	ids, err := identity.Load("", testDomain)
	require.NoError(tb, err)
	return &site{tb: tb, ids: ids, catalog: catalog{
		"up.load":  {PMID: loadID, Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
		"up.count": {PMID: countID, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter},
		"up.name":  {PMID: nameID, Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete},
		"up.bin":   {PMID: binID, Type: pdu.Type32, InDom: binDom, Sem: pdu.SemInstant},
		"proc.io":  {PMID: procID, Type: pdu.TypeU64, InDom: procDom, Sem: pdu.SemCounter},
	}}
}

// serve makes the next snapshot.
func (s *site) serve(c served.Config) *reload.Snapshot {
	known := maps.Clone(s.catalog) // one that is served does not change
	in := served.Input{Config: c, Catalog: &known, IDs: s.ids, OwnEntries: control.Entries(testDomain)}
	if s.before != nil {
		in.Before = s.before.Snapshot
	}
	s.before = reload.NewSnapshot(served.Build(in), s.before)
	return s.before
}

// metric finds a definition.
func (s *site) metric(name string) *reload.ServedState {
	s.tb.Helper()
	for i, m := range s.before.Served {
		if m.Def.Name == name {
			return &s.before.ServedStates[i]
		}
	}
	require.Fail(s.tb, "no such definition", name)
	return nil
}

// catalog is the metrics of a collector, by name.
type catalog map[string]pdu.Desc

// Desc implements derived.Catalog.
func (c catalog) Desc(name string) (pdu.Desc, error) { return derived.CatalogMap(c).Desc(name) }

// sampleOf is what a maker makes of an answer.
func sampleOf(m *operand.Maker, res *pmapi.Columns, taken, arrived time.Time, asked *operand.List) *operand.Sample {
	s, _ := m.Make(res, taken, arrived, asked)
	return s
}

// result is an upstream answer with the given values.
func result(tb testing.TB, at time.Time, sets ...pdu.ValueSet) *pmapi.Columns {
	tb.Helper()
	message := pdu.HighResResult{Sec: at.Unix(), Nsec: int64(at.Nanosecond()), Sets: sets}
	var c pdu.Columns
	require.NoError(tb, c.Decode(pdu.Frame{Kind: message.Kind(), Body: message.Append(nil, 0)[pdu.HeaderSize:]}))
	return &pmapi.Columns{Time: c.Time, Sets: c.Sets}
}

func valuesOf(id pdu.PMID, insts ...pdu.Inst) pdu.ValueSet {
	set := pdu.ValueSet{PMID: id, Format: pdu.Block}
	for _, inst := range insts {
		set.Values = append(set.Values, pdu.Uint64Value(inst, uint64(inst)*10))
	}
	return set
}
