package dashboards

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the dashboards anew")

func boards() []Board { return []Board{Host(), Agent()} }

// The files are what the tables say.
func TestFilesAreUpToDate(t *testing.T) {
	var names []string
	for _, board := range boards() {
		for _, source := range Sources() {
			name := board.FileName(source)
			names = append(names, name)
			want, err := board.JSON(source)
			require.NoError(t, err)
			if *update {
				require.NoError(t, os.WriteFile(name, want, 0o644))
			}
			got, err := os.ReadFile(name)
			require.NoError(t, err, "make dashboards")
			assert.Equal(t, string(want), string(got), "%s: make dashboards", name)
		}
	}
	files, err := filepath.Glob("*.json")
	require.NoError(t, err)
	assert.ElementsMatch(t, names, files)
}

// What Grafana demands of a dashboard, or silently draws wrongly.
func TestModel(t *testing.T) {
	uids := make(map[string]bool)
	for _, board := range boards() {
		for _, source := range Sources() {
			t.Run(board.FileName(source), func(t *testing.T) {
				m := board.Model(source)
				assert.Regexp(t, `^[a-z-]{1,40}$`, m.UID)
				assert.False(t, uids[m.UID], "identifiers differ")
				uids[m.UID] = true
				assert.NotEmpty(t, m.Description)

				used := make(map[GridPos]bool) // cells of 1 by 1
				for i, p := range m.Panels {
					assert.Equal(t, i+1, p.ID)
					assert.NotEmpty(t, p.Title)
					pos := p.GridPos
					assert.LessOrEqual(t, pos.X+pos.W, width, p.Title)
					assert.GreaterOrEqual(t, pos.W, 1, p.Title)
					for x := pos.X; x < pos.X+pos.W; x++ {
						for y := pos.Y; y < pos.Y+pos.H; y++ {
							assert.False(t, used[GridPos{X: x, Y: y}], "%s is over another panel", p.Title)
							used[GridPos{X: x, Y: y}] = true
						}
					}
					if p.Type == "row" {
						assert.Empty(t, p.Targets)
						require.NotNil(t, p.Panels)
						continue
					}
					checkPanel(t, p, source)
				}
			})
		}
	}
}

func checkPanel(t *testing.T, p Panel, source Source) {
	t.Helper()
	assert.Contains(t, []string{"timeseries", "bargauge", "stat"}, p.Type, p.Title)
	require.NotNil(t, p.Datasource, p.Title)
	assert.Equal(t, source.Plugin, p.Datasource.Type)
	require.NotEmpty(t, p.Targets, p.Title)
	refs, legends := make(map[string]bool), make(map[string]bool)
	for _, target := range p.Targets {
		assert.Regexp(t, `^[A-Z]$`, target.RefID)
		assert.False(t, refs[target.RefID], "%s: query %s twice", p.Title, target.RefID)
		refs[target.RefID] = true
		assert.NotEmpty(t, target.LegendFormat, p.Title)
		assert.False(t, legends[target.LegendFormat], "%s: legend %s twice", p.Title, target.LegendFormat)
		legends[target.LegendFormat] = true
		if source.live {
			assert.Regexp(t, `^[a-z0-9_.]+$`, target.Expr)
		} else {
			assert.Regexp(t, `^[a-z0-9_.]+\{hostname == "\$host"\}$`, target.Expr)
		}
	}
	thresholds := p.FieldConfig.Defaults.Thresholds
	require.Equal(t, p.Type != "timeseries", thresholds != nil, p.Title)
	if thresholds == nil {
		return
	}
	assert.Nil(t, thresholds.Steps[0].Value, p.Title)
	for i, step := range thresholds.Steps[1:] {
		require.NotNil(t, step.Value)
		if i > 0 {
			assert.Greater(t, *step.Value, *thresholds.Steps[i].Value, p.Title)
		}
	}
}

// Every variable that a query or panel uses is one of the dashboard's.
func TestVariables(t *testing.T) {
	for _, board := range boards() {
		for _, source := range Sources() {
			text, err := board.JSON(source)
			require.NoError(t, err)
			known := map[string]bool{"instance": true} // of grafana-pcp, in legends
			for _, v := range source.variables() {
				known[v.Name] = true
			}
			for _, match := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(string(text), -1) {
				assert.True(t, known[match[1]], "%s: %s", board.FileName(source), match[0])
			}
		}
	}
}

// The host's dashboard has every definition that comes with the agent, but for counters from which others are computed.
func TestHostIsComplete(t *testing.T) {
	files, err := filepath.Glob("../conf/*.conf")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	shown, err := Host().JSON(Sources()[0])
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`(?m)^(host\.[a-z_.]+) = `).FindAllStringSubmatch(string(text), -1) {
			name := match[1]
			assert.Equal(t, !strings.Contains(name, ".time."), strings.Contains(string(shown), `"derived.`+name+`"`), name)
		}
	}
}
