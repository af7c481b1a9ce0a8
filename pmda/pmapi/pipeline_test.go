package pmapi_test

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// PollColumns does not wait: it says "not yet" until the last byte is there.
func TestPollColumnsNeverWaits(t *testing.T) {
	reply := (&pdu.HighResResult{Sets: []pdu.ValueSet{{PMID: longOne, Code: pdu.ErrAgain}}}).Append(nil, 0)
	reply = append((&pdu.Error{Code: 1}).Append(nil, 0), reply...)
	step := make(chan struct{})
	c := serve(t, func(p *pmapitest.Peer) {
		p.Expect(pdu.KindHighResFetch)
		for _, b := range reply {
			<-step
			p.SendBytes([]byte{b})
			step <- struct{}{}
		}
		p.WaitClosed()
	})
	require.NoError(t, c.StartFetch([]pdu.PMID{longOne}))
	for i := range reply {
		assert.True(t, c.FetchOutstanding())
		res, done, err := c.PollColumns()
		require.NoError(t, err)
		require.False(t, done, "after %d bytes", i)
		require.Nil(t, res)
		step <- struct{}{}
		<-step
		require.NoError(t, c.WaitReadable(t.Context()))
	}
	res, done, err := c.PollColumns()
	require.NoError(t, err)
	require.True(t, done)
	assert.Equal(t, pdu.ErrAgain, res.Sets[0].Code)
	assert.Equal(t, pdu.ChangeAddAgent, res.Changes)
	assert.False(t, c.FetchOutstanding())

	res, done, err = c.PollColumns()
	require.NoError(t, err)
	assert.False(t, done, "nothing is outstanding")
	assert.Nil(t, res)
}

// A result outlives the start of the next fetch: a sampler starts one while it works on the last.
func TestResultOutlivesStartFetch(t *testing.T) {
	c := serve(t, answer(func(pdu.Message) []pdu.Message {
		return []pdu.Message{&pdu.Error{Code: pdu.Code(pdu.ChangeNames)}, &pdu.HighResResult{Sec: 1, Sets: []pdu.ValueSet{{
			PMID: hullo, Format: pdu.Block, Values: []pdu.Value{pdu.StringValue(pdu.NoInst, "hullo")},
		}}}}
	}))
	res, err := c.Fetch(t.Context(), []pdu.PMID{hullo})
	require.NoError(t, err)
	want, err := copied(res, nil)
	require.NoError(t, err)
	require.NoError(t, c.StartFetch([]pdu.PMID{longOne, hullo}))
	require.NoError(t, c.WaitReadable(t.Context()))
	assert.Equal(t, pdu.ChangeNames, c.TakeChanges())
	got, err := copied(res, nil)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// WaitReadable returns as long as there is something to read, however often it is called.
func TestWaitReadableAgain(t *testing.T) {
	sent := make(chan struct{})
	c := serve(t, func(p *pmapitest.Peer) {
		p.Expect(pdu.KindHighResFetch)
		p.Send(&pdu.HighResResult{Sets: []pdu.ValueSet{{PMID: longOne}}})
		close(sent)
		p.WaitClosed()
	})
	require.NoError(t, c.StartFetch([]pdu.PMID{longOne}))
	<-sent
	for range 3 {
		require.NoError(t, c.WaitReadable(t.Context()))
	}
	_, done, err := c.PollColumns()
	require.NoError(t, err)
	require.True(t, done)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.WaitReadable(ctx), context.DeadlineExceeded, "nothing is left to read")
	require.NoError(t, c.Err())
}

// The end of the context ends the wait and leaves no trace on the connection.
func TestWaitReadableCancelled(t *testing.T) {
	c := serve(t, answer(answerOne))
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		go func() { result <- c.WaitReadable(ctx) }()
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
		require.ErrorIs(t, c.WaitReadable(ctx), context.Canceled)
		require.NoError(t, c.Err())

		_, err := pipelined(t.Context(), c, []pdu.PMID{longOne})
		require.NoError(t, err)
		_, err = c.Fetch(t.Context(), []pdu.PMID{longOne})
		require.NoError(t, err)
	}
}

