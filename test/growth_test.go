package test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/config"
	"pmdaderived/internal/agent"
	"pmdaderived/internal/await"
	"pmdaderived/internal/command"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/growth"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
	"pmdaderived/pmda/pmdatest"
)

// growthSize is the number of bytes of the larger text of each construct.
var growthSize = flag.Int("growth", 0, "measure with texts of so many `bytes`, such as 1000000, times too, and print a table")

// construct is a part of the language, of definition files, of test files or of operands that can be repeated.
type construct struct {
	name string
	most int // how often it can be repeated; 0: any number of times

	// These return a text with n repetitions; nil: there is none.
	conf, test func(n int) string

	operands func(c *pmapitest.Collector, n int) // n of them; nil: those of manyMetrics
}

// times returns a text of n parts, with head before and tail after them. {i} in a part is its number, {j} that of the
// part before.
func times(head, part, tail string) func(n int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			text := strings.ReplaceAll(part, "{i}", fmt.Sprint(i+1))
			b.WriteString(strings.ReplaceAll(text, "{j}", fmt.Sprint(i)))
		}
		b.WriteString(tail)
		return b.String()
	}
}

// nested returns a text with n times before, then x, then n times after.
func nested(head, before, x, after string) func(n int) string {
	return func(n int) string { return head + strings.Repeat(before, n) + x + strings.Repeat(after, n) + "\n" }
}

// productions are the productions of the grammar, over an operand X.
var productions = []string{
	"-X", "!X", "X + {i}", "X * 2", "X / (X + 1)", "X < {i}", "X && 1", "X ? X : {i}", "X > 1 ? X : novalue()", "(X)", "(X)[i{i}]",
	"avg(X)", "count(X)", "max(X)", "sum(X)", "stdev_inst(X)", "nth_percentile_inst(X, 50)", "topk_inst(X, {i})", "bottomk_inst(X, 2)",
	"sum(X) by (/({i})/)", "sum(X) by (/i(.)/)", "sum(X) by (g{i}=up.text)", "sum(X) by (label(l{i}))", "max(X, {i})", "min(X, X, 2)",
	"delta(X)", "rate(X)", "instant(X)", "scalar(X)", "abs(X)", "sqrt(X)", "default(X, {i})",
	"nth_percentile_bucket(rate(X), 50)", `nth_percentile_bucket(X, 50, "sec") by (/({i})/)`, "share_bucket(X, {i})",
	"max_sample(X)", `sum_sample(X, "{i}s")`, `nth_percentile_sample(X, 50, "{i}s")`, `slope_sample(X, "9s", "3s")`,
	`count_sample(X, "{i}h", "{i}s")`, "latch(X > 1, X < 1)", `latch(X > 1, X < 1, "{i}s")`,
	"defined(X)", "defined(up.{i})", `rescale(X, "count")`, "matchinst(/{i}/, X)", "matchinst(!/i(.)/, X)",
	"mkconst({i}, type=u64, semantics=instant)", "mkconst(1, meta=X)", "no.such{i} + X", "X[i{i}", "X +", "X @ 1", "sum X",
}

// productionsRepeated returns all productions in each way in which they can be repeated.
func productionsRepeated() (all []construct) {
	add := func(name string, conf func(n int) string) { all = append(all, construct{name: name, conf: conf}) }
	deep := func(name string, conf func(n int) string) {
		all = append(all, construct{name: name, most: 4900, conf: conf})
	}
	for _, p := range productions {
		in := func(x string) string { return strings.ReplaceAll(p, "X", x) }
		add(p+", a definition each", times("", "m{i} = "+in("up.set")+"\n", ""))
		add(p+", a chain of definitions", times("m0 = up.set\n", "m{i} = "+in("m{j}")+"\n", ""))
		add(p+", added to the definition before", times("m0 = up.set\n", "m{i} = m{j} + "+in("up.set")+"\n", ""))
		deep(p+", a sum", times("m = up.set", " + "+in("up.set"), "\n"))
		if before, after, ok := strings.Cut(p, "X"); ok && !strings.Contains(after, "X") {
			deep(p+", nested", func(n int) string { return nested("m = ", before, "up.set", after)(n) })
		}
	}
	return append(all, construct{ // of a short text each definition may need what all before it need: see engine.MaxNeeds
		name: "operands, each added to the definition before", most: 4000,
		conf: times("m0 = up.one\n", "m{i} = m{j} + many.x{i}\n", ""),
	})
}

