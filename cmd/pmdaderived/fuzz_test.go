package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzCommandLine reads any command line of the daemon, one argument a line: there are options of sane
// values, or an error that says something.
func FuzzCommandLine(f *testing.F) {
	for _, args := range []string{
		"-d\n510\n-l\nlog\n-U\npcp", "-c\n/a:/b::", "--pmcd=host:44321", "--pmcd\nunix:/run/pmcd.socket",
		"--interval=1.5", "--interval\n1h0.0.1",
		"--protect=,proc,,x.y,", "--mmv=off", "--mmv=../x", "--log-level=trace",
		"-Dall", "--\n-d", "-6\n-i\n2323", "--state\n", "--nosuch", "-V",
	} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		o, err := parseOptions(strings.Split(lines, "\n"), testConf, environment())
		require.NotNil(t, o)
		if err != nil {
			require.NotEmpty(t, err.Error())
			require.NoError(t, o.usage(io.Discard, 80))
			return
		}
		require.GreaterOrEqual(t, int64(o.agent.Interval), int64(0))
		require.NotContains(t, o.mmv, "/", "it is the name of a file")
		require.NotContains(t, o.agent.Protected, "")
	})
}
