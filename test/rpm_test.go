//go:build pcp && rpm

package test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The RPM package goes into pmcd, is upgraded, and leaves definitions and identifiers behind. This machine
// is Debian's: rpm has a database of its own here, and does not know of the package pcp.
func TestInstallRPM(t *testing.T) {
	dir := packagesDir(t)
	if onCopy(t, packagesVariable+"="+dir) {
		return
	}
	m := newMachine(t)
	rpm := func(args ...string) string {
		t.Helper()
		return m.done("rpm", append([]string{"--dbpath", filepath.Join(dir, "database")}, args...)...)
	}
	former, present := packageOf(t, dir, formerVersion, ".rpm"), packageOf(t, dir, presentVersion, ".rpm")

	assert.Contains(t, rpm("-q", "--requires", "-p", present), "pcp >= 6\n")
	assert.Equal(t, "pmdaderived "+presentVersion+"-1 localhost\n",
		rpm("-q", "--qf", "%{NAME} %{VERSION}-%{RELEASE} %{BUILDHOST}\n", "-p", present))
	assert.Equal(t, "https://pcp.io pmdaderived authors\n", rpm("-q", "--qf", "%{URL} %{PACKAGER}\n", "-p", present))
	assert.Regexp(t, `(?s)^\* .* pmdaderived authors - `+presentVersion+`-1\n- see CHANGELOG\.md `,
		rpm("-q", "--changelog", "-p", present))
	var staged []string
	for line := range strings.Lines(rpm("-q", "-l", "-p", present)) {
		staged = append(staged, strings.TrimSpace(line))
	}
	for _, path := range []string{
		m.site, filepath.Join(m.pmda, "Install"), filepath.Join(m.pmda, "pmdaderived"),
		"/usr/bin/pmdaderived",
	} {
		assert.Contains(t, staged, path)
	}

	m.startPMCD()
	control := m.controlLines()
	install := []string{"--force-debian", "--nodeps"}
	rpm(append(install, "-i", former)...)
	m.requireServed()
	require.Empty(t, m.marks())
	site := filepath.Join(m.site, "install-test.conf")
	m.write(site, "installtest.load = 2 * kernel.all.load\n")
	m.requireServed()
	pmid := m.pmid("derived.installtest.load")

	rpm(append(install, "-U", present)...)
	m.requireServed()
	assert.Equal(t, pmid, m.pmid("derived.installtest.load"))
	assert.Len(t, m.agents(), 1)
	assert.Empty(t, rpm("-V", "--nodeps", "pmdaderived"))

	m.write(filepath.Join(m.pmda, ".NeedInstall.failed"), "")
	rpm("--force-debian", "-e", "pmdaderived")
	assert.Equal(t, control, m.controlLines())
	assert.Empty(t, m.agents())
	assert.NoDirExists(t, m.pmda)
	assert.FileExists(t, site)
	assert.FileExists(t, m.identities())
}
