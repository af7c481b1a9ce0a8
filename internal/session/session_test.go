package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

var (
	loadID, countID, binID, ioID = pdu.NewPMID(60, 0, 0), pdu.NewPMID(60, 0, 1), pdu.NewPMID(60, 0, 2), pdu.NewPMID(3,
		0, 0)
	binDom, procDom = pdu.NewInDom(60, 1), pdu.NewInDom(3, 9)
)

// collector is a pmcd with some metrics, and what its only client has sent it.
type collector struct {
	pmapitest.Collector
	conn *pmapi.Conn
	sent bytes.Buffer
	done chan struct{} // closed when all of it has been sent
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	metric := func(name string, id pdu.PMID, typ pdu.Type, d pdu.InDom, sem pdu.Semantics,
		values ...pdu.Value,
	) pmapitest.Metric {
		return pmapitest.Metric{Name: name, Desc: pdu.Desc{PMID: id, Type: typ, InDom: d, Sem: sem}, Values: values}
	}
	c := &collector{done: make(chan struct{}), Collector: pmapitest.Collector{
		Features: pmapitest.AllFeatures, Time: time.Unix(1_000_000, 0),
		Metrics: []pmapitest.Metric{
			metric("up.load", loadID, pdu.TypeDouble, pdu.NoInDom, pdu.SemInstant, pdu.DoubleValue(pdu.NoInst, 0.5)),
			metric("up.count", countID, pdu.TypeU64, pdu.NoInDom, pdu.SemCounter, pdu.Uint64Value(pdu.NoInst, 100)),
			metric("up.bin", binID, pdu.Type32, binDom, pdu.SemInstant, pdu.Int32Value(1, 10), pdu.Int32Value(2, -20),
				pdu.Int32Value(3, 30)),
			metric("proc.io", ioID, pdu.TypeU64, procDom, pdu.SemCounter, pdu.Uint64Value(1, 7), pdu.Uint64Value(2, 8)),
		},
		InDoms: map[pdu.InDom]pmapitest.InDom{
			binDom: {Instances: []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}, {ID: 3, Name: "three"}}},
		},
	}}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	back, err := net.Dial("unix", pmapitest.Listen(t, "unix", c.Serve))
	require.NoError(t, err)
	go func() {
		defer close(c.done)
		front, err := l.Accept()
		if !assert.NoError(t, err) {
			return
		}
		go io.Copy(front, back) // until one side closes
		_, _ = io.Copy(back, io.TeeReader(front, &c.sent))
		_ = back.Close()
	}()
	c.conn, err = pmapi.Dial(t.Context(), "unix", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, c.conn.Close())
		<-c.done
		assert.NoError(t, l.Close())
	})
	return c
}

// received closes the connection and returns what came over it, of one kind.
func received[T pdu.Message](t *testing.T, c *collector) (all []T) {
	t.Helper()
	require.NoError(t, c.conn.Close())
	<-c.done
	for frames := pdu.NewReader(bytes.NewReader(c.sent.Bytes()), pdu.AgentLimit); ; {
		f, err := frames.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		m, err := pdu.Decode(f)
		require.NoError(t, err)
		if m, ok := m.(T); ok {
			all = append(all, m)
		}
	}
}

// tick lets a second pass and gives a metric other values.
func (c *collector) tick(metric int, values ...pdu.Value) {
	c.Update(func() {
		c.Time = c.Time.Add(time.Second)
		c.Metrics[metric].Values = values
	})
}

func definitions(t *testing.T, lines ...string) (defs []served.Definition) {
	t.Helper()
	for _, line := range lines {
		name, text, _ := strings.Cut(line, " = ")
		d, err := derived.Parse(name, text)
		require.NoError(t, err)
		defs = append(defs, served.Definition{Definition: d})
	}
	return defs
}

func newSession(t *testing.T, c *collector, lines ...string) *Session {
	t.Helper()
	s, err := New(t.Context(), c.conn, definitions(t, lines...), derived.Language{})
	require.NoError(t, err)
	s.Watch(s.Set().Metrics()...)
	return s
}

