package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
	for name, rows := range map[string]int{"fresh": 41, "soak": 30} {
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

// Whatever an agent says, the definitions that need nothing of it lose nothing, and those that do come back after it.
func TestLies(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	args, lies := []string{"lies", "-short", "-v"}, 0
	for _, l := range liar.Lies(false) {
		if !slices.Contains(costly(), l.Order) {
			args, lies = append(args, "-only", l.Order), lies+1
		}
	}
	// Sixty collectors with three agents each are no place for the race detector.
	out, err := exec.CommandContext(ctx, built(t, "."), append(args, daemon(t))...).CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err, "a lie costs others something")
	assert.GreaterOrEqual(t, strings.Count(string(out), "| ok "), lies)
}

// costly are lies that still cost others something: pmcd stands still for longer than samples are served, or than a client waits.
func costly() []string {
	return []string{"never"}
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"run"}, {"fresh"}, {"fresh", "-t", "-1s", "daemon"}, {"soak", "-nonsense", "daemon"}, {"profile", "programs"}} {
		assert.Equal(t, 2, run(t.Context(), args), args)
	}
	assert.Equal(t, 1, run(t.Context(), []string{"soak", "-t", "1m", "daemon"}), "too short")
	assert.Equal(t, 1, run(t.Context(), []string{"fresh", "no/such/daemon"}))
}
