//go:build pcp

package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// killed is the daemon behind pipes of the test, which kills it.
type killed struct {
	*piped
	t *testing.T
}

// number returns the number of a definition, which its PMID is made of; false if the daemon does not know it, or is not
// there any more. The definition has no name, as the daemon has no pmcd to ask for its operands.
func (k *killed) number(name string) (pdu.Inst, bool) {
	reply, err := k.ask(&pdu.InstanceReq{InDom: pdu.NewInDom(510, 0), Inst: pdu.NoInst, Name: name})
	found, ok := reply.(*pdu.InstanceReply)
	if err != nil || !ok {
		return pdu.NoInst, false
	}
	return found.Instances[0].ID, true
}

// alive reports whether the daemon answers.
func (k *killed) alive() bool {
	_, err := k.ask(&pdu.PMNSNames{Names: []string{"derived.control.reload"}})
	return err == nil
}

// end waits for a killed daemon.
func (k *killed) end() {
	k.t.Helper()
	require.NoError(k.t, k.to.Close())
	require.ErrorContains(k.t, k.cmd.Wait(), "killed")
}

// A daemon that is killed at any moment while it writes new identities serves every metric under the same PMID when it
// is started again, and leaves no temporary files.
func TestKilledDaemonKeepsIdentities(t *testing.T) {
	const (
		least   = 200       // kills
		most    = 5 * least // if no kill was during a write
		lookups = 100       // of the known metrics, after each start
	)
	me := must(user.Current())(t)
	dir := t.TempDir()
	file, state := filepath.Join(dir, "derived.conf"), filepath.Join(dir, "state", "identities")
	require.NoError(t, os.Mkdir(filepath.Dir(state), 0o755))
	k := &killed{t: t}
	options := []string{
		"-d", "510", "-c", file, "--pmcd", "unix:" + filepath.Join(dir, "nobody"), "--state", state,
		"-l", filepath.Join(dir, "derived.log"), "-U", me.Username,
	}
	dice := rand.New(rand.NewPCG(1, 2))
	var names []string
	known := make(map[string]pdu.Inst) // as the daemon has said
	owners := make(map[pdu.Inst]string)
	check := func(name string) {
		id, ok := k.number(name)
		require.True(t, ok, name)
		if was, told := known[name]; told {
			require.Equal(t, was, id, name)
		}
		require.Contains(t, []string{"", name}, owners[id], "identity %d", id)
		known[name], owners[id] = id, name
	}
	kills, leftovers, writes := 0, 0, 0
	for last := false; !last; kills++ {
		last = kills >= least && leftovers > 0 || kills >= most
		k.piped = startPiped(t, options...)
		require.True(t, k.alive())
		require.Empty(t, temporary(t, state), "of the daemon that was killed")
		for range min(lookups, len(names)) {
			check(names[dice.IntN(len(names))])
		}
		if last {
			for _, name := range names {
				check(name)
			}
		}
		// The kill comes while the third write goes on, or soon after it: how quick a machine is does not matter.
		timer := time.AfterFunc(time.Minute, func() { _ = k.cmd.Process.Kill() })
		var took time.Duration // by the write before
		for alive, write := true, 1; alive; write++ {
			name := fmt.Sprintf("m%d", len(names))
			names = append(names, name)
			rewrite(t, file, names)
			if write == 3 {
				timer.Reset(time.Duration(dice.Int64N(int64(2 * took))))
			}
			began := time.Now()
			alive = k.cmd.Process.Signal(syscall.SIGHUP) == nil
			for found := false; alive && !found; {
				var id pdu.Inst
				if id, found = k.number(name); found {
					known[name], owners[id] = id, name
					writes++
				} else {
					alive = k.alive()
				}
			}
			took = time.Since(began)
		}
		timer.Stop()
		k.end()
		leftovers += len(temporary(t, state))
	}
	t.Logf("%d kills, %d identities written one by one, %d kills in the middle of a write", kills, writes, leftovers)
	assert.Positive(t, leftovers, "some kills have to hit a write, or this shows nothing")
	assert.Len(t, owners, len(known))
	log := must(os.ReadFile(filepath.Join(dir, "derived.log")))(t)
	assert.NotContains(t, string(log), "cannot read the metric identifiers of earlier runs")
}

// temporary returns the other files in the folder of the state.
func temporary(t *testing.T, state string) []string {
	t.Helper()
	entries := must(os.ReadDir(filepath.Dir(state)))(t)
	var names []string
	for _, e := range entries {
		if e.Name() != filepath.Base(state) {
			names = append(names, e.Name())
		}
	}
	return names
}

// rewrite puts a file with these definitions in place.
func rewrite(t *testing.T, file string, names []string) {
	t.Helper()
	var text strings.Builder
	for i, name := range names {
		fmt.Fprintf(&text, "%s = %d\n", name, i)
	}
	require.NoError(t, os.WriteFile(file+".new", []byte(text.String()), 0o644))
	require.NoError(t, os.Rename(file+".new", file))
}
