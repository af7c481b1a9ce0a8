//go:build pcp

package test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pmdaderived/internal/await"
)

// appeared is the line in which Install sums up. A busy machine may have no value of some metrics yet.
var appeared = regexp.MustCompile(
	`(?m)^Check derived metrics have appeared \.\.\. [1-9]\d* metrics and [1-9]\d* values(, [1-9]\d* without a value yet)?$`)

// seeLog is a line in which Install names a log.
var seeLog = regexp.MustCompile(`(?m)^ +see (\S+)$`)

// machine is the host that the agent is installed on.
type machine struct {
	t                             *testing.T
	control                       string // pmcd.conf
	pmns, pmda, site, rc, account string
	logs                          string
}

func TestInstall(t *testing.T) {
	if onCopy(t) {
		return
	}
	m := newMachine(t)
	m.startPMCD()
	control, names, files := m.controlLines(), m.read(filepath.Join(m.pmns, "root")), m.files()

	require.NoError(t, os.MkdirAll(m.site, 0o755))
	m.write(filepath.Join(m.site, "install-test.conf"), "installtest.load = 2 * kernel.all.load\n")

	m.makeInstall()
	out := m.done(filepath.Join(m.pmda, "Install"))
	assert.Regexp(t, appeared, out)
	m.requireServed()
	assert.Equal(t, []string{m.account}, m.agents(), "one process, and not root's")
	assert.True(t, m.numbered(), "the number is taken")
	assert.NotEqual(t, names, m.read(filepath.Join(m.pmns, "root")))
	assert.Len(t, m.controlLines(), len(control)+1)

	late := filepath.Join(m.site, "install-late.conf")
	m.write(late, "installtest.late = max_sample(kernel.all.load, \"1day\", \"12hour\")\n") // the first tick is far
	out = m.done(filepath.Join(m.pmda, "Install"))
	assert.Regexp(t, `(?m)^Check derived .* values, [1-9]\d* without a value yet$`, out)
	require.NoError(t, os.Remove(late))
	m.requireServed()
	assert.Len(t, m.agents(), 1, "the second replaces the first")
	assert.Len(t, m.controlLines(), len(control)+1)

	line := regexp.MustCompile(`(?m)^(derived\s+510\s+pipe\s+binary\s+)(\S+ -d 510).*$`)
	m.write(m.control, line.ReplaceAllString(m.read(m.control),
		"$1 notready $2 --interval=30s --limit contexts=100 --log-level info "))
	for range 2 {
		m.done(filepath.Join(m.pmda, "Install"))
		m.requireServed()
		assert.Regexp(t, `(?m)^derived\t510\tpipe\tbinary\s+/\S+ -d 510 +--interval=30s --log-level info$`,
			m.read(m.control), "options stay, as far as there are such")
	}

	m.write(m.control, line.ReplaceAllString(m.read(m.control), "$1$2 --interval=20s\n$1$2 --interval=10s"))
	m.done(filepath.Join(m.pmda, "Install"))
	m.requireServed()
	assert.Regexp(t, `(?m)^derived\t510\tpipe\tbinary\s+/\S+ -d 510 +--interval=20s$`, m.read(m.control),
		"options of the first line")
	assert.Len(t, m.controlLines(), len(control)+1)

	for _, turn := range []string{"first", "again"} {
		out = m.done(filepath.Join(m.pmda, "Remove"))
		assert.Contains(t, out, "Check derived metrics have gone away ... OK", turn)
		_, exit := m.run("pminfo", "derived")
		assert.NotZero(t, exit, turn)
		assert.Empty(t, m.agents(), turn)
		assert.Equal(t, control, m.controlLines(), turn)
		assert.Equal(t, names, m.read(filepath.Join(m.pmns, "root")), turn)
		assert.NoFileExists(t, filepath.Join(m.pmns, "derived"), turn)
		assert.False(t, m.numbered(), turn)
	}

	left := []string{m.site, m.identities(), filepath.Join(m.logs, "pmcd", "derived.log")}
	out = m.done("make", "-C", "..", "uninstall")
	assert.NoDirExists(t, m.pmda)
	for _, path := range left {
		must(os.Stat(path))(t)
		assert.Contains(t, out, "\n"+path+"\n")
	}
	assert.Contains(t, out, "make uninstall PURGE=yes removes these, too:\n")

	out = m.done("make", "-C", "..", "uninstall", "PURGE=yes")
	assert.NotContains(t, out, "PURGE")
	m.requireNoTrace(files, left)
}

