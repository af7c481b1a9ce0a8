//go:build pcp

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/rig"
	"pmdaderived/test/soak"
)

func TestMain(m *testing.M) {
	if status, helper := rig.Helper(os.Args[1:]); helper {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// daemon builds it, without the race detector.
func daemon(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "pmdaderived")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "../../../../cmd/pmdaderived")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// Runs with a real pmcd: everything happens and can be measured, and what does not depend on the machine's speed holds.
func TestSoak(t *testing.T) {
	holds(t, soak.Short())
}

// Whatever an agent says, the definitions that need nothing of it lose nothing.
func TestSoakLies(t *testing.T) {
	holds(t, soak.Lies())
}

func holds(t *testing.T, plan soak.Plan) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	table, err := soak.Run(ctx, soak.Options{Daemon: daemon(t), Seed: 1, Plan: plan, Log: t.Output()})
	require.NoError(t, err)
	require.NoError(t, table.Write(t.Output()))
	for _, r := range table.Rows {
		assert.NotEmpty(t, r.Measured, r.What)
		if !r.Timed {
			assert.True(t, r.OK, "%s: %s, wanted %s", r.What, r.Measured, r.Target)
		}
	}
}
