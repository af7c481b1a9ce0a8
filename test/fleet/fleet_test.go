//go:build pcp

package fleet

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
)

// startSite runs the loggers of the hosts, Redis and pmproxy.
func startSite(t *testing.T, hosts []*host) *site {
	t.Helper()
	c := newCentral(t, hosts[0].pmcd)
	s := &site{central: c, redis: startRedis(t, c)}
	for i, h := range hosts {
		metrics := "derived.fleet derived.host.load"
		if i == 0 { // one host is enough for slow queries
			metrics = "derived.fleet derived.page " + shown
		}
		conf := c.write(t, h.name+".conf", "log mandatory on 1 second { "+metrics+" }\n")
		dir := c.makeDir(t, filepath.Join("log/pmlogger", h.name))
		log := filepath.Join(dir, "pmlogger.log")
		h.logger = c.start(t, log, c.program(t, "pmlogger"), "-h", h.address(), "-c", conf, "-l", log,
			filepath.Join(dir, "fleet"))
	}
	// pmproxy follows archives that it finds when it starts. Of one that appears later it may miss metrics.
	for _, h := range hosts {
		await.Until(t, h.name+" has recorded two values", func() bool {
			recorded, _, _ := hosts[0].pmcd.Run(t, "pmdumplog", filepath.Join(c.dir, "log", "pmlogger", h.name, "fleet"),
				"derived.fleet.level")
			return strings.Count(recorded, "value ") >= 2
		})
	}
	s.proxy = startProxy(t, c, s.redis)
	return s
}

// way is a way to fetch the values of a host.
type way struct {
	name string
	ask  func(*testing.T, *site, *host) values
}

func ways() []way {
	return []way{{"pmseries", byPMSeries}, {"/series", bySeries}, {"/pmapi", byPMAPI}, {"/metrics", byOpenMetrics}}
}

