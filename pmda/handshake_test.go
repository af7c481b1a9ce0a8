package pmda_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmdatest"
)

// The bytes are those of spec 9: 20 bytes, the process id, one credential of version 2.
func TestGreet(t *testing.T) {
	for _, tt := range []struct {
		name       string
		attributes bool
		last       []byte
	}{
		{"without attributes", false, []byte{1, 2, 0, 0}},
		{"with attributes", true, []byte{1, 2, 0, 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, pmda.Greet(&out, tt.attributes))
			pid := os.Getpid()
			want := []byte{0, 0, 0, 20, 0, 0, 0x70, 0x0c, byte(pid >> 24), byte(pid >> 16), byte(pid >> 8), byte(pid), 0, 0, 0, 1}
			assert.Equal(t, append(want, tt.last...), out.Bytes())
		})
	}
}

func TestGreetOnBrokenPipe(t *testing.T) {
	err := pmda.Greet(brokenWriter{}, false)
	require.ErrorIs(t, err, io.ErrClosedPipe)
	assert.ErrorContains(t, err, "handshake")
	in, _ := pipe(t)
	gone, out := pipe(t)
	require.NoError(t, gone.Close())
	require.ErrorIs(t, (&pmda.Server{Agent: bare{}}).Serve(context.Background(), in, out), syscall.EPIPE)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Attributes are asked for only by agents that want them.
func TestServeGreets(t *testing.T) {
	p := pmdatest.Start(t, bare{})
	assert.Equal(t, pdu.Creds{Version: 2}, p.Handshake())
	p = pmdatest.Start(t, newFull())
	assert.Equal(t, pdu.Creds{Version: 2, Features: pdu.FeatureAuth}, p.Handshake())
}

// A program that has greeted early is not greeted for again.
func TestServeAfterGreet(t *testing.T) {
	stream := append(frameOf(&pdu.Creds{Version: 2}), frameOf(&pdu.DescReq{PMID: idNone})...)
	out, err := pmdatest.Play(t, &pmda.Server{Agent: bare{}, Greeted: true}, stream)
	require.NoError(t, err)
	assert.Equal(t, frameOf(&pdu.Error{Code: pdu.ErrPMID}), out)
}

func TestHandshake(t *testing.T) {
	creds := frameOf(&pdu.Creds{Version: 2})
	tests := []struct {
		name string
		in   []byte
		err  string // "": the handshake succeeds
	}{
		{"as it should be", creds, ""},
		{"a version of the future", frameOf(&pdu.Creds{Version: 3}), ""},
		{"with features nobody asked for", frameOf(&pdu.Creds{Version: 2, Features: pdu.FeatureContainer}), ""},
		{"pmcd has given up", nil, "handshake: pmcd closed the pipe: EOF"},
		{"cut short", creds[:7], "handshake: unexpected EOF"},
		{"another pdu", frameOf(&pdu.Profile{}), "handshake: first pdu is PROFILE instead of CREDS"},
		{"a challenge", frameOf(&pdu.Error{}), "handshake: first pdu is ERROR instead of CREDS"},
		{"credentials that make no sense", rawFrame(pdu.KindCreds, []byte{0, 0, 0, 9}), "handshake: "},
		{"not a pdu", []byte("hello, world"), "handshake: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := pmdatest.Play(t, &pmda.Server{Agent: bare{}}, tt.in)
			if tt.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.err)
			}
			assert.Len(t, out, 20, "the agent speaks first, and nothing more")
		})
	}
}