// The commands of the page turn the alarms on in the pmie that the service runs.
func TestInstallAlarms(t *testing.T) {
	if onCopy(t) {
		return
	}
	m := newMachine(t)
	m.startPMCD()
	m.makeInstall()
	m.done(filepath.Join(m.pmda, "Install"))

	service := filepath.Join(filepath.Dir(m.rc), "pmie")
	rules := must(pcpVariable("PCP_VAR_DIR"))(t) + "/config/pmie/config.default"
	former, err := os.ReadFile(rules)
	t.Cleanup(func() {
		m.run(service, "stop")
		if err == nil {
			m.write(rules, string(former))
		} else {
			assert.NoError(t, os.RemoveAll(rules))
		}
	})
	m.done(service, "restart")
	running := func() (count int) { // the rules of the running pmie
		if found := regexp.MustCompile(`value (\d+)`).FindStringSubmatch(m.done("pminfo", "-f", "pmcd.pmie.numrules")); found != nil {
			count = must(strconv.Atoi(found[1]))(t)
		}
		return count
	}
	var before int
	await.Until(t, "pmie runs", func() bool { before = running(); return before > 0 })

	page := must(os.ReadFile("../docs/first-day.md"))(t)
	enable := regexp.MustCompile(`(?m)^    (pmieconf .* enable derived)\b`).FindSubmatch(page)
	restart := regexp.MustCompile(`(?m)^    systemctl restart pmie +# without systemd: (.*)$`).FindSubmatch(page)
	require.NotNil(t, enable)
	require.NotNil(t, restart)
	m.done("sh", "-c", string(enable[1]))
	m.done("sh", "-c", string(restart[1]))
	more := len(must(os.ReadDir("../integration/pmieconf"))(t))
	await.Until(t, "pmie runs the rules", func() bool { return running() >= before+more })
}

// Without a pmcd Install says so at once and changes nothing.
func TestInstallWithoutPMCD(t *testing.T) {
	if onCopy(t) {
		return
	}
	m := newMachine(t)
	m.stopPMCD()
	m.makeInstall()
	before := m.snapshot()
	start := time.Now()
	out, exit := m.run(filepath.Join(m.pmda, "Install"))
	assert.Equal(t, 1, exit, out)
	assert.Contains(t, out, "Error: pmcd does not run; start it (systemctl start pmcd), then run Install again\n")
	assert.Less(t, time.Since(start), 10*time.Second)
	assert.Equal(t, before, m.snapshot())
	assert.False(t, m.running())

	require.NoError(t, os.Remove(m.control))
	without, exit := m.run(filepath.Join(m.pmda, "Install"))
	m.write(m.control, before[m.control])
	assert.Equal(t, 1, exit, without)
	assert.Equal(t, out, without, "the same without pmcd.conf")
}

// The number of another agent is not taken from it. One in a comment is free.
func TestInstallBesideTheSameNumber(t *testing.T) {
	if onCopy(t) {
		return
	}
	m := newMachine(t)
	m.startPMCD()
	m.makeInstall()
	m.write(m.control, "other\t510\tpipe\tbinary\tno-program\n"+m.read(m.control))
	before := m.snapshot()
	out, exit := m.run(filepath.Join(m.pmda, "Install"))
	assert.Equal(t, 1, exit, out)
	assert.Contains(t, out, "Error: other has the domain number 510; choose another one in "+filepath.Join(m.pmda,
		"domain.h")+", then run Install again\n")
	assert.Equal(t, before, m.snapshot())

	m.write(m.control, " # 510 is free\n#"+m.read(m.control))
	m.done(filepath.Join(m.pmda, "Install"))
	m.requireServed()
}

