//go:build pcp

package test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
)

// packagesVariable gives the folder of the packages to the test on the copy of the machine, which has no network.
const packagesVariable = "PMDADERIVED_PACKAGES"

// The versions that are installed one after the other.
const (
	formerVersion  = "1.0.0~rc1"
	presentVersion = "1.0.0"
)

// packagesDir returns a folder with the packages of both versions. It makes them, but for the copy of the machine.
func packagesDir(t *testing.T) string {
	t.Helper()
	if os.Getenv(stageVariable) != "" {
		return os.Getenv(packagesVariable)
	}
	dir := worldReadableDir(t)
	makePackages(t, "022", dir, formerVersion)
	makePackages(t, "022", dir, presentVersion)
	return dir
}

// makePackages makes the packages of a version in a folder of a folder.
func makePackages(t *testing.T, umask, dir, version string) {
	t.Helper()
	combined(t, exec.Command("sh", "-c", "umask "+umask+" && exec make -C .. packages \"$@\"", "sh",
		"VERSION="+version, "PACKAGES_DIR="+filepath.Join(dir, version)))
}

// packageOf returns the one package of a version that makePackages has made.
func packageOf(t *testing.T, dir, version, suffix string) string {
	t.Helper()
	found := must(filepath.Glob(filepath.Join(dir, version, "pmdaderived?"+version+"-1*"+suffix)))(t)
	require.Len(t, found, 1, "packages of version %s", version)
	return found[0]
}

// The Debian package goes into pmcd, replaces a former version, and leaves.
func TestInstallPackage(t *testing.T) {
	dir := packagesDir(t)
	for _, row := range []struct {
		name string
		test func(m *machine, t *testing.T, former, present string)
	}{
		{"into a running pmcd", (*machine).testPackage},
		{"without a pmcd", (*machine).testPackageWithoutPMCD},
		{"where Install fails", (*machine).testPackageFails},
		{"never configured", (*machine).testPackageUnpacked},
	} {
		t.Run(row.name, func(t *testing.T) {
			if onCopy(t, packagesVariable+"="+dir) {
				return
			}
			m := newMachine(t)
			t.Cleanup(func() { m.run("dpkg", "-P", "pmdaderived") }) // before what newMachine puts back
			m.startPMCD()
			row.test(m, t, packageOf(t, dir, formerVersion, ".deb"), packageOf(t, dir, presentVersion, ".deb"))
		})
	}
}

// dpkg runs dpkg, which must succeed and ask nothing.
func (m *machine) dpkg(args ...string) (output string) {
	m.t.Helper()
	return m.done("dpkg", args...)
}

func (m *machine) testPackage(t *testing.T, former, present string) {
	control, files := m.controlLines(), m.files()
	site := filepath.Join(m.site, "install-test.conf")

	assert.Contains(t, m.dpkg("-i", former), "\npmdaderived: pmcd runs the agent; try: pminfo -f derived.host.cpu.busy\n")
	m.done("pminfo", "-f", "derived.host.cpu.busy")
	m.requireServed()
	m.requireVersion(formerVersion)
	require.Empty(t, m.marks())
	assert.Equal(t, []string{m.account}, m.agents(), "one process, and not root's")
	out, _ := m.run("dpkg", "--verify", "pmdaderived")
	for line := range strings.Lines(out) { // machines may be set up to do without documents
		assert.Contains(t, line, "/usr/share/", "not as packed")
	}

	m.write(site, "installtest.load = 2 * kernel.all.load\n")
	m.requireServed()
	pmid := m.pmid("derived.installtest.load")
	conffiles := m.conffiles()
	require.NotEmpty(t, conffiles)
	for _, path := range conffiles {
		m.write(path, m.read(path)+"# what the site has changed\n")
	}
	requireKept := func() {
		t.Helper()
		assert.FileExists(t, site)
		for _, path := range conffiles {
			assert.Contains(t, m.read(path), "# what the site has changed\n")
		}
	}

	m.dpkg("-i", present)
	m.requireServed()
	m.requireVersion(presentVersion)
	requireKept()
	require.Empty(t, m.marks())
	assert.Len(t, m.agents(), 1, "the second replaces the first")
	assert.Len(t, m.controlLines(), len(control)+1)
	assert.Equal(t, pmid, m.pmid("derived.installtest.load"), "after an upgrade")

	m.dpkg("-r", "pmdaderived")
	_, exit := m.run("pminfo", "derived")
	assert.NotZero(t, exit)
	assert.Empty(t, m.agents())
	assert.Equal(t, control, m.controlLines())
	assert.NoDirExists(t, m.pmda)
	assert.FileExists(t, m.identities())
	requireKept()

	m.dpkg("-i", present)
	m.requireServed()
	requireKept()
	assert.Equal(t, pmid, m.pmid("derived.installtest.load"), "after removal and installation")

	packed := m.packed()
	m.dpkg("-P", "pmdaderived")
	assert.Equal(t, control, m.controlLines())
	assert.FileExists(t, site, "definitions are the site's")
	require.NoError(t, os.RemoveAll(m.site))
	m.requireNoTrace(files, packed)
	assert.True(t, m.running())
}

