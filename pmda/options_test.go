package pmda_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pmda"
)

// toyOptions is the standard options and two of a program's own.
type toyOptions struct {
	pmda.Options
	paths   []string
	verbose int
}

func (o *toyOptions) set() *pmda.OptionSet {
	return &pmda.OptionSet{
		Program:  "pmdatoy",
		Operands: "[path ...]",
		Options: append(pmda.StandardOptions(&o.Options),
			pmda.Option{Short: 'c', Long: "config", Arg: "PATH", Help: "read definitions from PATH,\nwhich may be given several times", Set: func(arg string) error {
				o.paths = append(o.paths, arg)
				return nil
			}},
			pmda.Option{Short: 'v', Help: "say more", Set: func(string) error {
				o.verbose++
				return nil
			}},
		),
	}
}

func TestOptions(t *testing.T) {
	type result struct {
		toyOptions
		operands []string
	}
	standard := func(o pmda.Options) result { return result{toyOptions: toyOptions{Options: o}} }
	tests := []struct {
		name string
		args string
		want result
	}{
		{"none", "", standard(pmda.Options{})},
		{"as pmcd.conf has it", "-d 510", standard(pmda.Options{Domain: 510})},
		{"attached", "-d510", standard(pmda.Options{Domain: 510})},
		{"long", "--domain 510", standard(pmda.Options{Domain: 510})},
		{"long with equals sign", "--domain=510", standard(pmda.Options{Domain: 510})},
		{"long and cut short", "--dom 510", standard(pmda.Options{Domain: 510})},
		{"last one wins", "-d 1 -d 2", standard(pmda.Options{Domain: 2})},
		{"all of them", "-d 250 -l /l -U pcp -h /h -D pdu -p", standard(pmda.Options{
			Domain: 250, LogFile: "/l", User: "pcp", HelpText: "/h", Debug: []string{"pdu"},
		})},
		{"all of them, long", "--domain 250 --log /l --username pcp --helptext /h --debug pdu --pipe", standard(pmda.Options{
			Domain: 250, LogFile: "/l", User: "pcp", HelpText: "/h", Debug: []string{"pdu"},
		})},
		{"the other name of --log", "--logfile=/l", standard(pmda.Options{LogFile: "/l"})},
		{"debug options", "-D pdu,fetch -D appl0", standard(pmda.Options{Debug: []string{"pdu", "fetch", "appl0"}})},
		{"debug bits", "-D 3", standard(pmda.Options{Debug: []string{"3"}})},
		{"an argument that looks like an option", "-l -d", standard(pmda.Options{LogFile: "-d"})},
		{"an argument with an equals sign", "--log=a=b", standard(pmda.Options{LogFile: "a=b"})},
		{"a cluster", "-vpvd510", result{toyOptions: toyOptions{Options: pmda.Options{Domain: 510}, verbose: 2}}},
		{"a cluster whose argument follows", "-vd 510", result{toyOptions: toyOptions{Options: pmda.Options{Domain: 510}, verbose: 1}}},
		{"one's own, again and again", "-c a --config b --conf=c", result{toyOptions: toyOptions{paths: []string{"a", "b", "c"}}}},
		{"operands", "x y", result{operands: []string{"x", "y"}}},
		{"operands between options", "x -v y -v", result{toyOptions: toyOptions{verbose: 2}, operands: []string{"x", "y"}}},
		{"operands that look like options", "-v -- -v --help", result{toyOptions: toyOptions{verbose: 1}, operands: []string{"-v", "--help"}}},
		{"a dash is an operand", "- -v", result{toyOptions: toyOptions{verbose: 1}, operands: []string{"-"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got result
			var err error
			got.operands, err = got.set().Parse(strings.Fields(tt.args))
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestOptionErrors(t *testing.T) {
	const domains = ` is not a valid domain number: use 1 to 510`
	tests := []struct {
		name string
		args []string
		err  string
	}{
		{"unknown", []string{"-Z"}, "unknown option -Z"},
		{"unknown in a cluster", []string{"-vZ"}, "unknown option -Z"},
		{"unknown, long", []string{"--nope"}, "unknown option --nope"},
		{"unknown, with a value", []string{"--nope=1"}, "unknown option --nope"},
		{"no argument", []string{"-d"}, "option -d needs an argument: NUM"},
		{"no argument, long", []string{"--domain"}, "option --domain needs an argument: NUM"},
		{"an argument too many", []string{"--pipe=yes"}, "option --pipe takes no argument"},
		{"ambiguous", []string{"--he", "x"}, "option --he is ambiguous: --helptext, --help"},
		{"domain is no number", []string{"-d", "abc"}, `option -d: "abc"` + domains},
		{"domain is empty", []string{"--domain="}, `option --domain: ""` + domains},
		{"domain 0", []string{"-d0"}, `option -d: "0"` + domains},
		{"domain 511 is reserved", []string{"--dom=511"}, `option --domain: "511"` + domains},
		{"domain below zero", []string{"-d", "-5"}, `option -d: "-5"` + domains},
		{"log file without a name", []string{"--log="}, "option --log: empty argument"},
		{"debug options without a name", []string{"-D", "pdu,,fetch"}, `option -D: unrecognized debug options specification "pdu,,fetch"`},
		{"debug options that cannot be", []string{"-D", "-d"}, `option -D: unrecognized debug options specification "-d"`},
		{"a TCP socket", []string{"-i", "2078"}, "option -i: sockets are not supported"},
		{"an IPv6 socket", []string{"-6", "2078"}, "option -6: sockets are not supported"},
		{"a unix socket", []string{"-u", "/s"}, "option -u: sockets are not supported"},
		{"a socket, long", []string{"--inet=2078"}, "option --inet: sockets are not supported"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			operands, err := new(toyOptions).set().Parse(tt.args)
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), tt.err), err.Error())
			assert.Nil(t, operands)
			assert.NotErrorIs(t, err, pmda.ErrHelp)
		})
	}
}

func TestHelpOption(t *testing.T) {
	for _, args := range []string{"-?", "--help", "--help -Z", "-v?", "-v x -?"} {
		_, err := new(toyOptions).set().Parse(strings.Fields(args))
		assert.Equal(t, pmda.ErrHelp, err, args)
	}
}

func TestUsage(t *testing.T) {
	var b strings.Builder
	require.NoError(t, new(toyOptions).set().Usage(&b))
	assert.Equal(t, `Usage: pmdatoy [options] [path ...]

Options:
  -D SPEC, --debug=SPEC
                        debug options, separated by commas
  -d NUM, --domain=NUM  domain number of the agent
  -h FILE, --helptext=FILE
                        take the help texts from FILE
  -l FILE, --log=FILE   write the log to FILE
  -p, --pipe            talk to pmcd over a pipe (the only way)
  -U USER, --username=USER
                        run as USER when started by root
  -c PATH, --config=PATH
                        read definitions from PATH,
                        which may be given several times
  -v                    say more
  -?, --help            show this usage message and exit
`, b.String())

	require.ErrorIs(t, (&pmda.OptionSet{}).Usage(brokenWriter{}), io.ErrClosedPipe)
}

func TestDebugs(t *testing.T) {
	assert.False(t, (&pmda.Options{}).Debugs("pdu"))
	assert.False(t, (&pmda.Options{Debug: []string{"fetch"}}).Debugs("pdu"))
	assert.True(t, (&pmda.Options{Debug: []string{"fetch", "pdu"}}).Debugs("pdu"))
	assert.True(t, (&pmda.Options{Debug: []string{"all"}}).Debugs("pdu"))
}

// FuzzOptions feeds any command line: nothing panics, nothing is lost, and what follows "--" comes
// out as it is.
func FuzzOptions(f *testing.F) {
	for _, args := range []string{"-d\x00510", "-vpd510\x00x", "--dom=5\x00--", "-\x00--help", "--=\x00-?", "--\x00-l"} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, joined string) {
		args := strings.Split(joined, "\x00")
		var o toyOptions
		operands, err := o.set().Parse(args)
		if err != nil {
			require.Nil(t, operands)
			require.NotEmpty(t, err.Error())
			return
		}
		require.GreaterOrEqual(t, len(args), len(operands))
		require.True(t, o.Domain == 0 || o.Domain >= 1 && o.Domain <= 510)
		again, err := o.set().Parse(append([]string{"--"}, args...))
		require.NoError(t, err)
		require.Equal(t, args, again)
	})
}

// An argument that may be left out is attached, as with getopt_long.
func TestOptionalArgument(t *testing.T) {
	for _, row := range []struct {
		args, want string
		operands   []string
	}{
		{"--strict", "(all)", nil},
		{"--strict=a,b", "a,b", nil},
		{"--strict a", "(all)", []string{"a"}},
		{"--str", "(all)", nil},
		{"-s", "(all)", nil},
		{"-sa", "a", nil},
		{"-s a", "(all)", []string{"a"}},
		{"-s -s b", "(all)(all)", []string{"b"}},
	} {
		got := ""
		set := pmda.OptionSet{Program: "toy", Options: []pmda.Option{{
			Short: 's', Long: "strict", Arg: "WHAT", Optional: true, Help: "be strict",
			Set: func(arg string) error {
				if arg == "" {
					arg = "(all)"
				}
				got += arg
				return nil
			},
		}}}
		operands, err := set.Parse(strings.Fields(row.args))
		require.NoError(t, err)
		assert.Equal(t, row.want, got, row.args)
		assert.Equal(t, row.operands, operands, row.args)
		var b strings.Builder
		require.NoError(t, set.Usage(&b))
		assert.Contains(t, b.String(), "  -s[WHAT], --strict[=WHAT]\n")
	}
}