// kinds returns everything else that a text or an operand can have many of.
func kinds() (all []construct) {
	for name, conf := range map[string]func(n int) string{
		"operands of a definition":                times("m = up.one", "\\\n + many.x{i}", "\n"),
		"definitions with the name of an operand": times("", "many.x{i} = 1\n", ""),
		"names below each other":                  times("", "a{j}.a = 1\na{i} = 1\n", ""),
		"names below one":                         times("a = 1\n", "a.b{i} = 1\n", ""),
		"components of names":                     times("", "a{i}"+strings.Repeat(".a", 500)+" = 1\n", ""),
		"a name with many dots":                   nested("a", ".a", " = 1", ""),
		"a long name":                             nested("a", "a", " = 1", ""),
		"a long operand":                          nested("m = a", "a", "", ""),
		"a long number":                           nested("m = 1", "0", "", ""),
		"a long fraction":                         nested("m = 1.", "0", "", ""),
		"a long pattern":                          nested("m = matchinst(/", "a*", "/, up.set)", ""),
		"a pattern with many choices":             nested("m = matchinst(/a", "|b", "/, up.set)", ""),
		"a pattern with many groups":              nested("m = matchinst(/", "(", "a", ")"),
		"a long name of an instance":              nested("m = up.set[", "a", "]", ""),
		"a long label":                            nested("m = sum(up.set) by (label(", "a", "))", ""),
		"long units":                              nested(`m = rescale(up.set, "`, "Kbyte ", `")`, ""),
		"a long interval":                         nested(`m = max_sample(up.set, "`, "1s ", `")`, ""),
		"operands of max()":                       nested("m = max(up.set", ", up.set", ")", ""),
		"tags":                                    nested("m = mkconst(1", ", type=u32", ")", ""),
		"ternaries, one after the other":          nested("m = 1", " ? 1 : up.one", "", ""),
		"parentheses that are not closed":         nested("m = ", "(", "", ""),
		"strings that are not closed":             times("", `m{i} = rescale(up.set, "`+"\n", ""),
		"definitions of one name":                 times("", "m = 1\n", ""),
		"definitions that use themselves":         times("", "m{i} = m{i}\n", ""),
		"a circle of definitions":                 times("m0 = m1\n", "m{i} = m{j} + 1\n", "m0 = 2\n"),
		"lines without =":                         times("", "m{i}\n", ""),
		"lines without a name":                    times("", "= {i}\n", ""),
		"names that are not valid":                times("", "{i}.m = 1\n", ""),
		"a line of bytes that are not UTF-8":      nested("m = ", "\xff", "", ""),
		"lines of bytes that are not UTF-8":       times("", "m{i} = \xff\n", ""),
		"NUL bytes":                               times("", "m{i} = \x00\n", ""),
		"blank lines":                             times("", " \n", "m = 1\n"),
		"comments":                                times("", "# comment {i}\n", "m = 1\n"),
		"a long comment":                          nested("#", " comment", "", ""),
		"comments that go on":                     times("", "# comment {i} \\\n# more\n", "m = 1\n"),
		"an expression that goes on":              nested("m = 1", " \\\n + 1", "", ""),
		"a line that goes on without anything":    nested("m = 1", " \\\n", "", ""),
		"help":                                    times("", "m{i} = 1\nm{i}(helptext) = help {i}\nm{i}(oneline) = 'one {i}'\n", ""),
		"a long help text":                        nested("m = 1\nm(helptext) = '", "line\n", "'", ""),
		"help without a definition":               times("", "m{i}(helptext) = help\n", ""),
		"help twice":                              times("m = 1\n", "m(helptext) = help\n", ""),
		"attributes that do not exist":            times("m = 1\n", "m(a{i}) = help\n", ""),
		"a text that is not closed":               nested("m = 1\nm(helptext) = '", "line\n", "", ""),
		"quotes with text after them":             times("m = 1\n", "m(helptext) = 'a' b\n", ""),
		"labels":                                  times("", "m{i} = 1\nm{i}(labels) = {\"a{i}\": \"b\"}\n", ""),
		"labels of a definition":                  times("m = 1\nm(labels) = {", "\"a{i}\": \"b\", ", "\"c\": 1}\n"),
		"nested labels":                           nested("m = 1\nm(labels) = {\"a\": ", "[", "1", "]"),
		"a long label of a definition":            nested("m = 1\nm(labels) = {\"a\": \"", "b", "\"}", ""),
		"codes that are ignored":                  nested("# pmdaderived:ignore", " same-expression", "\nm = 1", ""),
		"codes that do not exist":                 times("# pmdaderived:ignore", " code-{i}", "\nm = 1\n"),
		"lines with codes":                        times("", "# pmdaderived:ignore constant\n", "m = 1\n"),
		"codes of a definition with problems":     times("# pmdaderived:ignore", " same-expression", "\nm = 1\n"),
		"masks":                                   times("", "# pmdaderived:mask a{i}\n", ""),
		"masks in a line":                         times("# pmdaderived:mask", " a.a{i}", "\n"),
		"masks that are not valid":                times("# pmdaderived:mask", " /a{i}", "\n"),
		"masks with continuations":                times("# pmdaderived:mask", "\\\n a.a{i}", "\n"),
		"control lines":                           times("", "#control option_{i}=1\n", ""),
		"control lines without a value":           times("", "#control option_{i}\n", ""),
	} {
		all = append(all, construct{name: name, conf: conf})
	}
	for name, test := range map[string]func(n int) string{
		"definitions":            times("", "definitions a{i}.conf\n", ""),
		"paths of definitions":   times("definitions", " a{i}.conf", "\n"),
		"intervals":              times("", "interval {i}s\n", ""),
		"tests":                  times("metric x u32 instant\n", "test t{i}\n given x 1\n expect x 1\n", ""),
		"tests of one title":     times("metric x u32 instant\n", "test t\n given x 1\n expect x 1\n", ""),
		"metrics":                times("", "metric x{i} u32 instant\n", "test t\n given x1 1\n expect x1 1\n"),
		"one metric again":       times("", "metric x u32 instant\n", ""),
		"metrics below another":  times("metric x u32 instant\n", "metric x.x{i} u32 instant\n", "test t\n given x 1\n"),
		"metrics of a test":      times("test t\n", " metric x{i} u32 instant\n given x{i} 1\n expect x{i} 1\n", ""),
		"domains":                times("", "indom 60.{i} a b\n", "test t\n"),
		"instances":              times("indom 60.1", " i{i}", "\nmetric x u32 instant 60.1\ntest t\n given x 1\n expect x 1\n"),
		"instances with numbers": times("indom 60.1", " {i}:i{i}", "\nmetric x u32 instant 60.1\ntest t\n given x 1\n expect x 1\n"),
		"one instance again":     times("indom 60.1", " i", "\n"),
		"labels of instances":    times("indom 60.1 a\nmetric x u32 instant 60.1\n", "label 60.1 l{i} v\n", "test t\n given x 1\n expect x 1\n"),
		"values of labels":       times("indom 60.1", " i{i}", "\nlabel 60.1 l"+strings.Repeat(" v", 1000)+"\n"),
		"values":                 times("metric x u32 instant\ntest t\n given x", " {i}", "\n expect x 1\n"),
		"expected values":        times("metric x u32 instant\ntest t\n given x 1 x 90000\n expect x", " {i}", "\n"),
		"values at times":        times("metric x u32 instant\ntest t\n given x", " @{i}s {i}", "\n expect x 1\n"),
		"times":                  times("metric x u32 instant\ntest t\n times", " {i}s", "\n given x 1\n expect x 1\n"),
		"fetches":                times("metric x u32 instant\ntest t\n fetches", " {i}s", "\n given x 1\n expect x 1\n"),
		"series of a metric":     times("indom 60.1 a\nmetric x u32 instant 60.1\ntest t\n", " given x[a] 1\n", " expect x[a] 1\n"),
		"expectations":           times("metric x u32 instant\ntest t\n given x 1\n", " expect x {i}\n", ""),
		"series of instances": times("indom 60.1"+strings.Repeat(" a b c d e f g h i j", 10)+"\nmetric x u32 instant 60.1\ntest t\n",
			" given x[i] 1\n expect x[i] 1\n", ""),
		"metadata":              times("metric x u32 instant\ntest t\n given x 1\n", " metadata x u32 instant\n", ""),
		"errors":                times("test t\n", " error x{i}\n", ""),
		"names without values":  times("metric x u32 instant\ntest t\n given x 1\n without", " x{i}", "\n"),
		"no statements":         times("", "word{i}\n", ""),
		"statements in a line":  times("", "metric", "\n"),
		"comments":              times("", "# comment {i}\n", "test t\n"),
		"a line that goes on":   times("metric x u32 instant\ntest t\n given x", " \\\n {i}", "\n expect x 1\n"),
		"a long word":           nested("metric x", "x", " u32 instant", ""),
		"a long number":         nested("metric x u32 instant\ntest t\n given x 1", "0", "", ""),
		"a text that is closed": nested("metric x string instant\ntest t\n given x \"", "a", "\"\n expect x \"b\"", ""),
		"no closing quote":      times("", "test \"t{i}\n", ""),
	} {
		all = append(all, construct{name: "test file: " + name, test: test})
	}
	for name, operands := range map[string]func(c *pmapitest.Collector, n int){
		"metrics in a subtree": func(c *pmapitest.Collector, n int) { c.Metrics = append(c.Metrics, metrics(n/50)...) },
		"instances":            func(c *pmapitest.Collector, n int) { setInstances(c, n/50, "i%d") },
		"long names of instances": func(c *pmapitest.Collector, n int) {
			setInstances(c, 20, "i%d "+strings.Repeat("1-", n/40))
		},
		"names of instances like bounds": func(c *pmapitest.Collector, n int) { setInstances(c, n/50, "%d-%d") },
		"labels of an instance": func(c *pmapitest.Collector, n int) {
			labels := make(map[string]any)
			for i := range n / 50 {
				labels[fmt.Sprint("l", i)] = "v"
			}
			setLabels(c, labels)
		},
		"a long label of an instance": func(c *pmapitest.Collector, n int) {
			setLabels(c, map[string]any{"l1": strings.Repeat("v", n/10)})
		},
	} {
		all = append(all, construct{
			name: "operands: " + name, operands: operands,
			most: map[string]int{"labels of an instance": 250 * 50, "a long label of an instance": 20_000 * 10}[name], // in a set
			conf: func(int) string {
				return "a = sum(up.set) by (/i(.*)/)\nb = sum(up.set) by (label(l1))\nc = nth_percentile_bucket(rate(up.set), 50)\n" +
					"d = matchinst(/1/, up.set)\ne = up.set[i1] + no.such\nf = sum(up.set) by (up.text)\ng = many.x\n"
			},
		})
	}
	slices.SortStableFunc(all, func(a, b construct) int { return cmp.Compare(a.name, b.name) })
	return all
}

