package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/rig"
)

func TestMain(m *testing.M) {
	if status, helper := rig.Helper(os.Args[1:]); helper {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// Short runs with a real pmcd: everything happens and can be measured, and what does not depend on the machine's speed holds.
func TestShortRuns(t *testing.T) {
	daemon := filepath.Join(t.TempDir(), "pmdaderived")
	build := exec.Command("go", "build", "-trimpath", "-o", daemon, "../../../../cmd/pmdaderived")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, rows := range map[string]int{"fresh": 41, "soak": 28} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			table, err := commands()[name].run(ctx, options{short: true, verbose: true, seed: 1}, []string{daemon})
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

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"run"}, {"fresh"}, {"fresh", "-t", "-1s", "daemon"}, {"soak", "-nonsense", "daemon"}, {"profile", "programs"}} {
		assert.Equal(t, 2, run(t.Context(), args), args)
	}
	assert.Equal(t, 1, run(t.Context(), []string{"soak", "-t", "1m", "daemon"}), "too short")
	assert.Equal(t, 1, run(t.Context(), []string{"fresh", "no/such/daemon"}))
}
