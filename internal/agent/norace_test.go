//go:build !race

package agent

const defaultReloads = 10_000