func (s *Session) bits(t *testing.T, name string) []uint64 {
	t.Helper()
	m, ok := s.Set().Lookup(name)
	require.True(t, ok)
	v := s.Value(m)
	require.Zero(t, v.Code)
	return v.Bits
}

func TestLookUp(t *testing.T) {
	u := newCollector(t)
	defs := definitions(t, "a = up.load + no.such", "b = derived.a + derived", "c = defined(up.bin) ? up.bin : proc.io")
	c, err := LookUp(t.Context(), u.conn, defs, "up.more", "up.bin")
	require.NoError(t, err)
	desc, err := c.Desc("up.bin")
	require.NoError(t, err)
	assert.Equal(t, pdu.Desc{PMID: binID, Type: pdu.Type32, InDom: binDom, Sem: pdu.SemInstant}, desc)
	for _, name := range []string{"no.such", "derived.a", "up.count"} {
		_, err = c.Desc(name)
		assert.ErrorIs(t, err, pdu.ErrName, name)
	}
	var asked []string
	for _, m := range received[*pdu.PMNSNames](t, u) {
		asked = append(asked, m.Names...)
	}
	assert.Equal(t, []string{"no.such", "proc.io", "up.bin", "up.load", "up.more"}, asked,
		"each once, and none of our own")
	_, err = LookUp(t.Context(), u.conn, defs)
	assert.Error(t, err)
}

func TestSession(t *testing.T) {
	c := newCollector(t)
	s := newSession(t, c, "change = delta(up.count)", "bins = up.bin * 2", "one = up.bin[two]",
		"some = matchinst(/^t/, up.bin)",
		"each = mkconst(7, indom=60.1)", "broken = no.such", "nested = sum(bins)")
	assert.Equal(t, 1, s.History())
	assert.True(t, s.Time().IsZero())

	require.NoError(t, s.Sample(t.Context(), time.Now()))
	assert.Equal(t, time.Unix(1_000_000, 0), s.Time())
	assert.Empty(t, s.bits(t, "change"), "nothing to compare with")
	assert.Equal(t, []uint64{20, 1<<32 - 40, 60}, s.bits(t, "bins"))
	assert.Equal(t, []uint64{1<<32 - 20}, s.bits(t, "one"))
	assert.Equal(t, []uint64{1<<32 - 20, 30}, s.bits(t, "some"))
	assert.Equal(t, []uint64{7, 7, 7}, s.bits(t, "each"))
	assert.Equal(t, []uint64{40}, s.bits(t, "nested"))
	name, ok := s.InstanceName(binDom, 3)
	assert.True(t, ok)
	assert.Equal(t, "three", name)
	broken, _ := s.Set().Lookup("broken")
	assert.Equal(t, pdu.ErrBadDerive, s.Value(broken).Code)

	c.tick(1, pdu.Uint64Value(pdu.NoInst, 142))
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	assert.Equal(t, []uint64{pdu.DoubleValue(0, 42).Bits}, s.bits(t, "change"))
	for _, f := range received[*pdu.HighResFetch](t, c) {
		assert.Equal(t, []pdu.PMID{countID, binID}, f.PMIDs, "all operands in one fetch, each once")
	}
}

// Names that move to other numbers while the instances stay are noticed within the time that the agent needs.
func TestSessionFollowsNames(t *testing.T) {
	c := newCollector(t)
	s := newSession(t, c, "one = up.bin[two]", "some = matchinst(/^one/, up.bin)", "no = proc.io")
	now := time.Unix(1_000_000, 0)
	require.NoError(t, s.Sample(t.Context(), now))
	assert.Equal(t, []uint64{1<<32 - 20}, s.bits(t, "one"))
	c.Update(func() {
		c.InDoms[binDom] = pmapitest.InDom{Instances: []pdu.Instance{{ID: 1, Name: "two"}, {ID: 2, Name: "one"}, {ID: 3, Name: "three"}}}
	})
	for range 20 {
		now = now.Add(time.Second)
		require.NoError(t, s.Sample(t.Context(), now))
	}
	assert.Equal(t, []uint64{10}, s.bits(t, "one"))
	assert.Equal(t, []uint64{1<<32 - 20}, s.bits(t, "some"))
	name, ok := s.InstanceName(binDom, 1)
	assert.True(t, ok)
	assert.Equal(t, "two", name)
	asked := 0
	for _, m := range received[*pdu.InstanceReq](t, c) {
		if m.InDom == binDom && m.Name == "" {
			asked++
		}
	}
	assert.Equal(t, 3, asked, "at first, and then each 8 s")
}

