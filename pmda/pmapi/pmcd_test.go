//go:build pcp

package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/pmcdtest"
)

// A real collector answers the questions of [TestBehaviour].
func TestPMCDBehaviour(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{Access: `allow ".*" : all;`}) // for PCP 7 TCP is never local:
	t.Run("unix", func(t *testing.T) { testBehaviour(t, "unix", p.Socket) })
	t.Run("tcp", func(t *testing.T) { testBehaviour(t, "tcp", tcpAddress(p)) })
}

func tcpAddress(p *pmcdtest.PMCD) string { return fmt.Sprint("127.0.0.1:", p.Port) }

// Everything that a pmcd has: each name is found, has a descriptor of its own PMID, and its values
// are of the descriptor's type.
func TestPMCDWhole(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{})
	c := dial(t, "unix", p.Socket)
	ctx := t.Context()

	names, err := c.Traverse(ctx, "")
	require.NoError(t, err)
	require.Greater(t, len(names), 2000)
	found, err := c.LookupNames(ctx, names)
	require.NoError(t, err)
	var ids []pdu.PMID
	for i, r := range found {
		if r.Code < 0 { // the root of a subtree without names
			one, err := c.LookupNames(ctx, names[i:i+1])
			require.NoError(t, err)
			assert.NotZero(t, one[0].Code, names[i])
			continue
		}
		ids = append(ids, r.PMID)
	}
	require.Greater(t, len(ids), 2000)
	descs, err := c.Descs(ctx, ids)
	require.NoError(t, err)
	res, err := c.Fetch(ctx, ids)
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), res.Time, time.Minute)

	singular, multiple, typed := 0, 0, 0
	for i, set := range res.Sets {
		desc := descs[i]
		if desc.Code < 0 {
			assert.Negative(t, set.Code, "%v", set.PMID)
			continue
		}
		require.Equal(t, ids[i], desc.Desc.PMID)
		for _, v := range set.Values {
			if v.Type != pdu.TypeUnknown {
				assert.Equal(t, desc.Desc.Type, v.Type, "%v", set.PMID)
				typed++
			}
			if desc.Desc.InDom == pdu.NoInDom {
				assert.Equal(t, pdu.NoInst, v.Inst)
				singular++
			} else {
				multiple++
			}
		}
	}
	assert.Greater(t, singular, 100)
	assert.Greater(t, multiple, 100)
	assert.Greater(t, typed, 100)
	require.NoError(t, c.Err())
}

// An agent dies and is started again: codes for its metrics, and changes announced with the fetches.
func TestPMCDAgentDies(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{})
	c := dial(t, "unix", p.Socket)
	ids := []pdu.PMID{longOne, hostName}
	for _, process := range p.Processes() {
		if process.Name == "pmdasample" {
			require.NoError(t, syscall.Kill(process.Pid, syscall.SIGKILL))
		}
	}
	changes, failures := pdu.Change(0), 0
	await.Until(t, "the agent has come back", func() bool {
		res, err := c.Fetch(t.Context(), ids)
		require.NoError(t, err)
		assert.Zero(t, res.Sets[1].Code, "other agents are not touched")
		if res.Sets[0].Code < 0 {
			failures++
		}
		changes |= res.Changes
		return changes&pdu.ChangeDropAgent != 0 && res.Sets[0].Code == 0
	})
	assert.Positive(t, failures)
	assert.NotZero(t, changes&(pdu.ChangeAddAgent|pdu.ChangeRestartAgent))
	assert.Equal(t, changes, c.TakeChanges())
}

func TestPMCDRequestTooLarge(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{})
	large := &pdu.Profile{InDoms: []pdu.ProfileInDom{{InDom: colours, Insts: make([]pdu.Inst, 20000)}}}

	c := dial(t, "unix", p.Socket)
	err := c.SetProfile(t.Context(), large)
	if err == nil {
		_, err = c.Desc(t.Context(), longOne)
	}
	requireBroken(t, c, err, pdu.ErrEOF)
	require.ErrorIs(t, err, pmapi.ErrTooLarge)

	c = dial(t, "unix", p.Socket)
	err = c.Store(t.Context(), []pdu.ValueSet{{
		PMID:   whoAmI,
		Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeString, Bytes: make([]byte, 70000)}},
	}})
	requireBroken(t, c, err, pdu.ErrEOF)
	assert.ErrorIs(t, err, pmapi.ErrTooLarge)
}

