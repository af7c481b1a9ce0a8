package test

import (
	"encoding/csv"
	"fmt"
	"math"
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

	"pmdaderived/test/pmcdtest"
)

// confDir has the definitions that come with the agent.
const confDir = "../conf"

// startWithConf runs a private pmcd whose agent has the definitions that come with it, where `make
// install` puts them, and waits until they have values.
func startWithConf(t *testing.T) (p *pmcdtest.PMCD, program string) {
	t.Helper()
	program, err := build(worldReadableDir(t))
	require.NoError(t, err)
	p = pmcdtest.Start(t, pmcdtest.Config{Agents: []pmcdtest.Agent{{
		Name: "derived", Domain: domain, Command: []string{program, "-d", "510"},
	}}})
	copyConf(t, p)
	require.Eventually(t, func() bool {
		out, _, _ := p.Run(t, "pminfo", "-f", "derived.host.saturation.worst", "derived.host.disk.queue", "derived.host.net.in")
		return strings.Count(out, "value ") >= 3
	}, 20*time.Second, 50*time.Millisecond, "the agent reads %s", confDir)
	return p, program
}

// copyConf puts the definitions that come with the agent where `make install` puts them.
func copyConf(t *testing.T, p *pmcdtest.PMCD) {
	t.Helper()
	for _, file := range confFiles(t, "*.conf") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "var/config/pmdaderived", filepath.Base(file)), text, 0o644))
	}
}

