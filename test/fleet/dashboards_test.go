//go:build pcp

package fleet

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
)

// shown has the metrics that Grafana's dashboards need, for pmlogger.
const shown = "derived.host"

// dashboard is a file for Grafana, with the queries to its data source.
type dashboard struct {
	file   string
	source string // vector or redis

	Templating struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []panel
}

type panel struct {
	Title   string
	Targets []struct{ Expr string }
	Panels  []panel // of a row that is collapsed
}

// dashboardFiles reads the dashboards of some data sources of grafana-pcp.
func dashboardFiles(t *testing.T, sources ...string) []dashboard {
	t.Helper()
	var found []dashboard
	for _, source := range sources {
		files, err := filepath.Glob("../../integration/grafana/*-" + source + ".json")
		require.NoError(t, err)
		require.NotEmpty(t, files, source)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			board := dashboard{file: filepath.Base(file), source: source}
			require.NoError(t, json.Unmarshal(text, &board), file)
			found = append(found, board)
		}
	}
	return found
}

// queries returns the queries of the panels, with the panels' titles, but for metrics that a site may define, and those of
// processes, which are not for users that pmcd does not know, such as pmproxy's.
func (d dashboard) queries() map[string]string {
	found := make(map[string]string)
	panels := d.Panels
	for _, row := range d.Panels {
		panels = append(panels, row.Panels...)
	}
	for _, panel := range panels {
		for _, target := range panel.Targets {
			if !strings.HasPrefix(target.Expr, "derived.site.") && !strings.HasPrefix(target.Expr, "derived.host.top.") {
				found[target.Expr] = panel.Title
			}
		}
	}
	return found
}

// testDashboards sends pmproxy the queries of grafana-pcp's data sources for the panels of each dashboard. Metrics with
// values for pmrep must have them in Grafana. A metric without values is not queried in Redis. Its live value in
// pmproxy means nothing: pmproxy of PCP 7.2 returns 0 in place of a missing value.
func testDashboards(t *testing.T, s *site, h *host) {
	live, recorded := make(map[string]int), make(map[string]int) // number of values of each metric
	hasValues := make(map[string]bool)
	for _, board := range dashboardFiles(t, "vector") {
		names := slices.Sorted(maps.Keys(board.queries()))
		valued := haveValues(t, h, names)
		require.Greater(t, len(valued), len(names)/2, "most metrics have values on any machine")
		maps.Copy(live, byVector(t, s, h, names, valued))
		for _, name := range valued {
			hasValues[name] = true
		}
	}
	for _, board := range dashboardFiles(t, "redis") {
		selected := h.hostName(t, s)
		assert.Contains(t, board.choices(t, s)["host"], selected, board.file)
		for query, title := range board.queries() {
			expr := strings.ReplaceAll(query, "$host", selected)
			assert.NotContains(t, expr, "$", "%s: %s", board.file, title)
			name, _, _ := strings.Cut(expr, "{")
			require.Contains(t, live, name, "%s: %s is not shown live", board.file, title)
			if !hasValues[name] {
				continue
			}
			await.Until(t, fmt.Sprintf("%s: %s: there is a value for %s", board.file, title, expr), func() bool {
				recorded[name] = byHistory(t, s, expr)
				return recorded[name] > 0
			})
		}
	}
	rows := [][]any{{"metric", "PCP Vector", "PCP Valkey, Redis"}}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		rows = append(rows, []any{name, live[name], recorded[name]})
	}
	t.Logf("numbers of values of %s for Grafana\n%s", h.name, table(rows))
}

