package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/config"
	"pmdaderived/internal/command"
	"pmdaderived/internal/commandline"
)

var update = flag.Bool("update", false, "write the golden files")

var testConf = config.PCPConf{
	VarDir: "/v", SysconfDir: "/s", RunDir: "/r", LogDir: "/l", TmpDir: "/t", FileTmpDir: "/t", User: "pcp",
	Group: "pcpgroup",
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// execute runs the program where there is no pmcd.
func execute(t *testing.T, args ...string) (stdout, stderr string, exit int) {
	t.Helper()
	var out, errs bytes.Buffer
	conf := filepath.Join(t.TempDir(), "pcp.conf")
	require.NoError(t, os.WriteFile(conf, nil, 0o644))
	exit = run(t.Context(), args, environment("PCP_CONF", conf), nil, &out, &errs)
	return out.String(), errs.String(), exit
}

func TestDefaults(t *testing.T) {
	o := must(parseOptions(nil, testConf, environment()))(t)
	assert.Equal(t, 510, o.standard.Domain)
	assert.Equal(t, "/l/pmcd/derived.log", o.standard.LogFile)
	assert.Equal(t, "pcp", o.standard.User)
	assert.Equal(t, "pcpgroup", o.group)
	assert.Nil(t, o.paths)
	assert.Equal(t, "unix:/r/pmcd.socket", o.pmcd)
	assert.Equal(t, "/v/config/pmda/derived.identities", o.agent.StateFile)
	assert.Equal(t, 10*time.Second, o.agent.Interval)
	assert.False(t, o.agent.NonFinite)
	assert.Equal(t, []string{"proc", "hotproc", "systemd"}, o.agent.Protected)
	assert.Equal(t, "pmdaderived", o.mmv)
	assert.Equal(t, logrus.InfoLevel, o.logLevel)
	assert.False(t, o.version)

	o = must(parseOptions(nil, testConf, environment("PMCD_SOCKET", "/elsewhere")))(t)
	assert.Equal(t, "unix:/elsewhere", o.pmcd)
}

func TestOptions(t *testing.T) {
	for _, row := range []struct {
		args []string
		want func(*options) any
		is   any
	}{
		{[]string{"-d", "7"}, func(o *options) any { return o.standard.Domain }, 7},
		{[]string{"-l", "/x"}, func(o *options) any { return o.standard.LogFile }, "/x"},
		{[]string{"--username=root"}, func(o *options) any { return o.standard.User }, "root"},
		{[]string{"-U", "root"}, func(o *options) any { return o.group }, ""},
		{[]string{"-U", "pcp"}, func(o *options) any { return o.group }, "pcpgroup"},
		{[]string{"-c", "/a:/b"}, func(o *options) any { return o.paths }, []string{"/a", "/b"}},
		{[]string{"-c", "/a:/b", "--config=/c"}, func(o *options) any { return o.paths }, []string{"/a", "/b", "/c"}},
		{[]string{"--config="}, func(o *options) any { return o.paths }, []string{}},
		{[]string{"--pmcd", "unix:/x"}, func(o *options) any { return o.pmcd }, "unix:/x"},
		{[]string{"--interval", "2"}, func(o *options) any { return o.agent.Interval }, 2 * time.Second},
		{[]string{"--interval", "0.5"}, func(o *options) any { return o.agent.Interval }, 500 * time.Millisecond},
		{[]string{"--interval", "250ms"}, func(o *options) any { return o.agent.Interval }, 250 * time.Millisecond},
		{[]string{"--interval=0"}, func(o *options) any { return o.agent.Interval }, time.Duration(0)},
		{[]string{"--non-finite=serve"}, func(o *options) any { return o.agent.NonFinite }, true},
		{[]string{"--non-finite=serve", "--non-finite=drop"}, func(o *options) any { return o.agent.NonFinite }, false},
		{[]string{"--state", "/x"}, func(o *options) any { return o.agent.StateFile }, "/x"},
		{[]string{"--protect", "a,b.c,"}, func(o *options) any { return o.agent.Protected }, []string{"a", "b.c"}},
		{[]string{"--protect", "a.*,b,c.*"}, func(o *options) any { return o.agent.Protected }, []string{"a", "b", "c"}},
		{[]string{"--protect", ""}, func(o *options) any { return o.agent.Protected }, []string{}},
		{[]string{"--mmv", "other"}, func(o *options) any { return o.mmv }, "other"},
		{[]string{"--mmv=off"}, func(o *options) any { return o.mmv }, ""},
		{[]string{"--log-level", "warn"}, func(o *options) any { return o.logLevel }, logrus.WarnLevel},
		{[]string{"-D", "pdu"}, func(o *options) any { return o.logLevel }, logrus.DebugLevel},
		{[]string{"-p"}, func(o *options) any { return o.standard.Domain }, 510},
		{[]string{"-V"}, func(o *options) any { return o.version }, true},
	} {
		t.Run(filepath.Join(row.args...), func(t *testing.T) {
			o := must(parseOptions(row.args, testConf, environment()))(t)
			assert.Equal(t, row.is, row.want(o))
		})
	}
}

func TestOptionForHelp(t *testing.T) {
	_, err := parseOptions([]string{"-?"}, testConf, environment())
	require.ErrorIs(t, err, pflag.ErrHelp)
}

func TestUsage(t *testing.T) {
	const golden = "testdata/usage.golden"
	var stdout, stderr bytes.Buffer
	assert.Equal(t, commandline.ExitOK, run(t.Context(), []string{"--help"}, environment(), nil, &stdout, &stderr))
	assert.Empty(t, stderr.String())
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, stdout.Bytes(), 0o644))
	}
	want := readFile(t, golden)
	assert.Equal(t, string(want), stdout.String())
}

