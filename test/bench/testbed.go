package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// Domains of the agents.
const (
	bulkDomain    = 401
	peerDomain    = 402
	derivedDomain = 510
)

// testbed is a private pmcd with the agents to compare. Several can run. Those that are not measured do nothing.
type testbed struct {
	b       *bench
	folder  rig.Folder
	pmcd    *pmcdtest.PMCD
	clients []*client
	control *rig.Reader // of the metrics below

	derived, bulk int   // processes
	all           []int // that work for our clients: pmcd, derived and bulk

	bindTook time.Duration // from the start of the agent until all definitions were bound
}

// testbedConfig has the parts of a testbed besides the source of operands.
type testbedConfig struct {
	definitions []definition
	peer        bool // the C agent
}

// Metrics of the agent itself that the bench reads.
const (
	ctlBound    = "derived.control.bound"
	ctlFailed   = "derived.control.failed"
	ctlOperands = "derived.control.upstream.metrics"
)

// newTestbed starts a testbed and waits until all definitions are bound.
func (b *bench) newTestbed(ctx context.Context, c testbedConfig) (a *testbed, err error) {
	a = &testbed{b: b}
	b.started = append(b.started, a)
	dir, err := os.MkdirTemp(string(b.folder), "arena")
	if err != nil {
		return nil, err
	}
	a.folder = rig.Folder(dir)
	// The agent gives up root's rights, and must still read its definitions.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := a.folder.Sub("definitions"); err != nil {
		return nil, err
	}
	if err := a.define(c.definitions); err != nil {
		return nil, err
	}
	config := pmcdtest.Config{Agents: []pmcdtest.Agent{
		{
			Name: "bulk", Domain: bulkDomain, PMNS: nameSpace("bulk"),
			Command: []string{b.folder.Path("bulk"), "-d", strconv.Itoa(bulkDomain), b.folder.Path("layout")},
		},
		{
			Name: "derived", Domain: derivedDomain,
			Command: []string{
				b.folder.Path("pmdaderived"), "-d", strconv.Itoa(derivedDomain), "-c", a.folder.Path("definitions"),
				"--interval", "0",
			},
		},
	}}
	if c.peer {
		config.Agents = append(config.Agents, pmcdtest.Agent{
			Name: "peer", Domain: peerDomain, PMNS: nameSpace("peer"),
			Command: []string{b.folder.Path("peer"), "-o", "-d", strconv.Itoa(peerDomain), b.folder.Path("layout")},
		})
	}
	if a.pmcd, err = pmcdtest.Launch(config); err != nil {
		return nil, err
	}
	for _, p := range a.pmcd.Processes() {
		switch p.Name {
		case "bulk":
			a.bulk = p.Pid
		case "pmdaderived":
			a.derived = p.Pid
		}
	}
	a.all = []int{a.pmcd.Pid(), a.bulk, a.derived}
	return a, a.awaitBound(ctx, len(c.definitions))
}

// awaitBound waits until n definitions are served.
func (a *testbed) awaitBound(ctx context.Context, n int) (err error) {
	if a.control, err = rig.NewReader(ctx, a.pmcd, ctlBound, ctlFailed, ctlOperands); err != nil {
		return err
	}
	return rig.Await(ctx, fmt.Sprintf("%d definitions are bound", n), func() (bool, error) {
		f, err := a.control.Read(ctx)
		if err == nil && f.Numbers[ctlFailed] > 0 {
			err = fmt.Errorf("%.0f are not\n%s", f.Numbers[ctlFailed], a.pmcd.Log())
		}
		if err != nil || int(f.Numbers[ctlBound]) < n {
			return false, err
		}
		process, err := rig.ReadProcess(a.derived)
		a.bindTook = process.Age
		return true, err
	})
}

// awaitRest waits for what happens once after a start: pmcd tells each of the agent's connections with its first answer
// that there are new agents, and a second later the agent looks its operands up again.
func (a *testbed) awaitRest(ctx context.Context, defs []definition) error {
	c, err := a.newClient(ctx, "")
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.names(names("derived.", defs[:min(len(defs), 16)])); err != nil { // at once, so on all connections
		return err
	}
	const gap, quiet = 1300 * time.Millisecond, 200 * time.Millisecond
	rig.Sleep(ctx, gap)
	return rig.Await(ctx, "the agent comes to rest", func() (bool, error) {
		used, err := a.cpuDuring(func() error {
			rig.Sleep(ctx, quiet)
			return nil
		}, a.derived)
		return used < float64(quiet/100), err
	})
}

// cpuDuring returns the CPU in ns that processes use during a call of do.
func (a *testbed) cpuDuring(do func() error, pids ...int) (float64, error) {
	before, err := rig.CPU(pids...)
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := rig.CPU(pids...)
	return float64(after - before), err
}

// define replaces the definitions.
func (a *testbed) define(defs []definition) error {
	_, err := a.folder.Write("definitions/bench.conf", text(defs))
	return err
}

// disconnect ends all clients.
func (a *testbed) disconnect() {
	for _, c := range a.clients {
		c.close()
	}
	a.clients = nil
}

// close ends the testbed and all its clients.
func (a *testbed) close() (err error) {
	a.disconnect()
	if a.control != nil {
		err = a.control.Close()
		a.control = nil
	}
	if a.pmcd != nil {
		err = errors.Join(err, a.pmcd.Stop(), a.pmcd.Remove())
		a.pmcd = nil
	}
	return err
}
