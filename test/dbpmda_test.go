//go:build pcp

package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/test/pmcdtest"
)

const (
	dbpmdaDir  = "testdata/dbpmda"
	dbpmdaPMNS = "root { derived\t510:*:* }\n"
)

// dbpmda sends the agent every kind of request that the tool knows and returns the output. warm are metrics that must
// have values then, after two pauses of some seconds; "" is for none.
func dbpmda(t *testing.T, pmcd, warm string, wait int) string {
	t.Helper()
	work := worldReadableDir(t)
	program := must(daemonProgram())(t)
	conf := must(os.ReadFile(filepath.Join(dbpmdaDir, "site.conf")))(t)
	requests := must(os.ReadFile(filepath.Join(dbpmdaDir, "requests")))(t)
	require.NoError(t, os.WriteFile(filepath.Join(work, "site.conf"), conf, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(work, "root"), []byte(dbpmdaPMNS), 0o644))
	open := fmt.Sprintf("open pipe %s -d 510 -c site.conf --pmcd %s --state state -l derived.log -U root --mmv off\n",
		program, pmcd)

	script := open + string(requests)
	if warm == "" { // without a pmcd there are the names of an earlier run only
		state := must(os.ReadFile(filepath.Join(dbpmdaDir, "state")))(t)
		require.NoError(t, os.WriteFile(filepath.Join(work, "state"), state, 0o644))
	} else {
		// dbpmda cannot wait for a value. The first fetch makes the agent expect another one and sample for it.
		script = fmt.Sprintf("%swait %d\ngetdesc off\nfetch %s\nwait %d\n%s", open, wait, warm, wait, requests)
	}
	cmd := exec.Command("dbpmda", "-n", "root", "-f", "-i", "-e")
	cmd.Dir = work
	cmd.Stdin = strings.NewReader(script)
	out := combined(t, cmd)
	_, answers, ok := strings.Cut(string(out), "dbpmda> namespace root\n")
	require.True(t, ok, "%s", out)
	return answers
}

// shown removes from dbpmda's output the parts that differ from run to run.
func shown(output string) string {
	for _, variable := range []struct{ pattern, constant string }{
		{`\S*/pmdaderived\b`, "pmdaderived"},
		{`unix:\S+`, "unix:SOCKET"},
		{`\(pid: \d+\)`, "(pid: N)"},
		{`from 0x[0-9a-f]+ timestamp: \S+ \S+`, "from ADDRESS timestamp: TIME"},
		{`Timer: \d+\.\d+ msec`, "Timer: N msec"},
		{`(?m) +$`, ""},
	} {
		output = regexp.MustCompile(variable.pattern).ReplaceAllString(output, variable.constant)
	}
	return output
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(dbpmdaDir, name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := must(os.ReadFile(path))(t)
	if got == string(want) {
		return
	}
	wanted, line := strings.Split(string(want), "\n"), 0
	for line < len(wanted) && strings.HasPrefix(got, wanted[line]+"\n") {
		got = strings.TrimPrefix(got, wanted[line]+"\n")
		line++
	}
	differs, _, _ := strings.Cut(got, "\n")
	assert.Fail(t, "dbpmda shows something else",
		"%s:%d: %s; go test ./test -tags pcp -run TestDbpmda -update writes it", path, line+1, differs)
}

// Every request that dbpmda knows is answered, with and without a pmcd that has the operands.
func TestDbpmda(t *testing.T) {
	t.Run("alone", func(t *testing.T) {
		golden(t, "alone.golden", shown(dbpmda(t, "unix:/no/such/socket", "", 0)))
	})
	t.Run("beside pmcd", func(t *testing.T) {
		p := pmcdtest.Start(t, pmcdtest.Config{})
		var out string
		wait := 1
		await.Until(t, "a pause is long enough for this machine", func() bool {
			out = dbpmda(t, "unix:"+p.Socket, "derived.site.total derived.site.bins", wait)
			wait *= 2
			return !strings.Contains(out, "Try again")
		})
		golden(t, "beside.golden", shown(out))
	})
}
