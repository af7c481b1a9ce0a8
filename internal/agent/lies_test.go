package agent

import (
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// wordsOf returns the words of a HIGHRES_RESULT in which the set of a metric may lie: its PMID, and the head of the
// block of its first value.
func wordsOf(t testing.TB, frame []byte, id pdu.PMID) (set, block []byte) {
	t.Helper()
	const head = 32
	at := head
	for at+8 <= len(frame) {
		numval := int(int32(binary.BigEndian.Uint32(frame[at+4:])))
		if pdu.PMID(binary.BigEndian.Uint32(frame[at:])) == id {
			if numval > 0 {
				block = frame[4*binary.BigEndian.Uint32(frame[at+16:]):]
			}
			return frame[at:], block
		}
		at += 8
		if numval > 0 {
			at += 4 + 8*numval
		}
	}
	return nil, nil
}

func put(b []byte, words ...uint32) {
	for i, word := range words {
		binary.BigEndian.PutUint32(b[4*i:], word)
	}
}

// A lie in a value set costs only the metrics with that operand, as long as it lasts. Other metrics have all their
// values, and their rates go on, even if all other values of a fetch are the liar's.
func TestLiesInASet(t *testing.T) {
	const u64 = uint32(pdu.TypeU64) << 24
	for _, row := range []struct {
		name string
		lie  func(set, block []byte)
		code pdu.Code // of the liar's own metrics; 0: they have values
	}{
		{"a 64-bit number of 4 bytes", func(_, block []byte) { put(block, u64|8) }, pdu.ErrConv},
		{"a 64-bit number of no bytes", func(_, block []byte) { put(block, u64|4) }, pdu.ErrConv},
		{"a 32-bit number for a 64-bit one", func(_, block []byte) { put(block, uint32(pdu.TypeU32)<<24|8) }, pdu.ErrType},
		{"a string for a number", func(_, block []byte) { put(block, uint32(pdu.TypeString)<<24|12) }, pdu.ErrType},
		{"a type that nobody knows", func(_, block []byte) { put(block, 77<<24|12) }, pdu.ErrType},
		{"a block without a head", func(_, block []byte) { put(block, u64) }, pdu.ErrIPC},
		{"a block beyond the end", func(_, block []byte) { put(block, u64|0xffffff) }, pdu.ErrIPC},
		{"an index of no block", func(set, _ []byte) { put(set[16:], 3) }, pdu.ErrIPC},
		{"an index beyond the end", func(set, _ []byte) { put(set[16:], 1<<31-1) }, pdu.ErrIPC},
		{"no such format", func(set, _ []byte) { put(set[8:], 7) }, pdu.ErrIPC},
		{"another metric", func(set, _ []byte) { put(set, uint32(procID)+1) }, pdu.ErrIPC},
		{"another agent's metric", func(set, _ []byte) { put(set, uint32(countID)) }, pdu.ErrIPC},
		{"no metric", func(set, _ []byte) { put(set, uint32(pdu.NoPMID)) }, pdu.ErrIPC},
		{"the same instance twice", func(set, _ []byte) { put(set[20:], 1) }, 0},
		{"an instance below zero", func(set, _ []byte) { put(set[12:], 1<<32-7) }, 0},
		{"a singular value", func(set, _ []byte) { put(set[12:], 1<<32-1) }, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			up := newCollector(t)
			up.OnRequest(func(int, pdu.Frame) bool {
				up.Update(func() {
					up.Time = time.Now()
					up.Metrics[1].Values = []pdu.Value{pdu.Uint64Value(pdu.NoInst, uint64(up.Time.UnixNano()))}
				})
				return true
			})
			var lying atomic.Bool
			var lies atomic.Int64
			up.OnAttack(func(_ int, f pdu.Frame, to net.Conn) (met, goOn bool) {
				if f.Kind != pdu.KindHighResResult || !lying.Load() {
					return false, true
				}
				frame := pmapitest.Encoded(f)
				if set, block := wordsOf(t, frame, procID); block != nil {
					row.lie(set, block)
					lies.Add(1)
				}
				_, err := to.Write(frame)
				return true, err == nil
			})
			h := start(t, up, conf("honest = up.load", "rate = rate(up.count)", "lie = proc.io", "more = sum(proc.io)")).bound()
			honest, liars := []pdu.PMID{
				h.id("derived.honest"), h.id("derived.rate"),
			}, []pdu.PMID{h.id("derived.lie"), h.id("derived.more")}
			complete := false
			check := func() []pdu.ValueSet {
				h.fetch(liars...) // a fetch of theirs alone
				sets := h.fetch(append(liars, honest...)...)
				load, rate := sets[2], sets[3]
				if complete = complete || len(load.Values)+len(rate.Values) == 2; complete {
					require.Len(t, load.Values, 1, "%v", load)
					require.Len(t, rate.Values, 1, "%v", rate)
					require.InDelta(t, 0.5, numberOf(load.Values[0]), 0)
					require.InEpsilon(t, 1e9, numberOf(rate.Values[0]), 1e-6)
				}
				return sets[:2]
			}
			true12 := func() bool {
				sets := check()
				return len(sets[0].Values) == 2 && len(sets[1].Values) == 1 && sets[1].Values[0].Bits == 15
			}
			await.Until(t, "values", func() bool { return true12() && complete })
			lying.Store(true)
			await.Until(t, "lies, and what they cost", func() bool {
				sets := check()
				if lies.Load() < 20 {
					return false
				}
				if row.code == 0 {
					return len(sets[0].Values) > 0
				}
				return sets[0].Code == row.code && sets[1].Code == row.code
			})
			lying.Store(false)
			await.Until(t, "the liar's values", true12)
			h.connectedOnce()
			assert.Zero(t, h.agent.figures.UpstreamErrors.Load())
		})
	}
}