// Upgrade, which pmcd's start script runs, repairs what updates of PCP break, and nothing else.
func TestInstallUpgrade(t *testing.T) {
	if onCopy(t) {
		return
	}
	m := newMachine(t)
	m.startPMCD()
	m.makeInstall()
	upgrade := func() {
		t.Helper()
		assert.Empty(t, m.done(filepath.Join(m.pmda, "Upgrade")))
	}
	before := m.snapshot()
	upgrade()
	assert.Equal(t, before, m.snapshot(), "not in pmcd.conf")

	m.done(filepath.Join(m.pmda, "Install"))
	installed := m.snapshot()
	upgrade()
	assert.Equal(t, installed, m.snapshot(), "nothing to do")

	require.NoError(t, os.Remove(filepath.Join(m.pmns, "stdpmid.derived")))
	m.write(m.control, strings.ReplaceAll(m.read(m.control), m.pmda, "/former/pmdas/derived"))
	require.NotEqual(t, installed, m.snapshot())
	upgrade()
	assert.Equal(t, installed, m.snapshot())

	// A word that an administrator has added is not taken for the program.
	wordy := regexp.MustCompile(`(?m)^(derived\t.*binary)`).ReplaceAllString(m.read(m.control), "$1 notready")
	m.write(m.control, strings.ReplaceAll(wordy, m.pmda, "/former/pmdas/derived"))
	upgrade()
	assert.Equal(t, wordy, m.read(m.control))
}

// The program must not go while pmcd still starts it.
func TestInstallRefusesUninstallBeforeRemove(t *testing.T) {
	if onCopy(t) {
		return
	}
	m := newMachine(t)
	m.makeInstall()
	m.write(m.control, m.read(m.control)+"\nderived\t510\tpipe\tbinary\tno-program\n")
	out, exit := m.run("make", "-C", "..", "uninstall")
	assert.NotZero(t, exit, out)
	assert.Contains(t, out, filepath.Join(m.pmda, "Remove")+" first")
	assert.FileExists(t, filepath.Join(m.pmda, "pmdaderived"))
}

// Install tells by its exit status whether the agent works.
func TestInstallFails(t *testing.T) {
	pmda := filepath.Join(must(pcpVariable("PCP_PMDAS_DIR"))(t), "derived")
	logs := filepath.Join(must(pcpVariable("PCP_LOG_DIR"))(t), "pmcd")
	program := filepath.Join(pmda, "pmdaderived")
	const notWorking = "Error: pmcd has no working derived agent\n"
	for _, row := range []struct {
		name    string
		program string // contents; empty: no program
		want    string
	}{
		{"no program", "", `run "make install" first`},
		{"program that logs why it ends", "#!/bin/sh\necho no luck >>" + logs + "/derived.log\nexit 3\n", notWorking +
			"       see " + logs + "/derived.log\n       | no luck\n"},
		{"program that says why it ends", "#!/bin/sh\necho $0: no luck >&2\nexit 3\n", "\n       | " + program +
			": no luck\n"},
		{
			"program that refuses an option", "#!/bin/sh\necho pmdaderived: no luck >&2\nexit 2\n",
			"\n       | pmdaderived: no luck\n",
		},
		{"program that cannot be started", "#!/no/such/shell\n", "error starting " + program +
			": No such file or directory\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if onCopy(t) {
				return
			}
			m := newMachine(t)
			m.startPMCD()
			m.makeInstall()
			require.NoError(t, os.Remove(program))
			if row.program != "" {
				require.NoError(t, os.WriteFile(program, []byte(row.program), 0o755))
			}
			out, exit := m.run(filepath.Join(m.pmda, "Install"))
			assert.Equal(t, 1, exit, out)
			assert.Contains(t, out, row.want)
			for _, match := range seeLog.FindAllStringSubmatch(out, -1) {
				assert.FileExists(t, match[1])
			}
			out, exit = m.run(filepath.Join(m.pmda, "Remove"))
			assert.Zero(t, exit, out)
		})
	}
}