// Labels that were refused are asked for again, although the instances are the same.
func TestSessionAsksAgainForRefusedLabels(t *testing.T) {
	c := newCollector(t)
	in := c.InDoms[binDom]
	in.Unlabelled = pdu.ErrAgain
	c.InDoms[binDom] = in
	s := newSession(t, c, "kinds = sum(up.bin) by (label(kind))")
	m, _ := s.Set().Lookup("kinds")
	now := time.Unix(1_000_000, 0)
	require.NoError(t, s.Sample(t.Context(), now))
	assert.Equal(t, pdu.ErrAgain, s.Value(m).Code)
	c.Update(func() {
		in.Unlabelled = 0
		c.InDoms[binDom] = in
	})
	require.NoError(t, s.Sample(t.Context(), now.Add(time.Minute)))
	assert.Empty(t, s.bits(t, "kinds"), "no instance has the label")
}

// Names are asked for again at once when the instances change.
func TestSessionFollowsInstances(t *testing.T) {
	c := newCollector(t)
	s := newSession(t, c, "some = matchinst(/^f/, up.bin)")
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	c.Update(func() {
		c.InDoms[binDom] = pmapitest.InDom{Instances: []pdu.Instance{{ID: 1, Name: "first"}, {ID: 4, Name: "four"}}}
	})
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	assert.Empty(t, s.bits(t, "some"))
	c.tick(2, pdu.Int32Value(1, 1), pdu.Int32Value(4, 44))
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	assert.Equal(t, []uint64{1, 44}, s.bits(t, "some"))
}

// A domain that nobody can name is no reason to have no values.
func TestSessionWithoutNames(t *testing.T) {
	s := newSession(t, newCollector(t), "io = proc.io")
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	assert.Equal(t, []uint64{7, 8}, s.bits(t, "io"))
	_, ok := s.InstanceName(procDom, 1)
	assert.False(t, ok)
}

// Constants need no fetch.
func TestSessionOfConstants(t *testing.T) {
	c := newCollector(t)
	s := newSession(t, c, "k = 6 * 7")
	now := time.Unix(77, 0)
	require.NoError(t, s.Sample(t.Context(), now))
	assert.Equal(t, now, s.Time())
	assert.Equal(t, []uint64{42}, s.bits(t, "k"))
	assert.Empty(t, received[*pdu.HighResFetch](t, c))
}

