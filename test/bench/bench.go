package bench

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"pmdaderived/test/rig"
)

// Options are the parameters of a benchmark.
type Options struct {
	Programs string        // folder with bulk, client, pmdaderived
	Time     time.Duration // rough least time of each comparison
	Only     []string      // texts in the names of the lines to measure; empty: all
	Log      *rig.Log
}

// bench is the state of one run.
type bench struct {
	Options
	folder  rig.Folder
	version int // of the definitions of thousands

	testbeds map[string]*testbed // that live until the end of the run, by name
	started  []*testbed          // that may still run when a line fails
}

// line is a line of the table: figures, with the maximum of each.
type line struct {
	what, unit string
	most       []float64
	measure    func(*bench, context.Context) ([]float64, error)
}

// lines returns the table.
func lines() []line {
	return []line{
		{"latency of a pmFetch of 1; 10 metrics / C agent", "", []float64{1.25, 1.25}, (*bench).fewMetrics},
		{"latency of 1,000 singular; 10,000 values / C agent", "", []float64{0.95, 0.70}, (*bench).manyValues},
		{"refresh of 10,000; 100,000 values / CPU of one libpcp client", "", []float64{0.35, 0.35}, (*bench).refreshValues},
		{"refresh of 1,000 scalars / libpcp; / pmie", "", []float64{0.06, 0.25}, (*bench).refreshScalars},
		{
			"5,000 definitions: first bind, s; one changed, until seen, ms; longest wait of a client meanwhile, ms", "",
			[]float64{0.75, 100, 10},
			(*bench).definitions,
		},
		{
			"maximum of 600,000 values since the last fetch, longest fetch; longest wait of another client while they are sampled", "ms",
			[]float64{10, 10},
			(*bench).windows,
		},
		{"name lookup, CPU of the agent, 10; 10,000 definitions", "µs", []float64{15, 15}, (*bench).lookup},
		{"resident memory: no; 5,000 definitions; 100,000 values fetched", "MiB", []float64{16}, (*bench).memory},
		{
			"whole system / client-side, 1,000 metrics, 1; 10; 50 clients", "",
			[]float64{0.30, 0.11, 0.075},
			(*bench).wholeScalars,
		},
		{"the same, 100 metrics × 10 instances", "", []float64{1.5, 0.70, 0.65}, (*bench).wholeInstances},
		{"idle, CPU per second", "ms", []float64{0.3}, (*bench).idle},
		{"stall of another client during a refresh of 100,000 values, p99", "ms", []float64{2}, (*bench).stall},
	}
}

// Run measures the lines. It copies the programs and the layout to a folder for the run.
func Run(ctx context.Context, o Options) (table *rig.Table, err error) {
	program := func(name string) string { return filepath.Join(o.Programs, name) }
	b := &bench{Options: o, version: 1, testbeds: map[string]*testbed{}}
	b.folder, err = rig.NewFolder(map[string]string{
		"bulk": program("bulk"), "peer": program("bulk"), "client": program("client"), "pmdaderived": program("pmdaderived"),
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, a := range b.started {
			err = errors.Join(err, a.close())
		}
		err = errors.Join(err, b.folder.Remove())
	}()
	if _, err := b.folder.Write("layout", layoutFile()); err != nil {
		return nil, err
	}
	var parts []rig.Part
	for _, l := range lines() {
		parts = append(parts, rig.Part{Name: l.what, Run: func(ctx context.Context) ([]rig.Row, error) {
			figures, err := l.measure(b, ctx)
			for _, a := range b.started {
				a.disconnect()
			}
			if err != nil {
				return nil, err
			}
			return []rig.Row{rig.FigureRow(l.what, l.unit, figures, l.most)}, nil
		}})
	}
	return rig.Run(ctx, o.Log, o.Only, parts)
}

// minTurns returns the least number of turns, where a turn takes seconds.
func (b *bench) minTurns() int {
	if b.Time < time.Second {
		return 1
	}
	return 3
}

// shared returns the testbed with a name, and starts it at the first call. It lives until the end of the run.
func (b *bench) shared(ctx context.Context, name string, c testbedConfig) (*testbed, error) {
	if a := b.testbeds[name]; a != nil {
		return a, nil
	}
	a, err := b.newTestbed(ctx, c)
	if err != nil {
		return nil, err
	}
	b.testbeds[name] = a
	return a, a.awaitRest(ctx, c.definitions)
}

// small returns a testbed with a thousand scalars, metrics over every family, and the C agent.
func (b *bench) small(ctx context.Context) (*testbed, error) {
	defs := sums(1000)
	for _, row := range []struct{ size, metrics int }{{10, 100}, {1000, 10}, {10_000, 1}, {100_000, 2}} {
		defs = append(defs, sumsOver(row.size, row.metrics)...)
	}
	for i := range stallParts {
		defs = append(defs, over(10_000, i, "plain", "A"))
	}
	return b.shared(ctx, "small", testbedConfig{definitions: defs, peer: true})
}

// thousands returns a testbed with 5,000 definitions, the marker among them.
func (b *bench) thousands(ctx context.Context) (*testbed, error) {
	return b.shared(ctx, "thousands", testbedConfig{definitions: fiveThousand(b.version)})
}
