package freshbench

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
)

func TestMain(m *testing.M) {
	if status, helper := Helper(os.Args[1:]); helper {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// A short run with a real pmcd: everything can be measured, and what does not depend on the machine's speed holds.
func TestShortRun(t *testing.T) {
	daemon := filepath.Join(t.TempDir(), "pmdaderived")
	build := exec.Command("go", "build", "-trimpath", "-o", daemon, "./cmd/pmdaderived")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var log strings.Builder
	table, err := Run(ctx, Options{Daemon: daemon, Log: &log, Plan: Plan{
		OneShots: 25, Loads: []int{0, 3},
		Periodic: 4 * time.Second, Irregular: time.Second, Coincide: 2 * time.Second,
		Rates: 3, RateInterval: 200 * time.Millisecond,
		Sums: 4 * time.Second, Idle: 2 * time.Second,
		Slow: 3 * time.Second, Nap: 300 * time.Millisecond,
	}})
	require.NoError(t, err, log.String())

	var printed strings.Builder
	require.NoError(t, table.Write(&printed))
	t.Logf("\n%s", printed.String())
	for _, r := range table.Rows {
		assert.NotEmpty(t, r.Measured, r.What)
		if !r.Timed {
			assert.True(t, r.OK, "%s: %s, wanted %s", r.What, r.Measured, r.Target)
		}
	}
	assert.Len(t, table.Rows, 41)
	if t.Failed() {
		t.Log(log.String())
	}
}

func TestRunRefusesUnknownMeasurements(t *testing.T) {
	_, err := Run(t.Context(), Options{Daemon: "pmdaderived", Only: []string{"oneshot", "nonsense"}})
	assert.ErrorContains(t, err, `no measurement "nonsense"`)
}
