package upstream

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/await"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

const (
	ms     = time.Millisecond
	second = time.Second

	connections = 5 // as many as a pool has
)

// Metrics of the pmcd.
var (
	binDom    = pdu.NewInDom(60, 1)
	procDom   = pdu.NewInDom(3, 9)
	loadID    = pdu.NewPMID(60, 0, 1)
	countID   = pdu.NewPMID(60, 0, 2)
	binID     = pdu.NewPMID(60, 1, 1)
	binTextID = pdu.NewPMID(60, 1, 2)
	procID    = pdu.NewPMID(3, 0, 1)
)

func newRelay(tb testing.TB) *pmapitest.Relay {
	tb.Helper()
	return pmapitest.NewRelay(tb, &pmapitest.Collector{
		Features: pmapitest.AllFeatures,
		Metrics: []pmapitest.Metric{
			{
				Name: "up.load", Desc: pdu.Desc{PMID: loadID, Type: pdu.TypeDouble, InDom: pdu.NoInDom},
				Values: []pdu.Value{pdu.DoubleValue(pdu.NoInst, 0.5)},
			},
			{
				Name: "up.count", Desc: pdu.Desc{PMID: countID, Type: pdu.TypeU64, InDom: pdu.NoInDom},
				Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 100)},
			},
			{
				Name: "up.bin", Desc: pdu.Desc{PMID: binID, Type: pdu.Type32, InDom: binDom},
				Values: []pdu.Value{pdu.Int32Value(1, 10), pdu.Int32Value(2, -20), pdu.Int32Value(3, 30)},
			},
			{
				Name: "up.text", Desc: pdu.Desc{PMID: binTextID, Type: pdu.TypeString, InDom: binDom},
				Values: []pdu.Value{pdu.StringValue(1, "a"), pdu.StringValue(2, "b"), pdu.StringValue(3, "c")},
			},
			{
				Name: "proc.io", Desc: pdu.Desc{PMID: procID, Type: pdu.TypeU64, InDom: procDom},
				Values: []pdu.Value{pdu.Uint64Value(1, 7), pdu.Uint64Value(2, 8)},
			},
		},
	})
}

// fetching is an Upstream with connections that the test makes.
type fetching struct {
	*Upstream
	tb      testing.TB
	log     *logtest.Hook
	clock   func() time.Time
	readers sync.WaitGroup
}

// bare is an Upstream without connections.
func bare(now func() time.Time, change ...func(*Options)) (*Upstream, *logtest.Hook) {
	log, hook := logtest.NewNullLogger()
	o := Options{
		Names: &operand.InstanceCache{}, Answer: pdu.ClientLimit,
		Figures: &control.Figures{}, Log: log, Now: now,
	}
	for _, f := range change {
		f(&o)
	}
	return New(o), hook
}

// newFetching attaches n connections to the pmcd at an address.
func newFetching(tb testing.TB, address string, n int) *fetching {
	tb.Helper()
	s := &fetching{tb: tb, clock: time.Now}
	s.Upstream, s.log = bare(func() time.Time { return s.clock() })
	for slot := range n {
		s.join(address, slot)
	}
	tb.Cleanup(func() {
		s.pool.EndSession()
		s.readers.Wait()
	})
	return s
}

// join attaches connections to the pmcd at an address, in slots of its table.
func (s *fetching) join(address string, slots ...int) {
	s.tb.Helper()
	for _, slot := range slots {
		s.pool.Attach(context.Background(), &s.readers, dialUnix(s.tb, address), slot)
	}
}

func dialUnix(tb testing.TB, address string) *pmapi.Conn {
	tb.Helper()
	c, err := pmapi.Dial(tb.Context(), "unix", address)
	require.NoError(tb, err)
	return c
}

// newest returns the latest sample of a series.
func (s *fetching) newest(of *Series) *operand.Sample { return s.Newest(nil, []*Series{of})[0] }

// sampled waits for the first sample of each series.
func (s *fetching) sampled(series ...*Series) {
	s.tb.Helper()
	for _, one := range series {
		await.Until(s.tb, fmt.Sprint("sample of ", one.descs), func() bool { return s.newest(one) != nil })
	}
}

// idle reports that nothing is under way or waiting.
func (s *fetching) idle(series ...*Series) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(series, func(one *Series) bool { return !one.Idle() }) &&
		len(s.queue.Waiting()) == 0
}

// check looks after what only time shows.
func (s *fetching) check(now time.Time) { check(s.Upstream, now) }

func check(u *Upstream, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forgetSamples(now)
	u.sender.CloseOverdue(now)
}
