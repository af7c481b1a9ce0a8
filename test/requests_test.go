//go:build pcp

package test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/test/pmcdtest"
)

// crowdedSite returns a definition of many metrics of PCP's own agents. It counts instances, so units do not matter.
func crowdedSite(t *testing.T, p *pmcdtest.PMCD, dir string, metrics int) (conf string) {
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
	return writeFile(t, dir, "site.conf", fmt.Sprintf("few = count(%s)\nmany = count(%s)\n", operands[0],
		strings.Join(operands, ") + count(")))
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

// The log reports a pmcd that accepts only shorter requests than the agent needs: -M is the most metrics in a
// fetch, since PCP 6.3.1, -L the longest request that a client may send, in bytes.
func TestPMCDTakesShortRequests(t *testing.T) {
	plain := pmcdtest.Start(t, pmcdtest.Config{})
	dir := worldReadableDir(t)
	conf := crowdedSite(t, plain, dir, 1100)
	for name, row := range map[string]struct {
		options []string
		logged  string
		old     bool // pmcd 6.0 has it
	}{
		"metrics": {[]string{"-M", "100"}, "its option -M must be at least 4000", false},
		"bytes":   {[]string{"-L", "4096"}, "the request may be too large for pmcd, see its option -L", true},
	} {
		if !row.old && isPMCD60(t, plain) {
			continue // it takes all
		}
		t.Run(name, func(t *testing.T) {
			p := pmcdtest.Start(t, pmcdtest.Config{Flags: row.options, Agents: []pmcdtest.Agent{derivedAgent(t, "-c", conf)}})
			c := dial(t, p)
			values := func() int {
				found := must(c.LookupNames(t.Context(), []string{"derived.few", "derived.many"}))(t)
				return len(must(c.Fetch(t.Context(), []pdu.PMID{found[0].PMID, found[1].PMID}))(t).Sets[0].Values)
			}
			await.Until(t, "it is refused", func() bool {
				values()
				return strings.Contains(p.Log(), row.logged)
			})
			await.Until(t, "what does not need much is served", func() bool { return values() > 0 })
		})
	}
}
