//go:build pcp

package test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/test/pmcdtest"
)

// derivedName finds names of our metrics in files of any format.
var derivedName = regexp.MustCompile(`\b(derived|mmv\.pmdaderived)(\.[a-z][a-z0-9_]*)+`)

// sitePrefix begins the names of metrics that a site may define.
const sitePrefix = "derived.site."

// copyIntegration copies a tool's folder to a place that the user of PCP's tools can read.
func copyIntegration(t *testing.T, tool, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(to, 0o755))
	entries := must(os.ReadDir(filepath.Join(integrationDir, tool)))(t)
	require.NotEmpty(t, entries)
	for _, entry := range entries {
		text := must(os.ReadFile(filepath.Join(integrationDir, tool, entry.Name())))(t)
		require.NoError(t, os.WriteFile(filepath.Join(to, entry.Name()), text, 0o644))
	}
}

// The files for stock tools work with their tools.
func TestIntegration(t *testing.T) {
	p, program := startWithConf(t)
	work := worldReadableDir(t)
	require.NoError(t, os.Chmod(work, 0o777)) // pmie and pmlogger become another user

	always := strings.Fields(printed(t, p, "pminfo", "derived.host"))
	switchOn(t, p)
	t.Run("dashboards show metrics in their units", func(t *testing.T) { testDashboards(t, p, always) })
	t.Run("pmlogconf and pmlogger", func(t *testing.T) { testPmlogconf(t, p, work) })
	t.Run("pmrep", func(t *testing.T) { testPmrep(t, p) })
	t.Run("pcp-dstat", func(t *testing.T) { testDstat(t, p) })
	t.Run("pmieconf and pmie", func(t *testing.T) { testPmieconf(t, p, work) })
	t.Run("bash completion", func(t *testing.T) { testBashCompletion(t, p, program) })
	t.Run("zsh completion", func(t *testing.T) { testZshCompletion(t, p, program) })
	t.Run("every metric exists", func(t *testing.T) {
		out := printed(t, p, "pminfo", "derived", "mmv.pmdaderived")
		served := strings.Fields(out)
		files := integrationFiles(t, "pmlogconf/*", "pmrep/*", "dstat/*", "htop/*/*", "pmchart/*", "pmieconf/*",
			"grafana/*.json")
		for _, file := range files {
			text := must(os.ReadFile(file))(t)
			for _, name := range derivedName.FindAllString(string(text), -1) {
				if strings.HasPrefix(file, integrationDir+"/pmieconf/") && name == "derived."+filepath.Base(file) {
					continue // a rule's own name
				}
				if strings.HasPrefix(name+".", sitePrefix) {
					continue // what a site may define
				}
				assert.True(t, slices.ContainsFunc(served, func(metric string) bool {
					return metric == name || strings.HasPrefix(metric, name+".")
				}), "%s names %s", file, name)
			}
		}
	})
}

func integrationFiles(t *testing.T, patterns ...string) []string {
	t.Helper()
	var files []string
	for _, pattern := range patterns {
		found := must(filepath.Glob(filepath.Join(integrationDir, pattern)))(t)
		require.NotEmpty(t, found, pattern)
		files = append(files, found...)
	}
	return files
}

// grafanaUnits says which unit of Grafana fits units of PCP; counters are shown as rates.
var grafanaUnits = map[string][]string{
	"none":             {"percent", "none", "short"},
	"count":            {"short"},
	"count / sec":      {"iops", "pps", "cps"},
	"byte":             {"bytes"},
	"Kbyte":            {"kbytes"},
	"Kbyte / count":    {"kbytes"},
	"byte / sec":       {"binBps"},
	"Kbyte / sec":      {"KiBs"},
	"millisec":         {"ms"},
	"millisec / count": {"ms"},
}