// A context that ends after its wait has no effect on the next one.
func TestWaitReadableForgetsContext(t *testing.T) {
	c := serve(t, answer(answerOne))
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := pipelined(ctx, c, []pdu.PMID{longOne})
		require.NoError(t, err)
		result := make(chan error)
		go func() { result <- c.WaitReadable(context.Background()) }()
		time.AfterFunc(time.Millisecond, cancel)
		<-ctx.Done()
		require.NoError(t, c.StartFetch([]pdu.PMID{longOne}))
		require.NoError(t, <-result)
		for done := false; !done; {
			_, done, err = c.PollColumns()
			require.NoError(t, err)
		}
	}
}

// The deadline of one call has no effect on what comes after it.
func TestDeadlinesDoNotOutliveCalls(t *testing.T) {
	answer := make(chan struct{})
	c := serve(t, func(p *pmapitest.Peer) {
		p.Expect(pdu.KindDescReq)
		p.Send(&pdu.DescReply{Desc: oneOfType(longOne)})
		p.Expect(pdu.KindHighResFetch)
		<-answer
		p.Send(&pdu.HighResResult{Sets: []pdu.ValueSet{{PMID: longOne}}})
		p.WaitClosed()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	_, err := c.Desc(ctx, longOne)
	require.NoError(t, err)
	<-ctx.Done()
	time.AfterFunc(2*time.Millisecond, func() { close(answer) })
	_, err = pipelined(context.Background(), c, []pdu.PMID{longOne})
	require.NoError(t, err)
}

// An idle connection: the reader wakes up and PollColumns tells why.
func TestPollColumnsIdle(t *testing.T) {
	for _, row := range []struct {
		name   string
		script func(p *pmapitest.Peer)
		code   pdu.Code
	}{
		{"pmcd has ended", func(p *pmapitest.Peer) {}, pdu.ErrEOF},
		{"pmcd has reset the connection", func(p *pmapitest.Peer) { p.Reset() }, pdu.ErrEOF},
		{"pmcd does not want the client any more", func(p *pmapitest.Peer) {
			p.Fail(pdu.ErrPermission)
			p.WaitClosed()
		}, pdu.ErrPermission},
		{"a state change without a fetch", func(p *pmapitest.Peer) {
			p.Fail(pdu.Code(pdu.ChangeNames))
			p.WaitClosed()
		}, pdu.ErrIPC},
		{"values without a fetch", func(p *pmapitest.Peer) {
			p.Send(&pdu.HighResResult{})
			p.WaitClosed()
		}, pdu.ErrIPC},
		{"noise", func(p *pmapitest.Peer) {
			p.SendBytes(make([]byte, 12))
			p.WaitClosed()
		}, pdu.ErrIPC},
	} {
		for _, network := range []string{"unix", "tcp"} {
			t.Run(network+"/"+row.name, func(t *testing.T) {
				idle := make(chan struct{})
				address := pmapitest.Listen(t, network, func(p *pmapitest.Peer) {
					p.Greet(pmapitest.AllFeatures)
					<-idle
					row.script(p)
				})
				c := dial(t, network, address)
				close(idle)
				for {
					require.NoError(t, c.WaitReadable(t.Context()))
					if _, done, err := c.PollColumns(); done {
						requireBroken(t, c, err, row.code)
						return
					}
				}
			})
		}
	}
}

// A fragment that nobody asked for is found before the next request, which it would answer.
func TestPollColumnsFragment(t *testing.T) {
	idle := make(chan struct{})
	c := serve(t, func(p *pmapitest.Peer) {
		<-idle
		p.SendBytes(make([]byte, 5))
		p.WaitClosed()
	})
	close(idle)
	require.NoError(t, c.WaitReadable(t.Context()))
	_, done, err := c.PollColumns()
	require.NoError(t, err)
	require.False(t, done)
	err = c.StartFetch([]pdu.PMID{longOne})
	requireBroken(t, c, err, pdu.ErrIPC)
}

// Close and a failure elsewhere wake the reader.
func TestWaitReadableEnds(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		c := serve(t, func(p *pmapitest.Peer) { p.WaitClosed() })
		result := make(chan error)
		go func() { result <- c.WaitReadable(context.Background()) }()
		require.NoError(t, c.Close())
		err := <-result
		require.ErrorIs(t, err, net.ErrClosed)
		assert.Equal(t, c.Err(), err)
	})
	t.Run("failed", func(t *testing.T) {
		c := serve(t, func(p *pmapitest.Peer) {
			p.Expect(pdu.KindHighResFetch)
			p.Send(&pdu.Result{}) // not what was asked for
			p.WaitClosed()
		})
		result := make(chan error)
		require.NoError(t, c.StartFetch([]pdu.PMID{longOne}))
		go func() {
			for {
				if err := c.WaitReadable(context.Background()); err != nil {
					result <- err
					return
				}
			}
		}()
		for {
			if _, done, err := c.PollColumns(); done {
				require.ErrorIs(t, err, pdu.ErrIPC)
				break
			}
		}
		require.ErrorIs(t, <-result, pdu.ErrIPC)
	})
}

