//go:build pcp

package test

import (
	"bytes"
	"context"
	"maps"
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

// example is a command of a document and its output, if the document shows it.
type example struct{ command, output string }

// exampleStart matches the lines of documents that the test runs. Commands of other programs need the machine, or the
// source.
var exampleStart = regexp.MustCompile(`^(?:\$ )?((?:echo|pmdaderived|pminfo|pmprobe|pmrep|pmval) .*)$`)

// ofMachine is a command with the machine's archive or files; TestInstallRecord runs those of docs/first-day.md.
var ofMachine = regexp.MustCompile(`\$archive| -a /var|>/var`)

// comment matches a comment behind a command.
var comment = regexp.MustCompile(` +# .*$`)

// findsFault matches a command that reports faults if PCP ships definitions over metrics that a host does not have.
var findsFault = regexp.MustCompile(`^pmdaderived check$`)

// examples returns the commands in the indented blocks of a document. Output can follow a command
// that begins with "$ ".
func examples(document string) []example {
	var found []example
	open := false // lines belong to the output of the last command
	for line := range strings.Lines(document) {
		text, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		switch {
		case !indented && text != "":
			open = false
		case exampleStart.MatchString(text) && !ofMachine.MatchString(text):
			command := comment.ReplaceAllString(exampleStart.FindStringSubmatch(text)[1], "")
			found = append(found, example{command: command})
			open = strings.HasPrefix(text, "$ ")
		case open:
			found[len(found)-1].output += text + "\n"
		}
	}
	for i := range found {
		found[i].output = strings.TrimSpace(found[i].output)
	}
	return found
}

// shape returns an output without the parts that differ from host to host and from run to run: numbers, and the set of
// instances.
func shape(output string) string {
	text := regexp.MustCompile(`-?\b[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?\b`).ReplaceAllString(strings.TrimSpace(output), "N")
	text = regexp.MustCompile(`inst \[N or "[^"]*"\]`).ReplaceAllString(text, `inst [N or "NAME"]`)
	return strings.Join(slices.Compact(strings.Split(text, "\n")), "\n")
}

// The examples of the documents work, in order, on a host with the agent. If a document shows the output, the output is
// the same but for the numbers. Another test runs those of docs/language.md, with values of its own.
func TestDocumentExamples(t *testing.T) {
	dir := worldReadableDir(t)
	must(build(dir))(t) // the commands find it there
	p := startDerived(t)
	copyConf(t, p)
	sets := filepath.Join(p.Dir, "etc", "pmrep") // a link to the machine's
	require.NoError(t, os.Remove(sets))
	copyIntegration(t, "pmrep", sets)
	site := filepath.Join(p.Dir, "etc", "pmdaderived")

	readme := readDocument(t, "../README.md")
	definition := regexp.MustCompile(`(?m)^    echo '(site\.\S+ = .*)' >`).FindStringSubmatch(readme)
	require.NotNil(t, definition, "README.md defines a metric")
	for _, folder := range []string{dir, site} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "site.conf"), []byte(definition[1]+"\n"), 0o644))
	}
	require.NoError(t, os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../examples")))

	_, manual, _ := strings.Cut(readDocument(t, "../docs/reference.md"), "\n## Examples\n")
	all := map[string][]example{"reference.md": examples(manual)}
	for _, path := range []string{
		"../README.md", "../docs/first-day.md", "../docs/packages.md", "../docs/configuration.md", "../docs/mmv.md",
		"../docs/host.md", "../docs/linting.md", "../docs/troubleshooting.md",
	} {
		if found := examples(readDocument(t, path)); len(found) > 0 {
			all[filepath.Base(path)] = found
		}
	}
	require.Greater(t, len(all["README.md"]), 6)
	require.Greater(t, len(all["first-day.md"]), 15)
	require.Greater(t, len(all["reference.md"]), 4)

	for _, document := range slices.Sorted(maps.Keys(all)) { // a later one meets the masks of those before
		for _, e := range all[document] {
			t.Run(document+"/"+e.command, func(t *testing.T) {
				// A command that runs until it is interrupted ends after one line.
				command := regexp.MustCompile(`^(pmrep|pmval) `).ReplaceAllString(e.command, "$1 -s 1 ")
				command = strings.ReplaceAll(command, "/etc/pcp/pmdaderived", site)
				var out string
				defer func() {
					if t.Failed() {
						t.Log(out)
					}
				}()
				await.Until(t, "the example prints what the page has", func() bool { // a definition is served within two seconds
					var err error
					out, err = runExample(t, p, dir, command)
					switch {
					case err != nil && !findsFault.MatchString(command):
						return false
					case e.output != "":
						return shape(e.output) == shape(out)
					}
					return strings.HasPrefix(command, "echo ") || strings.TrimSpace(out) != ""
				})
			})
		}
	}
	requirePasted(t, p, dir, site)
}

