package pmapi_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

func TestDialHandshake(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			finished := make(chan []pmapitest.Request, 1)
			features := pdu.FeatureHighRes | pdu.FeatureLabels
			address := pmapitest.Listen(t, network, func(p *pmapitest.Peer) {
				p.Greet(features)
				p.WaitClosed()
				finished <- p.Received()
			})
			c, err := pmapi.Dial(t.Context(), network, address)
			require.NoError(t, err)
			assert.Equal(t, features, c.Features())
			if network == "unix" {
				assert.Equal(t, "unix:"+address, c.Addr())
			} else {
				assert.Equal(t, address, c.Addr())
			}
			require.NoError(t, c.Err())
			require.NoError(t, c.Close())
			require.NoError(t, c.Close())
			assert.ErrorIs(t, c.Err(), net.ErrClosed)

			sent := <-finished
			require.Len(t, sent, 3)
			pid := int32(os.Getpid())
			assert.Equal(t, (&pdu.Creds{Version: 2}).Append(nil, pid), sent[0].Bytes)
			assert.Equal(t, (&pdu.Profile{}).Append(nil, 0), sent[1].Bytes)
			assert.Equal(t, (&pdu.DescReq{PMID: hostName}).Append(nil, 0), sent[2].Bytes)
		})
	}
}

// Dial succeeds with these answers to the first request.
func TestDialAccepted(t *testing.T) {
	for name, script := range map[string]func(p *pmapitest.Peer){
		"an unasked PM_ERR_AGAIN is dropped": func(p *pmapitest.Peer) {
			p.Expect(pdu.KindCreds)
			p.Fail(pdu.ErrAgain)
			p.Expect(pdu.KindProfile)
			p.AnswerFirst()
		},
		"pmcd has no agent of its own": func(p *pmapitest.Peer) {
			p.Expect(pdu.KindCreds)
			p.Expect(pdu.KindProfile)
			p.Expect(pdu.KindDescReq)
			p.Fail(pdu.ErrNoAgent)
		},
		"both": func(p *pmapitest.Peer) {
			p.Expect(pdu.KindCreds)
			p.Fail(pdu.ErrAgain)
			p.Expect(pdu.KindProfile)
			p.Expect(pdu.KindDescReq)
			p.Fail(pdu.ErrPMID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) {
				p.Challenge(0, pmapitest.AllFeatures)
				script(p)
				p.Expect(pdu.KindTextReq)
				p.Send(&pdu.Text{Text: "still in step"})
			})
			c := dial(t, "unix", address)
			text, err := c.Text(t.Context(), 1, pdu.TextHelp|pdu.TextPMID)
			require.NoError(t, err)
			assert.Equal(t, "still in step", text)
		})
	}
}