// testDashboards demands each metric of a list in the dashboards, and the metadata that panels rely on.
func testDashboards(t *testing.T, p *pmcdtest.PMCD, always []string) {
	out := printed(t, p, "pminfo", "-d", "derived", "mmv.pmdaderived")
	recipes := readDocument(t, "../docs/recipes.md")
	descs, shown := make(map[string]string), make(map[string]bool)
	for part := range strings.SplitSeq(strings.TrimSpace(out), "\n\n") {
		name, about, _ := strings.Cut(strings.TrimSpace(part), "\n")
		descs[name] = about
	}
	for _, file := range integrationFiles(t, "grafana/*-vector.json") {
		var board grafanaBoard
		require.NoError(t, json.Unmarshal([]byte(readDocument(t, file)), &board))
		for _, panel := range board.panels() {
			for _, target := range panel.Targets {
				if name, ok := strings.CutPrefix(target.Expr, sitePrefix); ok {
					assert.Contains(t, recipes, "\n    site."+name+" = ", "the panel shows a recipe")
					continue
				}
				about := descs[target.Expr]
				shown[target.Expr] = true
				require.NotEmpty(t, about, target.Expr)
				match := regexp.MustCompile(`Semantics: (\w+) +Units: (.*)`).FindStringSubmatch(about)
				require.NotNil(t, match, about)
				units := match[2]
				if match[1] == "counter" {
					units += " / sec"
				}
				assert.Equal(t, !strings.Contains(about, "InDom: PM_INDOM_NULL"),
					strings.Contains(target.LegendFormat, "$instance"),
					"%s: the legend of %s has the instance if there are any", panel.Title, target.Expr)
				assert.Contains(t, grafanaUnits[units], panel.FieldConfig.Defaults.Unit, "%s: %s has %s", panel.Title,
					target.Expr, units)
			}
		}
	}
	for _, name := range always {
		// counters of time and ends of axes are for others only, and the first five are among all
		assert.Equal(t, !regexp.MustCompile(`\.(axis|time|top)\.`).MatchString(name), shown[name],
			"%s in the host's dashboard", name)
	}
}

// testPmlogconf lets pmlogconf make a configuration by probing, and logs with it.
func testPmlogconf(t *testing.T, p *pmcdtest.PMCD, work string) {
	groups := filepath.Join(work, "groups")
	copyIntegration(t, "pmlogconf", filepath.Join(groups, "derived"))
	own := regexp.MustCompile(`(?m)^    (printf (?:.*\\\n)* *)>\S*/(mydb)$`).FindStringSubmatch(readDocument(t,
		"../docs/configuration.md"))
	require.NotNil(t, own)
	printed(t, p, "sh", "-c", own[1]+">"+filepath.Join(groups, "derived", own[2]))
	conf := filepath.Join(work, "pmlogger.conf")
	printed(t, p, "pmlogconf", "-c", "-d", groups, conf)
	text := readDocument(t, conf)
	for group, state := range map[string]string{
		"host": "y", "peak": "y", "top": "y", "site": "y", "definitions": "n",
		"mydb": "y",
	} {
		assert.Contains(t, text, "#+ derived/"+group+":"+state+":", "included: %s", text)
	}

	archive := filepath.Join(work, "archive")
	printed(t, p, "pmlogger", "-c", conf, "-t", "0.5", "-s", "3", "-l", archive+".log", archive)
	logged := printed(t, p, "pminfo", "-a", archive, "derived")
	live := printed(t, p, "pminfo", "derived.host")
	assert.Subset(t, strings.Fields(logged), strings.Fields(live))
	assert.NotContains(t, logged, "derived.control.")

	// Without the agent there is nothing to log.
	stock := pmcdtest.Start(t, pmcdtest.Config{})
	without := filepath.Join(work, "without.conf")
	printed(t, stock, "pmlogconf", "-c", "-d", groups, without)
	assert.NotRegexp(t, `derived/\w+:[yn]:`, readDocument(t, without))
}