// The first definition of README.md is served when its lines are pasted: the last of them has values.
func requirePasted(t *testing.T, p *pmcdtest.PMCD, dir, site string) {
	t.Helper()
	block := regexp.MustCompile(`(?m)^    echo '(?:.*\n)+?    pminfo -f \S+\n`).FindString(readDocument(t, "../README.md"))
	require.NotEmpty(t, block)
	block = strings.ReplaceAll(block, "/etc/pcp/pmdaderived", site)
	// A busy machine may be too slow for the pauses in the lines. In the next turn the definition is served.
	await.Until(t, "the lines work when they are pasted together", func() bool {
		require.NoError(t, os.RemoveAll(filepath.Join(site, "site.conf")))
		await.Until(t, "the definitions have gone", func() bool {
			_, _, exit := p.Run(t, "pminfo", "derived.site")
			return exit != 0
		})
		out, err := runExample(t, p, dir, block)
		return err == nil && strings.Contains(out, ` or "1 minute"] value `)
	})
}

// README.md shows definitions without a mistake.
func TestReadmeDefinitions(t *testing.T) {
	lines := regexp.MustCompile(`(?m)^    (site\.\S+ = .*\n)`).FindAllStringSubmatch(readDocument(t, "../README.md"), -1)
	require.Greater(t, len(lines), 5)
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(line[1])
	}
	cmd := exec.Command(must(daemonProgram())(t), "check", "--offline", "-")
	cmd.Stdin = strings.NewReader(text.String())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// The command of CONTRIBUTING.md shows a newcomer their own definition.
func TestDocumentFirstHour(t *testing.T) {
	line := regexp.MustCompile(`(?m)^ +(echo .*bin/private-pmcd .*)$`).FindStringSubmatch(readDocument(t,
		"../CONTRIBUTING.md"))
	require.NotNil(t, line)
	dir := worldReadableDir(t)
	bin := filepath.Join(dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	must(build(bin))(t)
	combined(t, exec.Command("go", "build", "-o", filepath.Join(bin, "private-pmcd"), "./pmcdtest/cmd/private-pmcd"))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../examples")))

	try := func() (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", line[1])
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	await.Until(t, "the definition has a value", func() bool { // a second is not enough on every machine
		out, err := try()
		return err == nil && strings.Contains(out, "derived.site.load.per_cpu\n    inst [1 or \"1 minute\"] value ")
	})

	if os.Geteuid() == 0 { // the agent becomes another user
		require.NoError(t, os.Chmod(dir, 0o700))
		out, err := try()
		require.Error(t, err)
		assert.Contains(t, out, filepath.Join(dir, "examples")+": permission denied", "the agent's log")
	}
}

// runExample runs a line of a shell in a folder that has the program, and returns what it prints.
func runExample(t *testing.T, p *pmcdtest.PMCD, dir, command string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = p.Env()
	for i, variable := range cmd.Env {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			cmd.Env[i] = "PATH=" + dir + ":" + path
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// The tests of documents find examples and see differences.
func TestDocumentTestsLook(t *testing.T) {
	assert.Equal(t, []example{
		{command: "pminfo -f a", output: "a\n    value 1"},
		{command: "pmdaderived check"},
		{command: "pminfo b"},
	}, examples("text\n\n    a = b\n\n    $ pminfo -f a\n\n    a\n        value 1\n\ntext\n\n    pmdaderived check # all\n    pminfo b\n    other\n"))
	assert.Equal(t, shape(`inst [1 or "1 minute"] value 0.17e-05`), shape(`inst [1 or "1 minute"] value 12`))
	assert.Equal(t, shape("inst [1 or \"a\"] value 1\ninst [2 or \"b\"] value 2"), shape("inst [3 or \"c\"] value 3"))
	assert.NotEqual(t, shape("value 1"), shape("values 1"))
}
