package agent

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"

	"pmdaderived/pdu"
)

// attack is what a hostile peer sends instead of one PDU.
type attack struct {
	name string

	// pieces makes what is sent out of the PDU, each piece by a write of its own.
	pieces func(frame []byte) [][]byte

	then aftermath
}

// aftermath is what a peer does when it has sent its pieces.
type aftermath int

const (
	goesOn  aftermath = iota
	answers           // likewise: what it has sent is a whole PDU that can be an answer, so only what it answers is lost
	closes
	stalls // neither sends nor closes
)

// attacks is every way to be hostile with one PDU that does not make it another good one: nobody could
// tell that from the truth.
func attacks() []attack {
	return []attack{
		{"garbage", sends(garbage(256)), closes},
		{"garbage for ever", sends(garbage(1 << 20)), closes},
		{"another protocol", sends([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")), goesOn},
		{"length zero", length(func(int) int { return 0 }), goesOn},
		{"length of less than a header", length(func(int) int { return pdu.HeaderSize - 1 }), goesOn},
		{"length below zero", length(func(int) int { return -1 }), goesOn},
		{"length without end", length(func(int) int { return 1<<31 - 1 }), goesOn},
		{"length too short", length(func(n int) int { return n - 1 }), closes},
		{"length too long", length(func(n int) int { return n + 1 }), closes},
		{"no such kind", kind(0x7fff), goesOn},
		{"another kind", kind(pdu.KindText), goesOn},
		{"no body", body(func([]byte) []byte { return nil }), answers},
		{"half of the body", body(func(b []byte) []byte { return b[:len(b)/8*4] }), answers},
		{"a byte too few", body(func(b []byte) []byte { return b[:max(0, len(b)-1)] }), answers},
		{"a long tail", body(func(b []byte) []byte { return append(b, make([]byte, 4096)...) }), answers},
		{
			"all counts without end",
			body(func(b []byte) []byte { return bytes.Repeat([]byte{0x7f, 0xff, 0xff, 0xff}, len(b)/4) }), answers,
		},
		{"all counts below zero", body(func(b []byte) []byte { return bytes.Repeat([]byte{0xff}, len(b)) }), answers},
		{"half of a header", func(f []byte) [][]byte { return [][]byte{f[:pdu.HeaderSize/2]} }, closes},
		{"half of the PDU", func(f []byte) [][]byte { return [][]byte{f[:len(f)/2]} }, closes},
		{"half of the PDU, then nothing", func(f []byte) [][]byte { return [][]byte{f[:len(f)/2]} }, stalls},
		{"nothing", func([]byte) [][]byte { return nil }, closes},
		{"nothing, for ever", func([]byte) [][]byte { return nil }, stalls},
		{"twice", func(f []byte) [][]byte { return [][]byte{f, f} }, goesOn},
		{"a flood", func(f []byte) [][]byte { return [][]byte{bytes.Repeat(f, 2000)} }, goesOn},
		{"byte by byte", func(f []byte) [][]byte {
			var all [][]byte
			for i := range f {
				all = append(all, f[i:i+1])
			}
			return all
		}, answers},
		{"refused", sends((&pdu.Error{Code: pdu.ErrPermission}).Append(nil, 0)), answers},
		{"refused for no reason", sends((&pdu.Error{Code: -1}).Append(nil, 0)), answers},
		{"refused in a way that ends connections", sends((&pdu.Error{Code: pdu.ErrIPC}).Append(nil, 0)), answers},
		{"refused with success", sends((&pdu.Error{}).Append(nil, 0)), answers},
		{"changes without end", func(f []byte) [][]byte {
			return [][]byte{append(bytes.Repeat((&pdu.Error{Code: 0x7f}).Append(nil, 0), 100), f...)}
		}, goesOn},
	}
}

func sends(b []byte) func([]byte) [][]byte { return func([]byte) [][]byte { return [][]byte{b} } }

// garbage is the same each time.
func garbage(n int) []byte {
	rng := rand.NewChaCha8([32]byte{7})
	b := make([]byte, n)
	_, _ = rng.Read(b)
	return b
}

// length changes the length in the header and nothing else.
func length(change func(n int) int) func([]byte) [][]byte {
	return func(frame []byte) [][]byte {
		f := bytes.Clone(frame)
		binary.BigEndian.PutUint32(f, uint32(change(len(f)))) //nolint:gosec // wraps on purpose
		return [][]byte{f}
	}
}

func kind(k pdu.Kind) func([]byte) [][]byte {
	return func(frame []byte) [][]byte {
		f := bytes.Clone(frame)
		binary.BigEndian.PutUint32(f[4:], uint32(k))
		return [][]byte{f}
	}
}

// body changes the body, and the header's length with it.
func body(change func(b []byte) []byte) func([]byte) [][]byte {
	return func(frame []byte) [][]byte {
		f := bytes.Clone(frame)
		f = append(f[:pdu.HeaderSize:pdu.HeaderSize], change(f[pdu.HeaderSize:])...)
		binary.BigEndian.PutUint32(f, uint32(len(f)))
		return [][]byte{f}
	}
}