func testPmrep(t *testing.T, p *pmcdtest.PMCD) {
	file := filepath.Join(integrationDir, "pmrep/derived.conf")
	text := must(os.ReadFile(file))(t)
	sets := regexp.MustCompile(`(?m)^\[(\S+)\]$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, sets, 6)
	labels := regexp.MustCompile(`(?m)^derived\.\S+ = ([^,\n]+)`)
	value := regexp.MustCompile(`^[0-9.]+$`)
	if !hasFileSystems(t, p) {
		value = regexp.MustCompile(`^([0-9.]+|N/A)$`)
	}
	await.Until(t, "there are two ticks", func() bool {
		out, _, _ := p.Run(t, "pminfo", "-f", "derived.host.peak.cpu.busy", "derived.host.top.cpu")
		return strings.Contains(out, "value ") && strings.Contains(out, "inst [")
	})
	keepDiskBusy(t) // a change of a disk that stands still has no value
	for _, set := range sets {
		t.Run(set[1], func(t *testing.T) {
			// A change has no value while a sample is late.
			await.Until(t, "each column has a value", func() bool {
				out, errs, exit := p.Run(t, "pmrep", "-c", file, ":"+set[1], "-s", "2", "-t", "0.5")
				require.Zero(t, exit, errs)
				require.Empty(t, errs)
				lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
				for _, line := range lines {
					require.LessOrEqual(t, len(line), 80, "a terminal of 80 columns breaks %q", line)
				}
				_, section, _ := strings.Cut(string(text), "\n["+set[1]+"]\n")
				section, _, _ = strings.Cut(section, "\n[")
				for _, label := range labels.FindAllStringSubmatch(section, -1) {
					require.Contains(t, strings.Fields(lines[0]), strings.ReplaceAll(label[1], "%%", "%"), "pmrep cuts labels")
				}
				last := strings.Fields(lines[len(lines)-1])
				require.GreaterOrEqual(t, len(last), 5, out)
				return !slices.ContainsFunc(last[2:], func(field string) bool { // after the time, and a value or a name
					process := set[1] == "derived-top" && field == "~" // is not of the ten in everything
					return !process && !value.MatchString(field)
				})
			})
		})
	}
}

// keepDiskBusy writes to the disk until the test ends.
func keepDiskBusy(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "written"))
	require.NoError(t, err)
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		<-stopped
		require.NoError(t, f.Close())
	})
	go func() {
		defer close(stopped)
		turn := time.NewTicker(20 * time.Millisecond)
		defer turn.Stop()
		for {
			select {
			case <-stop:
				return
			case <-turn.C:
				_, err := f.WriteAt(make([]byte, 4096), 0)
				assert.NoError(t, errors.Join(err, f.Sync()))
			}
		}
	}()
}

// testDstat reads the plugins from where a user may have them.
func testDstat(t *testing.T, p *pmcdtest.PMCD) {
	home := worldReadableDir(t)
	copyIntegration(t, "dstat", filepath.Join(home, ".pcp/dstat"))
	out, errs, exit := p.Run(t, "env", "HOME="+home, "pcp", "dstat", "--nocolor", "--derived-host", "--derived-peak",
		"--derived-peak-net", "1", "2")
	if strings.Contains(out+errs, "Cannot find a pcp-dstat command") {
		t.Log("pcp-dstat is not installed: from PCP 7 on, Debian has a package of its own for it")
		return
	}
	require.Zero(t, exit, errs)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	assert.Regexp(t, `^-*derived-host-* -*peak-second-* -*peak-second-*$`, lines[0])
	last := strings.FieldsFunc(lines[len(lines)-1], func(r rune) bool { return r == ' ' || r == '|' })
	columns := 13
	if !hasFileSystems(t, p) {
		columns-- // one is blank
	}
	require.Len(t, last, columns, out)
	for _, field := range last {
		assert.Regexp(t, `^[0-9.]+[BkMG]?$`, field, out)
	}
}

// hasFileSystems reports whether there are any for PCP, which looks for devices: a container may have none.
func hasFileSystems(t *testing.T, p *pmcdtest.PMCD) bool {
	t.Helper()
	out := printed(t, p, "pmprobe", "filesys.used")
	return !strings.HasPrefix(out, "filesys.used 0")
}

// testPmieconf enables all rules and has them evaluated, on a host whose site gives what they look at another meaning.
func testPmieconf(t *testing.T, p *pmcdtest.PMCD, work string) {
	rules := filepath.Join(work, "rules")
	copyIntegration(t, "pmieconf", filepath.Join(rules, "derived"))
	conf := filepath.Join(work, "pmie.conf")
	path := rules + ":" + filepath.Join(p.Dir, "var/config/pmieconf/global")
	pmieconf := func(command ...string) string {
		return printed(t, p, append([]string{"pmieconf", "-f", conf, "-r", path}, command...)...)
	}
	for _, rule := range integrationFiles(t, "pmieconf/*") {
		assert.Contains(t, pmieconf("rules", "disabled"), " derived."+filepath.Base(rule)+" ", "not on by itself")
	}
	pmieconf("enable", "derived")
	out, errs, exit := p.Run(t, "pmie", "-C", "-c", conf)
	require.Zero(t, exit)
	assert.Empty(t, out+errs)

	writeFile(t, p.Dir, "etc/pmdaderived/site.conf",
		"host.alarm.demand = mkconst(1, type=u32, semantics=instant)\n"+
			"host.alarm.busy = mkconst(1, type=u32, semantics=instant)\n"+
			"host.alarm.filling = filesys.avail >= 0\nhost.alarm.space = filesys.avail >= 0\n")
	await.Until(t, "the alarm is on", func() bool {
		out, _, _ := p.Run(t, "pminfo", "-f", "derived.host.alarm.demand")
		return strings.Contains(out, "value 1\n")
	})

	pmieconf("modify", "derived", "delta", "0.5 sec")
	pmieconf("modify", "global", "syslog_action", "no")
	pmieconf("modify", "global", "user_action", "yes")
	out, errs, exit = p.Run(t, "pmie", "-v", "-f", "-T", "3sec", "-c", conf)
	require.Zero(t, exit, errs)
	assert.Contains(t, out, "derived.demand: true\n")
	assert.Contains(t, out, "derived.definitions: false\n")
	assert.Contains(t, out, "derived.stale: false\n")
	assert.Contains(t, out, "derived.busy: true\n")
	assert.Regexp(t, `(?m)^All CPUs busy busy@\S+$`, out+errs)
	assert.Regexp(t, `(?m)^Work waits for a saturated resource saturated@\S+$`, out+errs)
	if hasFileSystems(t, p) {
		assert.Contains(t, out, "derived.space: true\n")
		assert.Regexp(t, `(?m)^File system nearly full, or nearly out of inodes space\[/dev/\S+\]@\S+`, out+errs)
		assert.Regexp(t, `(?m)^File system will soon be full filling\[/dev/\S+\]@\S+`, out+errs)
	} else {
		assert.NotContains(t, out, "derived.space: true\n")
	}
}

// testBashCompletion compares the options and sub-commands that bash completes with --help.
func testBashCompletion(t *testing.T, p *pmcdtest.PMCD, program string) {
	complete := func(words ...string) []string {
		t.Helper()
		cmd := p.Command(t.Context(), "bash", append([]string{"-c", `
			. "$0/completion/pmdaderived.bash"
			compopt() { :; } # only works while bash completes
			COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
			_pmdaderived "$1" && printf '%s\n' "${COMPREPLY[@]}"`, integrationDir}, words...)...)
		out, err := cmd.Output()
		require.NoError(t, err, "%v", words)
		return strings.Fields(string(out))
	}
	commands := subCommands(t, program)
	require.Contains(t, commands, "check")
	assert.ElementsMatch(t, commands, complete(program, ""))
	top := optionsOf(t, program)
	require.Contains(t, top, "--interval=")
	assert.ElementsMatch(t, top, complete(program, "-"))
	for _, command := range commands {
		offered := complete(program, command, "-")
		require.Contains(t, offered, "--help")
		assert.ElementsMatch(t, optionsOf(t, program, command), offered, command)
	}

	assert.Equal(t, []string{"--log=", "--log-level="}, complete(program, "--log"))
	assert.Equal(t, []string{"drop", "serve"}, complete(program, "--non-finite", "="))
	assert.Equal(t, []string{"off"}, complete(program, "--mmv", "=", "of"))
	assert.Equal(t, []string{"text", "json"}, complete(program, "diff", "-o", ""))
	assert.Empty(t, complete(program, "--interval", "=", ""))
	assert.Equal(t, []string{confDir + "/host-cpu.conf"}, complete(program, "check", confDir+"/host-cpu.c"))
	assert.Equal(t, []string{"../examples:" + confDir + "/host-cpu.conf"},
		complete(program, "-c", "../examples:"+confDir+"/host-cpu.c"))
	assert.Equal(t, []string{"kernel.all.load"}, complete(program, "explain", "kernel.all.lo"))
	assert.Equal(t, []string{"host.cpu.busy"}, complete(program, "eval", "host.cpu.busy"))
	assert.Equal(t, []string{"derived.host.cpu.busy"}, complete(program, "eval", "derived.host.cpu.busy"))
	assert.Equal(t, []string{"zero-divisor"}, complete(program, "check", "--werror", "=", "zero"))
	assert.Equal(t, []string{"unread,zero-divisor"}, complete(program, "check", "--ignore", "=", "unread,zero"))
	assert.ElementsMatch(t, commands, complete(program, "help", ""))
}

// subCommands returns the names of the sub-commands that --help lists.
func subCommands(t *testing.T, program string) (commands []string) {
	t.Helper()
	_, list, _ := strings.Cut(string(combined(t, exec.Command(program, "--help"))), "\nSub-commands")
	for _, match := range regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(list, -1) {
		commands = append(commands, match[1])
	}
	return commands
}

// optionsOf returns the options that --help lists, with = if one needs a value.
func optionsOf(t *testing.T, program string, command ...string) (names []string) {
	t.Helper()
	usage := string(combined(t, exec.Command(program, append(command, "--help")...)))
	for _, match := range regexp.MustCompile(`(?m)^  (?:(-\w)(?: [A-Z]+)?, |-\?, )?(--[a-z-]+=?)`).FindAllStringSubmatch(usage, -1) {
		if match[1] != "" {
			names = append(names, match[1])
		}
		names = append(names, match[2])
	}
	return names
}

// testZshCompletion compares what the completion gives to functions of zsh with --help.
func testZshCompletion(t *testing.T, p *pmcdtest.PMCD, program string) {
	complete := func(words ...string) []string {
		t.Helper()
		cmd := p.Command(t.Context(), "zsh", append([]string{"-f", "-c", `
			_arguments() {
				print -rl -- "$@"
				for spec; do [[ $spec != *:_pmdaderived_* ]] || ${spec##*:}; done
			}
			_describe() { print -rl -- ${(P)2} }
			_values() { print -rl -- "$@" }
			compadd() { print -rl -- "$@" }
			words=("$@") CURRENT=$#
			. $0/completion/_pmdaderived
			`, integrationDir}, words...)...)
		out, err := cmd.Output()
		require.NoError(t, err, "%v", words)
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	for _, words := range [][]string{{program, ""}, {program, "che"}, {program, "help", ""}} {
		var offered []string
		for _, line := range complete(words...) {
			name, help, _ := strings.Cut(line, ":")
			assert.NotEmpty(t, help)
			offered = append(offered, name)
		}
		assert.ElementsMatch(t, subCommands(t, program), offered, "%v", words)
	}
	spec := regexp.MustCompile(`^(-[^[+]*?)[-+]*\[(.+)\]`)
	for _, command := range append(subCommands(t, program), "") {
		var offered []string
		for _, line := range complete(append([]string{program}, append(strings.Fields(command), "-")...)...) {
			if match := spec.FindStringSubmatch(line); match != nil {
				offered = append(offered, match[1])
			}
		}
		want := optionsOf(t, program, strings.Fields(command)...)
		if i := slices.Index(want, "--werror"); i >= 0 {
			want[i] = "--werror=" // zsh shows that it may have a value
		}
		assert.ElementsMatch(t, want, offered, command)
	}
	assert.Subset(t, complete(program, "check", "-"), []string{"absent-instance", "zero-divisor"})
	assert.Subset(t, complete(program, "eval", "-"), []string{"kernel.all.load", "derived.host.cpu.busy", "host.cpu.busy"})
}