// A sampler's arrangement: one goroutine sleeps on the socket, another starts fetches, a lock of
// their own keeps them apart.
func TestReaderBesideRequester(t *testing.T) {
	const rounds = 1000
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			address := pmapitest.Listen(t, network, func(p *pmapitest.Peer) {
				p.Greet(pmapitest.AllFeatures)
				for n := uint64(0); ; n++ {
					req, ok := p.Next()
					if !ok {
						return
					}
					if n%7 == 0 {
						p.Fail(pdu.Code(pdu.ChangeLabels))
					}
					p.Send(&pdu.HighResResult{Sets: []pdu.ValueSet{{
						PMID:   req.(*pdu.HighResFetch).PMIDs[0],
						Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, n)},
					}}})
				}
			})
			c := dial(t, network, address)
			var (
				mu   sync.Mutex
				seen = make(chan uint64, 1)
				end  = make(chan error, 1)
			)
			poll := func() (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				res, done, err := c.PollColumns()
				if res != nil {
					seen <- res.Sets[0].Bits[0]
				}
				return done, err
			}
			go func() {
				for {
					err := c.WaitReadable(context.Background())
					if err == nil {
						_, err = poll()
					}
					if err != nil {
						end <- err
						return
					}
				}
			}()
			for n := range uint64(rounds) {
				mu.Lock()
				err := c.StartFetch([]pdu.PMID{longOne})
				mu.Unlock()
				require.NoError(t, err)
				if n%3 == 0 {
					_, err = poll() // the request loop looks too
					require.NoError(t, err)
				}
				require.Equal(t, n, <-seen)
			}
			assert.Equal(t, pdu.ChangeLabels, c.TakeChanges())
			require.NoError(t, c.Close())
			require.ErrorIs(t, <-end, net.ErrClosed)
		})
	}
}

// pmcd does not read: StartFetch gives up after milliseconds instead of hanging, whether the socket
// takes a part of the request or nothing.
func TestStartFetchWithoutRoom(t *testing.T) {
	for _, row := range []struct {
		name    string
		metrics int
		insts   int // in each of the profiles that fill the socket
		end     int // of the numbers of profiles that are tried
	}{
		{"a part", pmapi.MaxFetch, 16000, 100},
		{"nothing", 1, 1, 100000},
	} {
		t.Run(row.name, func(t *testing.T) {
			profile := &pdu.Profile{InDoms: []pdu.ProfileInDom{{InDom: colours, Insts: make([]pdu.Inst, row.insts)}}}
			for filled := range row.end {
				silent := make(chan struct{})
				address := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) {
					p.Greet(pmapitest.AllFeatures)
					<-silent
				})
				c := dial(t, "unix", address)
				for range filled {
					require.NoError(t, c.SetProfile(t.Context(), profile))
				}
				begin := time.Now()
				err := c.StartFetch(make([]pdu.PMID, row.metrics))
				took := time.Since(begin)
				close(silent)
				if err == nil {
					require.NoError(t, c.Close())
					continue
				}
				requireBroken(t, c, err, pdu.ErrTimeout)
				assert.Less(t, took, 3*time.Second)
				return
			}
			t.Fatal("there was room for everything")
		})
	}
}

