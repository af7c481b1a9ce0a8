//go:build pcp

package test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pmdaderived/internal/await"
)

// section returns what stands in a document below a title.
func section(t *testing.T, document, title string) string {
	t.Helper()
	_, text, found := strings.Cut(document, "\n## "+title+"\n")
	require.True(t, found, title)
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// A site's definition is in the archive of the machine's own pmlogger for every tool, once the commands of
// docs/first-day.md have been given: those that install, define and record. Then those that deploy a change do so,
// without the others.
func TestInstallRecord(t *testing.T) {
	server, err := exec.LookPath("redis-check-rdb") // see test/fleet
	require.NoError(t, err, "scripts/install-pcp -fleet installs it")
	if onCopy(t) {
		return
	}
	m := newMachine(t)
	t.Cleanup(m.stopLogger)
	settings := must(pcpVariable("PCP_SYSCONFIG_DIR"))(t)
	m.write(filepath.Join(settings, "pmlogger"), "PMLOGGER_INTERVAL=1\n") // for a minute
	m.startPMCD()
	m.restartLogger() // it runs before the agent is there

	m.makeInstall()
	m.done(filepath.Join(m.pmda, "Install"))
	startKeyServer(t, server)

	command := regexp.MustCompile(`(?m)^    ([a-z].*)$`)
	page := readDocument(t, "../docs/first-day.md")
	define := command.FindAllStringSubmatch(regexp.MustCompile(`(?m)^    echo 'site\..*$`).FindString(section(t, page, "Define")), -1)
	require.Len(t, define, 1)
	record := command.FindAllStringSubmatch(section(t, page, "Record"), -1)
	require.Greater(t, len(record), 4)

	variables := "export PCP_PYTHON_PROG=/usr/bin/python3\n" // a machine may have another one that knows no PCP
	for _, match := range append(define, record...) {
		line := strings.TrimSpace(comment.ReplaceAllString(match[1], ""))
		if strings.HasPrefix(line, "archive=") {
			variables += line + "\n"
			continue
		}
		t.Run(strings.Fields(line)[0], func(t *testing.T) {
			var out string
			defer func() {
				if t.Failed() {
					logs, _ := m.run("sh", "-c", "tail -n 30 "+m.logs+"/pmlogger/*.log "+m.logs+"/pmlogger/*/*.log; pminfo -f derived.site pmcd.pmlogger")
					t.Log(out, logs)
				}
			}()
			value := regexp.MustCompile(`(?m) [0-9]+(\.[0-9]\S*)?$`) // pmie rounds
			switch {
			case line == "systemctl restart pmlogger":
				m.restartLogger()
				return
			case strings.HasPrefix(line, "echo 'site"): // pmlogger is not to be restarted before that is served
				m.done("sh", "-c", variables+line)
				line = "pminfo -f derived.site.mem.free"
			}
			await.Until(t, "the command succeeds", func() bool {
				var exit int
				out, exit = m.run("sh", "-c", variables+line)
				return exit == 0 && (!strings.Contains(line, "derived.site") || value.MatchString(out))
			})
		})
	}

	var deploy strings.Builder
	for _, match := range command.FindAllStringSubmatch(section(t, page, "Deploy a change"), -1) {
		line := comment.ReplaceAllString(match[1], "")
		deploy.WriteString(line + "\n")
		if strings.HasPrefix(line, "cp ") { // the edit
			deploy.WriteString("echo 'site.more = 2 * site.mem.free' >>" + line[strings.LastIndex(line, " ")+1:] + "\n")
		}
	}
	out := m.done("sh", "-c", deploy.String())
	assert.Regexp(t, `(?m)^site\.more +new`, out)
	await.Until(t, "the change is served", func() bool {
		_, exit := m.run("pminfo", "-f", "derived.site.more")
		return exit == 0
	})
	assert.NotContains(t, m.read("/etc/pcp/pmdaderived/site.conf~"), "site.more")
}

// restartLogger restarts the machine's own pmlogger as systemd does, which waits until the old one has ended. PCP's
// script does not wait: beside a pmlogger that still runs it starts none, and succeeds.
func (m *machine) restartLogger() {
	m.t.Helper()
	m.stopLogger()
	m.done(m.loggerScript(), "start")
}

// loggerScript returns the path of PCP's script for pmlogger.
func (m *machine) loggerScript() string { return filepath.Join(filepath.Dir(m.rc), "pmlogger") }

// stopLogger ends the machine's own pmlogger, if one runs, and waits until it has ended. Before that, pmlogger fetches
// from pmcd once more, and a busy pmcd answers late.
func (m *machine) stopLogger() {
	m.t.Helper()
	running, err := os.Readlink(filepath.Join(must(pcpVariable("PCP_TMP_DIR"))(m.t), "pmlogger", "primary"))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	require.NoError(m.t, err)
	pid := must(strconv.Atoi(filepath.Base(running)))(m.t)
	m.done(m.loggerScript(), "stop")
	await.Until(m.t, "pmlogger has ended", func() bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) })
}

// startKeyServer runs a server for pmseries where that looks for one. Only the copy of the machine has none there.
func startKeyServer(t *testing.T, program string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "redis-server")
	require.NoError(t, os.Symlink(program, path))
	server := exec.Command(path, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		assert.NoError(t, server.Process.Kill())
		_ = server.Wait() // killed
	})
	await.Until(t, "the server accepts connections", func() bool { // pmseries --load without one is no failure
		conn, err := net.Dial("tcp", "127.0.0.1:6379")
		if err == nil {
			err = conn.Close()
		}
		return err == nil
	})
}