// Derived metrics of several hosts pass through PCP's distributed half as any other metric does.
func TestFleet(t *testing.T) {
	hosts := fleetHosts()
	p := build(t)
	for _, h := range hosts {
		h.start(t, p)
	}
	s := startSite(t, hosts)
	for _, h := range hosts {
		await.Until(t, "there are two samples of each metric of "+h.name, func() bool {
			for metric := range h.want() {
				metric, _, _ = strings.Cut(metric, "[")
				if !strings.Contains(s.series(t, expression(metric, h)+"[samples:2]"), "] ") {
					return false
				}
			}
			return true
		})
	}

	found := make(map[string]values) // by way and host
	for _, way := range ways() {
		t.Run(strings.TrimPrefix(way.name, "/"), func(t *testing.T) {
			for _, h := range hosts {
				got := way.ask(t, s, h)
				found[way.name+h.name] = got
				want := h.want()
				assert.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)), h.name)
				for metric, value := range want {
					tolerance := 0.0
					if metric == "derived.fleet.clock" {
						tolerance = 0.5 // a measurement
					}
					assert.InDelta(t, value, got[metric], tolerance, "%s of %s", metric, h.name)
				}
			}
		})
	}
	t.Logf("values of the fleet, by the way they were asked for\n%s", answers(hosts, found))

	t.Run("one query for all hosts", func(t *testing.T) {
		answer := getJSON[[]struct{ Series, Value string }](t, s, "/series/query", "expr", "derived.fleet.level[samples:1]")
		var got []string
		for _, v := range answer {
			got = append(got, v.Value)
		}
		assert.ElementsMatch(t, []string{"10", "20", "30"}, got)
		answer = getJSON[[]struct{ Series, Value string }](t, s, "/series/query", "expr", "derived.fleet.sides[samples:1]")
		assert.Len(t, answer, 2, "one host has no dice")
	})

	t.Run("labels tell hosts apart", func(t *testing.T) {
		sites := strings.FieldsFunc(strings.TrimSpace(s.series(t, "-v", "site")),
			func(r rune) bool { return strings.ContainsRune(`:, "`, r) })
		assert.ElementsMatch(t, []string{"site", "north", "south", "west"}, sites)
		for _, h := range hosts {
			level := s.metrics(t, h)["derived.fleet.level"]
			assert.Equal(t, h.site, level.Labels["site"])
			assert.Equal(t, "derived", level.Labels["agent"])
			hostname, ok := level.Labels["hostname"].(string)
			require.True(t, ok, level.Labels)
			assert.Contains(t, s.series(t, "-v", "hostname"), hostname)
			assert.Contains(t, s.series(t, fmt.Sprintf(`derived.fleet.level{site==%q && hostname==%q}`, h.site, hostname)),
				level.Series,
				"recorded and live values are the same series")
			assert.Contains(t, s.series(t, "-l", level.Series), fmt.Sprintf(`"site":%q`, h.site))
		}
	})

	t.Run("the definitions that come with the agent", func(t *testing.T) {
		for _, h := range hosts {
			await.Until(t, "there are values of three instances", func() bool {
				return strings.Count(s.series(t, expression("derived.host.load.per_cpu", h)+"[samples:1]"), "] ") == 3
			})
			assert.NotEmpty(t, s.openMetrics(t, h, "derived.host.saturation"), h.name)
		}
	})

	t.Run("metrics are left out by their names", func(t *testing.T) {
		recorded, _, _ := hosts[0].pmcd.Run(t, "pmdumplog", filepath.Join(s.dir, "log", "pmlogger", hosts[0].name, "fleet"),
			"derived.page.matched")
		assert.Contains(t, recorded, "inst [")
		assert.Empty(t, s.series(t, expression("derived.page.matched", hosts[0])))
	})

	t.Run("dashboards", func(t *testing.T) { testDashboards(t, s, hosts[0]) })

	t.Run("metadata is the same everywhere", func(t *testing.T) {
		level := webMetric{
			Name: "derived.fleet.level", PMID: "510.1.0", Type: "u32", Sem: "instant", Units: "count / sec",
			OneLine: "level of the host",
		}
		for _, h := range hosts {
			got := s.metrics(t, h)["derived.fleet.level"]
			got.Series, got.Labels, got.InDom = "", nil, ""
			assert.Equal(t, level, got, h.name)
		}
	})

	t.Run("Prometheus can read all of it", func(t *testing.T) {
		for _, h := range hosts {
			assert.NotEmpty(t, s.openMetrics(t, h, "derived"))
		}
		page, err := os.ReadFile("../../docs/scale.md")
		require.NoError(t, err)
		names := regexp.MustCompile(`/metrics\?hostspec=\S+&names=([^']+)`).FindSubmatch(page)
		require.NotNil(t, names)
		example := s.openMetrics(t, hosts[0], string(names[1]))
		assert.NotEmpty(t, example)
		for _, one := range example {
			assert.NotContains(t, one.name, "derived_control", "the agent's own figures are not asked for")
		}
	})

	t.Run("what Prometheus refuses is not on the page", func(t *testing.T) {
		const names = "derived.fleet,derived.page"
		want := slices.Collect(maps.Keys(hosts[0].want()))
		for bin := 100; bin <= 900; bin += 100 {
			if bin <= 200 {
				want = append(want, fmt.Sprintf("derived.page.matched[bin-%d]", bin))
			}
			if bin != 200 { // the divisor is 0
				want = append(want, fmt.Sprintf("derived.page.quotient[bin-%d]", bin))
			}
		}
		found := make(values)
		for _, one := range s.openMetrics(t, hosts[0], names) {
			found.put(t, strings.ReplaceAll(one.name, "_", "."), one.labels["instname"], one.value)
		}
		assert.ElementsMatch(t, want, slices.Collect(maps.Keys(found)))
		for metric, value := range found {
			assert.False(t, math.IsInf(value, 0) || math.IsNaN(value), "%s: %v", metric, value)
		}
		page := string(s.get(t, "/metrics", "hostspec", hosts[0].address(), "names", names))
		assert.Regexp(t, `(?m)^# HELP derived_page_matched .*matchinst\(/\^bin`, page, "the text that the agent has made")
		assert.NotContains(t, page, `\`)
	})

	t.Run("a definition for all hosts", func(t *testing.T) {
		next := p.definitions + ".new~" // no definition file by its name
		require.NoError(t, os.WriteFile(next, []byte(definitions+"fleet.added = sample.write_me * 100\n"), 0o644))
		require.NoError(t, os.Rename(next, p.definitions))
		for _, h := range hosts {
			await.Until(t, h.name+" serves it", func() bool {
				stdout, _, _ := h.pmcd.Run(t, "pmprobe", "-v", "derived.fleet.added")
				return stdout == fmt.Sprintf("derived.fleet.added 1 %d\n", 100*h.level)
			})
			assert.Equal(t, s.metrics(t, hosts[0])["derived.fleet.added"].PMID, s.metrics(t, h)["derived.fleet.added"].PMID,
				"the same identifier everywhere")
		}
	})

	t.Run("the loggers record it", func(t *testing.T) {
		for _, h := range hosts {
			await.Until(t, h.name+" has recorded it", func() bool {
				got := s.series(t, expression("derived.fleet.added", h)+"[samples:1]")
				return strings.Contains(got, fmt.Sprintf("] %d\n", 100*h.level))
			})
		}
	})

	// pmseries 6.0.3 takes no labels of the context out of an archive but the name of the host.
	t.Run("an archive is loaded afterwards", func(t *testing.T) {
		later := *s
		later.redis = startRedis(t, s.central)
		for _, h := range hosts {
			h.logger.end(t)
			archive := filepath.Join(s.dir, "log", "pmlogger", h.name, "fleet")
			later.series(t, "--load", fmt.Sprintf("{source.path: %q}", archive))
			got := later.series(t, fmt.Sprintf("derived.fleet.level{hostname==%q}[samples:1]", h.name))
			assert.Contains(t, got, fmt.Sprintf("] %d\n", 10*h.level), h.name)
		}
	})
}

// answers returns the values side by side.
func answers(hosts []*host, found map[string]values) string {
	rows := [][]any{{"host", "metric"}}
	for _, way := range ways() {
		rows[0] = append(rows[0], way.name)
	}
	for _, h := range hosts {
		for _, metric := range slices.Sorted(maps.Keys(h.want())) {
			row := []any{h.name, metric}
			for _, way := range ways() {
				text := "-"
				if value, ok := found[way.name+h.name][metric]; ok {
					text = fmt.Sprintf("%.4g", value)
				}
				row = append(row, text)
			}
			rows = append(rows, row)
		}
	}
	return table(rows)
}

// table returns rows, one below the other.
func table(rows [][]any) string {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintf(w, strings.Repeat("%v\t", len(row))+"\n", row...)
	}
	w.Flush()
	return text.String()
}