func TestSessionThatLosesItsConnection(t *testing.T) {
	for _, line := range []string{"values = up.load", "names = mkconst(7, indom=60.1)"} {
		c := newCollector(t)
		s := newSession(t, c, line)
		require.NoError(t, c.conn.Close())
		for range 2 {
			require.Error(t, s.Sample(t.Context(), time.Now()))
			assert.True(t, s.Time().IsZero())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := New(ctx, newCollector(t).conn, definitions(t, "a = up.load"), derived.Language{})
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "operands: ")
}

// Watching other metrics begins anew.
func TestSessionWatch(t *testing.T) {
	c := newCollector(t)
	s := newSession(t, c, "a = delta(delta(up.count))", "b = up.load")
	assert.Equal(t, 2, s.History())
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	b, _ := s.Set().Lookup("b")
	s.Watch(b)
	assert.Equal(t, 0, s.History())
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	assert.Equal(t, &derived.Vector{Type: pdu.TypeDouble, Bits: []uint64{pdu.DoubleValue(0, 0.5).Bits}}, s.Value(b))
	assert.Equal(t, []pdu.PMID{loadID}, received[*pdu.HighResFetch](t, c)[1].PMIDs)
}

// Functions over time have the samples of their ticks, and rates those of the samples that are taken besides.
func TestSessionOfWindows(t *testing.T) {
	c := newCollector(t)
	s := newSession(t, c, `peak = max_sample(up.load, "0.2", "0.1")`, "change = delta(up.count)",
		`both = count_sample(up.bin, "0.1", "0.1") + up.bin`)
	assert.Equal(t, 200*time.Millisecond, s.Span())
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	peak, _ := s.Set().Lookup("peak")
	assert.Equal(t, pdu.ErrAgain, s.Value(peak).Code)
	left := 0
	require.NoError(t, s.Wait(t.Context(), time.Now().Add(s.Span()), func(time.Duration) { left++ }))
	assert.Positive(t, left)
	c.tick(1, pdu.Uint64Value(pdu.NoInst, 130))
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	assert.Equal(t, []uint64{pdu.DoubleValue(0, 0.5).Bits}, s.bits(t, "peak"))
	assert.Equal(t, []uint64{pdu.DoubleValue(0, 30).Bits}, s.bits(t, "change"))
	assert.Len(t, s.bits(t, "both"), 3)
	require.NoError(t, c.conn.Close())
	require.Error(t, s.Wait(t.Context(), time.Now().Add(s.Span()), nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Wait(ctx, time.Now().Add(time.Hour), nil), context.Canceled)
}

// An instance that has gone is shown with the name that it had until the next tick of a function over time.
func TestNameOfAnInstanceThatHasGone(t *testing.T) {
	c := newCollector(t)
	s := newSession(t, c, `peak = max_sample(up.bin, "1hour", "1min")`)
	start := time.Unix(1_000_020, 0)
	require.NoError(t, s.Tick(t.Context(), start, nil, 0))
	c.tick(2, pdu.Int32Value(1, 11), pdu.Int32Value(2, -21))
	c.Update(func() {
		c.InDoms[binDom] = pmapitest.InDom{Instances: []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}}}
	})
	require.NoError(t, s.Sample(t.Context(), start.Add(30*time.Second)))
	require.Equal(t, []uint64{10, 1<<32 - 20, 30}, s.bits(t, "peak"))
	name, ok := s.InstanceName(binDom, 3)
	assert.True(t, ok)
	assert.Equal(t, "three", name)

	require.NoError(t, s.Tick(t.Context(), start.Add(time.Minute), nil, 0))
	require.NoError(t, s.Sample(t.Context(), start.Add(90*time.Second)))
	assert.Equal(t, []uint64{11, 1<<32 - 20}, s.bits(t, "peak"))
}

// As in a unit test, a window has the first sample of each of its intervals, and no other ticks.
func TestSessionThatTicksAtSamples(t *testing.T) {
	c := newCollector(t)
	s := newSession(t, c, `seconds = count_sample(up.load, "1min", "1s")`,
		`pairs = count_sample(up.load, "1min", "2s")`, "new = count_sample(up.load)")
	s.TickAtSamples()
	s.Watch(s.Set().Metrics()...)
	assert.Zero(t, s.Span())
	assert.Empty(t, s.Windows())
	for _, want := range []struct{ seconds, pairs uint64 }{{1, 1}, {2, 1}, {3, 2}, {4, 2}} {
		require.NoError(t, s.Wait(t.Context(), time.Now(), nil))
		require.NoError(t, s.Sample(t.Context(), time.Now()))
		assert.Equal(t, []uint64{want.seconds}, s.bits(t, "seconds"))
		assert.Equal(t, []uint64{want.pairs}, s.bits(t, "pairs"))
		assert.Equal(t, []uint64{1}, s.bits(t, "new"))
		c.tick(1, pdu.Uint64Value(pdu.NoInst, 1))
	}
}