var growthDomain = pdu.NewInDom(60, 1)

// metrics are metrics many.x1, many.x2 and so on.
func metrics(n int) (all []pmapitest.Metric) {
	for i := range n {
		all = append(all, pmapitest.Metric{
			Name:   fmt.Sprint("many.x", i+1),
			Desc:   pdu.Desc{PMID: pdu.NewPMID(61, i>>10, i&1023), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
			Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 1)},
		})
	}
	return all
}

// manyMetrics is the number of metrics many.x1 and so on that the pmcd of most constructs has.
const manyMetrics = 4000

// setInstances gives up.set and up.text n instances. Their names have their numbers.
func setInstances(c *pmapitest.Collector, n int, format string) {
	var instances []pdu.Instance
	var values, texts []pdu.Value
	for i := range n {
		name := fmt.Sprintf(strings.ReplaceAll(format, "%d", "%[1]d"), i)
		instances = append(instances, pdu.Instance{ID: pdu.Inst(i), Name: name})
		values = append(values, pdu.Uint64Value(pdu.Inst(i), uint64(i)))
		texts = append(texts, pdu.StringValue(pdu.Inst(i), fmt.Sprint("t", i%100)))
	}
	c.InDoms = map[pdu.InDom]pmapitest.InDom{growthDomain: {Instances: instances}}
	c.Metrics[1].Values, c.Metrics[2].Values = values, texts
}

