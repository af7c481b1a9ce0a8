package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

func dialled(t *testing.T, u *upstream) *pmapi.Conn {
	t.Helper()
	conn, err := u.dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return conn
}

func TestLookUp(t *testing.T) {
	u := newUpstream(t)
	conn := dialled(t, u)
	defs := conf("a = up.load + no.such", "b = derived.a + derived", "c = defined(up.bin) ? up.bin : up.text").Definitions
	var asked []string
	u.onRequest(func(_ int, f pdu.Frame) bool {
		var req pdu.PMNSNames
		if f.Kind == pdu.KindPMNSNames && req.Decode(f.Body) == nil {
			for _, name := range req.Names {
				asked = append(asked, strings.Clone(name))
			}
		}
		return true
	})
	c, err := LookUp(t.Context(), conn, defs)
	require.NoError(t, err)
	assert.Equal(t, []string{"no.such", "up.bin", "up.load", "up.text"}, asked, "each once, and none of our own")
	desc, err := c.Desc("up.bin")
	require.NoError(t, err)
	assert.Equal(t, pdu.Desc{PMID: binID, Type: pdu.Type32, InDom: binDom, Sem: pdu.SemInstant}, desc)
	for _, name := range []string{"no.such", "derived.a", "up.count"} {
		_, err = c.Desc(name)
		assert.ErrorIs(t, err, pdu.ErrName, name)
	}

	require.NoError(t, conn.Close())
	_, err = LookUp(t.Context(), conn, defs)
	assert.Error(t, err)
}

func newSession(t *testing.T, u *upstream, lines ...string) *Session {
	t.Helper()
	s, err := NewSession(t.Context(), dialled(t, u), conf(lines...).Definitions, derived.Language{})
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

func TestSession(t *testing.T) {
	u := newUpstream(t)
	s := newSession(t, u, "change = delta(up.count)", "bins = up.bin * 2", "one = up.bin[two]", "some = matchinst(/^t/, up.bin)",
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
	assert.Equal(t, [][]pdu.PMID{{countID, binID}}, u.fetched(), "all operands in one fetch, each once")

	u.tick(time.Second, map[pdu.PMID][]pdu.Value{countID: {pdu.Uint64Value(pdu.NoInst, 142)}})
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	assert.Equal(t, []uint64{pdu.DoubleValue(0, 42).Bits}, s.bits(t, "change"))
}

// Names are asked for again when the instances change, and only then.
func TestSessionFollowsInstances(t *testing.T) {
	u := newUpstream(t)
	s := newSession(t, u, "some = matchinst(/^f/, up.bin)")
	asked := 0
	u.onRequest(func(_ int, f pdu.Frame) bool {
		if f.Kind == pdu.KindInstanceReq {
			asked++
		}
		return true
	})
	sample := func() { require.NoError(t, s.Sample(t.Context(), time.Now())) }
	sample()
	sample()
	assert.Equal(t, 1, asked)
	assert.Empty(t, s.bits(t, "some"))
	u.Update(func() {
		in := u.InDoms[binDom]
		in.Instances = append(in.Instances, pdu.Instance{ID: 4, Name: "four"})
		u.InDoms[binDom] = in
	})
	u.tick(time.Second, map[pdu.PMID][]pdu.Value{binID: {pdu.Int32Value(1, 1), pdu.Int32Value(4, 44)}})
	sample()
	assert.Equal(t, 2, asked)
	assert.Equal(t, []uint64{44}, s.bits(t, "some"))
}

// A domain that nobody can name is no reason to have no values.
func TestSessionWithoutNames(t *testing.T) {
	u := newUpstream(t)
	s := newSession(t, u, "io = proc.io")
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	assert.Equal(t, []uint64{7, 8}, s.bits(t, "io"))
	_, ok := s.InstanceName(procDom, 1)
	assert.False(t, ok)
}

// Constants need no fetch.
func TestSessionOfConstants(t *testing.T) {
	u := newUpstream(t)
	s := newSession(t, u, "k = 6 * 7")
	now := time.Unix(77, 0)
	require.NoError(t, s.Sample(t.Context(), now))
	assert.Equal(t, now, s.Time())
	assert.Equal(t, []uint64{42}, s.bits(t, "k"))
	assert.Empty(t, u.fetched())
}

func TestSessionThatLosesItsConnection(t *testing.T) {
	u := newUpstream(t)
	s := newSession(t, u, "bins = up.bin[two]")
	u.onReply(func(_ int, f pdu.Frame) bool { return f.Kind != pdu.KindInstance })
	require.Error(t, s.Sample(t.Context(), time.Now()), "the names cannot be had any more")
	require.Error(t, s.Sample(t.Context(), time.Now()))
	assert.True(t, s.Time().IsZero())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := NewSession(ctx, dialled(t, newUpstream(t)), conf("a = up.load").Definitions, derived.Language{})
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "operands: ")
}

// Watching other metrics begins anew.
func TestSessionWatch(t *testing.T) {
	u := newUpstream(t)
	s := newSession(t, u, "a = delta(delta(up.count))", "b = up.load")
	assert.Equal(t, 2, s.History())
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	b, _ := s.Set().Lookup("b")
	s.Watch(b)
	assert.Equal(t, 0, s.History())
	require.NoError(t, s.Sample(t.Context(), time.Now()))
	assert.Equal(t, &derived.Vector{Type: pdu.TypeDouble, Bits: []uint64{pdu.DoubleValue(0, 0.5).Bits}}, s.Value(b))
	assert.Equal(t, []pdu.PMID{loadID}, u.fetched()[1])
}