// Install says why the agent does not work now, not why it did not work before.
func TestInstallFailsForAnotherReason(t *testing.T) {
	if onCopy(t) {
		return
	}
	m := newMachine(t)
	m.startPMCD()
	m.makeInstall()
	m.done(filepath.Join(m.pmda, "Install"))
	line := m.read(m.control)
	for _, row := range []struct{ option, want, not string }{
		{"--first", "unknown option --first", "definitions bound"},
		{"--second", "unknown option --second", "--first"},
	} {
		m.write(m.control, regexp.MustCompile(`(?m)^derived\t.*$`).ReplaceAllString(line, "$0 "+row.option))
		out, exit := m.run(filepath.Join(m.pmda, "Install"))
		assert.Equal(t, 1, exit, out)
		assert.Contains(t, out, "       | pmdaderived: "+row.want+"\n")
		assert.NotContains(t, out, row.not)
	}
}

// Where pmcd has given up root when it starts the agent, Install names the folder that user pcp cannot enter.
func TestInstallBelowClosedFolder(t *testing.T) {
	if onCopy(t) {
		return
	}
	m := newMachine(t)
	m.stopPMCD()
	m.write(m.control, regexp.MustCompile(`(?m)^root\s.*\n`).ReplaceAllString(m.read(m.control), ""))
	m.startPMCD()
	m.makeInstall()
	program := filepath.Join(m.pmda, "pmdaderived")
	closed := filepath.Join(m.pmda, "closed")
	require.NoError(t, os.Mkdir(closed, 0o700))
	require.NoError(t, os.Rename(program, filepath.Join(closed, "pmdaderived")))
	require.NoError(t, os.Symlink(filepath.Join(closed, "pmdaderived"), program))
	out, exit := m.run(filepath.Join(m.pmda, "Install"))
	assert.Equal(t, 1, exit, out)
	assert.Contains(t, out, "error starting "+program+": Permission denied\n")
	assert.Contains(t, out, "       user "+m.account+" may not enter "+closed+"\n")
}

// Where programs below /var do not run, Install fails until the commands of docs/packages.md have been given.
func TestInstallNoexec(t *testing.T) {
	if onCopy(t) {
		return
	}
	m := newMachine(t)
	m.startPMCD()
	onCopy := os.Getenv(stageVariable) == stageInside // the only place to mount something
	if onCopy {
		require.NoError(t, os.MkdirAll(m.pmda, 0o755))
		require.NoError(t, unix.Mount("tmpfs", m.pmda, "tmpfs", unix.MS_NOEXEC, "mode=755"))
	}
	program := must(daemonProgram())(t)
	install := filepath.Join(m.pmda, "Install")
	m.done("make", "-C", "..", "install", "BINARY="+program)
	if onCopy {
		out, exit := m.run("sh", install)
		assert.Equal(t, 1, exit, out)
		assert.Contains(t, out, "/pmdaderived cannot be run; if "+filepath.Dir(m.pmda)+" is mounted with noexec")
	}

	commands := regexp.MustCompile(`(?m)^    (mv /var/\S+pmdaderived .*\n.*\n.*Install)$`).FindStringSubmatch(readDocument(t, "../docs/packages.md"))
	require.NotNil(t, commands)
	bin := worldReadableDir(t)
	m.done("sh", "-ec", strings.ReplaceAll(commands[1], "/usr/local/bin", bin))
	m.requireServed()
}