func setLabels(c *pmapitest.Collector, labels map[string]any) {
	set, err := pdu.NewLabelSet(0, pdu.LabelInstances, labels)
	if err != nil {
		panic(err)
	}
	c.Labels = map[pmapitest.LabelKey][]pdu.LabelSet{{Type: pdu.LabelInstances, Ident: uint32(growthDomain)}: {set}}
}

// newGrowthCollector returns the pmcd of the operands, with those of a construct n times.
func newGrowthCollector(c construct, n int) *pmapitest.Collector {
	up := &pmapitest.Collector{Features: pmapitest.AllFeatures, Metrics: []pmapitest.Metric{
		{
			Name:   "up.one",
			Desc:   pdu.Desc{PMID: pdu.NewPMID(60, 0, 0), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
			Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 7)},
		},
		{Name: "up.set", Desc: pdu.Desc{PMID: pdu.NewPMID(60, 0, 1), Type: pdu.TypeU64, InDom: growthDomain, Sem: pdu.SemInstant}},
		{Name: "up.text", Desc: pdu.Desc{PMID: pdu.NewPMID(60, 0, 2), Type: pdu.TypeString, InDom: growthDomain, Sem: pdu.SemInstant}},
	}}
	setInstances(up, 3, "i%d")
	if c.operands != nil {
		c.operands(up, n)
	} else {
		up.Metrics = append(up.Metrics, metrics(manyMetrics)...)
	}
	return up
}

