package test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pmchart ignores the scale of a view and chooses the axis by the values. A chart of percent or scores shows the whole
// axis if it draws the end of it, too, or shares of a sum. Titles fit in the window beside a long name of the host.
func TestPmchartAxes(t *testing.T) {
	files := must(filepath.Glob(filepath.Join(integrationDir, "pmchart/*")))(t)
	require.NotEmpty(t, files)
	for _, file := range files {
		charts := strings.Split(readDocument(t, file), "\nchart ")[1:]
		require.NotEmpty(t, charts)
		for _, chart := range charts {
			title := regexp.MustCompile(`^title "(.+) \[%h\]" style \w+`).FindStringSubmatch(chart)
			require.NotNil(t, title, chart)
			assert.LessOrEqual(t, len(title[1]), 50, title[1])
			end := " optional-plot .* metric derived\\.host\\.axis\\.%s\n?$"
			switch {
			case strings.Contains(chart, " style utilization"):
			case strings.Contains(title[1], "percent"):
				assert.Regexp(t, strings.Replace(end, "%s", "percent", 1), chart)
			case strings.Contains(strings.ToLower(title[1]), "score"):
				assert.Regexp(t, strings.Replace(end, "%s", "score", 1), chart)
			default:
				assert.NotContains(t, chart, "derived.host.axis.")
			}
		}
	}
}