func confFiles(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(confDir, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// confNames returns the names that come with the agent, sorted.
func confNames(t *testing.T) []string {
	t.Helper()
	names := definedNames(t, confDir)
	slices.Sort(names)
	return names
}

// The definitions that come with the agent: each is served on a Linux host and says what it is.
func TestConf(t *testing.T) {
	p, program := startWithConf(t)
	names := confNames(t)

	t.Run("check finds nothing", func(t *testing.T) {
		out, errs, exit := p.Run(t, program, "check", confDir)
		assert.Zero(t, exit, "%s%s", out, errs)
		assert.Empty(t, out)
	})

	t.Run("a site gives names other meanings as the documentation does", func(t *testing.T) {
		page, err := os.ReadFile("../docs/host.md")
		require.NoError(t, err)
		examples := regexp.MustCompile(`(?m)^    (host\..*\n)`).FindAllStringSubmatch(string(page), -1)
		require.NotEmpty(t, examples)
		site := filepath.Join(t.TempDir(), "site.conf")
		for _, example := range examples {
			require.NoError(t, os.WriteFile(site, []byte(example[1]), 0o644))
			out, errs, exit := p.Run(t, program, "check", confDir, site)
			assert.Zero(t, exit, "%s%s", out, errs)
			assert.Contains(t, out, "replaces the definition at ", example[1])
		}
	})

	t.Run("examples do not replace them", func(t *testing.T) {
		for _, name := range definedNames(t, "../examples") {
			assert.NotContains(t, names, name)
		}
	})

	t.Run("unit tests cover all and pass", func(t *testing.T) {
		out, errs, exit := p.Run(t, program, "test", "--min-coverage=100", confDir)
		assert.Zero(t, exit, "%s%s", out, errs)
	})

	// Somebody takes a percentage for a share.
	t.Run("unit tests fail readably", func(t *testing.T) {
		broken := t.TempDir()
		require.NoError(t, os.CopyFS(broken, os.DirFS(confDir)))
		path := filepath.Join(broken, "host-memory.conf")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		mistaken := strings.Replace(string(text), "host.mem.used = 100 * ", "host.mem.used = ", 1)
		require.NotEqual(t, string(text), mistaken)
		require.NoError(t, os.WriteFile(path, []byte(mistaken), 0o644))
		out, _, exit := p.Run(t, program, "test", broken)
		assert.Equal(t, 1, exit)
		assert.Regexp(t, `(?m)^FAIL .*/host-memory\.test:\d+: a quarter of the memory is in use, then all$`, out)
		assert.Regexp(t, `(?m)^ +0s +25 +0\.25$`, out)
	})

	descs, _, exit := p.Run(t, "pminfo", "-d", "derived.host")
	require.Zero(t, exit)
	served := described(descs)
	t.Run("all are served", func(t *testing.T) {
		for _, name := range names {
			assert.Contains(t, served, name)
		}
		assert.Len(t, served, len(names))
	})

	t.Run("both texts", func(t *testing.T) {
		texts := ""
		for _, file := range confFiles(t, "*.conf") {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			texts += string(text)
		}
		for _, name := range names {
			assert.Regexp(t, `(?m)^`+name+`\(oneline\) = [^.\n]{15,120}$`, texts)
			assert.Regexp(t, `(?m)^`+name+`\(helptext\) = '\\\n(.{1,120}\n?)+'$`, texts)
		}
	})

	t.Run("documented with units", func(t *testing.T) {
		page, err := os.ReadFile("../docs/host.md")
		require.NoError(t, err)
		documented := make(map[string]string)
		for _, row := range regexp.MustCompile("(?m)^\\| `(host\\.\\S+)` \\| ([^|]+) \\|").FindAllStringSubmatch(string(page), -1) {
			documented[row[1]] = row[2]
		}
		units := regexp.MustCompile(`Units: (.*)`)
		for _, name := range names {
			match := units.FindStringSubmatch(served[name])
			require.NotNil(t, match, "%s: %s", name, served[name])
			want := match[1]
			if want == "none" {
				assert.Contains(t, []string{"percent", "0 to 1", "number"}, documented[name], name)
				continue
			}
			assert.Equal(t, want, documented[name], name)
		}
		assert.Len(t, documented, len(names))
	})
}

// fetched is one fetch of pmrep: the time in seconds, and values by metric and instance, "" for the only one.
type fetched struct {
	seconds float64
	values  map[string]map[string]float64
}

// of returns the value of the only instance of a metric.
func (r fetched) of(metric string) float64 { return r.values[metric][""] }

// record has pmrep fetch metrics at an interval, counters as they are.
func record(t *testing.T, p *pmcdtest.PMCD, interval string, samples int, metrics []string) []fetched {
	t.Helper()
	out, errs, exit := p.Run(t, append([]string{
		"pmrep", "-t", interval, "-s", strconv.Itoa(samples), "-o", "csv", "-r", "-P", "9", "-f", "%s.%f",
	}, metrics...)...)
	require.Zero(t, exit, errs)
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err, out)
	require.Len(t, lines, samples+1, out)
	var rows []fetched
	for _, line := range lines[1:] {
		seconds, err := strconv.ParseFloat(line[0], 64)
		require.NoError(t, err)
		r := fetched{seconds: seconds, values: make(map[string]map[string]float64)}
		for i, column := range lines[0] {
			if i == 0 || line[i] == "" {
				continue
			}
			v, err := strconv.ParseFloat(line[i], 64)
			require.NoError(t, err, "%s: %q", column, line[i])
			metric, inst := pmrepColumn(column)
			if r.values[metric] == nil {
				r.values[metric] = make(map[string]float64)
			}
			r.values[metric][inst] = v
		}
		rows = append(rows, r)
	}
	return rows
}

// pmrepColumn takes the name of a column of pmrep -o csv apart: metric-instance, and metric[instance] from PCP 7 on.
func pmrepColumn(name string) (metric, inst string) {
	at := strings.IndexAny(name, "-[")
	if at < 0 {
		return name, ""
	}
	inst = name[at+1:]
	if name[at] == '[' {
		inst = strings.TrimSuffix(inst, "]")
	}
	return name[:at], inst
}

// change is what two fetches say of the time between them.
type change struct{ before, now fetched }

func (c change) delta(metric, inst string) float64 {
	return c.now.values[metric][inst] - c.before.values[metric][inst]
}

func (c change) seconds() float64 { return c.now.seconds - c.before.seconds }

// sum is the change of several counters together.
func (c change) sum(inst string, metrics ...string) float64 {
	total := 0.0
	for _, metric := range metrics {
		total += c.delta(metric, inst)
	}
	return total
}

// each computes a value for each instance of a metric; NaN stands for none.
func (c change) each(metric string, value func(inst string) float64) map[string]float64 {
	values := make(map[string]float64)
	for inst := range c.now.values[metric] {
		if v := value(inst); !math.IsNaN(v) {
			values[inst] = v
		}
	}
	return values
}

func single(v float64) map[string]float64 { return map[string]float64{"": v} }

// largest is max() of the language: no value where there are none, as on a host without file systems.
func largest(values map[string]float64) map[string]float64 {
	if len(values) == 0 {
		return nil
	}
	m := math.Inf(-1)
	for _, v := range values {
		m = max(m, v)
	}
	return single(m)
}

// ratio is x/y; 0 if there is nothing to divide.
func ratio(x, y float64) float64 {
	if y == 0 {
		return 0
	}
	return x / y
}

var (
	cpuBusy  = []string{"kernel.all.cpu.user", "kernel.all.cpu.nice", "kernel.all.cpu.sys", "kernel.all.cpu.intr", "kernel.all.cpu.steal"}
	cpuTotal = append(slices.Clone(cpuBusy), "kernel.all.cpu.idle", "kernel.all.cpu.wait.total")
	perBusy  = []string{"kernel.percpu.cpu.user", "kernel.percpu.cpu.nice", "kernel.percpu.cpu.sys", "kernel.percpu.cpu.intr", "kernel.percpu.cpu.steal"}
	perTotal = append(slices.Clone(perBusy), "kernel.percpu.cpu.idle", "kernel.percpu.cpu.wait.total")
)

func cpuShare(metrics ...string) func(change) map[string]float64 {
	return func(c change) map[string]float64 {
		return single(100 * c.sum("", metrics...) / c.sum("", cpuTotal...))
	}
}

func perCPU(c change) map[string]float64 {
	return c.each("kernel.percpu.cpu.user", func(cpu string) float64 {
		return 100 * c.sum(cpu, perBusy...) / c.sum(cpu, perTotal...)
	})
}

func diskBusy(c change) map[string]float64 {
	return c.each("disk.dev.avactive", func(disk string) float64 { return c.delta("disk.dev.avactive", disk) / 10 / c.seconds() })
}

func perRequest(metric string) func(change) map[string]float64 {
	return func(c change) map[string]float64 {
		return c.each(metric, func(disk string) float64 { return ratio(c.delta(metric, disk), c.delta("disk.dev.total", disk)) })
	}
}

func perSecond(metric string) func(change) map[string]float64 {
	return func(c change) map[string]float64 {
		return c.each(metric, func(inst string) float64 { return c.delta(metric, inst) / c.seconds() })
	}
}

func fsUsed(c change) map[string]float64 {
	return c.each("filesys.used", func(fs string) float64 {
		used := c.now.values["filesys.used"][fs]
		return 100 * used / (used + c.now.values["filesys.avail"][fs])
	})
}

func inodesUsed(c change) map[string]float64 {
	return c.each("filesys.usedfiles", func(fs string) float64 {
		return 100 * ratio(c.now.values["filesys.usedfiles"][fs], c.now.values["filesys.maxfiles"][fs])
	})
}

// writable leaves out file systems that cannot be written.
func writable(c change, values map[string]float64) map[string]float64 {
	for fs := range values {
		if c.now.values["filesys.readonly"][fs] != 0 {
			delete(values, fs)
		}
	}
	return values
}

func netTotal(metric string) func(change) map[string]float64 {
	return func(c change) map[string]float64 {
		total := 0.0
		for name := range c.now.values[metric] {
			if name != "lo" {
				total += c.delta(metric, name) / c.seconds()
			}
		}
		return single(total)
	}
}

func ofSpeed(metric string) func(change) map[string]float64 {
	return func(c change) map[string]float64 {
		return c.each(metric, func(name string) float64 {
			speed := c.now.values["network.interface.baudrate"][name]
			if speed == 0 || speed > 1e13 {
				return math.NaN()
			}
			return 100 * c.delta(metric, name) / c.seconds() / speed
		})
	}
}

func stalled(metric string) func(change) map[string]float64 {
	return func(c change) map[string]float64 {
		if len(c.now.values[metric]) == 0 {
			return nil // a kernel without
		}
		return single(c.delta(metric, "") / c.seconds() / 1e4)
	}
}

// stallScore is the share of time that something was stalled or, where the kernel does not tell, something else.
func stallScore(c change, metric string, without func() float64) float64 {
	if percent, ok := stalled(metric)(c)[""]; ok {
		return min(1, percent/100)
	}
	return without()
}

func cpuScore(c change) float64 {
	return stallScore(c, psi("cpu.some"), func() float64 {
		per := 0.0
		for _, v := range c.now.values["kernel.all.load"] {
			per = max(per, v/c.now.of("hinv.ncpu"))
		}
		return max(0, 1-1/per)
	})
}

func memoryScore(c change) float64 {
	return stallScore(c, psi("memory.some"), func() float64 {
		return max(0, 0.1-c.now.of("mem.util.available")/c.now.of("mem.physmem")) * 10
	})
}

func diskScore(c change) float64 {
	return stallScore(c, psi("io.some"), func() float64 { return min(1, max(0, largest(diskBusy(c))[""])/100) })
}

func spaceScore(c change) map[string]float64 {
	fullest := max(largest(writable(c, fsUsed(c)))[""], largest(writable(c, inodesUsed(c)))[""])
	return single(max(0, (fullest-80)/20))
}

func networkScore(c change) map[string]float64 {
	in, out := ofSpeed("network.interface.in.bytes")(c), ofSpeed("network.interface.out.bytes")(c)
	return single(min(1, max(0, largest(in)[""], largest(out)[""])/100))
}

func demandScore(c change) map[string]float64 {
	return single(max(cpuScore(c), memoryScore(c), diskScore(c), networkScore(c)[""]))
}

func psi(kind string) string { return "kernel.all.pressure." + kind + ".total" }

func swapped(metric string) func(change) map[string]float64 {
	return func(c change) map[string]float64 {
		return single(c.delta(metric, "") / c.seconds() * c.now.of("hinv.pagesize"))
	}
}

// confValues says by plain arithmetic what each definition is.
var confValues = map[string]func(change) map[string]float64{
	"host.cpu.time.busy": func(c change) map[string]float64 {
		total := 0.0
		for _, metric := range cpuBusy {
			total += c.now.of(metric)
		}
		return single(total)
	},
	"host.cpu.time.total": func(c change) map[string]float64 {
		total := 0.0
		for _, metric := range cpuTotal {
			total += c.now.of(metric)
		}
		return single(total)
	},
	"host.cpu.busy":    cpuShare(cpuBusy...),
	"host.cpu.user":    cpuShare("kernel.all.cpu.user", "kernel.all.cpu.nice"),
	"host.cpu.system":  cpuShare("kernel.all.cpu.sys", "kernel.all.cpu.intr"),
	"host.cpu.wait":    cpuShare("kernel.all.cpu.wait.total"),
	"host.cpu.steal":   cpuShare("kernel.all.cpu.steal"),
	"host.cpu.busiest": func(c change) map[string]float64 { return largest(perCPU(c)) },
	"host.percpu.busy": perCPU,
	"host.percpu.time.busy": func(c change) map[string]float64 {
		return c.each("kernel.percpu.cpu.user", func(cpu string) float64 {
			total := 0.0
			for _, metric := range perBusy {
				total += c.now.values[metric][cpu]
			}
			return total
		})
	},
	"host.load.per_cpu": func(c change) map[string]float64 {
		return c.each("kernel.all.load", func(inst string) float64 { return c.now.values["kernel.all.load"][inst] / c.now.of("hinv.ncpu") })
	},

	"host.mem.available": func(c change) map[string]float64 { return single(c.now.of("mem.util.available")) },
	"host.mem.in_use": func(c change) map[string]float64 {
		return single(c.now.of("mem.physmem") - c.now.of("mem.util.available"))
	},
	"host.mem.used": func(c change) map[string]float64 {
		return single(100 - 100*c.now.of("mem.util.available")/c.now.of("mem.physmem"))
	},
	"host.mem.unwritten": func(c change) map[string]float64 {
		return single((c.now.of("mem.util.dirty") + c.now.of("mem.util.writeback")) / c.now.of("mem.physmem") * 100)
	},
	"host.mem.major_faults": perSecond("mem.vmstat.pgmajfault"),
	"host.swap.used": func(c change) map[string]float64 {
		return single(100 * ratio(c.now.of("swap.used"), c.now.of("swap.length")))
	},
	"host.swap.in":  swapped("swap.pagesin"),
	"host.swap.out": swapped("swap.pagesout"),

	"host.disk.busy":    diskBusy,
	"host.disk.busiest": func(c change) map[string]float64 { return largest(diskBusy(c)) },
	"host.disk.await":   perRequest("disk.dev.total_rawactive"),
	"host.disk.slowest": func(c change) map[string]float64 { return largest(perRequest("disk.dev.total_rawactive")(c)) },
	"host.disk.queue": func(c change) map[string]float64 {
		return c.each("disk.dev.aveq", func(disk string) float64 { return c.delta("disk.dev.aveq", disk) / 1000 / c.seconds() })
	},
	"host.disk.requests":     perSecond("disk.dev.total"),
	"host.disk.throughput":   perSecond("disk.dev.total_bytes"),
	"host.disk.request_size": perRequest("disk.dev.total_bytes"),
	"host.fs.used":           fsUsed,
	"host.fs.fullest":        func(c change) map[string]float64 { return largest(writable(c, fsUsed(c))) },
	"host.fs.inodes_used":    inodesUsed,
	"host.fs.inodes_fullest": func(c change) map[string]float64 { return largest(writable(c, inodesUsed(c))) },

	"host.net.in":          netTotal("network.interface.in.bytes"),
	"host.net.out":         netTotal("network.interface.out.bytes"),
	"host.net.in_packets":  netTotal("network.interface.in.packets"),
	"host.net.out_packets": netTotal("network.interface.out.packets"),
	"host.net.in_errors":   netTotal("network.interface.in.errors"),
	"host.net.out_errors":  netTotal("network.interface.out.errors"),
	"host.net.in_drops":    netTotal("network.interface.in.drops"),
	"host.net.out_drops":   netTotal("network.interface.out.drops"),
	"host.net.tcp_retransmitted": func(c change) map[string]float64 {
		return single(100 * ratio(c.delta("network.tcp.retranssegs", ""), c.delta("network.tcp.outsegs", "")))
	},
	"host.interface.in_used":  ofSpeed("network.interface.in.bytes"),
	"host.interface.out_used": ofSpeed("network.interface.out.bytes"),

	"host.pressure.cpu":         stalled(psi("cpu.some")),
	"host.pressure.memory":      stalled(psi("memory.some")),
	"host.pressure.memory_full": stalled(psi("memory.full")),
	"host.pressure.io":          stalled(psi("io.some")),
	"host.pressure.io_full":     stalled(psi("io.full")),

	"host.saturation.cpu":     func(c change) map[string]float64 { return single(cpuScore(c)) },
	"host.saturation.memory":  func(c change) map[string]float64 { return single(memoryScore(c)) },
	"host.saturation.disk":    func(c change) map[string]float64 { return single(diskScore(c)) },
	"host.saturation.network": networkScore,
	"host.saturation.space":   spaceScore,
	"host.saturation.demand":  demandScore,
	"host.saturation.worst":   func(c change) map[string]float64 { return single(max(demandScore(c)[""], spaceScore(c)[""])) },
}

// confOperands is what confValues computes from.
var confOperands = slices.Concat(cpuTotal, perTotal, []string{
	"kernel.all.load", "hinv.ncpu", "hinv.pagesize", "mem.physmem", "mem.util.available", "mem.util.dirty",
	"mem.util.writeback", "mem.vmstat.pgmajfault", "swap.used", "swap.length", "swap.pagesin", "swap.pagesout",
	"disk.dev.avactive", "disk.dev.aveq", "disk.dev.total", "disk.dev.total_bytes", "disk.dev.total_rawactive",
	"filesys.used", "filesys.avail", "filesys.usedfiles", "filesys.maxfiles", "filesys.readonly",
	"network.interface.in", "network.interface.out", "network.interface.baudrate", "network.tcp.outsegs", "network.tcp.retranssegs",
	"kernel.all.pressure.cpu.some.total", "kernel.all.pressure.memory.some.total", "kernel.all.pressure.memory.full.total",
	"kernel.all.pressure.io.some.total", "kernel.all.pressure.io.full.total",
})

// Values are what plain arithmetic makes of the operands. These come from the agent, too, as definitions that are
// nothing but an operand: what one fetch asks of it is nearly always of the same moment, so three of four values have to be the same. With
// load on CPU and disk there is something to see.
func TestConfValues(t *testing.T) {
	p, _ := startWithConf(t)
	names := confNames(t)
	require.Len(t, confValues, len(names))
	operands := serveOperands(t, p, confOperands)
	stop := keepBusy(t)
	defer stop()
	asked := slices.Clone(operands)
	for _, name := range names {
		asked = append(asked, "derived."+name)
	}
	rows := record(t, p, "0.5", 12, asked)
	for i := range rows {
		for _, name := range operands {
			rows[i].values[strings.TrimPrefix(name, operandRoot)] = rows[i].values[name]
		}
		if i > 0 {
			rows[i].seconds = rows[i-1].seconds + rows[i].of(elapsed)/1000
		}
	}

	for _, r := range rows {
		require.NotEmpty(t, r.values["kernel.percpu.cpu.user"], "columns are understood")
	}

	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			want, ok := confValues[name]
			require.True(t, ok, "no arithmetic for it")
			differences := make(map[string][]float64)
			for i := 2; i < len(rows); i++ { // the first fetch has rates since the agent's own samples
				if rows[i].seconds == rows[i-1].seconds { // there was no newer sample: rates are what they were
					continue
				}
				expected, got := want(change{before: rows[i-1], now: rows[i]}), rows[i].values["derived."+name]
				for inst, v := range expected {
					if g, ok := got[inst]; ok {
						differences[inst] = append(differences[inst], math.Abs(g-v)/max(1, math.Abs(v)))
					}
				}
				for inst := range got {
					assert.Contains(t, expected, inst, "an instance that should have no value")
				}
			}
			for inst := range want(change{before: rows[1], now: rows[2]}) {
				d := differences[inst]
				require.GreaterOrEqual(t, len(d), 8, "values of instance %q", inst)
				slices.Sort(d)
				assert.Less(t, d[len(d)*3/4], 1e-6, "instance %q: differences %v", inst, d)
			}
		})
	}
}