func TestDialRefused(t *testing.T) {
	replyBytes := func(b ...byte) func(p *pmapitest.Peer) {
		return func(p *pmapitest.Peer) {
			p.Challenge(0, pmapitest.AllFeatures)
			p.Expect(pdu.KindCreds)
			p.Expect(pdu.KindProfile)
			p.Expect(pdu.KindDescReq)
			p.SendBytes(b) // in one piece
			p.WaitClosed()
		}
	}
	reply := func(all ...pdu.Message) func(p *pmapitest.Peer) {
		var b []byte
		for _, m := range all {
			b = m.Append(b, 0)
		}
		return replyBytes(b...)
	}
	first := func(m pdu.Message) func(p *pmapitest.Peer) {
		return func(p *pmapitest.Peer) {
			p.Send(m)
			p.WaitClosed()
		}
	}
	for _, row := range []struct {
		name   string
		script func(p *pmapitest.Peer)
		code   pdu.Code
	}{
		{"host may not connect", func(p *pmapitest.Peer) { p.Challenge(pdu.ErrPermission, 0) }, pdu.ErrPermission},
		{"too many connections", func(p *pmapitest.Peer) { p.Challenge(pdu.ErrConnLimit, 0) }, pdu.ErrConnLimit},
		{
			"a code in the new numbering", first(&pdu.Error{Code: pdu.ErrPermission}),
			pdu.TranslateChallengeCode(pdu.ErrPermission),
		},
		{"no challenge in the first PDU", first(&pdu.Error{}), pdu.ErrIPC},
		{"a state change as first PDU", first(&pdu.Error{Code: 1, Extended: true}), pdu.ErrIPC},
		{"another first PDU", first(&pdu.Creds{Version: 2}), pdu.ErrIPC},
		{"protocol version 1", first(&pdu.Error{Extended: true, Challenge: pdu.Challenge{Version: 1}}), pdu.ErrIPC},
		{"credentials refused", reply(&pdu.Error{Code: pdu.ErrPermission}), pdu.ErrPermission},
		{"credentials misunderstood", reply(&pdu.Error{Code: pdu.ErrIPC}), pdu.ErrIPC},
		{"feature not there", reply(&pdu.Error{Code: pdu.ErrNotConn}), pdu.ErrNotConn},
		{"operation not supported", reply(&pdu.Error{Code: -95}), -95},
		{"profile refused", reply(&pdu.Error{Code: -11}), -11},
		{"twice PM_ERR_AGAIN", reply(&pdu.Error{Code: pdu.ErrAgain}, &pdu.Error{Code: pdu.ErrAgain}), pdu.ErrAgain},
		{"success in place of the descriptor", reply(&pdu.Error{}), pdu.ErrIPC},
		{"another reply", reply(&pdu.Text{}), pdu.ErrIPC},
		{"descriptor of another metric", reply(&pdu.DescReply{Desc: oneOfType(longOne)}), pdu.ErrIPC},
		{"a challenge that is cut short", func(p *pmapitest.Peer) {
			p.SendBytes([]byte{0, 0, 0, 13, 0, 0, 0x70, 0, 0, 0, 0, 0, 1})
			p.WaitClosed()
		}, pdu.ErrIPC},
		{"a refusal that is cut short", replyBytes(0, 0, 0, 13, 0, 0, 0x70, 0, 0, 0, 0, 0, 1), pdu.ErrIPC},
		{"a descriptor that is cut short", replyBytes(0, 0, 0, 13, 0, 0, 0x70, 5, 0, 0, 0, 0, 1), pdu.ErrIPC},
		{
			"a second reply", reply(&pdu.DescReply{Desc: oneOfType(hostName)}, &pdu.Error{Code: pdu.ErrPermission}),
			pdu.ErrPermission,
		},
		{"closed at once", func(p *pmapitest.Peer) {}, pdu.ErrEOF},
	} {
		t.Run(row.name, func(t *testing.T) {
			address := pmapitest.Listen(t, "unix", row.script)
			c, err := pmapi.Dial(t.Context(), "unix", address)
			require.Error(t, err)
			assert.Nil(t, c)
			assert.ErrorIs(t, err, row.code)
			var op *pmapi.OpError
			require.ErrorAs(t, err, &op)
			assert.Equal(t, "connect", op.Op)
			assert.Equal(t, "unix:"+address, op.Addr)
		})
	}
}

// The server's part of the handshake ends at every byte of it, by a close and by a reset.
func TestDialCutOff(t *testing.T) {
	challenge := (&pdu.Error{Extended: true, Challenge: pdu.Challenge{Version: 2}}).Append(nil, 0)
	desc := (&pdu.DescReply{Desc: oneOfType(hostName)}).Append(nil, 0)
	for _, network := range []string{"unix", "tcp"} {
		for n := range len(challenge) + len(desc) {
			address := pmapitest.Listen(t, network, func(p *pmapitest.Peer) {
				if n < len(challenge) {
					p.SendBytes(challenge[:n])
				} else {
					p.SendBytes(challenge)
					p.Expect(pdu.KindCreds)
					p.Expect(pdu.KindProfile)
					p.Expect(pdu.KindDescReq)
					p.SendBytes(desc[:n-len(challenge)])
				}
				if n%2 == 0 {
					p.Reset()
				}
			})
			_, err := pmapi.Dial(t.Context(), network, address)
			require.ErrorIs(t, err, pdu.ErrEOF, "%s, %d bytes", network, n)
		}
	}
}

