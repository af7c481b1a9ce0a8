//go:build pcp

package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/test/pmcdtest"
)

// definitions is the file of all hosts. One operand is missing on the host without dice.
const definitions = `fleet.level = sample.write_me * 10
fleet.level(oneline) = level of the host
fleet.bins = sample.bin * sample.write_me
fleet.bins(oneline) = filling of each bin
fleet.clock = rate(sample.milliseconds)
fleet.clock(oneline) = milliseconds in a millisecond
fleet.sides = dice.sides * 2
fleet.sides(oneline) = sides of two dice
page.quotient = sample.bin / (sample.bin - 200)
page.infinite = 1 / (sample.long.one - 1)
page.matched = matchinst(/^bin.[12]00|a\\.b/, sample.bin)
`

// values has the values of metrics: by the name of a singular one, by name[instance] of others.
type values map[string]float64

// host is one machine with pmcd and our agent.
type host struct {
	name, site string
	level      int  // what is stored into sample.write_me
	dice       bool // it has the agent of pmda/examples/dice as well
	pmcd       *pmcdtest.PMCD
	logger     *process // its pmlogger
}

func fleetHosts() []*host {
	return []*host{
		{name: "north.example", site: "north", level: 1, dice: true},
		{name: "south.example", site: "south", level: 2, dice: true},
		{name: "west.example", site: "west", level: 3},
	}
}

// want returns the values of the definitions on the host.
func (h *host) want() values {
	want := values{"derived.fleet.level": float64(10 * h.level), "derived.fleet.clock": 1}
	for bin := 100; bin <= 900; bin += 100 {
		want[fmt.Sprintf("derived.fleet.bins[bin-%d]", bin)] = float64(bin * h.level)
	}
	if h.dice {
		want["derived.fleet.sides"] = 12
	}
	return want
}

// address returns pmcd's address in the form of PCP's tools.
func (h *host) address() string { return fmt.Sprintf("127.0.0.1:%d", h.pmcd.Port) }

// programs are the programs of the hosts and their definitions: the folder has a copy of the definitions that come with
// the agent, and fleet.conf.
type programs struct{ agent, dice, folder, definitions string }

// build makes the programs and the files of definitions in a folder that the user pcp can read.
func build(t *testing.T) programs {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fleet-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	p := programs{
		agent:       filepath.Join(dir, "pmdaderived"),
		dice:        filepath.Join(dir, "pmdadice"),
		folder:      filepath.Join(dir, "definitions"),
		definitions: filepath.Join(dir, "definitions", "fleet.conf"),
	}
	require.NoError(t, os.CopyFS(p.folder, os.DirFS("../../conf")))
	for program, source := range map[string]string{p.agent: "./cmd/pmdaderived", p.dice: "./pmda/examples/dice"} {
		cmd := exec.Command("go", "build", "-trimpath", "-o", program, source)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.WriteFile(p.definitions, []byte(definitions), 0o644))
	return p
}

// start runs the host until the test ends. It returns when the host serves all that it can.
func (h *host) start(t *testing.T, p programs) {
	t.Helper()
	cfg := pmcdtest.Config{
		HostName: h.name,
		Labels:   fmt.Sprintf(`{"site":%q}`, h.site),
		Agents:   []pmcdtest.Agent{{Name: "derived", Domain: 510, Command: []string{p.agent, "-d", "510", "-c", p.folder}}},
	}
	if h.dice {
		cfg.Agents = append(cfg.Agents, pmcdtest.Agent{Name: "dice", Domain: 400, Command: []string{p.dice, "-d", "400"}})
	}
	h.pmcd = pmcdtest.Start(t, cfg)
	_, stderr, exit := h.pmcd.Run(t, "pmstore", "sample.write_me", strconv.Itoa(h.level))
	require.Zero(t, exit, stderr)
	await.Until(t, "each metric has a value", func() bool {
		for metric := range h.want() {
			metric, _, _ = strings.Cut(metric, "[")
			stdout, _, _ := h.pmcd.Run(t, "pmprobe", metric)
			if fields := strings.Fields(stdout); len(fields) < 2 || fields[1] == "0" || strings.HasPrefix(fields[1], "-") {
				return false
			}
		}
		return true
	})
}
