// Package bench measures the agent beside its alternatives, in one run and in turns, and returns the ratios in one
// table. `make bench` runs it; README.md explains each line.
package bench