func TestDialStalled(t *testing.T) {
	for name, script := range map[string]func(p *pmapitest.Peer){
		"no challenge": func(p *pmapitest.Peer) { p.WaitClosed() },
		"no answer": func(p *pmapitest.Peer) {
			p.Challenge(0, 0)
			for ok := true; ok; { // the client may give up at any PDU, depending on how busy the machine is
				_, ok = p.Next()
			}
		},
	} {
		t.Run(name+"/default", func(t *testing.T) {
			address := pmapitest.Listen(t, "unix", script)
			_, err := pmapi.Dial(context.Background(), "unix", address, pmapi.WithTimeout(10*time.Millisecond))
			require.ErrorIs(t, err, pdu.ErrTimeout)
		})
		t.Run(name+"/deadline", func(t *testing.T) {
			address := pmapitest.Listen(t, "unix", script)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			_, err := pmapi.Dial(ctx, "unix", address)
			require.ErrorIs(t, err, pdu.ErrTimeout)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
		t.Run(name+"/cancelled", func(t *testing.T) {
			address := pmapitest.Listen(t, "unix", script)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(10*time.Millisecond, cancel)
			_, err := pmapi.Dial(ctx, "unix", address)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

func TestDialWithEndedContext(t *testing.T) {
	address := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) { p.WaitClosed() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := pmapi.Dial(ctx, "unix", address)
	require.Error(t, err)
	ctx, cancel = context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	_, err = pmapi.Dial(ctx, "unix", address)
	require.ErrorIs(t, err, pdu.ErrTimeout)
}

func TestDialNobodyThere(t *testing.T) {
	clearEnvironment(t)
	nothing := filepath.Join(t.TempDir(), "none")
	_, err := pmapi.Dial(t.Context(), "unix", nothing)
	require.ErrorIs(t, err, syscall.ENOENT)
	assert.Equal(t, -pdu.Code(syscall.ENOENT), pdu.CodeOf(err))

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = pmapi.Dial(t.Context(), "tcp", address)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)

	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	t.Setenv("PMCD_PORT", port)
	_, err = pmapi.Dial(t.Context(), "local", nothing)
	require.ErrorIs(t, err, syscall.ENOENT, "the socket")
	require.ErrorIs(t, err, syscall.ECONNREFUSED, "the port")
	assert.ErrorContains(t, err, "pmcd local:"+nothing+": connect: ")

	_, err = pmapi.Dial(t.Context(), "tcp", "no port")
	require.Error(t, err)
	_, err = pmapi.Dial(t.Context(), "carrier pigeon", "x")
	require.Error(t, err)
}

// pmcd's queue of connections is short. A full one is no time-out: it is worth another try at once.
func TestDialQueueFull(t *testing.T) {
	address := filepath.Join(t.TempDir(), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: address}))
	require.NoError(t, syscall.Listen(fd, 0))
	for range 10 {
		if _, err = pmapi.Dial(t.Context(), "unix", address, pmapi.WithTimeout(time.Millisecond)); !errors.Is(err, pdu.ErrTimeout) {
			break
		}
	}
	require.ErrorIs(t, err, syscall.EAGAIN)
	assert.Equal(t, -pdu.Code(syscall.EAGAIN), pdu.CodeOf(err))
}

// An address may have several candidates; the first that takes the connection is used.
func TestDialCandidates(t *testing.T) {
	clearEnvironment(t)
	address := pmapitest.Listen(t, "tcp", func(p *pmapitest.Peer) {
		p.Greet(0)
		p.WaitClosed()
	})
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, dead, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())

	c := dial(t, "tcp", "127.0.0.1:"+dead+","+port)
	assert.Equal(t, "127.0.0.1:"+port, c.Addr())

	t.Setenv("PMCD_PORT", dead+","+port)
	c = dial(t, "local", filepath.Join(t.TempDir(), "none"))
	assert.Equal(t, "localhost:"+port, c.Addr())

	socket := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) {
		p.Greet(0)
		p.WaitClosed()
	})
	c = dial(t, "local", socket)
	assert.Equal(t, "unix:"+socket, c.Addr())
}

// A PDU above the limit ends the connection before it is read.
func TestDialWithLimit(t *testing.T) {
	script := answerOnce(&pdu.Text{Text: strings.Repeat("x", 1000)})
	c := serve(t, script, pmapi.WithLimit(1020))
	text, err := c.Text(t.Context(), 1, pdu.TextHelp|pdu.TextPMID)
	require.NoError(t, err)
	assert.Len(t, text, 1000)

	c = serve(t, script, pmapi.WithLimit(1019))
	_, err = c.Text(t.Context(), 1, pdu.TextHelp|pdu.TextPMID)
	requireBroken(t, c, err, pdu.ErrIPC)
	assert.ErrorContains(t, err, "limit")
}
