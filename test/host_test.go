//go:build pcp

package test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/pmcdtest"
)

// The commands ask the pmcd of -h and $PCP_HOST that PCP's tools ask, and refuse what they refuse.
func TestHostOfCommands(t *testing.T) {
	program := must(daemonProgram())(t)
	local, other := pmcdtest.Start(t, pmcdtest.Config{}), pmcdtest.Start(t, pmcdtest.Config{})
	unix, tcp := "unix:"+other.Socket, fmt.Sprintf("127.0.0.1:%d", other.Port)
	for _, row := range []struct {
		name, host string // host is $PCP_HOST
		options    []string
		answers    *pmcdtest.PMCD // nil: refused
	}{
		{"none", "", nil, local},
		{"-h with a socket", "", []string{"-h", unix}, other},
		{"-h with a port", "", []string{"-h", tcp}, other},
		{"-h with a protocol", "", []string{"-h", "pcp://" + tcp}, other},
		{"--host", "", []string{"--host=" + tcp}, other},
		{"-h local:", "", []string{"-h", "local:"}, local},
		{"PCP_HOST with a socket", unix, nil, other},
		{"PCP_HOST with a port", tcp, nil, other},
		{"both", unix, []string{"-h", "local:"}, nil},
		{"-h twice", "", []string{"-h", unix, "-h", unix}, nil},
		{"-h and -a", "", []string{"-h", unix, "-a", "none"}, nil},
		{"PCP_HOST and -a", unix, []string{"-a", "none"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			run := func(command ...string) (stdout, stderr string, exit int) {
				if row.host != "" {
					command = append([]string{"env", "PCP_HOST=" + row.host}, command...)
				}
				return local.Run(t, append(append(command, row.options...), "pmcd.pid")...)
			}
			theirs, text, exit := run("pminfo", "-f")
			ours, errs, status := run(program, "eval")
			if row.answers != nil {
				require.Zero(t, exit, text)
				assert.Contains(t, theirs, fmt.Sprintf("value %d\n", row.answers.Pid()))
				assert.Equal(t, theirs, ours, errs)
				return
			}
			assert.NotZero(t, exit)
			assert.Equal(t, 2, status)
			assert.Empty(t, ours)
			assert.Regexp(t, "too many hosts requested|only one host or archive allowed", text)
			assert.Regexp(t, "too many hosts requested|only one host or archive allowed", errs)
		})
	}
}
