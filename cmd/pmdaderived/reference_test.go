package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/config"
	"pmdaderived/internal/command"
	"pmdaderived/internal/commandline"
)

// helpOption is an option as --help prints it.
type helpOption struct{ short, long string } // "-c", "--config"

var helpLine = regexp.MustCompile(`^  (?:(-.)(?: \S+)?, )?(--[a-z-]+)`)

// helpOptions returns the options that --help prints after the words of a command line.
func helpOptions(t *testing.T, words ...string) []helpOption {
	t.Helper()
	out, _, exit := execute(t, append(words, "--help")...)
	require.Zero(t, exit)
	var options []helpOption
	for line := range strings.Lines(out) {
		if match := helpLine.FindStringSubmatch(line); match != nil {
			options = append(options, helpOption{match[1], match[2]})
		}
	}
	require.NotEmpty(t, options)
	return options
}

// referenceTable returns the cells of the first table below a heading of docs/reference.md.
func referenceTable(t *testing.T, heading string) [][]string {
	t.Helper()
	text := readFile(t, "../../docs/reference.md")
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	require.True(t, found, heading)
	section, _, _ = strings.Cut(section, "\n#")
	var rows [][]string
	for line := range strings.Lines(section) {
		switch {
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(line, "|\n"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		case rows != nil:
			return rows[2:] // without the head and its line
		}
	}
	require.NotNil(t, rows, "%s has no table", heading)
	return rows[2:]
}

// expand replaces PCP's variables by those of testConf.
func expand(text string) string {
	return os.Expand(text, func(name string) string {
		return map[string]string{
			"PCP_VAR_DIR": testConf.VarDir, "PCP_SYSCONF_DIR": testConf.SysconfDir, "PCP_RUN_DIR": testConf.RunDir,
			"PCP_LOG_DIR": testConf.LogDir, "PCP_TMP_DIR": testConf.TmpDir, "PCP_USER": testConf.User,
			"PCP_PMDAS_DIR": "/pmdas",
		}[name]
	})
}

// optionNames puts the names of an option as the page does.
func (o helpOption) optionNames() string {
	if o.short == "" {
		return "`" + o.long + "`"
	}
	return "`" + o.short + "`, `" + o.long + "`"
}

// The table of options has each with its default.
func TestReferenceOptions(t *testing.T) {
	usual := must(parseOptions(nil, testConf, environment()))(t)
	takesArgument := map[string]bool{}
	usual.flags.VisitAll(func(f *pflag.Flag) { takesArgument["--"+f.Name] = f.NoOptDefVal == "" })
	usual.flags = nil

	var want, documented []string
	for _, o := range helpOptions(t) {
		want = append(want, o.optionNames())
	}
	for _, row := range referenceTable(t, "## Options") {
		names, argument, value := row[0], row[1], expand(strings.Trim(row[2], "`"))
		documented = append(documented, names)
		t.Run(names, func(t *testing.T) {
			long := regexp.MustCompile("--[a-z-]+").FindString(names)
			assert.Equal(t, takesArgument[long], argument != "")
			switch {
			case long == "--config":
				assert.Equal(t, strings.Join(config.DefaultPaths(testConf), ":"), value)
			case value != "":
				o, err := parseOptions([]string{long + "=" + value}, testConf, environment())
				require.NoError(t, err)
				o.flags = nil
				assert.Equal(t, usual, o, "%s is not the default", value)
			}
		})
	}
	assert.ElementsMatch(t, want, documented, "list A is the program, list B is docs/reference.md")
}

// The page has a section for each sub-command, with its options.
func TestReferenceSubCommands(t *testing.T) {
	text := string(readFile(t, "../../docs/reference.md"))
	var archives []string // the sub-commands with the options for archives
	for _, c := range command.SubCommands() {
		t.Run(c.Name, func(t *testing.T) {
			assert.Contains(t, text, "\n    pmdaderived "+c.Name+" ", "synopsis")
			if c.Name == "help" { // it has no options
				return
			}
			var want, documented []string
			rows := referenceTable(t, "### "+c.Name)
			for _, o := range helpOptions(t, c.Name) {
				if o.long != "--help" {
					want = append(want, o.optionNames())
				}
				if o.long == "--start" {
					rows = append(rows, referenceTable(t, "### Archives")...)
					archives = append(archives, c.Name)
				}
			}
			for _, row := range rows {
				documented = append(documented, row[0])
			}
			assert.ElementsMatch(t, want, documented, "list A is the program, list B is docs/reference.md")
		})
	}
	named := regexp.MustCompile(`the sub-commands (.*) read PCP archives`).FindStringSubmatch(text)
	require.NotNil(t, named)
	assert.ElementsMatch(t, archives, regexp.MustCompile(`, | and `).Split(named[1], -1), "list B is the section Archives")
}

// Options refuse an argument of the wrong kind, those of the agent and those of sub-commands.
func TestOptionsRefuse(t *testing.T) {
	for option, argument := range map[string]string{
		"--domain": "511", "--debug": "a.b", "--interval": "-1s", "--log-level": "loud", "--mmv": "a/b", "--non-finite": "inf", "--pmcd": "a:b:c",
	} {
		_, err := parseOptions([]string{option + "=" + argument}, testConf, environment())
		assert.Error(t, err, "%s=%s", option, argument)
	}
	refused := map[string]string{
		"--werror": "no-such-code", "--ignore": "no-such-code", "--host": "a:b:c", "--start": "soon", "--finish": "soon", "--align": "soon",
		"--origin": "soon", "--timezone": "Nowhere", "--non-finite": "inf", "--samples": "few", "--interval": "soon", "--output": "xml",
		"--run": "(", "--min-coverage": "most", "--record": "0", "--depth": "65",
	}
	for _, c := range command.SubCommands() {
		for _, o := range helpOptions(t, c.Name) {
			if argument, ok := refused[o.long]; ok {
				_, _, exit := execute(t, c.Name, o.long+"="+argument)
				assert.Equal(t, commandline.ExitUsage, exit, "%s %s=%s", c.Name, o.long, argument)
			}
		}
	}
}

// The table of variables has those that are read, with what is taken without them.
func TestReferenceEnvironment(t *testing.T) {
	used, none := make(map[string]bool), filepath.Join(t.TempDir(), "pcp.conf")
	require.NoError(t, os.WriteFile(none, nil, 0o600))
	getenv := func(name string) string {
		used[name] = true
		if name == "PCP_CONF" {
			return none
		}
		return ""
	}
	usual := must(config.ReadPCPConf(getenv))(t)
	commandline.PMCD(usual, getenv)
	for _, row := range referenceTable(t, "## PCP environment") {
		name, value := strings.Trim(row[0], "`"), strings.Trim(row[1], "`")
		assert.Contains(t, used, name)
		delete(used, name)
		if is, ok := map[string]string{
			"PCP_VAR_DIR": usual.VarDir, "PCP_SYSCONF_DIR": usual.SysconfDir, "PCP_RUN_DIR": usual.RunDir,
			"PCP_LOG_DIR": usual.LogDir, "PCP_TMP_DIR": usual.TmpDir, "PCP_PMCDCONF_PATH": usual.PMCDConf, "PCP_USER": usual.User, "PCP_GROUP": usual.Group,
		}[name]; ok {
			assert.Equal(t, is, value, name)
		}
	}
	assert.Empty(t, used, "variables that the page does not have")
}