// The next start of pmcd does what the installation could not. An agent that the site has removed from pmcd stays out.
func (m *machine) testPackageWithoutPMCD(t *testing.T, former, present string) {
	control, files := m.controlLines(), m.files()
	m.stopPMCD()
	assert.Contains(t, m.dpkg("-i", former), "\npmdaderived: pmcd does not answer; its next start adds the agent\n")
	assert.FileExists(t, filepath.Join(m.pmda, ".NeedInstall"))
	assert.Equal(t, control, m.controlLines())

	m.startPMCD()
	await.Until(t, "pmcd has run Install by itself", func() bool {
		_, exit := m.run("pminfo", "-f", "derived.control.version")
		return exit == 0 && len(m.marks()) == 0
	})

	m.done(filepath.Join(m.pmda, "Remove"))
	number := filepath.Join(m.pmda, "domain.h")
	packedNumber := m.read(number)
	chosen := strings.Replace(packedNumber, " 510\n", " 499\n", 1)
	require.NotEqual(t, packedNumber, chosen)
	m.write(number, chosen)
	assert.Contains(t, m.dpkg("-i", present), m.pmda+"/Install adds it again\n")
	assert.Equal(t, control, m.controlLines(), "an upgrade does not put it in again")
	assert.Equal(t, chosen, m.read(number), "an upgrade keeps the domain number")

	require.NoError(t, os.Remove(m.identities())) // they are for the other number
	m.done(filepath.Join(m.pmda, "Install"))
	await.Until(t, "there is the state file", func() bool {
		_, err := os.Stat(m.identities())
		return err == nil
	})
	m.dpkg("-r", "pmdaderived")
	identities := m.read(m.identities())
	m.dpkg("-i", present)
	m.requireServed()
	assert.Equal(t, packedNumber, m.read(number), "a removal does not")
	aside := m.identities() + ".damaged"
	assert.Equal(t, identities, m.read(aside))

	m.done(filepath.Join(m.pmda, "Remove"))
	m.write(number, chosen)
	require.NoError(t, os.Rename(aside, m.identities()))
	m.done(filepath.Join(m.pmda, "Install"))
	assert.NoFileExists(t, aside, "they are used again")
	m.stopPMCD()
	packed := m.packed()
	m.dpkg("-P", "pmdaderived")
	assert.Equal(t, control, m.controlLines())
	m.startPMCD()
	m.requireNoTrace(files, packed)
}

// The package is installed, and what Install says is there to read.
func (m *machine) testPackageFails(t *testing.T, _, present string) {
	share := must(pcpVariable("PCP_SHARE_DIR"))(t)
	script := filepath.Join(share, "lib", "pmdaproc.sh")
	text := m.read(script)
	if os.Getenv(stageVariable) != "" {
		requireCopied(t, script)
	}
	t.Cleanup(func() { m.write(script, text) })
	m.write(script, "echo 'no pmdaproc.sh today'\nexit 1\n")
	out := m.dpkg("-i", present)
	m.write(script, text)
	assert.Contains(t, out, "no pmdaproc.sh today\n")
	assert.Contains(t, out, "pmdaderived: pmcd does not run the agent; its next start tries again, or run "+filepath.Join(m.pmda, "Install"))
	assert.FileExists(t, filepath.Join(m.pmda, ".NeedInstall"))

	m.dpkg("-i", present)
	m.requireVersion(presentVersion)
	require.Empty(t, m.marks())
	m.dpkg("-P", "pmdaderived")
}

