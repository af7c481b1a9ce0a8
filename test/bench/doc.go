// Package bench measures the agent beside its alternatives, in one run and by turns, and returns the
// ratios in one table; `make bench` runs it. README.md tells what each line means.
package bench