// A request that the socket takes in pieces arrives whole, if pmcd reads in time.
func TestStartFetchInPieces(t *testing.T) {
	ids := make([]pdu.PMID, pmapi.MaxFetch)
	for i := range ids {
		ids[i] = pdu.PMID(i)
	}
	profile := &pdu.Profile{InDoms: []pdu.ProfileInDom{{InDom: colours, Insts: make([]pdu.Inst, 15000)}}}
	for filled := range 4 {
		read := make(chan struct{})
		got := make(chan []pdu.PMID, 1)
		c := serve(t, func(p *pmapitest.Peer) {
			<-read
			for range filled {
				p.Expect(pdu.KindProfile)
			}
			got <- p.Expect(pdu.KindHighResFetch).(*pdu.HighResFetch).PMIDs
			p.WaitClosed()
		})
		for range filled {
			require.NoError(t, c.SetProfile(t.Context(), profile))
		}
		close(read)
		require.NoError(t, c.StartFetch(ids))
		assert.Equal(t, ids, <-got)
	}
}

// A fetch costs a few allocations at most, however many values there are.
func TestFetchAllocations(t *testing.T) {
	const metrics, instances = 100, 100
	ids, reply := manyValues(metrics, instances)
	c := dial(t, "unix", echo(t, reply, len((&pdu.HighResFetch{PMIDs: ids}).Append(nil, 0))))
	check := func(res *pmapi.Result, err error) {
		if err != nil || len(res.Sets) != metrics || len(res.Sets[metrics-1].Values) != instances {
			t.Fatal("not what was sent: ", err)
		}
	}
	waiting := testing.AllocsPerRun(100, func() { check(c.Fetch(t.Context(), ids)) })
	assert.LessOrEqual(t, waiting, 20.0)
	polling := testing.AllocsPerRun(100, func() {
		if err := c.StartFetch(ids); err != nil {
			t.Fatal(err)
		}
		for {
			if err := c.WaitReadable(context.Background()); err != nil {
				t.Fatal(err)
			}
			if res, done, err := c.PollColumns(); done {
				if err != nil || len(res.Sets) != metrics || len(res.Sets[metrics-1].Bits) != instances {
					t.Fatal("not what was sent: ", err)
				}
				return
			}
		}
	})
	assert.LessOrEqual(t, polling, 20.0)
}

func manyValues(metrics, instances int) (ids []pdu.PMID, reply []byte) {
	result := &pdu.HighResResult{}
	for i := range metrics {
		set := pdu.ValueSet{PMID: pdu.NewPMID(60, 0, i)}
		for j := range instances {
			set.Values = append(set.Values, pdu.Uint64Value(pdu.Inst(j), uint64(i*j)))
		}
		ids = append(ids, set.PMID)
		result.Sets = append(result.Sets, set)
	}
	return ids, result.Append(nil, 0)
}

// echo is a pmcd that sends the same reply for every n bytes and allocates nothing for it.
func echo(tb testing.TB, reply []byte, n int) (address string) {
	tb.Helper()
	address = filepath.Join(tb.TempDir(), "s")
	l, err := net.Listen("unix", address)
	require.NoError(tb, err)
	done := make(chan struct{})
	tb.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	go func() {
		defer close(done)
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = nc.Close() }()
		challenge := pdu.Error{Extended: true, Challenge: pdu.Challenge{Version: 2, Features: pmapitest.AllFeatures}}
		_, _ = nc.Write(challenge.Append(nil, 0))
		handshake := make([]byte, 20+28+16)
		if _, err := io.ReadFull(nc, handshake); err != nil {
			return
		}
		_, _ = nc.Write((&pdu.DescReply{Desc: oneOfType(hostName)}).Append(nil, 0))
		for request := make([]byte, n); ; {
			if _, err := io.ReadFull(nc, request); err != nil {
				return
			}
			_, _ = nc.Write(reply)
		}
	}()
	return address
}
