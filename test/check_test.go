//go:build pcp

package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/internal/lint"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/test/pmcdtest"
)

// The check has no warning about the definitions of PCP and of the agent, with any version of PCP, even if the files
// are named.
func TestCheckOfShippedFiles(t *testing.T) {
	program := must(daemonProgram())(t)
	p := pmcdtest.Start(t, pmcdtest.Config{})
	stock := must(filepath.Glob(filepath.Join(p.Dir, shippedDir, "*.conf")))(t)
	require.NotEmpty(t, stock)
	ours := slices.Concat(confFiles(t, confDir, "*.conf"), confFiles(t, optionalDir, "*.conf"))
	examples := must(filepath.Glob("../examples/*.conf"))(t)
	require.NotEmpty(t, examples)
	for i, files := range [][]string{stock, ours, examples} {
		// These warnings depend on the metrics and interfaces of the host, and on the permissions of this tree.
		ignored := "unknown-operand,absent-operand,absent-instance,matches-nothing,group-writable"
		if i == 0 { // before 7.0.3, proc.hog.cpu and proc.hog.disk of PCP divide a change by an age
			ignored += ",change-over-age"
		}
		args := append([]string{program, "check", "--werror", "--ignore=" + ignored}, files...)
		out, errs, exit := p.Run(t, args...)
		assert.Zero(t, exit, errs)
		assert.Empty(t, out)
		for _, w := range lintWithoutInstances(t, p, files) {
			if w.Code == lint.ChangeOverAge && strings.HasPrefix(w.Definition.Name, "proc.hog.") {
				continue
			}
			assert.Equal(t, lint.AbsentOperand, w.Code, "%s = %s: %s", w.Definition.Name, w.Definition.Text, w.Message)
		}
	}
}

// lintWithoutInstances returns the warnings about definition files that depend on the metrics of a host, and not on its
// instances.
func lintWithoutInstances(t *testing.T, p *pmcdtest.PMCD, files []string) []lint.Warning {
	t.Helper()
	conn := dial(t, p)
	var defs []*derived.Definition
	var operands []served.Definition
	for _, d := range config.Load(files, nil).Definitions {
		parsed := must(derived.Parse(d.Name, d.Expr))(t)
		defs, operands = append(defs, parsed), append(operands, served.Definition{Definition: parsed})
	}
	require.NotEmpty(t, defs)
	catalog := must(session.LookUp(t.Context(), conn, operands))(t)
	return lint.Check(defs, lint.Options{Catalog: catalog, Root: derived.Root})
}

// The check finds the mistakes of beginners, against the metrics of a real host.
func TestCheckOfFirstMistakes(t *testing.T) {
	program := must(daemonProgram())(t)
	p := pmcdtest.Start(t, pmcdtest.Config{})
	path := filepath.Join(t.TempDir(), "site.conf")
	for _, row := range []struct{ expr, want string }{
		{`kernel.all.load["1 minute"]`, `write \[1 minute\], .* \[absent-instance\]`},
		{"kernel.all.load[2 minute]", `there are 1 minute, 5 minute, 15 minute \[absent-instance\]`},
		{
			"sum(matchinst(/pmcd/, proc.memory.rss))",
			`only the part before the first blank of a name is matched, .* \[matches-nothing\]`,
		},
		{"matchinst(/^week/, kernel.all.load)", `there are 1, 5, 15 \[matches-nothing\]`},
		{"hinv.ncpu - kernel.all.nprocs", `is unsigned .* \[unsigned-difference\]`},
		{"mem.util.free / rate(disk.all.total)", `is 0 when nothing has changed.* \[zero-divisor\]`},
		{"kernel.all.load[1 minute] / 2", ""},
		{"kernel.all.load[1] * 3", ""},
		{"mem.physmem - mem.util.free", ""},
		{"delta(disk.all.read_bytes) / delta(disk.all.read)", ""},
		{"matchinst(/^15/, kernel.all.load)", ""},
	} {
		t.Run(row.expr, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte("site.x = "+row.expr+"\n"), 0o644))
			out, errs, exit := p.Run(t, program, "check", path)
			assert.Zero(t, exit, errs)
			if row.want == "" {
				assert.Empty(t, out)
			} else {
				assert.Regexp(t, regexp.MustCompile(": warning: .*"+row.want), out)
			}
		})
	}
}
