package test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// integrationDir has the files for stock tools: a folder for each tool.
const integrationDir = "../integration"

// grafanaPanel has the fields of a panel that the tests read.
type grafanaPanel struct {
	ID          int
	Type, Title string
	Collapsed   bool
	Panels      []grafanaPanel           // of a row that is collapsed; those of another one follow it
	GridPos     struct{ X, Y, W, H int } // of a grid that is 24 wide
	Datasource  struct{ Type, UID string }
	Targets     []struct{ RefID, Expr, LegendFormat string }
	FieldConfig struct {
		Defaults struct {
			Unit     string
			Mappings []struct {
				Options map[string]struct{ Text string }
			}
			Thresholds struct{ Steps []struct{ Value *float64 } } // the first has no value
		}
	}
}

// grafanaBoard has the fields of a dashboard that the tests read.
type grafanaBoard struct {
	UID, Title, Description string
	SchemaVersion           int
	Templating              struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []grafanaPanel
}

// panels returns all panels of a dashboard, a row before those that are in it.
func (b *grafanaBoard) panels() []*grafanaPanel {
	var all []*grafanaPanel
	for i := range b.Panels {
		p := &b.Panels[i]
		all = append(all, p)
		for j := range p.Panels {
			all = append(all, &p.Panels[j])
		}
	}
	return all
}

// grafanaSources is what the queries of each data source of grafana-pcp add to the name of a metric.
// `make install` makes the dashboards for valkey from those for redis.
var grafanaSources = map[string]string{"vector": "", "redis": `{hostname == "$host"}`}

// Every dashboard exists for each data source and has all that Grafana needs to draw it correctly. TestIntegration
// checks the metrics.
func TestGrafana(t *testing.T) {
	files := must(filepath.Glob(filepath.Join(integrationDir, "grafana/*.json")))(t)
	require.Len(t, files, len(grafanaSources))
	panels := make(map[string][]grafanaPanel)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			match := regexp.MustCompile(`pcp-derived-(\w+)-(\w+)\.json$`).FindStringSubmatch(file)
			require.NotNil(t, match)
			plugin := "performancecopilot-" + match[2] + "-datasource"
			text := readDocument(t, file)
			var board grafanaBoard
			require.NoError(t, json.Unmarshal([]byte(text), &board))
			assert.Equal(t, "pcp-derived-"+match[1]+"-"+match[2], board.UID)
			assert.NotEmpty(t, board.Title+board.Description)
			assert.Equal(t, 39, board.SchemaVersion)

			variables := map[string]bool{"instance": true} // of grafana-pcp, in legends
			for _, v := range board.Templating.List {
				variables[v.Name] = true
				assert.True(t, v.Type != "datasource" || v.Query == plugin, v.Query)
			}
			for _, used := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(text, -1) {
				assert.True(t, variables[used[1]], used[0])
			}

			for i, p := range board.panels() {
				assert.Equal(t, i+1, p.ID)
				if p.Type != "row" {
					assert.Equal(t, plugin, p.Datasource.Type, p.Title)
				}
				p.Datasource.Type = "" // the rest is the same for all sources
				for j := range p.Targets {
					metric, ok := strings.CutSuffix(p.Targets[j].Expr, grafanaSources[match[2]])
					assert.True(t, ok, p.Targets[j].Expr)
					p.Targets[j].Expr = metric
				}
			}
			if panels[match[1]] == nil {
				panels[match[1]] = board.Panels
				testGrafanaPanels(t, board.Panels, make(map[string]bool))
			}
			assert.Equal(t, panels[match[1]], board.Panels, "all sources have the same panels")
		})
	}
}

func testGrafanaPanels(t *testing.T, panels []grafanaPanel, titles map[string]bool) {
	t.Helper()
	taken := make(map[[2]int]bool)
	for _, p := range panels {
		assert.Contains(t, []string{"row", "timeseries", "bargauge", "stat", "state-timeline", "table"}, p.Type, p.Title)
		assert.NotEmpty(t, p.Title)
		assert.False(t, titles[p.Title], "%s twice", p.Title)
		titles[p.Title] = true
		pos := p.GridPos
		assert.LessOrEqual(t, pos.X+pos.W, 24, p.Title)
		require.Positive(t, pos.W*pos.H, p.Title)
		for i := range pos.W * pos.H {
			cell := [2]int{pos.X + i%pos.W, pos.Y + i/pos.W}
			assert.False(t, taken[cell], "%s is over another panel", p.Title)
			taken[cell] = true
		}
		assert.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		assert.Equal(t, p.Collapsed, len(p.Panels) > 0, p.Title)
		testGrafanaPanels(t, p.Panels, titles)
		for i, step := range p.FieldConfig.Defaults.Thresholds.Steps {
			if i > 1 {
				assert.Greater(t, *step.Value, *p.FieldConfig.Defaults.Thresholds.Steps[i-1].Value, p.Title)
			}
			assert.Equal(t, i == 0, step.Value == nil, p.Title)
		}
		seen := make(map[string]bool)
		for _, target := range p.Targets {
			assert.Regexp(t, `^[A-Z]$`, target.RefID)
			assert.NotEmpty(t, target.LegendFormat, p.Title)
			if strings.HasPrefix(target.Expr, "derived.host.alarm.") {
				words := p.FieldConfig.Defaults.Mappings
				require.Len(t, words, 1, p.Title)
				assert.Equal(t, [2]string{"ok", "alarm"}, [2]string{words[0].Options["0"].Text, words[0].Options["1"].Text}, p.Title)
			}
			assert.False(t, seen[target.RefID] || seen[target.LegendFormat], "%s: %s twice", p.Title, target.LegendFormat)
			seen[target.RefID], seen[target.LegendFormat] = true, true
		}
	}
}