// haveValues returns the metrics that have values for pmrep.
func haveValues(t *testing.T, h *host, metrics []string) []string {
	t.Helper()
	out, errs, exit := h.pmcd.Run(t, append([]string{"pmrep", "-t", "0.5", "-s", "3", "-o", "csv", "-r"}, metrics...)...)
	require.Zero(t, exit, errs)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err, out)
	require.Len(t, rows, 4, out)
	found := make(map[string]bool)
	for i, column := range rows[0][1:] {
		metric := column
		if instance := strings.IndexAny(column, "-["); instance >= 0 { // [ from PCP 7 on
			metric = column[:instance]
		}
		if rows[3][i+1] != "" {
			found[metric] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// byVector fetches metrics as the data source PCP Vector does, all at once, in one context, until those that have
// values have them there. It returns the number of values of each.
func byVector(t *testing.T, s *site, h *host, metrics, valued []string) map[string]int {
	t.Helper()
	names := strings.Join(metrics, ",")
	context := strconv.Itoa(getJSON[struct{ Context int }](t, s, "/pmapi/context", "hostspec", h.address(),
		"polltimeout", "30").Context)
	described := getJSON[struct{ Metrics []webMetric }](t, s, "/pmapi/metric", "context", context, "names", names).Metrics
	assert.Len(t, described, len(metrics))
	found := make(map[string]int)
	for _, metric := range metrics {
		found[metric] = 0
	}
	// Rates come with the second fetch.
	await.Until(t, "all metrics have values", func() bool {
		for _, set := range getJSON[struct {
			Values []struct {
				Name      string
				Instances []json.RawMessage
			}
		}](t, s, "/pmapi/fetch", "context", context, "names", names).Values {
			found[set.Name] = max(found[set.Name], len(set.Instances))
		}
		return !slices.ContainsFunc(valued, func(metric string) bool { return found[metric] == 0 })
	})
	return found
}

var labelValues = regexp.MustCompile(`^label_values\((\w+)\)$`)

// choices returns the values that a user can choose for the variables of a dashboard.
func (d dashboard) choices(t *testing.T, s *site) map[string][]string {
	t.Helper()
	found := make(map[string][]string)
	for _, variable := range d.Templating.List {
		if variable.Type != "query" {
			continue
		}
		match := labelValues.FindStringSubmatch(variable.Query)
		require.NotNil(t, match, "%s: %s", d.file, variable.Query)
		found[variable.Name] = getJSON[map[string][]string](t, s, "/series/labels", "names", match[1])[match[1]]
	}
	return found
}

// hostName returns the name of the host in labels.
func (h *host) hostName(t *testing.T, s *site) string {
	t.Helper()
	name, ok := s.metrics(t, h)["derived.fleet.level"].Labels["hostname"].(string)
	require.True(t, ok, h.name)
	return name
}

// byHistory queries the last minutes of an expression as the data sources PCP Valkey and PCP Redis do, and returns the
// number of series or instances that have values.
func byHistory(t *testing.T, s *site, expr string) int {
	t.Helper()
	ids := getJSON[[]string](t, s, "/series/query", "expr", expr)
	if len(ids) == 0 {
		return 0
	}
	series := strings.Join(ids, ",")
	for _, about := range getJSON[[]struct{ Series, Name string }](t, s, "/series/metrics", "series", series) {
		assert.NotEmpty(t, about.Name, about.Series)
	}
	withInstances := make(map[string]bool)
	for _, desc := range getJSON[[]struct{ Series, Indom string }](t, s, "/series/descs", "series", series) {
		withInstances[desc.Series] = desc.Indom != "none"
	}
	assert.Len(t, withInstances, len(ids), expr)
	names := make(map[string]string)
	for _, inst := range getJSON[[]struct{ Instance, Name string }](t, s, "/series/instances", "series", series) {
		names[inst.Instance] = inst.Name
	}
	now := time.Now()
	found := make(map[string]bool)
	for _, v := range getJSON[[]struct{ Series, Instance, Value string }](t, s, "/series/values", "series", series,
		"start", strconv.FormatInt(now.Add(-5*time.Minute).Unix(), 10), "finish", strconv.FormatInt(now.Add(time.Minute).Unix(), 10),
		"interval", "1") {
		_, err := strconv.ParseFloat(v.Value, 64)
		assert.NoError(t, err, expr)
		if withInstances[v.Series] {
			assert.NotEmpty(t, names[v.Instance], "%s: an instance without a name", expr)
		}
		found[v.Series+v.Instance] = true
	}
	return len(found)
}