// A package that was unpacked and never configured, as on a machine without PCP, is removed without a trace, and so is
// all that a start of pmcd has left when it could not run Install.
func (m *machine) testPackageUnpacked(t *testing.T, _, present string) {
	files, mark := m.files(), filepath.Join(m.pmda, ".NeedInstall")

	m.dpkg("--unpack", present)
	require.FileExists(t, mark)
	packed := m.packed()
	m.dpkg("-P", "pmdaderived")
	m.requireNoTrace(files, packed)

	m.dpkg("--unpack", present)
	require.NoError(t, os.Rename(mark, mark+".failed"))
	m.dpkg("-r", "pmdaderived")
	assert.NoDirExists(t, m.pmda)
	m.dpkg("-P", "pmdaderived")
	m.requireNoTrace(files, packed)
}

// A chosen domain number is kept over an upgrade, and not longer.
func TestInstallPackageDomainNumber(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pmda, etc := filepath.Join(dir, "pmdas", "derived"), filepath.Join(dir, "etc")
	require.NoError(t, os.MkdirAll(pmda, 0o755))
	require.NoError(t, os.Mkdir(etc, 0o755))
	variables := "PCP_PMDAS_DIR=" + filepath.Dir(pmda) + "\nPCP_PMCDCONF_PATH=" + filepath.Join(etc, "pmcd.conf") + "\n"
	conf := writeFile(t, etc, "pcp.conf", variables)
	writeFile(t, etc, "pcp.env", variables)
	run := func(script, argument, want string) {
		t.Helper()
		cmd := exec.Command("sh", "../packaging/"+script, argument, formerVersion)
		cmd.Env = append(os.Environ(), "PCP_DIR="+dir, "PCP_CONF="+conf)
		assert.Equal(t, want, combined(t, cmd))
	}
	takenOut := "pmdaderived: pmcd does not run the agent, which was taken out of " + filepath.Join(etc, "pmcd.conf") + "; " +
		filepath.Join(pmda, "Install") + " adds it again\n"
	number := filepath.Join(pmda, "domain.h")
	requireNumber := func(want string) {
		t.Helper()
		assert.Equal(t, want, readDocument(t, number))
		assert.NoFileExists(t, filepath.Join(pmda, ".domain.h"))
	}

	writeFile(t, pmda, "domain.h", "chosen")
	run("preinstall", "upgrade", "")
	writeFile(t, pmda, "domain.h", "packed")
	run("postinstall", "configure", takenOut)
	requireNumber("chosen")

	run("preinstall", "upgrade", "")
	run("postinstall", "abort-upgrade", "")
	requireNumber("chosen")
	writeFile(t, pmda, "domain.h", "chosen later")
	run("postinstall", "configure", takenOut)
	requireNumber("chosen later")
}

// preinstall does not need pcp.conf, also where a shell ends at the first command that fails.
func TestInstallPackageWithoutConfiguration(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-e", "../packaging/preinstall", "abort-upgrade", formerVersion)
	cmd.Env = append(os.Environ(), "PCP_CONF="+filepath.Join(t.TempDir(), "none"))
	assert.Empty(t, combined(t, cmd))
}

// A package whose pcp was made to go before it can go, too.
func TestInstallPackageRemovalWithoutPCP(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "../packaging/preremove", "remove")
	cmd.Env = append(os.Environ(), "PCP_DIR="+t.TempDir())
	out := combined(t, cmd)
	assert.Empty(t, string(out))
}

