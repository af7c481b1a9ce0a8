//go:build pcp

package test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/test/pmcdtest"
)

// A definition whose operands do not exist waits for them. When their agent is installed the metric appears, in the
// name space too, without a signal to the daemon.
func TestOperandsThatAppearLater(t *testing.T) {
	work := worldReadableDir(t)
	conf := writeFile(t, work, "derived.conf", "late = hanging.value + 41\nearly = sample.long.one\n")
	agent := filepath.Join(work, "late-agent")

	p := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{
			derivedAgent(t, "-c", conf),
			// Its program is not there yet: pmcd goes on without it.
			hangingAgent(agent),
		},
		Env: []string{hangVariable + "=" + filepath.Join(work, "never")},
	})
	probe := func(metric, want string) {
		t.Helper()
		var got string
		await.Until(t, metric+" is "+want, func() bool {
			got, _, _ = p.Run(t, "pmprobe", "-v", metric)
			return got == metric+" "+want+"\n"
		})
	}
	probe("derived.early", "1 1")
	listed, _, _ := p.Run(t, "pminfo", "derived")
	assert.NotContains(t, listed, "derived.late")
	state, _, _ := p.Run(t, "pminfo", "-f", "derived.control.definition.state")
	assert.Contains(t, state, `or "late"] value "unbound"`)

	copySelf(t, work, filepath.Base(agent))
	require.NoError(t, p.Signal(syscall.SIGHUP))
	probe("derived.late", "1 42")
	listed, _, _ = p.Run(t, "pminfo", "derived")
	assert.Contains(t, listed, "derived.late\n")
}

// A pmlogger that starts at a first boot, before the agent knows any descriptor, records all metrics that its
// configuration names: those that wait for their operand, alone or below a node, when the operand comes. It learns of new
// names from the answers to its fetches, so it must have found one metric.
func TestLoggerRecordsWhatComesLater(t *testing.T) {
	work := worldReadableDir(t)
	var definitions, waiting, names strings.Builder
	for i := range 7 {
		fmt.Fprintf(&definitions, "log.early%d = sample.long.ten + %d\n", i, i)
		fmt.Fprintf(&names, "derived.log.early%d\n", i)
	}
	for _, name := range []string{"log.late", "log.node.late", "log.wrong"} {
		fmt.Fprintf(&waiting, "%s = hanging.value + 41\n", name)
	}
	conf := writeFile(t, work, "derived.conf", definitions.String()+
		strings.ReplaceAll(waiting.String(), "log.wrong = ", "log.wrong = sample.string.hullo + "))
	program := filepath.Join(work, "late-agent")
	p := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{derivedAgent(t, "-c", conf), hangingAgent(program)},
		Env:    []string{hangVariable + "=" + filepath.Join(work, "never")},
	})
	archive := filepath.Join(work, "archive")
	config := writeFile(t, work, "logger.conf",
		"log mandatory on 200 msec {\nsample.long.one\n"+names.String()+"derived.log.late\nderived.log.node\nderived.log.wrong\n}\n")
	logger := p.Command(t.Context(), "pmlogger", "-c", config, "-l", archive+".log", archive)
	require.NoError(t, logger.Start())
	t.Cleanup(func() { _ = logger.Wait() })
	recorded := func(want string) {
		t.Helper()
		await.Until(t, "the archive has exactly\n"+want, func() bool {
			out, _, _ := p.Run(t, "pminfo", "-a", archive, "derived")
			got := strings.Split(strings.TrimSpace(out), "\n")
			slices.Sort(got)
			return strings.Join(got, "\n")+"\n" == want
		})
	}
	recorded(names.String())

	copySelf(t, work, filepath.Base(program))
	require.NoError(t, os.WriteFile(conf, []byte(definitions.String()+waiting.String()), 0o644))
	require.NoError(t, p.Signal(syscall.SIGHUP))
	recorded(names.String() + "derived.log.late\nderived.log.node.late\nderived.log.wrong\n")
	for _, name := range []string{"derived.log.late", "derived.log.node.late", "derived.log.wrong"} {
		assert.Equal(t, name+" 1 42\n", printed(t, p, "pmprobe", "-v", "-a", archive, "-O", "-0", name))
	}
}

