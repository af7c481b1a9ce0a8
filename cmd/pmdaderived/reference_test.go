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

// referenceTable returns the cells of a table of docs/reference.md: the rows below the header that
// begins with these columns.
func referenceTable(t *testing.T, columns ...string) [][]string {
	t.Helper()
	text := readFile(t, "../../docs/reference.md")
	_, rest, found := strings.Cut(string(text), "\n| "+strings.Join(columns, " | ")+" |")
	require.True(t, found, "table %q", columns)
	var rows [][]string
	for i, line := range strings.Split(rest, "\n") {
		switch {
		case i < 2: // rest of the header, line
		case !strings.HasPrefix(line, "|"):
			return rows
		default:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	return rows
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

// The table of options has each with its default, and an argument that is refused.
func TestReferenceOptions(t *testing.T) {
	usual := must(parseOptions(nil, testConf, environment()))(t)
	takesArgument := map[string]bool{}
	usual.flags.VisitAll(func(f *pflag.Flag) { takesArgument["--"+f.Name] = f.NoOptDefVal == "" })
	usual.flags = nil

	var want, documented []string
	for _, o := range helpOptions(t) {
		want = append(want, o.optionNames())
	}
	for _, row := range referenceTable(t, "option", "argument", "default", "refused", "what goes wrong") {
		names, argument, value, refused := row[0], row[1], expand(strings.Trim(row[2], "`")), strings.Trim(row[3], "`")
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
			if refused != "" {
				_, err := parseOptions([]string{long + "=" + refused}, testConf, environment())
				assert.Error(t, err, refused)
			}
		})
	}
	assert.ElementsMatch(t, want, documented, "list A is the program, list B is docs/reference.md")
}

// The table of sub-commands has the options of each, and arguments that are refused.
func TestReferenceSubCommands(t *testing.T) {
	var want, documented []string
	for _, c := range command.Summaries() {
		for _, o := range helpOptions(t, c.Name) {
			if o.long != "--help" {
				want = append(want, "`"+c.Name+"` "+o.optionNames())
			}
		}
	}
	for _, row := range referenceTable(t, "sub-command", "option", "argument", "default", "refused", "what it does") {
		documented = append(documented, row[0]+" "+row[1])
		if refused := strings.Trim(row[4], "`"); refused != "" {
			long := regexp.MustCompile("--[a-z-]+").FindString(row[1])
			_, _, exit := execute(t, strings.Trim(row[0], "`"), long+"="+refused)
			assert.Equal(t, commandline.ExitUsage, exit, "%s %s=%s", row[0], long, refused)
		}
	}
	assert.ElementsMatch(t, want, documented, "list A is the program, list B is docs/reference.md")
}

// The table of files has those of the manual page, and the defaults of options.
func TestReferenceFiles(t *testing.T) {
	_, sections := manualPage(t)
	var want, documented []string
	for _, match := range regexp.MustCompile(`\n\.TP\n\.I (\S+)`).FindAllStringSubmatch(sections["FILES"], -1) {
		want = append(want, "`"+match[1]+"`")
	}
	for _, row := range referenceTable(t, "file", "written by", "when it is missing or cannot be used") {
		documented = append(documented, row[0])
	}
	assert.ElementsMatch(t, want, documented, "list A is docs/pmdaderived.1, list B is docs/reference.md")
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
	_, sections := manualPage(t)
	for _, row := range referenceTable(t, "variable", "default", "what it gives") {
		name, value := strings.Trim(row[0], "`"), strings.Trim(row[1], "`")
		assert.Contains(t, used, name)
		assert.Contains(t, sections["PCP ENVIRONMENT"], name)
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
