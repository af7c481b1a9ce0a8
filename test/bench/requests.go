package bench

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"pmdaderived/derived/agent"
)

var bucketLine = regexp.MustCompile(`(?m)inst \[\d+ or "([^"]+)"\] value (\d+)$`)

// requestTimes reads how many requests the agent has answered in how much time, by its own clock.
func (a *arena) requestTimes(ctx context.Context) (map[string]uint64, error) {
	out, err := a.pmcd.Command(ctx, "pminfo", "-f", "derived.control.request_time").Output()
	if err != nil {
		return nil, fmt.Errorf("pminfo: %w", err)
	}
	times := make(map[string]uint64)
	for _, m := range bucketLine.FindAllStringSubmatch(string(out), -1) {
		if times[m[1]], err = strconv.ParseUint(m[2], 10, 64); err != nil {
			return nil, err
		}
	}
	if len(times) != len(agent.BucketNames()) {
		return nil, fmt.Errorf("derived.control.request_time has %d instances", len(times))
	}
	return times, nil
}

// longestSince is the upper bound, in ms, of the time that the longest request took between two readings; 0
// if there was none.
func longestSince(before, after map[string]uint64) float64 {
	for _, name := range slices.Backward(agent.BucketNames()) {
		if after[name] == before[name] {
			continue
		}
		bound, err := strconv.ParseFloat(name, 64)
		if err != nil {
			return math.Inf(1) // longer than all bounds
		}
		return bound
	}
	return 0
}