// An agent that ends takes away the values over its metrics, and no others. When it comes back, so do they, without a
// signal to the daemon or a restart of it, and windows and latches have the values from before. An agent that is removed
// takes away the metrics, too.
func TestOperandsThatGoAndComeBack(t *testing.T) {
	work := worldReadableDir(t)
	conf := writeFile(t, work, "derived.conf",
		"value = hanging.value + 41\nsteps = rate(hanging.count)\nother = delta(sample.milliseconds)\n"+
			"window.static = count_sample(hanging.value, \"5min\")\nwindow.dynamic = count_sample(hanging.dynamic.value, \"5min\")\n"+
			"held = latch(hanging.value > 0 && sample.long.write_me > 20, sample.long.write_me < 3)\n")
	agent := copySelf(t, work, "hanging-agent")
	p := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{
			derivedAgent(t, "-c", conf, "--interval", "0"),
			hangingAgent(agent),
		},
		Env: []string{hangVariable + "=" + filepath.Join(work, "never")},
	})
	pid := func(name string) int { return pidOf(t, p, name) }
	shows := func(want string, command ...string) {
		t.Helper()
		var got string
		await.Until(t, fmt.Sprintf("%v prints %s", command, want), func() bool {
			got, _, _ = p.Run(t, command...)
			return regexp.MustCompile(want).MatchString(got)
		})
	}
	shows(`^derived.value 1 42\n$`, "pmprobe", "-v", "derived.value")
	described, _, _ := p.Run(t, "pminfo", "-dm", "derived.value", "derived.steps")
	daemon := pid("pmdaderived")

	conn := dial(t, p)
	found := must(conn.LookupNames(t.Context(), []string{"derived.steps", "derived.other", "hanging.count"}))(t)
	steps, other, count := found[0].PMID, found[1].PMID, found[2].PMID
	// fetch returns the only value of a metric, and whether there is one.
	fetch := func(id pdu.PMID) (float64, bool) {
		t.Helper()
		res := must(conn.Fetch(t.Context(), []pdu.PMID{id}))(t)
		set := res.Sets[0]
		if len(set.Values) != 1 {
			require.NotContains(t, []pdu.Code{pdu.ErrPMID, pdu.ErrName, pdu.ErrBadDerive}, set.Code, "%s", id)
			return 0, false
		}
		v := set.Values[0]
		if v.Type == pdu.TypeUnknown { // in situ: of 32 bits
			v.Type = pdu.TypeU32
		}
		return v.Type.Float64(v.Bits), true
	}
	has := func(id pdu.PMID) {
		t.Helper()
		await.Until(t, fmt.Sprintf("%v has a value", id), func() bool {
			v, ok := fetch(id)
			if ok {
				require.Positive(t, v, "%s: it only ever counts up", id)
			}
			return ok
		})
	}
	has(steps)
	has(other)

	// It is killed and started again before we have asked for it: at most a fetch is without a value.
	for range 30 { // or it would have counted to less than it did before
		_, ok := fetch(count)
		require.True(t, ok)
	}
	has(steps)
	killed := pid("hanging-agent")
	require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
	fetch(count) // pmcd notices, unless it has started it again by itself
	require.NoError(t, p.Signal(syscall.SIGHUP))
	await.Until(t, "it has a value", func() bool { _, ok := fetch(count); return ok })
	for range 10 {
		has(steps)
		has(other)
	}
	require.NotEqual(t, killed, pid("hanging-agent"))

	// A window and a latch have a state to lose.
	number := func(name string) float64 {
		t.Helper()
		v, _ := fetch(must(conn.LookupNames(t.Context(), []string{name}))(t)[0].PMID)
		return v
	}
	states := []string{"derived.window.static", "derived.window.dynamic", "derived.held"}
	store := func(name, value string) {
		t.Helper()
		_, problem, exit := p.Run(t, "pmstore", name, value)
		require.Zero(t, exit, problem)
	}
	store("sample.long.write_me", "30")
	await.Until(t, "the latch is set", func() bool { return number("derived.held") == 1 })
	store("sample.long.write_me", "6")
	await.Until(t, "the windows have some values", func() bool {
		return min(number("derived.window.static"), number("derived.window.dynamic")) > 5
	})
	before, _, _ := p.Run(t, "pminfo", "-dm", "derived")
	had := make([]float64, len(states))
	for i, name := range states {
		had[i] = number(name)
	}
	lookUpAll := func() {
		t.Helper()
		reloads := number("derived.control.reload")
		store("derived.control.reload", "1")
		await.Until(t, "all is looked up", func() bool { return number("derived.control.reload") > reloads })
	}

	// It is killed for good. There can be two: a signal that reaches pmcd while it starts an agent makes it start another.
	require.NoError(t, os.Remove(agent))
	for _, process := range p.Processes() {
		if process.Name == "hanging-agent" {
			require.NoError(t, syscall.Kill(process.Pid, syscall.SIGKILL))
		}
	}
	shows(fmt.Sprintf("^hanging.value %d ", int(pdu.ErrNoAgent)), "pmprobe", "hanging.value")
	lookUpAll()
	shows(fmt.Sprintf("^derived.value %d ", int(pdu.ErrNoAgent)), "pmprobe", "derived.value")
	shows(`"steps"\] value "bound"\n(.*\n)*.*"value"\] value "bound"`, "pminfo", "-f", "derived.control.definition.state")
	now, _, _ := p.Run(t, "pminfo", "-dm", "derived")
	assert.Equal(t, before, now, "a pmlogger that records it goes on")
	has(other)

	// It is installed again.
	copySelf(t, work, filepath.Base(agent))
	require.NoError(t, p.Signal(syscall.SIGHUP))
	shows(`^derived.value 1 42\n$`, "pmprobe", "-v", "derived.value")
	lookUpAll()
	for i, name := range states {
		var value float64
		await.Until(t, name+" has a value", func() bool { value = number(name); return value > 0 })
		assert.GreaterOrEqual(t, value, had[i], name)
	}
	for range 10 {
		has(steps)
	}
	now, _, _ = p.Run(t, "pminfo", "-dm", "derived")
	assert.Equal(t, before, now)

	// It is removed.
	control := filepath.Join(p.Dir, "pmcd.conf")
	text := must(os.ReadFile(control))(t)
	require.Contains(t, string(text), "\nhanging ")
	require.NoError(t, os.WriteFile(control, regexp.MustCompile(`(?m)^hanging .*\n`).ReplaceAll(text, nil), 0o644))
	require.NoError(t, p.Signal(syscall.SIGHUP))
	shows(`"steps"\] value "unbound"\n(.*\n)*.*"value"\] value "unbound"`, "pminfo", "-f",
		"derived.control.definition.state", "derived.value")
	listed, _, _ := p.Run(t, "pminfo", "derived")
	assert.NotContains(t, listed, "derived.value")
	assert.NotContains(t, listed, "derived.steps")
	assert.Contains(t, listed, "derived.other")
	now, _, _ = p.Run(t, "pminfo", "-dm", "derived.value", "derived.steps")
	assert.Equal(t, described, now, "a pmlogger that records it goes on")
	probed, _, _ := p.Run(t, "pmprobe", "derived.value")
	assert.Contains(t, probed, "derived.value "+fmt.Sprint(int(pdu.ErrAgain))+" ")
	has(other)
	assert.Equal(t, daemon, pid("pmdaderived"), "we have run all the time")
}

