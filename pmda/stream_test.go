package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmdatest"
)

// conversation is everything that pmcd may send, once.
func conversation() []byte {
	stream := frameOf(&pdu.Creds{Version: pdu.ProtocolVersion})
	for _, m := range slices.Concat(unanswered(), requests()) {
		stream = m.Append(stream, 3)
	}
	return stream
}

// frames cuts a stream that ends after a whole PDU.
func frames(t testing.TB, stream []byte) []pdu.Frame {
	t.Helper()
	var list []pdu.Frame
	r := pdu.NewReader(bytes.NewReader(stream), pdu.ClientLimit)
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		f.Body = slices.Clone(f.Body)
		list = append(list, f)
	}
}

// However the stream is cut off, the replies to what came whole are out, and Serve says what happened.
func TestStreamEndsAnywhere(t *testing.T) {
	creds := frameOf(&pdu.Creds{Version: pdu.ProtocolVersion})
	stream := conversation()
	ends := map[int]bool{}
	for at, rest := 0, frames(t, stream); len(rest) > 0; rest = rest[1:] {
		at += pdu.HeaderSize + len(rest[0].Body)
		ends[at] = true
	}
	for at := len(creds); at <= len(stream); at++ {
		_, err := pmdatest.Play(t, &pmda.Server{Agent: newFull(), Greeted: true}, stream[:at])
		if ends[at] {
			require.NoError(t, err, "cut after %d bytes", at)
		} else {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "cut after %d bytes", at)
		}
	}
}

// Never out of step: in any mixture of good, bad and unasked-for PDUs, with an agent that fails,
// panics and miscounts, there is one reply for each request, in order.
func TestRepliesStayInStep(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		stream := frameOf(&pdu.Creds{Version: pdu.ProtocolVersion})
		var asked []pdu.Kind
		for range 50 {
			m := pick(rng, slices.Concat(requests(), unanswered()))
			frame := m.Append(nil, int32(rng.IntN(4)))
			if rng.IntN(4) == 0 { // damage the body
				for i := pdu.HeaderSize; i < len(frame); i++ {
					frame[i] ^= byte(rng.IntN(2) * rng.IntN(256))
				}
			}
			stream = append(stream, frame...)
			if pmdatest.Answer(m.Kind()) != 0 {
				asked = append(asked, m.Kind())
			}
		}
		out, err := pmdatest.Play(t, &pmda.Server{Agent: watched{moody(rng)}, Greeted: true}, stream)
		require.NoError(t, err)
		replies := frames(t, out)
		require.Len(t, replies, len(asked), "seed %d", seed)
		for i, f := range replies {
			m, err := pdu.Decode(f)
			require.NoError(t, err, "seed %d: reply %d to %s", seed, i, asked[i])
			if e, ok := m.(*pdu.Error); ok {
				require.True(t, e.Code < 0 || asked[i] == pdu.KindResult, "seed %d: code %d to %s", seed, e.Code, asked[i])
				continue
			}
			require.Equal(t, pmdatest.Answer(asked[i]), f.Kind, "seed %d: reply %d to %s", seed, i, asked[i])
		}
	}
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// moody is an agent that fails and panics now and then.
func moody(rng *rand.Rand) *full {
	agent := newFull()
	agent.panics = func(string) {
		agent.err = nil
		switch rng.IntN(8) {
		case 0:
			panic("mood")
		case 1:
			agent.err = pick(rng, []error{pdu.ErrIPC, pdu.ErrName, io.ErrNoProgress, pdu.Code(0), pdu.ErrPMDANotReady})
		}
	}
	return agent
}

// FuzzServe lets pmcd send anything: the agent survives, and each request that arrived whole has
// its reply.
func FuzzServe(f *testing.F) {
	f.Add(conversation())
	for _, m := range slices.Concat(requests(), unanswered()) {
		f.Add(append(frameOf(&pdu.Creds{Version: pdu.ProtocolVersion}), frameOf(m)...))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		out, err := pmdatest.Play(t, &pmda.Server{Agent: newFull(), Greeted: true}, stream)
		replies := frames(t, out)
		r := pdu.NewReader(bytes.NewReader(stream), pdu.AgentLimit)
		if creds, headErr := r.Next(); headErr != nil || creds.Kind != pdu.KindCreds || (&pdu.Creds{}).Decode(creds.Body) != nil {
			require.Error(t, err)
			require.Empty(t, replies)
			return
		}
		for {
			request, headErr := r.Next()
			if headErr != nil {
				require.Equal(t, errors.Is(headErr, io.EOF), err == nil, "Serve returned %v", err)
				break
			}
			want := pmdatest.Answer(request.Kind)
			if want == 0 {
				continue
			}
			require.NotEmpty(t, replies, "no reply to %s", pdu.Trace(request))
			require.Contains(t, []pdu.Kind{want, pdu.KindError}, replies[0].Kind)
			replies = replies[1:]
		}
		require.Empty(t, replies)
	})
}

// Serve leaves no goroutine behind, however it ends.
func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 10 {
		p := start(t, newFull())
		p.Request(&pdu.DescReq{PMID: idLoad})
		require.NoError(t, p.Close())

		p = start(t, newFull())
		p.Cancel()
		p.ExpectEnd()
		require.ErrorIs(t, p.Close(), context.Canceled)

		p = pmdatest.Start(t, newFull())
		p.Expect(pdu.KindCreds)
		require.ErrorIs(t, p.Close(), io.EOF, "pmcd does not want it")
	}
	await.Until(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}
