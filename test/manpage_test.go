//go:build pcp

package test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The manual pages are formatted without a warning, by groff as man(1) calls it and by mandoc.
func TestManualPageFormats(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("go", "run", "./packaging/manpages", dir, "1.2.0~rc1")
	cmd.Dir = ".."
	combined(t, cmd)
	for _, page := range []string{"pmdaderived.1", "pmdaderived.5"} {
		t.Run(page, func(t *testing.T) { testFormats(t, filepath.Join(dir, page)) })
	}
}

func testFormats(t *testing.T, page string) {
	for _, row := range []struct {
		name    string
		command []string
	}{
		{"groff", []string{"groff", "-man", "-t", "-ww", "-z", "-Tutf8", page}},
		{"mandoc", []string{"mandoc", "-T", "lint", "-W", "warning", page}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := exec.LookPath(row.command[0])
			require.NoError(t, err, "scripts/install-pcp -test installs it")
			out, _ := exec.Command(row.command[0], row.command[1:]...).CombinedOutput()
			var warnings []string
			for line := range strings.Lines(string(out)) {
				// In place of a date PCP's pages have the word PCP.
				if !strings.HasSuffix(line, "cannot parse date, using it verbatim: TH PCP\n") {
					warnings = append(warnings, line)
				}
			}
			assert.Empty(t, warnings)
		})
	}
	out := must(exec.Command("groff", "-man", "-Tutf8", page).Output())(t)
	assert.Greater(t, strings.Count(string(out), "\n"), 200, "it is formatted at all")
}
