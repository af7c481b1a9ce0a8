//go:build pcp

package test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/test/pmcdtest"
)

// rewriting finds the commands of docs/scale.md for archives from before the domain number was changed.
var rewriting = regexp.MustCompile(`(?m)(?:^    .*\n)+^    pmlogrewrite -c rules OLD NEW\n`)

// Archives from before and after a change of the domain number are merged, although other definitions had
// been numbered before.
func TestDomainChange(t *testing.T) {
	commands := rewriting.FindString(readDocument(t, "../docs/scale.md"))
	require.NotEmpty(t, commands)
	work := worldReadableDir(t)
	require.NoError(t, os.Chmod(work, 0o777)) // pmlogger becomes another user
	program := must(daemonProgram())(t)
	logged := writeFile(t, work, "logger.conf", "log mandatory on 200 msec { derived }\n")

	// record logs a host with some definitions and the domain number for a moment.
	record := func(number int, archive, definitions string) *pmcdtest.PMCD {
		file := writeFile(t, work, archive+".conf", definitions)
		p := pmcdtest.Start(t, pmcdtest.Config{Agents: []pmcdtest.Agent{{
			Name: "derived", Domain: number, Command: []string{program, "-d", fmt.Sprint(number), "-c", file},
		}}})
		await.Until(t, "both have values", func() bool {
			out, _, _ := p.Run(t, "pmprobe", "derived.site.bins", "derived.site.ten")
			return out == "derived.site.bins 9\nderived.site.ten 1\n"
		})
		printed(t, p, "pmlogger", "-c", logged, "-s", "5", "-l", filepath.Join(work, archive+".log"),
			filepath.Join(work, archive))
		return p
	}
	record(510, "OLD", "site.gone = 1\nsite.ten = sample.long.ten\nsite.bins = sample.bin * 2\n")
	p := record(499, "LATER", "site.bins = sample.bin * 2\nsite.ten = sample.long.ten\n")

	inWork := func(command string) (string, error) { return runExample(t, p, work, "set -e\n"+command) }
	out, err := inWork("pmlogextract OLD LATER MERGED")
	require.Error(t, err)
	assert.Contains(t, out, "PMID changed", "no rules, no merger")

	out, err = inWork(commands + "pmlogextract NEW LATER MERGED\npminfo -m -a MERGED derived.site derived.control.definition derived.control.file")
	require.NoError(t, err, out)
	assert.Contains(t, out, "derived.site.bins PMID: 499.1.0\n")
	assert.Contains(t, out, "derived.site.ten PMID: 499.1.1\n")
	assert.Contains(t, out, "derived.site.gone PMID: 510.1.0\n", "nothing has its place")
	assert.Equal(t, 1, strings.Count(out, "510."), out)
	out, err = inWork("pmdumplog -a MERGED derived.site.bins derived.control.definition.pmid")
	require.NoError(t, err, out)
	assert.Contains(t, out, `"bin-900"] value 1800`)
	assert.Contains(t, out, `"site.bins"] value "510.1.2"`, "what was, is in it")
	assert.Contains(t, out, `"site.bins"] value "499.1.0"`)
}