// Values that pmcd's protected agents return to a known user of the host are not returned to strangers in any form: not
// by an aggregate, a condition, another definition, or the figures about the definition.
func TestProtectedOperands(t *testing.T) {
	work := worldReadableDir(t)
	conf := filepath.Join(work, "derived.conf")
	private := map[string]string{
		"raw":       "proc.memory.vmsize",
		"count":     "count(proc.psinfo.pid)",
		"sum":       "sum(proc.memory.rss)",
		"rate":      "rate(proc.schedstat.cpu_time)",
		"string":    "proc.psinfo.cmd",
		"condition": "sum(proc.memory.rss) > 0 ? sample.long.one : sample.long.ten",
		"nested":    "raw + raw",
		"full":      "derived.count",
		"some":      `matchinst(/1/, proc.memory.rss)`,
		"instances": "mkconst(1, meta=proc.psinfo.pid)",
	}
	text := "open = sample.long.one\nknown = defined(proc.nprocs) ? sample.long.one : sample.long.ten\n"
	for name, expr := range private {
		text += name + " = " + expr + "\n"
	}
	require.NoError(t, os.WriteFile(conf, []byte(text), 0o644))
	p := startServing(t, "-c", conf)
	local, stranger := "unix:"+p.Socket, fmt.Sprintf("127.0.0.1:%d", p.Port)
	for name, expr := range private {
		metric := "derived." + name
		await.Until(t, name+" has a value for a user of this host", func() bool {
			got, _, _ := p.Run(t, "pminfo", "-h", local, "-f", metric)
			return strings.Contains(got, "value ")
		})
		for range 2 { // the first fetch of a context, and one that a sample is there for
			got, _, _ := p.Run(t, "pminfo", "-h", stranger, "-f", metric)
			assert.Contains(t, got, metric+"\nError: No permission to perform requested operation", expr)
			assert.NotContains(t, got, "value ", expr)
		}
	}
	got, _, _ := p.Run(t, "pminfo", "-h", stranger, "-f", "derived.open", "derived.known")
	assert.Contains(t, got, "derived.open\n    value 1")
	assert.Contains(t, got, "derived.known\n    value 1", "names are not secret")
	printed, refused, status := p.Run(t, "pmstore", "-h", stranger, "derived.control.reload", "1")
	assert.NotZero(t, status)
	assert.Contains(t, printed+refused, "No permission")
}

