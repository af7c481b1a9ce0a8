package pmda_test

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pmda"
)

// parse reads a command line of the standard options and a program's own -v.
func parse(args ...string) (options *pmda.Options, flags *pflag.FlagSet, err error) {
	flags = pflag.NewFlagSet("pmdatoy", pflag.ContinueOnError)
	flags.CountP("verbose", "v", "say more")
	options = pmda.StandardOptions(flags)
	return options, flags, flags.Parse(args)
}

func TestOptions(t *testing.T) {
	everything := pmda.Options{Domain: 250, LogFile: "/l", User: "pcp", HelpText: "/h", Debug: []string{"pdu"}}
	for _, row := range []struct {
		name string
		args string
		want pmda.Options
	}{
		{"none", "", pmda.Options{}},
		{"as pmcd.conf has it", "-d 510", pmda.Options{Domain: 510}},
		{"attached", "-d510", pmda.Options{Domain: 510}},
		{"long", "--domain 510", pmda.Options{Domain: 510}},
		{"long with equals sign", "--domain=510", pmda.Options{Domain: 510}},
		{"last one wins", "-d 1 -d 2", pmda.Options{Domain: 2}},
		{"all of them", "-d 250 -l /l -U pcp -h /h -D pdu -p", everything},
		{"all of them, long", "--domain 250 --log /l --username pcp --helptext /h --debug pdu --pipe", everything},
		{"the other name of --log", "--logfile=/l", pmda.Options{LogFile: "/l"}},
		{"debug options", "-D pdu,fetch -D appl0", pmda.Options{Debug: []string{"pdu", "fetch", "appl0"}}},
		{"debug bits", "-D 3", pmda.Options{Debug: []string{"3"}}},
		{"an argument that looks like an option", "-l -d", pmda.Options{LogFile: "-d"}},
		{"an argument with an equals sign", "--log=a=b", pmda.Options{LogFile: "a=b"}},
		{"a cluster", "-vpvd510", pmda.Options{Domain: 510}},
		{"a cluster whose argument follows", "-vd 510", pmda.Options{Domain: 510}},
	} {
		t.Run(row.name, func(t *testing.T) {
			options, flags, err := parse(strings.Fields(row.args)...)
			require.NoError(t, err)
			assert.Equal(t, row.want, *options)
			assert.Empty(t, flags.Args())
		})
	}
}

func TestOptionErrors(t *testing.T) {
	const domains = ` is not a valid domain number: use 1 to 510`
	for _, row := range []struct {
		name string
		args []string
		err  string
	}{
		{"domain is no number", []string{"-d", "abc"}, `"abc"` + domains},
		{"domain is empty", []string{"--domain="}, `""` + domains},
		{"domain 0", []string{"-d0"}, `"0"` + domains},
		{"domain 511 is reserved", []string{"--domain=511"}, `"511"` + domains},
		{"domain below zero", []string{"-d", "-5"}, `"-5"` + domains},
		{"log file without a name", []string{"--log="}, "empty argument"},
		{
			"debug options without a name",
			[]string{"-D", "pdu,,fetch"},
			`unrecognized debug options specification "pdu,,fetch"`,
		},
		{"debug options that cannot be", []string{"-D", "-d"}, `unrecognized debug options specification "-d"`},
		{"a TCP socket", []string{"-i", "2078"}, "sockets are not supported"},
		{"an IPv6 socket", []string{"-6", "2078"}, "sockets are not supported"},
		{"a unix socket", []string{"-u", "/s"}, "sockets are not supported"},
		{"a socket, long", []string{"--inet=2078"}, "sockets are not supported"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, _, err := parse(row.args...)
			require.ErrorContains(t, err, row.err)
			assert.NotErrorIs(t, err, pflag.ErrHelp)
		})
	}
}

func TestHelpOption(t *testing.T) {
	for _, args := range []string{"-?", "--help", "--help -Z", "-v?", "-v x -?"} {
		_, _, err := parse(strings.Fields(args)...)
		require.ErrorIs(t, err, pflag.ErrHelp, args)
	}
}

func TestDebugs(t *testing.T) {
	assert.False(t, (&pmda.Options{}).Debugs("pdu"))
	assert.False(t, (&pmda.Options{Debug: []string{"fetch"}}).Debugs("pdu"))
	assert.True(t, (&pmda.Options{Debug: []string{"fetch", "pdu"}}).Debugs("pdu"))
	assert.True(t, (&pmda.Options{Debug: []string{"all"}}).Debugs("pdu"))
}