// operandRoot is above the names of operands as the agent serves them, and elapsed the time between its samples, in ms.
const (
	operandRoot = "derived.operand."
	elapsed     = "elapsed"
)

// serveOperands has the agent serve metrics, or all of a subtree, as they are, and elapsed. It returns the names.
func serveOperands(t *testing.T, p *pmcdtest.PMCD, metrics []string) (served []string) {
	t.Helper()
	out, errs, exit := p.Run(t, append([]string{"pminfo"}, metrics...)...)
	require.Zero(t, exit, errs)
	var text strings.Builder
	for _, name := range strings.Fields(out) {
		fmt.Fprintf(&text, "operand.%s = %s\n", name, name)
		served = append(served, operandRoot+name)
	}
	fmt.Fprintf(&text, "operand.%s = delta(sample.milliseconds) / rate(sample.milliseconds)\n", elapsed)
	served = append(served, operandRoot+elapsed)
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "var/config/pmdaderived/operand.conf"), []byte(text.String()), 0o644))
	require.Eventually(t, func() bool {
		_, _, exit := p.Run(t, append([]string{"pminfo", "-d"}, served...)...)
		return exit == 0
	}, 20*time.Second, 50*time.Millisecond, "the operands are served")
	return served
}

// keepBusy keeps one CPU and a disk half busy until it is stopped.
func keepBusy(t *testing.T) (stop func()) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "load"))
	require.NoError(t, err)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		block := make([]byte, 64<<10)
		for {
			select {
			case <-done:
				return
			default:
			}
			_, _ = file.WriteAt(block, 0)
			_ = file.Sync()
			for start := time.Now(); time.Since(start) < 20*time.Millisecond; {
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return func() {
		close(done)
		<-ended
		assert.NoError(t, file.Close())
	}
}