// An agent that was installed by hand after the package had been removed is not the package's to take away.
func TestInstallPackageBesideAnother(t *testing.T) {
	t.Parallel()
	const mark = "pmdas/derived/.NeedInstall"
	const site = "etc/pmdaderived/site.conf"
	state := []string{
		"var/config/pmda/derived.identities", "var/config/pmda/.derived.identities.1",
		"log/pmcd/derived.log", "tmp/mmv/pmdaderived",
	}
	for _, row := range []struct {
		name, argument string
		install        bool // there is an Install
		gone, kept     []string
	}{
		{"purge", "purge", false, append(state, mark), []string{site}},
		{"removal", "remove", false, []string{mark}, append(state, site)},
		{"an installation that fails", "abort-install", false, []string{mark}, append(state, site)},
		{"purge, another agent", "purge", true, nil, append(state, mark, site)},
		{"removal, another agent", "remove", true, nil, append(state, mark)},
		{"an installation that fails, another agent", "abort-install", true, []string{mark}, state},
		{"upgrade", "upgrade", true, nil, append(state, mark)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(name, text string) {
				require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
				writeFile(t, dir, name, text)
			}
			for _, name := range append(row.gone, row.kept...) {
				write(name, "")
			}
			if row.install {
				write("pmdas/derived/Install", "")
			}
			conf := ""
			for name, value := range map[string]string{
				"PCP_PMDAS_DIR": "pmdas", "PCP_SYSCONF_DIR": "etc", "PCP_VAR_DIR": "var", "PCP_LOG_DIR": "log", "PCP_TMP_DIR": "tmp",
			} {
				conf += name + "=" + filepath.Join(dir, value) + "\n"
			}
			write("pcp.conf", conf)
			cmd := exec.Command("sh", "../packaging/postremove", row.argument)
			cmd.Env = append(os.Environ(), "PCP_CONF="+filepath.Join(dir, "pcp.conf"))
			out := combined(t, cmd)
			assert.Empty(t, string(out))
			for _, name := range row.gone {
				assert.NoFileExists(t, filepath.Join(dir, name))
			}
			for _, name := range row.kept {
				assert.FileExists(t, filepath.Join(dir, name))
			}
			if row.install {
				assert.FileExists(t, filepath.Join(dir, "pmdas/derived/Install"))
			} else if len(row.gone) > 0 {
				assert.NoDirExists(t, filepath.Join(dir, "pmdas/derived"))
			}
		})
	}
}

// requireVersion demands that the agent and the program are of a version.
func (m *machine) requireVersion(version string) {
	m.t.Helper()
	out, _ := m.run("pminfo", "-f", "derived.control.version")
	require.Contains(m.t, out, `value "`+version+`"`)
	out, _ = m.run("pmdaderived", "--version")
	require.Equal(m.t, "pmdaderived "+version+"\n", out)
	out, _ = m.run("dpkg-query", "-W", "-f", "${Version} ${Status}", "pmdaderived")
	require.Equal(m.t, version+"-1 install ok installed", out)
}

func (m *machine) pmid(metric string) string {
	m.t.Helper()
	return m.done("pminfo", "-m", metric)
}

// identities returns the path of the file of metric identifiers.
func (m *machine) identities() string {
	return filepath.Join(filepath.Dir(m.pmns), "config", "pmda", "derived.identities")
}

// marks returns the files that make pmcd's start script run our Install.
func (m *machine) marks() []string {
	m.t.Helper()
	return must(filepath.Glob(filepath.Join(m.pmda, ".Need*")))(m.t)
}

// packed returns the paths of the files of the package that is installed.
func (m *machine) packed() []string {
	m.t.Helper()
	var found []string
	for name := range strings.Lines(m.dpkg("-L", "pmdaderived")) {
		name = strings.TrimSpace(name)
		if info, err := os.Lstat(name); err == nil && !info.IsDir() {
			found = append(found, name)
		}
	}
	require.NotEmpty(m.t, found)
	return found
}

// conffiles returns the files of the package that dpkg leaves as the site has changed them.
func (m *machine) conffiles() []string {
	m.t.Helper()
	out := m.done("dpkg-query", "-W", "-f", "${Conffiles}", "pmdaderived")
	var found []string
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) == 2 {
			found = append(found, fields[0])
		}
	}
	return found
}

// files returns the paths of all files and folders of PCP, except for those in which it keeps a record
// of its work.
func (m *machine) files() []string {
	m.t.Helper()
	var found []string
	for _, root := range []string{filepath.Dir(m.site), filepath.Dir(m.pmns), m.logs} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch dir, name := filepath.Split(path); {
			case os.IsNotExist(err): // a temporary file
				return nil
			case name == "testsuite": // large, and PCP's own
				return fs.SkipDir
			case dir == m.pmns+"/", strings.HasPrefix(name, "NOTICES"), dir == m.logs+"/pmcd/" && !strings.Contains(name, "derived"):
			case dir == filepath.Dir(m.identities())+"/" && !strings.Contains(name, "derived"): // numbers of instances
			default:
				found = append(found, path)
			}
			return err
		})
		require.NoError(m.t, err)
	}
	return found
}

// requireNoTrace demands that there are no files of PCP but those of before, and none of a package.
func (m *machine) requireNoTrace(before, packed []string) {
	m.t.Helper()
	left := slices.DeleteFunc(m.files(), func(path string) bool { return slices.Contains(before, path) })
	assert.Empty(m.t, left)
	for _, path := range packed {
		assert.NoFileExists(m.t, path)
	}
}

