//go:build pcp

package test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/test/pmcdtest"
)

// shippedDir is the folder of PCP's own definitions, in a private pmcd's PCP_VAR_DIR.
const shippedDir = "var/config/derived"

// startServing runs a private pmcd with our agent and waits until the agent has looked up its operands.
func startServing(t *testing.T, options ...string) *pmcdtest.PMCD {
	t.Helper()
	p := startDerived(t, options...)
	await.Until(t, "the agent binds its definitions", func() bool {
		out, _, _ := p.Run(t, "pmprobe", "-v", "derived.control.bound")
		return regexp.MustCompile(`^derived.control.bound 1 [1-9]`).MatchString(out)
	})
	return p
}

// definedNames returns the names that PCP's own definition files define.
func definedNames(t *testing.T, dir string) []string {
	t.Helper()
	files := must(filepath.Glob(filepath.Join(dir, "*")))(t)
	definition := regexp.MustCompile(`(?m)^([a-z][a-z0-9_.]*) = `)
	var names []string
	for _, file := range files {
		text := must(os.ReadFile(file))(t)
		for _, match := range definition.FindAllStringSubmatch(string(text), -1) {
			names = append(names, match[1])
		}
	}
	require.NotEmpty(t, names)
	return names
}

// described splits the output of pminfo -d or -f by metric.
func described(output string) map[string]string {
	metrics := make(map[string]string)
	for part := range strings.SplitSeq(strings.TrimSpace(output), "\n\n") {
		name, about, _ := strings.Cut(strings.TrimSpace(part), "\n")
		metrics[strings.TrimPrefix(name, "derived.")] = about
	}
	return metrics
}

// The definitions that PCP ships are served out of the box, each that stock pminfo can bind itself,
// with the same metadata.
func TestShippedDefinitionsAreServed(t *testing.T) {
	p := startServing(t)
	dir := filepath.Join(p.Dir, shippedDir)
	names := definedNames(t, dir)

	served := printed(t, p, "pminfo", "-d", "derived")
	ours := described(served)
	bound := 0
	for _, name := range names {
		stock, _, exit := p.Run(t, "pminfo", "-c", dir, "-d", name)
		if exit != 0 {
			assert.NotContains(t, ours, name, "stock pminfo cannot bind it")
			continue
		}
		bound++
		assert.Equal(t, described(stock)[name], ours[name], name)
	}
	t.Logf("%d definitions, %d bound by stock pminfo and by us", len(names), bound)
	assert.Greater(t, bound, 30, "what PCP's files define over the linux and proc agents")

	_, logged, _ := p.Run(t, "sh", "-c", "cat $PCP_LOG_DIR/pmcd/derived.log >&2")
	assert.NotContains(t, logged, "level=error")
}

// Metrics without counters have the values that a client computes itself in the same fetch, for the
// same instances. The client runs as the user that the agent runs as: the proc agent shows each user
// other processes.
func TestShippedDefinitionsAgreeInValues(t *testing.T) {
	p := startServing(t)
	dir := filepath.Join(p.Dir, shippedDir)
	for _, name := range []string{"proc.hog.mem", "proc.io.total_bytes", "proc.psinfo.age"} {
		t.Run(name, func(t *testing.T) {
			// Processes come, go and grow between our sample and the client's own fetch, a fraction
			// of a millisecond later: now and then one differs.
			var stock, ours string
			await.Until(t, "both have the same values", func() bool {
				both := printed(t, p, append(asAgent(), "pminfo", "-c", dir, "-f", name, "derived."+name)...)
				stock, ours, _ = strings.Cut(both, "\nderived."+name+"\n")
				_, stock, _ = strings.Cut(strings.TrimSpace(stock), "\n")
				stock, ours = strings.TrimSpace(stock), strings.TrimSpace(ours)
				return stock != "" && stock == ours
			})
			assert.Contains(t, ours, "inst [")
		})
	}
}

// asAgent returns the beginning of a command line that runs a program as the user of agents.
func asAgent() []string {
	if os.Geteuid() != 0 {
		return nil
	}
	return []string{"runuser", "-u", "pcp", "--"}
}

// Rates agree with those that a client computes itself from the same counters at the same moments. The samples are some
// milliseconds apart, and now and then a fetch comes unexpectedly, so the median counts.
func TestShippedRatesAgree(t *testing.T) {
	p := startServing(t)
	for _, name := range []string{"kernel.cpu.util.idle", "kernel.cpu.util.user"} {
		var differences []float64
		shown := ""
		for attempt := 0; (len(differences) < 10 || median(differences) >= 2) && attempt < 5; attempt++ {
			out := printed(t, p, "pmrep", "-t", "0.5", "-s", "12", "-o", "csv", "-H", "-P", "3", name, "derived."+name)
			shown += out
			differences = append(differences, rateDifferences(t, out)...)
		}
		require.GreaterOrEqual(t, len(differences), 10, shown)
		assert.Less(t, median(differences), 2.0, "percentage points: %s\n%s", name, shown)
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// rateDifferences reads two columns of pmrep -o csv.
func rateDifferences(t *testing.T, out string) (differences []float64) {
	t.Helper()
	for line := range strings.Lines(out) {
		var stock, ours float64
		fields := strings.Split(strings.TrimSpace(line), ",")
		if len(fields) != 3 || fields[1] == "" || fields[2] == "" {
			continue // a client cannot have a first value, and a busy agent may have no newer sample
		}
		_, err := fmt.Sscan(fields[1]+" "+fields[2], &stock, &ours)
		require.NoError(t, err, line)
		differences = append(differences, math.Abs(stock-ours))
	}
	return differences
}
