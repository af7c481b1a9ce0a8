package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"run"},
		{"soak"},
		{"bench", "-t", "-1s", "programs"},
		{"soak", "-nonsense", "daemon"},
		{"soak", "-liars", "3", "daemon"},
	} {
		assert.Equal(t, 2, run(t.Context(), args), args)
	}
	assert.Equal(t, 1, run(t.Context(), []string{"soak", "-t", "1m", "daemon"}), "too short")
	assert.Equal(t, 1, run(t.Context(), []string{"soak", "no/such/daemon"}))
}