func TestInstallUnderDESTDIR(t *testing.T) {
	root := t.TempDir()
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(program, []byte("a program"), 0o755))
	combined(t, exec.Command("make", "-s", "-C", "..", "man"))
	combined(t, exec.Command("make", "-C", "..", "install", "DESTDIR="+root, "BINARY="+program))

	pmdas := must(pcpVariable("PCP_PMDAS_DIR"))(t)
	etc := must(pcpVariable("PCP_SYSCONF_DIR"))(t)
	vars := must(pcpVariable("PCP_VAR_DIR"))(t)
	for name, mode := range map[string]os.FileMode{
		"Install": 0o755, "Remove": 0o755, "Upgrade": 0o755, "pmdaderived": 0o755,
		"pmns": 0o644, "root": 0o644, "domain.h": 0o644, "help": 0o644,
	} {
		info := must(os.Stat(filepath.Join(root, pmdas, "derived", name)))(t)
		assert.Equal(t, mode, info.Mode(), name)
	}
	assert.DirExists(t, filepath.Join(root, etc, "pmdaderived"))
	for pattern, dir := range map[string]string{
		"../conf/*.conf":                filepath.Join(vars, "config/pmdaderived"),
		"../optional/*.conf":            "/usr/share/pmdaderived/optional",
		"../integration/pmlogconf/*":    filepath.Join(vars, "config/pmlogconf/derived"),
		"../integration/pmieconf/*":     filepath.Join(vars, "config/pmieconf/derived"),
		"../integration/pmchart/*":      filepath.Join(vars, "config/pmchart"),
		"../integration/pmrep/*":        filepath.Join(etc, "pmrep"),
		"../integration/dstat/*":        filepath.Join(etc, "dstat"),
		"../integration/htop/meters/*":  filepath.Join(etc, "htop/meters"),
		"../integration/htop/screens/*": filepath.Join(etc, "htop/screens"),
	} {
		requireSameFiles(t, pattern, filepath.Join(root, dir))
	}
	requireDashboards(t, filepath.Join(root, "usr/share/pmdaderived/dashboards"))
	for _, page := range []string{"man1/pmdaderived.1", "man5/pmdaderived.5"} {
		assert.FileExists(t, filepath.Join(root, "usr/share/man", page))
	}
	assert.FileExists(t, filepath.Join(root, "usr/share/bash-completion/completions/pmdaderived"))
	for _, dir := range []string{"vendor-completions", "site-functions"} {
		assert.FileExists(t, filepath.Join(root, "usr/share/zsh", dir, "_pmdaderived"))
	}

	combined(t, exec.Command("make", "-C", "..", "uninstall", "DESTDIR="+root))
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		assert.True(t, entry.IsDir(), "%s is left", path)
		return err
	})
	require.NoError(t, err)
}

// requireDashboards demands the dashboards of the source, and those for valkey, which are made from those for redis.
func requireDashboards(t *testing.T, dir string) {
	t.Helper()
	source := t.TempDir()
	for _, file := range must(filepath.Glob("../integration/grafana/*.json"))(t) {
		text := must(os.ReadFile(file))(t)
		require.NoError(t, os.WriteFile(filepath.Join(source, filepath.Base(file)), text, 0o644))
		if valkey := strings.ReplaceAll(filepath.Base(file), "redis", "valkey"); valkey != filepath.Base(file) {
			text = bytes.ReplaceAll(text, []byte("redis"), []byte("valkey"))
			text = bytes.ReplaceAll(text, []byte("Redis"), []byte("Valkey"))
			require.NoError(t, os.WriteFile(filepath.Join(source, valkey), text, 0o644))
		}
	}
	requireSameFiles(t, filepath.Join(source, "*"), dir)
	require.Len(t, must(os.ReadDir(dir))(t), 3)
}

// requireSameFiles demands that a directory has the files of a pattern, readable for everybody, and no others.
func requireSameFiles(t *testing.T, pattern, dir string) {
	t.Helper()
	files := must(filepath.Glob(pattern))(t)
	require.NotEmpty(t, files)
	entries := must(os.ReadDir(dir))(t)
	require.Len(t, entries, len(files))
	for _, file := range files {
		want := must(os.ReadFile(file))(t)
		path := filepath.Join(dir, filepath.Base(file))
		got := must(os.ReadFile(path))(t)
		assert.Equal(t, string(want), string(got), file)
		info := must(os.Stat(path))(t)
		assert.Equal(t, os.FileMode(0o644), info.Mode(), file)
	}
}

