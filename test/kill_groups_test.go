package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// keyed is a collector with a metric of ten instances and their keys.
type keyed struct{ *pmapitest.Collector }

var keyedInDom = pdu.NewInDom(60, 1)

func startKeyed(t *testing.T) (spec string, k keyed) {
	t.Helper()
	k.Collector = &pmapitest.Collector{
		Features: pmapitest.AllFeatures, Time: time.Unix(1_000_000, 0),
		Metrics: []pmapitest.Metric{
			{Name: "up.x", Desc: pdu.Desc{PMID: pdu.NewPMID(60, 0, 1), Type: pdu.Type32, InDom: keyedInDom, Sem: pdu.SemInstant}},
			{Name: "up.key", Desc: pdu.Desc{PMID: pdu.NewPMID(60, 0, 2), Type: pdu.TypeString, InDom: keyedInDom, Sem: pdu.SemInstant}},
		},
		InDoms: map[pdu.InDom]pmapitest.InDom{},
	}
	return "unix:" + pmapitest.Listen(t, "unix", k.Serve), k
}

// set gives the instances these keys.
func (k keyed) set(keys []string) {
	var x, texts []pdu.Value
	for i, key := range keys {
		x, texts = append(x, pdu.Int32Value(pdu.Inst(i), 1)), append(texts, pdu.StringValue(pdu.Inst(i), key))
	}
	k.Update(func() {
		k.Time = k.Time.Add(time.Second)
		k.Metrics[0].Values, k.Metrics[1].Values = x, texts
	})
}

// numbers are those of groups by their names, of those that the daemon knows.
func (k *killed) numbers(names []string) map[string]pdu.Inst {
	found := make(map[string]pdu.Inst)
	for _, name := range names {
		reply, err := k.ask(&pdu.InstanceReq{InDom: pdu.NewInDom(510, 64), Inst: pdu.NoInst, Name: name})
		if list, ok := reply.(*pdu.InstanceReply); ok && err == nil {
			found[name] = list.Instances[0].ID
		}
	}
	return found
}

// Whenever the daemon is killed while it writes down groups, each has the number that it had when it is started again; also such as have one hash, if both were
// written down before.
func TestKilledDaemonKeepsGroups(t *testing.T) {
	const (
		kills  = 210
		within = 60 * time.Millisecond // of a reload, which writes
	)
	me := must(user.Current())(t)
	dir := t.TempDir()
	file, state := filepath.Join(dir, "derived.conf"), filepath.Join(dir, "state", "identities")
	require.NoError(t, os.Mkdir(filepath.Dir(state), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("t = sum(up.x) by (up.key)\n"), 0o644))
	spec, up := startKeyed(t)
	k := &killed{t: t}
	start := func() pdu.PMID {
		k.piped = startPiped(t, "-d", "510", "-c", file, "--pmcd", spec, "--state", state, "-l", filepath.Join(dir, "derived.log"), "-U", me.Username)
		id, ok := k.pmid("derived.t")
		require.True(t, ok)
		return id
	}
	// fetched fetches until all keys are groups.
	fetched := func(id pdu.PMID, keys []string) map[string]pdu.Inst {
		distinct := slices.Compact(slices.Sorted(slices.Values(keys)))
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			_, err := k.ask(&pdu.Fetch{PMIDs: []pdu.PMID{id}})
			require.NoError(t, err)
			if found := k.numbers(keys); len(found) == len(distinct) {
				return found
			}
			require.True(t, time.Now().Before(deadline), "groups never came: %v", keys)
		}
	}
	known := make(map[string]pdu.Inst)
	check := func(found map[string]pdu.Inst) {
		for name, number := range found {
			if was, ok := known[name]; ok {
				require.Equal(t, was, number, name)
			}
			known[name] = number
		}
	}

	alike := []string{"costarring", "liquid"}
	for _, name := range alike {
		up.set([]string{name})
		check(fetched(start(), []string{name}))
		require.NoError(t, k.to.Close()) // it ends, and has written
		require.NoError(t, k.cmd.Wait())
	}
	require.Equal(t, known["costarring"]+1, known["liquid"])

	dice := rand.New(rand.NewPCG(18, 2))
	var names []string
	for life := range kills {
		keys := []string{alike[1], alike[0]}
		for range 4 {
			names = append(names, fmt.Sprint("key", len(names)))
			keys = append(keys, names[len(names)-1], names[dice.IntN(len(names))])
		}
		up.set(keys)
		id := start()
		check(fetched(id, keys))
		if life%20 == 0 { // so that something has been written, however slow it is
			require.NoError(t, k.to.Close())
			require.NoError(t, k.cmd.Wait())
			continue
		}
		require.NoError(t, k.cmd.Process.Signal(syscall.SIGHUP)) // a reload writes
		time.Sleep(time.Duration(dice.Int64N(int64(within))))
		require.NoError(t, k.cmd.Process.Kill())
		k.end()
	}
	up.set(alike)
	check(fetched(start(), alike))
	remembered := k.numbers(names)
	check(remembered)
	assert.NotEmpty(t, remembered)
	t.Logf("%d of %d groups were written down", len(remembered), len(names))
	log := must(os.ReadFile(filepath.Join(dir, "derived.log")))(t)
	assert.NotContains(t, string(log), "cannot read the metric identifiers of earlier runs")
	require.NoError(t, k.to.Close())
	require.NoError(t, k.cmd.Wait())
}
