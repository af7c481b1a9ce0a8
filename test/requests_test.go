package test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/pmcdtest"
)

// crowdedSite makes what a pmcd that takes only short requests is tried with: for each of many metrics of PCP's own agents
// a definition, all of which the daemon samples together once now and then, one with 80 of them, one with 150 and one
// with all, which count instances, so units do not matter.
func crowdedSite(t *testing.T, p *pmcdtest.PMCD, dir string, metrics int) (conf string, narrow []string) {
	t.Helper()
	c := dial(t, p)
	names := must(c.Traverse(t.Context(), ""))(t)
	slices.Sort(names)
	found := must(c.LookupNames(t.Context(), names))(t)
	var operands []string
	for i, f := range found {
		desc, err := c.Desc(t.Context(), f.PMID)
		if err == nil && desc.Type.Numeric() && len(operands) < metrics {
			operands = append(operands, names[i])
		}
	}
	require.Len(t, operands, metrics)
	var text strings.Builder
	for i, name := range operands {
		fmt.Fprintf(&text, "narrow%d = delta(%s)\n", i, name)
		narrow = append(narrow, fmt.Sprintf("derived.narrow%d", i))
	}
	for name, n := range map[string]int{"medium": 80, "wide": 150, "whole": metrics} {
		fmt.Fprintf(&text, "%s = count(%s)\n", name, strings.Join(operands[:n], ") + count("))
	}
	conf = writeFile(t, dir, "site.conf", text.String())
	return conf, narrow
}

// isPMCD60 reports whether pmcd is of PCP 6.0.
func isPMCD60(t *testing.T, p *pmcdtest.PMCD) bool {
	t.Helper()
	c := dial(t, p)
	found := must(c.LookupNames(t.Context(), []string{"pmcd.version"}))(t)
	res := must(c.Fetch(t.Context(), []pdu.PMID{found[0].PMID}))(t)
	require.Len(t, res.Sets[0].Values, 1)
	version := string(res.Sets[0].Values[0].Bytes)
	t.Logf("pmcd %s", version)
	return strings.HasPrefix(version, "6.0.")
}

// startCrowded starts a pmcd with options and the daemon with the definitions, which plain serves the operands of.
func startCrowded(t *testing.T, plain *pmcdtest.PMCD, metrics int, options ...string) (p *pmcdtest.PMCD, narrow []string) {
	t.Helper()
	dir := worldReadableDir(t)
	conf, narrow := crowdedSite(t, plain, dir, metrics)
	return pmcdtest.Start(t, pmcdtest.Config{
		Flags:  options,
		Agents: []pmcdtest.Agent{derivedAgent(t, "-c", conf)},
	}), narrow
}

// problemOf is derived.control.definition.error of a definition.
func problemOf(t *testing.T, p *pmcdtest.PMCD, definition string) string {
	t.Helper()
	out := combined(t, p.Command(t.Context(), "pminfo", "-f", "derived.control.definition.error"))
	found := regexp.MustCompile(`or "` + definition + `"\] value "(.*)"`).FindStringSubmatch(out)
	require.NotNil(t, found, "%s", out)
	return found[1]
}

// codes are what metrics answer with, each fetch being short: 0 is a value or that there is none.
func codes(t *testing.T, c *pmapi.Conn, names []string) map[string]pdu.Code {
	t.Helper()
	answers := make(map[string]pdu.Code)
	for names := range slices.Chunk(names, 50) {
		found := must(c.LookupNames(t.Context(), names))(t)
		ids := make([]pdu.PMID, len(found))
		for i, f := range found {
			ids[i] = f.PMID
		}
		res := must(c.Fetch(t.Context(), ids))(t)
		for i, set := range res.Sets {
			answers[names[i]] = min(set.Code, found[i].Code)
		}
	}
	return answers
}

// awaitValues waits until all metrics have answers.
func awaitValues(t *testing.T, p *pmcdtest.PMCD, names []string) {
	t.Helper()
	c := dial(t, p)
	var bad []string
	err := until(time.Minute, func() bool {
		bad = nil
		for name, code := range codes(t, c, names) {
			if code < 0 {
				bad = append(bad, fmt.Sprint(name, ": ", code))
			}
		}
		return len(bad) == 0
	})
	slices.Sort(bad)
	require.NoError(t, err, "%v", bad)
}

// awaitProblem waits until a definition is in error because pmcd takes no fetch for all its operands.
func awaitProblem(t *testing.T, p *pmcdtest.PMCD, definition string, operands int) {
	t.Helper()
	c := dial(t, p)
	problem := ""
	require.NoError(t, until(time.Minute, func() bool {
		codes(t, c, []string{"derived." + definition})
		problem = problemOf(t, p, definition)
		return strings.HasPrefix(problem, "derived metric") // before that the connection is lost, and operands have no values
	}))
	assert.Equal(t, fmt.Sprintf("derived metric %s: pmcd does not accept a request for %d operands (see its options -M and -L)",
		definition, operands), problem)
}

// pmcd -L: the longest request that a client may send. With 4096 bytes a fetch has 1017 metrics at most. What one
// definition needs cannot be parted: if that is more, this definition is in error, and says why.
func TestPMCDTakesShortRequests(t *testing.T) {
	p, narrow := startCrowded(t, pmcdtest.Start(t, pmcdtest.Config{}), 1100, "-L", "4096")
	served := append(narrow, "derived.medium", "derived.wide")
	awaitValues(t, p, served)
	awaitProblem(t, p, "whole", 1100)
	awaitValues(t, p, served)
}

// pmcd -M: the most metrics in a fetch, likewise, since PCP 6.3.1. An older pmcd takes all.
func TestPMCDTakesFewMetrics(t *testing.T) {
	plain := pmcdtest.Start(t, pmcdtest.Config{})
	if isPMCD60(t, plain) {
		p, narrow := startCrowded(t, plain, 250)
		awaitValues(t, p, append(narrow, "derived.medium", "derived.wide", "derived.whole"))
		return
	}
	p, narrow := startCrowded(t, plain, 250, "-M", "100")
	served := append(narrow, "derived.medium")
	awaitValues(t, p, served)
	awaitProblem(t, p, "wide", 150)
	awaitProblem(t, p, "whole", 250)
	awaitValues(t, p, served)
}
