//go:build pcp

package test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/pmcdtest"
)

// The control line of docs/scale.md makes a central pmlogger record the configuration of that page, and nothing else.
func TestLoggerControl(t *testing.T) {
	page := readDocument(t, "../docs/scale.md")
	line := regexp.MustCompile(`(?m)^    (db1\.example\.org  .*-c (\S+))\n`).FindStringSubmatch(page)
	require.NotNil(t, line)
	config := regexp.MustCompile("with `(log mandatory .*)` in `/var/lib/pcp/config/(.*)`").FindStringSubmatch(page)
	require.NotNil(t, config)

	p := pmcdtest.Start(t, pmcdtest.Config{})
	folder := filepath.Join(p.Dir, "var", "config", path.Dir(config[2]))
	if err := os.Remove(folder); err != nil { // a link to the machine's
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	require.NoError(t, os.Mkdir(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, path.Base(config[2])), []byte(config[1]+"\n"), 0o644))
	printed(t, p, "pmlogger", "-C", "-c", filepath.Join(folder, path.Base(config[2])))

	control := writeFile(t, worldReadableDir(t), "control", "$version=1.1\n"+line[1]+"\n")
	out, errs, _ := p.Run(t, "pmlogger_check", "-N", "-V", "-c", control)
	out += errs
	assert.Contains(t, out, "pmlogger -h db1.example.org")
	assert.Contains(t, out, " -c "+line[2]+" ")
	assert.NotContains(t, out, "pmlogconf -c", "the file is not found")
}
