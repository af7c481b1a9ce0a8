//go:build pcp

package test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/test/pmcdtest"
)

// confDir has the definitions that come with the agent, optionalDir those that a site switches on.
const (
	confDir     = "../conf"
	optionalDir = "../optional"
)

// startWithConf runs a private pmcd whose agent has the definitions that come with it, where `make
// install` puts them, and waits until they have values.
func startWithConf(t *testing.T) (p *pmcdtest.PMCD, program string) {
	t.Helper()
	program, p = must(daemonProgram())(t), pmcdtest.Start(t, newDebianHost(t).containers(nil, nil))
	copyConf(t, p)
	await.Until(t, "the agent reads "+confDir, func() bool {
		out, _, _ := p.Run(t, "pminfo", "-f", "derived.host.saturation.worst", "derived.host.disk.queue",
			"derived.host.net.in")
		return strings.Count(out, "value ") >= 3
	})
	return p, program
}

// copyConf puts the definitions that come with the agent where `make install` puts them.
func copyConf(t *testing.T, p *pmcdtest.PMCD) {
	t.Helper()
	for _, file := range confFiles(t, confDir, "*.conf") {
		writeFile(t, filepath.Join(p.Dir, "var/config/pmdaderived"), filepath.Base(file), readDocument(t, file))
	}
}

// switchOn runs the commands of docs/host.md that enable the optional definitions, and waits until they are served.
func switchOn(t *testing.T, p *pmcdtest.PMCD) {
	t.Helper()
	link := regexp.MustCompile(`(?m)^    ln -s (/usr/share/pmdaderived/optional)/(\S+) /etc/pcp/pmdaderived$`)
	commands := link.FindAllStringSubmatch(readDocument(t, "../docs/host.md"), -1)
	require.Len(t, commands, len(confFiles(t, optionalDir, "*.conf")), "a command for each file")
	share := filepath.Join(p.Dir, "optional")
	require.NoError(t, os.MkdirAll(share, 0o755))
	for _, command := range commands {
		to := writeFile(t, share, command[2], readDocument(t, filepath.Join(optionalDir, command[2])))
		require.NoError(t, os.Symlink(to, filepath.Join(p.Dir, "etc/pmdaderived", command[2])))
	}
	await.Until(t, "all optional metrics are served", func() bool {
		out, _, _ := p.Run(t, "pminfo", "derived.host")
		return !slices.ContainsFunc(definedNames(t, optionalDir), func(name string) bool {
			return !strings.Contains(out, "derived."+name+"\n")
		})
	})
}

func confFiles(t *testing.T, dir, pattern string) []string {
	t.Helper()
	files := must(filepath.Glob(filepath.Join(dir, pattern)))(t)
	require.NotEmpty(t, files)
	return files
}

// Each definition that comes with the agent is served on a Linux host and has both texts.
func TestConf(t *testing.T) {
	p, program := startWithConf(t)
	names := definedNames(t, confDir)

	t.Run("check finds nothing", func(t *testing.T) {
		out, errs, exit := p.Run(t, program, "check", confDir, optionalDir)
		assert.Zero(t, exit, "%s%s", out, errs)
		assert.Empty(t, out)
	})

	t.Run("a site gives names other meanings as the documentation does", func(t *testing.T) {
		page := must(os.ReadFile("../docs/host.md"))(t)
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
		out, errs, exit := p.Run(t, program, "test", "--min-coverage=100", confDir, optionalDir)
		assert.Zero(t, exit, "%s%s", out, errs)
	})

	// The mistake takes a percentage for a share.
	t.Run("unit tests fail readably", func(t *testing.T) {
		broken := t.TempDir()
		require.NoError(t, os.CopyFS(broken, os.DirFS(confDir)))
		path := filepath.Join(broken, "host-memory.conf")
		text := must(os.ReadFile(path))(t)
		mistaken := strings.Replace(string(text), "host.mem.used = 100 * ", "host.mem.used = ", 1)
		require.NotEqual(t, string(text), mistaken)
		require.NoError(t, os.WriteFile(path, []byte(mistaken), 0o644))
		out, _, exit := p.Run(t, program, "test", broken)
		assert.Equal(t, 1, exit)
		assert.Regexp(t, `(?m)^FAIL .*/host-memory\.test:\d+: a quarter of the memory is in use, then all$`, out)
		assert.Regexp(t, `(?m)^ +0s +25 +0\.25$`, out)
	})

	allServed := func(t *testing.T) map[string]string {
		served := described(printed(t, p, "pminfo", "-d", "derived.host"))
		for _, name := range names {
			assert.Contains(t, served, name)
		}
		assert.Len(t, served, len(names))
		return served
	}
	t.Run("all are served", func(t *testing.T) { allServed(t) })
	names = append(names, definedNames(t, optionalDir)...)
	switchOn(t, p)
	served := allServed(t)

	t.Run("both texts", func(t *testing.T) {
		texts := ""
		for _, file := range slices.Concat(confFiles(t, confDir, "*.conf"), confFiles(t, optionalDir, "*.conf")) {
			texts += readDocument(t, file)
		}
		for _, name := range names {
			assert.Regexp(t, `(?m)^`+name+`\(oneline\) = [^.\n]{15,120}$`, texts)
			assert.Regexp(t, `(?m)^`+name+`\(helptext\) = '\\\n(.{1,120}\n?)+'$`, texts)
		}
	})

	t.Run("documented with units", func(t *testing.T) {
		page := must(os.ReadFile("../docs/host.md"))(t)
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

// The metrics of a host have the metadata that the unit tests of definitions give them. The width of a counter may
// differ.
func TestConfMetadata(t *testing.T) {
	conn := dial(t, pmcdtest.Start(t, newDebianHost(t).containers(nil, nil)))
	indom := regexp.MustCompile(`^\d+\.\d+$`)
	seen := make(map[string]bool)
	for _, file := range slices.Concat(confFiles(t, confDir, "*.test"), confFiles(t, optionalDir, "*.test")) {
		for _, line := range regexp.MustCompile(`(?m)^ *metric (.*)$`).FindAllStringSubmatch(readDocument(t, file), -1) {
			words := strings.Fields(line[1])
			name, numeric, sem, rest := words[0], words[1] != "STRING", words[2], words[3:]
			domain := "singular"
			if last := len(rest) - 1; last >= 0 && indom.MatchString(rest[last]) {
				domain, rest = rest[last], rest[:last]
			}
			found := must(conn.LookupNames(t.Context(), []string{name}))(t)
			require.Zero(t, found[0].Code, name)
			desc := must(conn.Desc(t.Context(), found[0].PMID))(t)
			got := "singular"
			if desc.InDom != pdu.NoInDom {
				got = desc.InDom.String()
			}
			assert.Equal(t, numeric, desc.Type.Numeric(), name)
			assert.Equal(t, sem, desc.Sem.String(), "semantics of %s", name)
			assert.Equal(t, cmp.Or(strings.Join(rest, " "), "none"), cmp.Or(desc.Units.String(), "none"), "units of %s", name)
			assert.Equal(t, domain, got, "instance domain of %s", name)
			seen[name] = true
		}
	}
	assert.Greater(t, len(seen), 50)
}
