package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/liar"
	"pmdaderived/test/rig"
)

func TestMain(m *testing.M) {
	if status, helper := rig.Helper(os.Args[1:]); helper {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// daemon builds it.
func daemon(t *testing.T) string { return built(t, "../../../../cmd/pmdaderived") }

// built is a program of a package, without the race detector.
func built(t *testing.T, folder string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-trimpath", "-o", program, folder)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// Short runs with a real pmcd: everything happens and can be measured, and what does not depend on the machine's speed holds.
func TestShortRuns(t *testing.T) {
	program := daemon(t)
	for name, rows := range map[string]int{"fresh": 41, "soak": 31} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			table, err := commands()[name].run(ctx, options{short: true, verbose: true, seed: 1}, []string{program})
			require.NoError(t, err)
			var printed strings.Builder
			require.NoError(t, table.Write(&printed))
			t.Logf("\n%s", printed.String())
			for _, r := range table.Rows {
				assert.NotEmpty(t, r.Measured, r.What)
				if !r.Timed {
					assert.True(t, r.OK, "%s: %s, wanted %s", r.What, r.Measured, r.Target)
				}
			}
			assert.Len(t, table.Rows, rows)
		})
	}
}

// Whatever an agent says, the definitions that need nothing of it lose nothing, and those that do come back after it. Eight are told at a time, and
// a machine that has not enough for that loses values, too: what was missed is told once more, alone.
func TestLies(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	// Sixty collectors with three agents each are no place for the race detector.
	program, daemon := built(t, "."), daemon(t)
	missed := func(orders ...string) []string {
		args := []string{"lies", "-short", "-v"}
		for _, order := range orders {
			args = append(args, "-only", order)
		}
		out, _ := exec.CommandContext(ctx, program, append(args, daemon)...).CombinedOutput() // the table tells
		t.Logf("%s", out)
		told := 0
		failed := slices.DeleteFunc(slices.Clone(orders), func(order string) bool {
			row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(order) + ` +\|.*\| (ok|MISSED) +\|$`).FindSubmatch(out)
			if row != nil {
				told++
			}
			return row != nil && string(row[1]) == "ok"
		})
		require.Equal(t, len(orders), told, "lies that were told")
		return failed
	}
	var orders []string
	for _, l := range liar.Lies(false) {
		if !slices.Contains(costly(), l.Order) {
			orders = append(orders, l.Order)
		}
	}
	for _, order := range missed(orders...) {
		assert.Empty(t, missed(order), "what it costs others")
	}
}

// costly are lies that still cost others something: pmcd stands still for longer than samples are served, or than a client waits.
func costly() []string {
	return []string{"never"}
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"run"}, {"fresh"}, {"fresh", "-t", "-1s", "daemon"}, {"soak", "-nonsense", "daemon"}, {"bench"}} {
		assert.Equal(t, 2, run(t.Context(), args), args)
	}
	assert.Equal(t, 1, run(t.Context(), []string{"soak", "-t", "1m", "daemon"}), "too short")
	assert.Equal(t, 1, run(t.Context(), []string{"fresh", "no/such/daemon"}))
}