// The packages hold what `make install` installs, and the same bytes whenever they are made.
func TestInstallPackageContents(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	makePackages(t, "022", first, presentVersion)
	root := filepath.Join(first, presentVersion, "root")

	out := must(exec.Command("dpkg-deb", "--fsys-tarfile", packageOf(t, first, presentVersion, ".deb")).Output())(t)
	listing := exec.Command("tar", "-t")
	listing.Stdin = strings.NewReader(string(out))
	names := must(listing.Output())(t)
	var packed []string
	for name := range strings.Lines(string(names)) {
		if name = strings.TrimSpace(name); !strings.HasSuffix(name, "/") {
			packed = append(packed, strings.TrimPrefix(name, "."))
		}
	}
	var staged, conffiles []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			staged = append(staged, strings.TrimPrefix(path, root))
			if name := strings.TrimPrefix(path, root); strings.HasPrefix(name, "/etc/") {
				conffiles = append(conffiles, name)
			}
		}
		return err
	}))
	assert.ElementsMatch(t, append(staged, "/usr/share/doc/pmdaderived/changelog.Debian.gz"), packed)
	for _, name := range []string{
		"/var/lib/pcp/pmdas/derived/pmdaderived", "/var/lib/pcp/pmdas/derived/Install", "/usr/bin/pmdaderived",
		"/usr/share/man/man1/pmdaderived.1.gz", "/usr/share/man/man5/pmdaderived.5.gz", "/usr/share/doc/pmdaderived/copyright",
		"/usr/share/doc/pmdaderived/docs/language.md",
	} {
		assert.Contains(t, packed, name)
	}
	requireLinks(t, filepath.Join(root, "usr/share/doc/pmdaderived"))
	licences := must(os.ReadFile(filepath.Join(root, "usr/share/doc/pmdaderived/copyright")))(t)
	for _, module := range []string{
		"LESSER GENERAL PUBLIC", "==== github.com/sirupsen/logrus v",
		"==== golang.org/x/sys v",
	} {
		assert.Contains(t, string(licences), module)
	}
	listed := must(exec.Command("dpkg-deb", "-I", packageOf(t, first, presentVersion, ".deb"), "conffiles").Output())(t)
	assert.ElementsMatch(t, conffiles, strings.Fields(string(listed)), "what the site may change")

	for field, want := range map[string]string{
		"Package": "pmdaderived", "Version": presentVersion + "-1", "Depends": "pcp (>= 6)", "Architecture": runtime.GOARCH,
		"Homepage": "https://pcp.io", "Maintainer": "pmdaderived authors", "Provides": "pcp-pmda-derived",
	} {
		out := must(exec.Command("dpkg-deb", "-f", packageOf(t, first, presentVersion, ".deb"), field).Output())(t)
		assert.Equal(t, want, strings.TrimSpace(string(out)), field)
	}

	makePackages(t, "077", second, presentVersion)
	for _, suffix := range []string{".deb", ".rpm"} {
		a := must(os.ReadFile(packageOf(t, first, presentVersion, suffix)))(t)
		b := must(os.ReadFile(packageOf(t, second, presentVersion, suffix)))(t)
		assert.True(t, string(a) == string(b), "two builds differ: %s", suffix)
	}
}

// requireLinks demands that the links of all documents in a folder lead to what is there.
func requireLinks(t *testing.T, folder string) {
	t.Helper()
	links := 0
	require.NoError(t, filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		for _, match := range documentLink.FindAllStringSubmatch(readDocument(t, path), -1) {
			if file, _, _ := strings.Cut(match[1], "#"); file != "" && !strings.Contains(match[1], "://") {
				_, err := os.Stat(filepath.Join(filepath.Dir(path), file))
				assert.NoError(t, err, "%s: %s", path, match[1])
				links++
			}
		}
		return nil
	}))
	assert.Greater(t, links, 50)
}

// Without the tool that makes packages the message says what is missing.
func TestInstallPackageNeedsTool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := exec.Command("make", "-C", "..", "packages", "VERSION=1", "PACKAGES_DIR="+dir,
		"NFPM=false").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "it comes through a Go module proxy, which has to be reachable")
}