// Definitions below protected names, and those that use them, are refused to strangers, also if a reload adds them.
func TestProtectedDefinitions(t *testing.T) {
	work := worldReadableDir(t)
	text := `open = sample.long.one
app.bin = sample.bin
use = app.bin[bin-100] + 1
deep = max_sample(derived.use, "2sec", "0.5sec")
groups = sum(app.bin) by (k=/^bin/)
`
	conf := writeFile(t, work, "derived.conf", text)
	p := startServing(t, "-c", conf, "--protect=derived.app,secret,no.such")
	local, stranger := "unix:"+p.Socket, fmt.Sprintf("127.0.0.1:%d", p.Port)
	private := []string{"app.bin", "use", "deep", "groups"}
	isRefused := func(names ...string) {
		for _, name := range names {
			await.Until(t, name+" has a value for a user of this host", func() bool {
				got, _, _ := p.Run(t, "pminfo", "-h", local, "-f", "derived."+name)
				return strings.Contains(got, "value ")
			})
			await.Until(t, name, func() bool { // a definition that a reload changes has no values for a moment
				got, _, _ := p.Run(t, "pminfo", "-h", stranger, "-f", "derived."+name)
				assert.NotContains(t, got, "value ")
				return strings.Contains(got, "derived."+name+"\nError: No permission to perform requested operation")
			})
		}
	}
	isRefused(private...)
	got, _, _ := p.Run(t, "pminfo", "-h", stranger, "-f", "derived.open")
	assert.Contains(t, got, "derived.open\n    value 1")
	got, _, _ = p.Run(t, "pmprobe", "-h", stranger, "-I", "derived.groups")
	assert.Contains(t, got, "No permission")
	got, _, _ = p.Run(t, "pminfo", "-h", stranger, "-f", "derived.control.definition")
	assert.NotRegexp(t, `[^.\d]900\b`, got, "a value of sample.bin")

	text = strings.Replace(text, "app.bin[bin-100] + 1", "open + derived.secret.new", 1)
	require.NoError(t, os.WriteFile(conf, []byte(text+"secret.new = 42\n"), 0o644))
	isRefused(append(private, "secret.new")...)
	log := must(os.ReadFile(filepath.Join(p.Dir, "log", "pmcd", "derived.log")))(t)
	for name, times := range map[string]int{"no.such": 1, "secret": 1, "derived.app": 0} {
		assert.Equal(t, times, strings.Count(string(log), "protected name protects nothing at present name="+name), name)
	}
}