// A pmcd that does not answer costs the time that the caller gives it.
func TestPMCDStops(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{})
	c := dial(t, "unix", p.Socket)
	idle := dial(t, "unix", p.Socket)
	require.NoError(t, p.Signal(syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Desc(ctx, longOne)
	require.ErrorIs(t, err, pdu.ErrTimeout)
	_, err = pmapi.Dial(t.Context(), "unix", p.Socket, pmapi.WithTimeout(20*time.Millisecond))
	require.ErrorIs(t, err, pdu.ErrTimeout)

	require.NoError(t, idle.StartFetch([]pdu.PMID{longOne}))
	_, done, err := idle.PollColumns()
	require.NoError(t, err)
	require.False(t, done)
	require.NoError(t, p.Signal(syscall.SIGCONT))
	for !done {
		require.NoError(t, idle.WaitReadable(t.Context()))
		_, done, err = idle.PollColumns()
		require.NoError(t, err)
	}
}

// pmcd ends: an idle connection notices, and one can dial again when it is back.
func TestPMCDRestarts(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{})
	c := dial(t, "unix", p.Socket)
	noticed := make(chan error, 1)
	go func() {
		for {
			err := c.WaitReadable(context.Background())
			if err == nil {
				_, _, err = c.PollColumns()
			}
			if err != nil {
				noticed <- err
				return
			}
		}
	}()
	require.NoError(t, p.Restart())
	err := <-noticed
	requireBroken(t, c, err, pdu.ErrEOF)
	c = dial(t, "unix", p.Socket)
	_, err = c.Fetch(t.Context(), []pdu.PMID{longOne})
	require.NoError(t, err)
}

// setAccess gives a running pmcd other access rules.
func setAccess(t *testing.T, p *pmcdtest.PMCD, rules string) {
	t.Helper()
	path := filepath.Join(p.Dir, "pmcd.conf")
	conf, err := os.ReadFile(path)
	require.NoError(t, err)
	agents, _, found := strings.Cut(string(conf), "[access]")
	require.True(t, found)
	require.NoError(t, os.WriteFile(path, []byte(agents+"[access]\n"+rules), 0o644))
	later := time.Now().Add(time.Minute) // pmcd looks at the time of the file
	require.NoError(t, os.Chtimes(path, later, later))
	require.NoError(t, p.Signal(syscall.SIGHUP))
}

// refusedOrLost is true for the refusal, and for a connection that was reset before the refusal
// could be read, which pmcd does not prevent.
func refusedOrLost(err error) bool {
	return errors.Is(err, pdu.ErrPermission) || errors.Is(err, pdu.ErrEOF)
}

// The access rules change: who is connected learns that it is not wanted, who dials is refused.
func TestPMCDAccessDenied(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{})
	asking, idle := dial(t, "unix", p.Socket), dial(t, "unix", p.Socket)
	setAccess(t, p, "disallow \"unix:\" : all;\ndisallow \".*\" : all;\n")
	for {
		require.NoError(t, idle.WaitReadable(t.Context()))
		if _, done, err := idle.PollColumns(); done {
			require.Error(t, err)
			assert.True(t, refusedOrLost(err), "%v", err)
			break
		}
	}
	await.Until(t, "the connection has ended", func() bool { // the refusal may look like an answer; the end of the connection follows it
		_, err := asking.Fetch(t.Context(), []pdu.PMID{longOne})
		require.Error(t, err)
		assert.True(t, refusedOrLost(err), "%v", err)
		return asking.Err() != nil
	})

	for network, address := range map[string]string{"unix": p.Socket, "tcp": tcpAddress(p)} {
		await.Until(t, "the client is refused", func() bool {
			_, err := pmapi.Dial(t.Context(), network, address)
			require.Error(t, err)
			require.True(t, refusedOrLost(err), "%v", err)
			return errors.Is(err, pdu.ErrPermission)
		})
	}
}

// A client that may connect but not fetch, or not store.
func TestPMCDAccessLimited(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{Access: "disallow \".*\" : fetch;\ndisallow \"unix:\" : store;\n"})
	_, err := pmapi.Dial(t.Context(), "tcp", tcpAddress(p))
	require.ErrorIs(t, err, pdu.ErrPermission)

	c := dial(t, "unix", p.Socket)
	err = c.Store(t.Context(), []pdu.ValueSet{{PMID: writeMe, Values: []pdu.Value{pdu.Int32Value(pdu.NoInst, 1)}}})
	require.ErrorIs(t, err, pdu.ErrPermission)
	require.NoError(t, c.Err())
	_, err = c.Fetch(t.Context(), []pdu.PMID{longOne})
	require.NoError(t, err)
}

// Many clients at once, as a pool of samplers would be.
func TestPMCDManyConnections(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{})
	ids := slices.Repeat([]pdu.PMID{longOne, colour}, 50)
	results := make(chan error)
	const clients = 8
	for range clients {
		c := dial(t, "unix", p.Socket)
		go func() {
			for range 50 {
				if _, err := pipelined(t.Context(), c, ids); err != nil {
					results <- err
					return
				}
			}
			results <- nil
		}()
	}
	for range clients {
		require.NoError(t, <-results)
	}
}

// pmcd 6.0.3 leaves it to chance which domain its replies for some of its own claim to be of.
func TestInstancesOfPMCDItself(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{})
	c := dial(t, "unix", p.Socket)
	for _, serial := range []int{2, 5} {
		instances, err := c.Instances(t.Context(), pdu.NewInDom(2, serial))
		require.NoError(t, err)
		assert.NotEmpty(t, instances)
		name, err := c.InstanceName(t.Context(), pdu.NewInDom(2, serial), instances[0].ID)
		require.NoError(t, err)
		assert.Equal(t, instances[0].Name, name)
	}
	require.NoError(t, c.Err())
}
