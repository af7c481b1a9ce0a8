package agent

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmdatest"
)

const testDomain = 510

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
		c.Definitions = append(c.Definitions, Definition{Definition: d, File: file, Line: i + 1})
	}
	return c
}

// harness is an agent at work: between a scripted pmcd that asks it and an upstream that it asks.
type harness struct {
	tb     testing.TB
	agent  *Agent
	pmcd   *pmdatest.PMCD
	up     *upstream
	config atomic.Pointer[Config]
	log    *logtest.Hook
}

// start runs an agent. change adapts its options.
func start(tb testing.TB, up *upstream, c Config, change ...func(*Options)) *harness {
	tb.Helper()
	h := &harness{tb: tb, up: up}
	h.config.Store(&c)
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	h.log = hook
	o := Options{
		Domain: testDomain, Version: "1.2.3", Load: func() Config { return *h.config.Load() },
		Poll: time.Hour, Log: quiet(log),
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
	tb.Cleanup(func() {
		cancel()
		running.Wait()
	})
	h.pmcd = pmdatest.StartServer(tb, &pmda.Server{Agent: h.agent})
	h.pmcd.Handshake()
	return h
}

// quiet is the log as the agent sees it.
func quiet(log *logrus.Logger) logrus.FieldLogger { return log }

// bound waits until the operands have been looked up.
func (h *harness) bound() *harness {
	h.tb.Helper()
	eventually(h.tb, "operands looked up", func() bool { return h.agent.service.Load().bound })
	return h
}

// reload puts another configuration in place and waits until it is served.
func (h *harness) reload(c Config) {
	h.tb.Helper()
	h.config.Store(&c)
	before := h.agent.figures.Reloads.Load()
	h.agent.Reload()
	eventually(h.tb, "configuration read again", func() bool { return h.agent.figures.Reloads.Load() > before })
}

// id looks a metric up by its full name.
func (h *harness) id(name string) pdu.PMID {
	h.tb.Helper()
	reply := h.pmcd.Request(&pdu.PMNSNames{Names: []string{name}})
	return pmdatest.As[*pdu.PMNSIDs](h.pmcd, reply).PMIDs[0]
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
	eventually(h.tb, "values of "+id.String(), func() bool {
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

// catalog is what a collector has, by name.
type catalog map[string]known

type known struct {
	desc pdu.Desc
	code pdu.Code // < 0: why there is no descriptor
}

// Desc implements derived.Catalog.
func (c catalog) Desc(name string) (pdu.Desc, error) {
	k, ok := c[name]
	switch {
	case !ok:
		return pdu.Desc{}, pdu.ErrName
	case k.code < 0:
		return pdu.Desc{}, k.code
	}
	return k.desc, nil
}

// sampleOf is what a maker makes of an answer.
func sampleOf(m *operand.Maker, res *pmapi.Columns, taken, arrived time.Time, asked *operandList) *operand.Sample {
	s, _ := m.Make(res, taken, arrived, asked.List)
	return s
}