// The files that say which numbers and names are ours agree.
func TestInstallFiles(t *testing.T) {
	domainFile := must(os.ReadFile("../domain.h"))(t)
	assert.Regexp(t, `(?m)^#define DERIVED 510$`, string(domainFile))

	dir := t.TempDir() // they are in one folder where Install reads them
	for _, file := range []string{"../domain.h", "../pmns", "../packaging/root"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), must(os.ReadFile(file))(t), 0o644))
	}
	out := combined(t, exec.Command("pminfo", "-m", "-n", filepath.Join(dir, "root"), "derived"))
	assert.Equal(t, "derived PMID: 510.*.*\n", string(out))
}

// help has the texts that the agent serves, no more and no less.
func TestInstallHelp(t *testing.T) {
	p := startDerived(t)
	file := must(os.ReadFile("../help"))(t)
	entries := parseHelp(t, string(file))

	served := printed(t, p, "pminfo", "derived.control")
	var documented []string
	for name := range entries {
		if !strings.HasPrefix(name, "DERIVED.") { // of an instance domain
			documented = append(documented, name)
		}
	}
	assert.ElementsMatch(t, strings.Fields(served), documented)

	for name, entry := range entries {
		t.Run(name, func(t *testing.T) {
			args := []string{name}
			if serial, ok := strings.CutPrefix(name, "DERIVED."); ok {
				args = []string{"-I", "510." + serial}
			}
			long := entry.long
			if long == "" {
				long = entry.short
			}
			short := printed(t, p, append([]string{"pminfo", "-t"}, args...)...)
			assert.Contains(t, short, "["+entry.short+"]")
			full := printed(t, p, append([]string{"pminfo", "-T"}, args...)...)
			assert.Contains(t, full, "Help:\n"+long+"\n")
		})
	}
}

type helpEntry struct{ short, long string }

// parseHelp reads the format of newhelp(1).
func parseHelp(t *testing.T, text string) map[string]helpEntry {
	t.Helper()
	entries := make(map[string]helpEntry)
	for _, part := range strings.Split("\n"+text, "\n@ ")[1:] {
		head, long, _ := strings.Cut(part, "\n")
		name, short, ok := strings.Cut(head, " ")
		require.True(t, ok, "%q", head)
		require.NotContains(t, entries, name, "twice")
		require.Equal(t, strings.TrimSpace(short), short, name)
		entries[name] = helpEntry{short: short, long: strings.TrimSpace(long)}
	}
	return entries
}

// newMachine describes the machine and puts everything back when the test ends, as far as the test
// changes it.
func newMachine(t *testing.T) *machine {
	t.Helper()
	variable := func(name string) string {
		return must(pcpVariable(name))(t)
	}
	m := &machine{
		t:       t,
		control: variable("PCP_PMCDCONF_PATH"),
		pmns:    filepath.Join(variable("PCP_VAR_DIR"), "pmns"),
		pmda:    filepath.Join(variable("PCP_PMDAS_DIR"), "derived"),
		site:    filepath.Join(variable("PCP_SYSCONF_DIR"), "pmdaderived"),
		rc:      filepath.Join(variable("PCP_RC_DIR"), "pmcd"),
		account: variable("PCP_USER"),
		logs:    variable("PCP_LOG_DIR"),
	}
	if os.Getenv(stageVariable) == stageInside {
		m.run(filepath.Join(m.pmda, "Remove")) // what this machine may have
		m.run("make", "-C", "..", "uninstall")
		require.NoError(t, os.RemoveAll(m.site))
		return m
	}
	require.NoDirExists(t, m.pmda, "the agent is installed on this machine, which is left alone")
	require.NoDirExists(t, m.site, "there are definitions on this machine, which are left alone")
	running := m.running()
	files := m.snapshot()
	t.Cleanup(func() {
		m.run(filepath.Join(m.pmda, "Remove"))
		m.run("make", "-C", "..", "uninstall")
		assert.NoError(t, os.RemoveAll(m.site))
		m.stopPMCD()
		m.restore(files)
		if running {
			m.startPMCD()
		}
	})
	return m
}