// Help fits the width of a terminal without losing words, and has the options for archives behind the others.
func TestUsageWidth(t *testing.T) {
	for _, c := range append(command.SubCommands(), command.SubCommand{}) {
		t.Run(c.Name, func(t *testing.T) {
			help := func(columns string) string {
				var stdout, stderr bytes.Buffer
				run(t.Context(), append(strings.Fields(c.Name), "--help"), environment("COLUMNS", columns), nil, &stdout, &stderr)
				return stdout.String()
			}
			whole := help("1000")
			assert.Equal(t, help("80"), help(""))
			for _, columns := range []int{60, 80, 100} {
				text := help(strconv.Itoa(columns))
				for line := range strings.Lines(text) {
					assert.LessOrEqual(t, len(line), columns+1, line)
				}
				assert.Equal(t, strings.Fields(whole), strings.Fields(text))
			}
			if general, archives, found := strings.Cut(whole, "\nOptions for archives:\n"); found {
				assert.Contains(t, archives, "--archive=")
				assert.NotContains(t, general, "--archive=")
				assert.NotContains(t, archives, "--help")
			}
		})
	}
}

func TestVersion(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Equal(t, commandline.ExitOK, run(t.Context(), []string{"--version"}, environment(), nil, &stdout, &stderr))
	assert.Regexp(t, `^pmdaderived \S+\n$`, stdout.String())
	assert.Empty(t, stderr.String())
}

// The version and the usage text are not written to a full disk, and the program says so.
func TestOutputToFullDisk(t *testing.T) {
	full := must(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	for _, option := range []string{"-V", "--help"} {
		var stderr bytes.Buffer
		assert.Equal(t, commandline.ExitFailure, run(t.Context(), []string{option}, environment(), nil, full, &stderr))
		assert.Equal(t, "pmdaderived: write /dev/full: no space left on device\n", stderr.String(), option)
	}
}

// help says the same as --help, of the program and of each sub-command.
func TestHelp(t *testing.T) {
	for _, command := range append(command.SubCommands(), command.SubCommand{}) {
		words := strings.Fields(command.Name)
		want, _, _ := execute(t, append(words, "--help")...)
		got, errs, exit := execute(t, append([]string{"help"}, words...)...)
		assert.Equal(t, commandline.ExitOK, exit, errs)
		assert.Empty(t, errs)
		assert.Equal(t, want, got)
		assert.Contains(t, got, "Usage: "+strings.TrimSpace(commandline.Name+" "+command.Name)+" [options]")
		assert.Contains(t, strings.ToLower(got), command.Help)
	}
}

// The program does not start with options that make no sense, and says why.
func TestRefusedOptions(t *testing.T) {
	for _, row := range []struct{ args, reason string }{
		{"-d 511", `option -d, --domain: "511" is not a valid domain number: use 1 to 510`},
		{"-d", "option -d, --domain needs an argument: NUM"},
		{
			"-i 1234",
			"option -i, --inet: sockets are not supported, the agent talks to pmcd over a pipe only " +
				`("pipe" in its line of pmcd.conf)`,
		},
		{"--interval soon", `option --interval: "soon" is not a time such as 10s or 500ms`},
		{"--interval -1s", `option --interval: "-1s" is not a time such as 10s or 500ms`},
		{"--non-finite inf", `option --non-finite: "inf": want drop or serve`},
		{
			"--mmv a.b",
			`option --mmv: "a.b" is not a valid name: use a letter, then letters, digits and underscores, 63 at most`,
		},
		{"--mmv=", `option --mmv: "" is not a valid name: use a letter, then letters, digits and underscores, 63 at most`},
		{
			"--log-level loud",
			`option --log-level: "loud" is not a valid level; the levels are error, warn, info and debug`,
		},
		{"--pmcd pcp://", `option --pmcd: host specification "pcp://": no host name`},
		{"--nosuch", "unknown option --nosuch"},
		{"chek file.conf", `unexpected argument "chek"; the sub-commands are check, explain, eval, test, replay, diff, help`},
	} {
		t.Run(row.args, func(t *testing.T) {
			out, errs, exit := execute(t, strings.Fields(row.args)...)
			assert.Equal(t, commandline.ExitUsage, exit)
			assert.Empty(t, out)
			assert.Equal(t, "pmdaderived: "+row.reason+"\nTry \"pmdaderived --help\".\n", errs)
		})
	}
}