// cost is what something takes.
type cost struct {
	bytes uint64
	time  time.Duration
}

// cpuTime returns the time of the CPU that the process has used: a busy machine does not change it much.
func cpuTime(tb testing.TB) time.Duration {
	var use syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// host is a machine on which something is measured.
type host struct {
	tb      testing.TB
	dir     string
	address string // of the pmcd of the operands

	// These are of the agent.
	agent    *agent.Agent
	pmcd     *pmdatest.PMCD
	config   served.Config
	reloaded chan struct{}
}

func newHost(tb testing.TB, c construct, n int) *host {
	tb.Helper()
	h := &host{tb: tb, dir: tb.TempDir(), reloaded: make(chan struct{}, 1)}
	h.address = pmapitest.Listen(tb, "unix", newGrowthCollector(c, n).Serve)
	h.startAgent()
	return h
}

// Levels and Fire implement logrus.Hook.
func (h *host) Levels() []logrus.Level { return []logrus.Level{logrus.InfoLevel} }

func (h *host) Fire(e *logrus.Entry) error {
	if e.Message == "configuration read again" {
		h.reloaded <- struct{}{}
	}
	return nil
}

// startAgent starts the agent without definitions.
func (h *host) startAgent() {
	log := logrus.New()
	log.SetOutput(io.Discard)
	log.AddHook(h)
	h.agent = agent.New(agent.Options{
		Domain: 510, Load: func() served.Config { return h.config }, Log: log, Debug: func(bool) {},
		StateFile: filepath.Join(h.dir, "state"),
		Dial: func(ctx context.Context, o ...pmapi.Option) (*pmapi.Conn, error) {
			return pmapi.Dial(ctx, "unix", h.address, o...)
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { h.agent.Run(ctx) })
	h.tb.Cleanup(func() {
		cancel()
		running.Wait()
	})
	h.pmcd = pmdatest.StartServer(h.tb, &pmda.Server{Agent: h.agent})
	h.pmcd.Timeout = time.Hour
	h.pmcd.Handshake()
	await.Until(h.tb, "connected", h.agent.Figures().Connected.Load)
}

// file writes a file and returns its path.
func (h *host) file(name, text string) string {
	path := filepath.Join(h.dir, name)
	require.NoError(h.tb, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// run runs a sub-command.
func (h *host) run(args ...string) (c cost) {
	c.bytes = growth.Bytes(func() {
		begin := cpuTime(h.tb)
		command.Program{Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}.
			Run(h.tb.Context(), args)
		c.time = cpuTime(h.tb) - begin
	})
	return c
}

// reload has the agent read the file of definitions.
func (h *host) reload(path string) (c cost) {
	c.bytes = growth.Bytes(func() {
		begin := cpuTime(h.tb)
		read := definitions.Reader{Paths: []string{path}, Before: h.config.Definitions}.Read()
		h.config = served.Config{Definitions: read.All, Language: read.Language}
		for _, p := range read.Problems {
			if p.Severity == config.Error {
				h.config.Failures = append(h.config.Failures, served.Failure{Name: p.Name, Message: p.Error()})
			}
		}
		h.agent.Reload()
		<-h.reloaded
		c.time = cpuTime(h.tb) - begin
	})
	return c
}

// request lists all metrics, and fetches them twice.
func (h *host) request() (c cost) {
	list := func() []string {
		if names, ok := h.pmcd.Request(&pdu.PMNSTraverse{Name: "derived"}).(*pdu.PMNSNames); ok {
			return names.Names
		}
		return nil
	}
	var all pdu.Fetch
	for _, name := range list() {
		if ids, ok := h.pmcd.Request(&pdu.PMNSNames{Names: []string{name}}).(*pdu.PMNSIDs); ok {
			all.PMIDs = append(all.PMIDs, ids.PMIDs...)
		}
	}
	h.pmcd.Request(&all) // now there are samples and room for values
	c.bytes = growth.Bytes(func() {
		begin := cpuTime(h.tb)
		list()
		h.pmcd.Request(&all)
		h.pmcd.Request(&all)
		c.time = cpuTime(h.tb) - begin
	})
	return c
}

// measure returns what a construct costs n times: a check, or a test, a reload and requests. With repeat it returns the
// least of five of each, as the agent may take a sample or publish its figures meanwhile. Times are without the collector
// of garbage, which is in some of the five or in none: bytes tell what it has to do.
func (c construct) measure(h *host, n int, repeat bool) (costs [3]cost) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := func(best *cost, measure func() cost) {
		runtime.GC()
		*best = measure()
		for range 4 {
			if !repeat {
				return
			}
			runtime.GC()
			again := measure()
			best.time, best.bytes = min(best.time, again.time), min(best.bytes, again.bytes)
		}
	}
	if c.test != nil {
		path := h.file("site.test", c.test(n))
		least(&costs[0], func() cost { return h.run("test", path) })
		return costs
	}
	path, empty := h.file("site.conf", c.conf(n)), h.file("empty.conf", "")
	least(&costs[0], func() cost { return h.run("check", "-h", "unix:"+h.address, path) })
	least(&costs[1], func() cost {
		h.reload(empty)
		return h.reload(path)
	})
	least(&costs[2], h.request)
	return costs
}

// What a text costs grows with its length, whatever it consists of: for a check, a reload and a request. With -growth
// this is measured with long texts, in time, too, and for each production of the grammar.
func TestGrowth(t *testing.T) {
	size, all := cmp.Or(*growthSize, 20_000), kinds()
	if *growthSize > 0 {
		all = append(all, productionsRepeated()...)
	}
	shared := newHost(t, construct{}, 0)
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			n := size / 2
			if c.test != nil {
				n = repetitions(c.test, size)
			} else if len(c.conf(100)) > len(c.conf(50)) {
				n = repetitions(c.conf, size)
			}
			if n /= 2; c.most > 0 {
				n = min(n, c.most/2)
			}
			one, two := shared, shared
			if c.operands != nil || *growthSize > 0 {
				one, two = newHost(t, c, n), newHost(t, c, 2*n)
			}
			once, twice := c.measure(one, n, false), c.measure(two, 2*n, false)
			if grew(once, twice) != "" {
				once, twice = c.measure(one, n, true), c.measure(two, 2*n, true)
			}
			if *growthSize > 0 {
				for i, what := range costNames {
					fmt.Printf("%s\t%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\n", c.name, what, n, float64(twice[i].bytes)/1e6,
						ratio(once[i].bytes, twice[i].bytes), float64(twice[i].time)/1e6, ratio(once[i].time, twice[i].time))
				}
			}
			assert.Empty(t, grew(once, twice), "%d and %d times", n, 2*n)
		})
	}
}

var costNames = [3]string{"check", "reload", "request"}

func ratio[N uint64 | time.Duration](once, twice N) float64 {
	return float64(twice) / float64(max(1, once))
}

// grew says which costs grew too much, "" if none did. Little does not count, and time only with -growth.
func grew(once, twice [3]cost) string {
	var texts []string
	for i, what := range costNames {
		if ratio(once[i].bytes, twice[i].bytes) > growth.Most && twice[i].bytes > 8<<20 {
			texts = append(texts, fmt.Sprintf("%s: %d and %d bytes", what, once[i].bytes, twice[i].bytes))
		}
		if *growthSize > 0 && ratio(once[i].time, twice[i].time) > growth.Most && once[i].time > 10*time.Millisecond {
			texts = append(texts, fmt.Sprintf("%s: %v and %v", what, once[i].time, twice[i].time))
		}
	}
	return strings.Join(texts, "; ")
}

// repetitions returns how many repetitions make a text of a size.
func repetitions(text func(n int) string, size int) int {
	n := 50
	for len(text(n)) < size {
		n *= 2
	}
	for low := n / 2; n-low > 1; {
		if mid := (n + low) / 2; len(text(mid)) < size {
			low = mid
		} else {
			n = mid
		}
	}
	return n
}
