//go:build pcp

package fleet

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// site is the machine in the middle with its Redis and its pmproxy.
type site struct {
	*central
	redis, proxy int
}

// get sends a request to pmproxy, with parameters in pairs, and returns the body of the answer.
func (s *site) get(t *testing.T, path string, parameters ...string) []byte {
	t.Helper()
	query := make(url.Values)
	for i := 0; i < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	client := http.Client{Timeout: 20 * time.Second}
	address := fmt.Sprintf("http://127.0.0.1:%d%s?%s", s.proxy, path, query.Encode())
	answer, err := client.Get(address)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err, address)
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s: %s", address, body)
	return body
}

// getJSON is get for answers in JSON.
func getJSON[T any](t *testing.T, s *site, path string, parameters ...string) T {
	t.Helper()
	body := s.get(t, path, parameters...)
	var answer T
	require.NoError(t, json.Unmarshal(body, &answer), "%s: %s", path, body)
	return answer
}

// series runs pmseries.
func (s *site) series(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(s.program(t, "pmseries"), append([]string{"-h", "127.0.0.1", "-p", strconv.Itoa(s.redis)},
		args...)...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// expression selects metrics of one host, in the language of pmseries.
func expression(metrics string, h *host) string { return fmt.Sprintf("%s{site==%q}", metrics, h.site) }

var (
	seriesHead   = regexp.MustCompile(`^[0-9a-f]{40}$`)
	seriesValue  = regexp.MustCompile(`^    \[[^]]+\] (\S+)(?: ([0-9a-f]{40}))?$`)
	seriesMetric = regexp.MustCompile(`^    Metric: (\S+)$`)
	seriesInst   = regexp.MustCompile(`^    inst \[-?\d+ or "(.*)"\] series ([0-9a-f]{40})$`)
)

// byPMSeries returns the values of a host from the tool pmseries.
func byPMSeries(t *testing.T, s *site, h *host) values {
	t.Helper()
	found := make(values)
	var metric string
	var instances map[string]string
	for line := range strings.Lines(s.series(t, expression("derived.fleet.*", h)+"[samples:1]")) {
		line = strings.TrimRight(line, "\n")
		if seriesHead.MatchString(line) {
			metric, instances = s.described(t, line)
			continue
		}
		if m := seriesValue.FindStringSubmatch(line); m != nil {
			found.put(t, metric, instances[m[2]], m[1])
		}
	}
	return found
}

// described returns the metric of a series, and the names of its instances by their series.
func (s *site) described(t *testing.T, series string) (metric string, instances map[string]string) {
	t.Helper()
	instances = make(map[string]string)
	for line := range strings.Lines(s.series(t, "-m", "-i", series)) {
		line = strings.TrimRight(line, "\n")
		if m := seriesMetric.FindStringSubmatch(line); m != nil {
			metric = m[1]
		}
		if m := seriesInst.FindStringSubmatch(line); m != nil {
			instances[m[2]] = m[1]
		}
	}
	require.NotEmpty(t, metric, series)
	return metric, instances
}

func (v values) put(t *testing.T, metric, instance, text string) {
	t.Helper()
	number, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err, metric)
	if instance != "" {
		metric += "[" + instance + "]"
	}
	require.NotContains(t, v, metric, "two values")
	v[metric] = number
}

// bySeries returns the values from /series of pmproxy: recorded ones, as Grafana's PCP Valkey (Redis) data source
// fetches them.
func bySeries(t *testing.T, s *site, h *host) values {
	t.Helper()
	found := make(values)
	for _, series := range getJSON[[]string](t, s, "/series/query", "expr", expression("derived.fleet.*", h)) {
		metric := getJSON[[]struct{ Name string }](t, s, "/series/metrics", "series", series)
		require.Len(t, metric, 1, series)
		names := make(map[string]string)
		for _, inst := range getJSON[[]struct{ Instance, Name string }](t, s, "/series/instances", "series", series) {
			names[inst.Instance] = inst.Name
		}
		for _, v := range getJSON[[]struct{ Instance, Value string }](t, s, "/series/values", "series", series, "samples",
			"1") {
			found.put(t, metric[0].Name, names[v.Instance], v.Value)
		}
	}
	return found
}

// webMetric is a metric in the answer of /pmapi/metric.
type webMetric struct {
	Name, Series, PMID, InDom, Type, Sem, Units string
	Labels                                      map[string]any
	OneLine                                     string `json:"text-oneline"`
}

// metrics returns the metadata of all definitions of a host.
func (s *site) metrics(t *testing.T, h *host) map[string]webMetric {
	t.Helper()
	found := make(map[string]webMetric)
	answer := getJSON[struct{ Metrics []webMetric }](t, s, "/pmapi/metric", "hostspec", h.address(), "prefix",
		"derived.fleet")
	for _, m := range answer.Metrics {
		found[m.Name] = m
	}
	return found
}

// byPMAPI returns the values from /pmapi of pmproxy: those of this moment, as Grafana's PCP Vector data source fetches
// them.
func byPMAPI(t *testing.T, s *site, h *host) values {
	t.Helper()
	names := make([]string, 0, 4)
	instances := make(map[string]map[int]string)
	for name, m := range s.metrics(t, h) {
		names = append(names, name)
		if m.InDom == "" || m.InDom == "none" {
			continue
		}
		instances[name] = make(map[int]string)
		for _, inst := range getJSON[struct {
			Instances []struct {
				Instance int
				Name     string
			}
		}](t, s, "/pmapi/indom", "hostspec", h.address(), "name", name).Instances {
			instances[name][inst.Instance] = inst.Name
		}
	}
	found := make(values)
	for _, set := range getJSON[struct {
		Values []struct {
			Name      string
			Instances []struct {
				Instance *int
				Value    json.Number
			}
		}
	}](t, s, "/pmapi/fetch", "hostspec", h.address(), "names", strings.Join(names, ",")).Values {
		for _, v := range set.Instances {
			instance := ""
			if v.Instance != nil {
				instance = instances[set.Name][*v.Instance]
				require.NotEmpty(t, instance, set.Name)
			}
			found.put(t, set.Name, instance, v.Value.String())
		}
	}
	return found
}

// Lines of the text that Prometheus reads, as strict as its reader; and PCP's comment. Nothing else may be there.
var (
	sampleLine  = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} (\S+)$`)
	commentLine = regexp.MustCompile(`^# (PCP\d|HELP [a-zA-Z_:][a-zA-Z0-9_:]*|TYPE [a-zA-Z_:][a-zA-Z0-9_:]* (counter|gauge|untyped)$)`)
	labelPair   = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)`)
)

// sample is a value in that text.
type sample struct {
	name   string
	labels map[string]string
	value  string
}

// openMetrics parses the answer of /metrics of pmproxy for a host.
func (s *site) openMetrics(t *testing.T, h *host, names string) []sample {
	t.Helper()
	var found []sample
	seen := make(map[string]bool)
	for line := range strings.Lines(string(s.get(t, "/metrics", "hostspec", h.address(), "names", names))) {
		line = strings.TrimRight(line, "\n")
		if line == "" || commentLine.MatchString(line) {
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		require.NotNil(t, m, "Prometheus cannot read %q", line)
		one := sample{name: m[1], labels: make(map[string]string), value: m[3]}
		for rest := m[2]; rest != ""; {
			pair := labelPair.FindStringSubmatch(rest)
			require.NotNil(t, pair, "Prometheus cannot read the label at %q", rest)
			require.NotContains(t, one.labels, pair[1], line)
			one.labels[pair[1]] = pair[2]
			rest = rest[len(pair[0]):]
		}
		key := fmt.Sprint(one.name, one.labels)
		require.False(t, seen[key], "twice: %s", line)
		seen[key] = true
		found = append(found, one)
	}
	return found
}

// byOpenMetrics returns the values from /metrics of pmproxy: those of this moment, for Prometheus.
func byOpenMetrics(t *testing.T, s *site, h *host) values {
	t.Helper()
	found := make(values)
	for _, one := range s.openMetrics(t, h, "derived.fleet") {
		require.Equal(t, h.site, one.labels["site"])
		found.put(t, strings.ReplaceAll(one.name, "_", "."), one.labels["instname"], one.value)
	}
	return found
}