// snapshot reads the control file and all files of the name space.
func (m *machine) snapshot() map[string]string {
	m.t.Helper()
	files := map[string]string{m.control: m.read(m.control)}
	entries := must(os.ReadDir(m.pmns))(m.t)
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			path := filepath.Join(m.pmns, entry.Name())
			files[path] = m.read(path)
		}
	}
	return files
}

func (m *machine) restore(files map[string]string) {
	m.t.Helper()
	for path := range m.snapshot() {
		if _, ok := files[path]; !ok {
			assert.NoError(m.t, os.Remove(path))
		}
	}
	for path, text := range files {
		m.write(path, text)
	}
}

// makeInstall puts our files where Install expects them.
func (m *machine) makeInstall() {
	m.t.Helper()
	program := must(daemonProgram())(m.t)
	m.done("make", "-C", "..", "install", "BINARY="+program)
}

func (m *machine) running() bool {
	_, exit := m.run("pminfo", "-v", "pmcd.version")
	return exit == 0
}

func (m *machine) startPMCD() {
	m.t.Helper()
	if !m.running() {
		m.done(m.rc, "start")
		await.Until(m.t, "pmcd runs", m.running)
	}
}

func (m *machine) stopPMCD() {
	m.t.Helper()
	if m.running() {
		m.done(m.rc, "stop")
	}
}

// requireServed demands that clients get the agent's own metrics and that of the definition.
func (m *machine) requireServed() {
	m.t.Helper()
	out := m.done("pminfo", "-f", "pmcd.agent.status")
	require.Contains(m.t, out, `inst [510 or "derived"] value 0`)
	out = m.done("pminfo", "-f", "derived.control.version")
	require.Contains(m.t, out, "value ")
	if _, err := os.Stat(filepath.Join(m.site, "install-test.conf")); errors.Is(err, os.ErrNotExist) {
		return
	}
	await.Until(m.t, "derived.installtest.load has a value", func() bool {
		out, _ := m.run("pminfo", "-f", "derived.installtest.load")
		return strings.Contains(out, `inst [1 or "1 minute"] value `)
	})
}

// agents returns the owner of each running process of the agent.
func (m *machine) agents() []string {
	m.t.Helper()
	out, err := exec.Command("ps", "-C", "pmdaderived", "-o", "user=,stat=").Output()
	var none *exec.ExitError // ps finds no such process
	if !errors.As(err, &none) {
		require.NoError(m.t, err)
	}
	var owners []string
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 2 && !strings.HasPrefix(fields[1], "Z") {
			owners = append(owners, fields[0])
		}
	}
	return owners
}

// numbered reports whether the list of domain numbers has ours.
func (m *machine) numbered() bool {
	m.t.Helper()
	return strings.Contains(m.read(filepath.Join(m.pmns, "stdpmid")), "#define DERIVED\t510\n")
}

// controlLines returns the lines of pmcd.conf, sorted: pmdaproc.sh does not keep their order.
func (m *machine) controlLines() []string {
	m.t.Helper()
	var lines []string
	for line := range strings.Lines(m.read(m.control)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

func (m *machine) read(path string) string {
	m.t.Helper()
	return string(must(os.ReadFile(path))(m.t))
}

func (m *machine) write(path, text string) {
	m.t.Helper()
	require.NoError(m.t, os.WriteFile(path, []byte(text), 0o644))
}

// done runs a command that must succeed and returns its output.
func (m *machine) done(name string, args ...string) (output string) {
	m.t.Helper()
	out, exit := m.run(name, args...)
	require.Zero(m.t, exit, "%s %v: %s", name, args, out)
	return out
}

// run runs a command to its end and returns all it has printed and its exit status. PCP's scripts
// start pmcd without a service manager.
func (m *machine) run(name string, args ...string) (output string, exit int) {
	m.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "PCPQA_SYSTEMD=no")
	out, err := cmd.CombinedOutput()
	var status *exec.ExitError
	if !errors.As(err, &status) && !errors.Is(err, os.ErrNotExist) {
		require.NoError(m.t, err)
	}
	if err != nil && status == nil {
		return err.Error(), 127
	}
	return string(out), cmd.ProcessState.ExitCode()
}
