//go:build race

package agent

// defaultReloads is fewer with the race detector, which makes them ten times as slow.
const defaultReloads = 500
