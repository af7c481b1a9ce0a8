//go:build pcp

package test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/test/pmcdtest"
)

// A restart of an agent, at once or not, costs rates of its own counters and no others.
func TestRestartConcernsOneAgent(t *testing.T) {
	work := worldReadableDir(t)
	conf := writeFile(t, work, "derived.conf",
		"steps = rate(hanging.count)\nother = rate(sample.milliseconds)\nthird = rate(kernel.all.uptime)\nfourth = delta(kernel.all.uptime)\n")
	p := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{
			derivedAgent(t, "-c", conf, "--interval", "0"),
			hangingAgent(copySelf(t, work, "hanging-agent")),
		},
		Env: []string{hangVariable + "=" + filepath.Join(work, "never")},
	})
	conn := dial(t, p)
	const steps, other, last = 0, 1, 3
	names := []string{"derived.steps", "derived.other", "derived.third", "derived.fourth"}
	ids := make([]pdu.PMID, len(names))
	await.Until(t, "everything has a value", func() bool {
		found, err := conn.LookupNames(t.Context(), names)
		require.NoError(t, err)
		for i, f := range found {
			if ids[i] = f.PMID; f.Code < 0 {
				return false
			}
		}
		return true
	})
	has := func(set *pdu.ValueSet) bool { return len(set.Values) == 1 }
	value := func(set *pdu.ValueSet) float64 { return set.Values[0].Type.Float64(set.Values[0].Bits) }
	// fetch fetches all until that tells what is waited for. Once they have values, those of other agents must keep
	// them. A sample that has come late, as on a busy machine, is no loss of theirs.
	begun := false
	fetch := func(what string, done func(steps *pdu.ValueSet) bool) {
		t.Helper()
		await.Until(t, what, func() bool {
			sets := must(conn.Fetch(t.Context(), ids))(t).Sets
			if has(&sets[steps]) {
				assert.Positive(t, value(&sets[steps]), "it only ever counts up")
			}
			all := true
			for i := other; i < last; i++ {
				all = all && has(&sets[i])
				if begun && sets[i].Code != pdu.ErrAgain {
					assert.True(t, has(&sets[i]), "%s: %s has no value: %v", what, names[i], sets[i].Code)
				}
			}
			begun = begun || all
			return all && done(&sets[steps])
		})
	}
	fetched := 0
	fetch("values", func(s *pdu.ValueSet) bool { fetched++; return has(s) && fetched > 30 })

	// pmcd repairs the first loss at once: no status tells of it.
	killed := pidOf(t, p, "hanging-agent")
	require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
	lost := false
	fetch("it is there again", func(s *pdu.ValueSet) bool {
		lost = lost || !has(s)
		return lost && has(s)
	})
	assert.NotEqual(t, killed, pidOf(t, p, "hanging-agent"))

	// The next one it repairs a minute later.
	require.NoError(t, syscall.Kill(pidOf(t, p, "hanging-agent"), syscall.SIGKILL))
	fetch("it has gone", func(s *pdu.ValueSet) bool { return !has(s) })
	for range 20 {
		fetch("it is gone", func(*pdu.ValueSet) bool { return true })
	}
	shown := printed(t, p, "pminfo", "-f", "derived.control.upstream.agent.errors")
	assert.Regexp(t, `"hanging"\] value [1-9]`, shown)
	assert.Regexp(t, `"sample"\] value 0`, shown)
}