// A release has packages, the source, which knows its version, what the program is built from, and their checksums. Another
// clone makes the same, without network.
func TestInstallRelease(t *testing.T) {
	t.Parallel()
	const version = "9.8.7"
	tree, dir := filepath.Join(t.TempDir(), "tree"), filepath.Join(t.TempDir(), "release")
	run := func(name string, args ...string) string {
		t.Helper()
		return combined(t, exec.Command(name, args...))
	}
	run("git", "clone", "-q", "..", tree)
	changelog := readDocument(t, filepath.Join(tree, "CHANGELOG.md"))
	writeFile(t, tree, "CHANGELOG.md", strings.Replace(changelog, "\n## [", "\n## ["+version+"] - 2026-12-01\n\n## [", 1))
	clone{t, tree}.git("commit", "-q", "-a", "-m", "CHANGELOG: "+version)
	run("make", "-C", tree, "release", "ARCHS="+runtime.GOARCH, "RELEASE_DIR="+dir)
	again := filepath.Join(t.TempDir(), "tree")
	run("git", "clone", "-q", tree, again)
	run("env", "GOPROXY=off", "https_proxy=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1",
		"make", "-C", again, "release", "ARCHS="+runtime.GOARCH)
	run("diff", "-r", dir, filepath.Join(again, "bin", "release"))
	source, modules := filepath.Join(dir, "pmdaderived-"+version+".tar.gz"), filepath.Join(dir, "pmdaderived-"+version+".cdx.json")
	sums := exec.Command("sha256sum", "-c", "SHA256SUMS")
	sums.Dir = dir
	checked := combined(t, sums)
	for _, file := range []string{"_" + version + "-1_" + runtime.GOARCH + ".deb", ".rpm", ".tar.gz", ".cdx.json"} {
		assert.Contains(t, checked, file+": OK")
	}
	assert.Equal(t, 4, strings.Count(checked, "\n"), "nothing else")
	run("tar", "-xzf", source, "-C", dir)
	unpacked, root := filepath.Join(dir, "pmdaderived-"+version), filepath.Join(dir, "root")
	assert.Equal(t, version, strings.TrimSpace(run(filepath.Join(unpacked, "scripts", "version"))))
	assert.Regexp(t, `(?m)^\.TH .*"`+version+`"`, readDocument(t, filepath.Join(unpacked, "bin/man/pmdaderived.1")))
	run("dpkg-deb", "-x", filepath.Join(dir, "pmdaderived_"+version+"-1_"+runtime.GOARCH+".deb"), root)
	assert.Equal(t, "pmdaderived "+version+"\n", run(filepath.Join(root, "var/lib/pcp/pmdas/derived/pmdaderived"), "--version"))
	for _, page := range []string{"man1/pmdaderived.1", "man5/pmdaderived.5"} {
		assert.Regexp(t, `(?m)^\.TH .*"`+version+`"`, run("zcat", filepath.Join(root, "usr/share/man", page+".gz")))
	}
	assert.Contains(t, readDocument(t, filepath.Join(root, "usr/share/doc/pmdaderived/CHANGELOG.md")), "\n## ["+version+"] - ")

	var list struct {
		Components []struct{ Name, Version string }
	}
	require.NoError(t, json.Unmarshal(must(os.ReadFile(modules))(t), &list))
	var names []string
	for _, c := range list.Components {
		names = append(names, c.Name)
	}
	assert.Contains(t, names, "github.com/sirupsen/logrus")
	assert.NotContains(t, names, "github.com/stretchr/testify", "it is for tests")

	require.NoError(t, os.WriteFile(filepath.Join(tree, "README.md"), nil, 0o644))
	out, err := exec.Command("make", "-C", tree, "release", "RELEASE_DIR="+dir).CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "the tree has changes; commit them first")
	assert.FileExists(t, source, "nothing was removed")
}

// The versions that scripts/version prints sort as the history does.
func TestInstallVersionsSort(t *testing.T) {
	t.Parallel()
	versions := []string{
		"0.0.0+988.g23c7f0d", // builds were called so before
		"1.0.0~dev.1409.g8b7eb1ae86db", "1.0.0~dev.1600.g0123456789ab", "1.0.0~rc1", "1.0.0~rc1+3.gfedcba987654", "1.0.0",
		"1.0.0+0", "1.0.0+2.gfedcba987654", "1.0.0+10.g0123456789ab", "1.0.1", "1.1.0",
	}
	for i := 1; i < len(versions); i++ {
		combined(t, exec.Command("dpkg", "--compare-versions", versions[i-1], "lt", versions[i]))
	}
}
