// Rig runs the daemon under load and prints what it finds, as a table.
//
//	rig bench [-t TIME] [-quick] [-strict] [-only TEXT]... [-v] PROGRAMS how fast it is, beside C: test/bench
//	rig fresh [-t TIME] [-short] [-only TEXT]... [-v] DAEMON             how fresh values are: docs/freshness.md
//	rig soak [-t TIME] [-seed N] [-short] DAEMON                         everything at once: docs/reliability.md
//	rig lies [-t TIME] [-record TIME] [-short] [-only TEXT]... [-v] DAEMON an agent lies beside one that does not: docs/reliability.md
//
// DAEMON is the path of pmdaderived; PROGRAMS a folder with it and what it is compared with. With TEXT only what has it, or one of several, in its name is measured. The Makefile has a target for each.
//
// The exit status is 1 if the run could not be made or a promise was not kept (of bench, only with -strict), 2 for wrong usage.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"pmdaderived/test/bench"
	"pmdaderived/test/freshbench"
	"pmdaderived/test/rig"
	"pmdaderived/test/soak"
)

func main() {
	if status, helper := rig.Helper(os.Args[1:]); helper {
		os.Exit(status)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

// options are those of all commands; not all have a meaning for each.
type options struct {
	time                          time.Duration
	only                          []string
	quick, strict, short, verbose bool
	seed                          uint64
	record                        time.Duration
}

// command is a sub-command.
type command struct {
	operands int
	time     time.Duration // without -t
	run      func(context.Context, options, []string) (*rig.Table, error)
}

func commands() map[string]command {
	return map[string]command{
		"bench": {1, 5 * time.Second, runBench},
		"fresh": {1, 3 * time.Minute, runFresh},
		"soak":  {1, 10 * time.Minute, runSoak},
		"lies":  {1, time.Minute, runLies},
	}
}

func run(ctx context.Context, args []string) int {
	name := strings.Join(args[:min(1, len(args))], "")
	c, ok := commands()[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "rig: no command %q, only bench, fresh, soak, lies\n", name)
		return 2
	}
	var o options
	flags := flag.NewFlagSet("rig "+name, flag.ContinueOnError)
	flags.DurationVar(&o.time, "t", c.time, "how long a comparison, the periodic tools, or the soak goes on")
	flags.Func("only", "measure only what has this `text` in its name, or one of several", func(text string) error {
		o.only = append(o.only, text)
		return nil
	})
	flags.BoolVar(&o.verbose, "v", false, "tell what figures are made of")
	flags.BoolVar(&o.quick, "quick", false, "bench: as short as makes sense")
	flags.BoolVar(&o.strict, "strict", false, "bench: exit with 1 if a line misses its target")
	flags.BoolVar(&o.short, "short", false, "fresh, soak: the small plan that the tests use")
	flags.Uint64Var(&o.seed, "seed", 1, "soak: what all random choices begin with")
	flags.DurationVar(&o.record, "record", 10*time.Second, "lies: how often pmloggers record what needs nothing of the agent")
	if err := flags.Parse(args[1:]); err != nil {
		return 2
	}
	if flags.NArg() != c.operands || o.time <= 0 || o.record < time.Second {
		fmt.Fprintf(os.Stderr, "rig %s: wrong arguments, see -help\n", name)
		return 2
	}
	table, err := c.run(ctx, o, flags.Args())
	if table != nil {
		if writeErr := table.Write(os.Stdout); err == nil {
			err = writeErr
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "rig %s: %v\n", name, err)
		return 1
	}
	if table != nil && !table.OK() && (name != "bench" || o.strict) {
		return 1
	}
	return 0
}

// log tells on stderr: stdout is for the table.
func (o options) log() *rig.Log { return &rig.Log{Out: os.Stderr, Verbose: o.verbose} }

func (o options) bench(programs string) bench.Options {
	if o.quick {
		o.time = 200 * time.Millisecond
	}
	return bench.Options{Programs: programs, Time: o.time, Only: o.only, Log: o.log()}
}

func runBench(ctx context.Context, o options, args []string) (*rig.Table, error) {
	return bench.Run(ctx, o.bench(args[0]))
}

func runFresh(ctx context.Context, o options, args []string) (*rig.Table, error) {
	plan := freshbench.Full(o.time)
	if o.short {
		plan = freshbench.Short()
	}
	return freshbench.Run(ctx, freshbench.Options{Daemon: args[0], Plan: plan, Only: o.only, Log: o.log()})
}

func runSoak(ctx context.Context, o options, args []string) (*rig.Table, error) {
	plan := soak.Full(o.time)
	if o.short {
		plan = soak.Short()
	} else if o.time < soak.Least {
		return nil, fmt.Errorf("-t %v: the disturbances need %v at least", o.time, soak.Least)
	}
	return soak.Run(ctx, soak.Options{Daemon: args[0], Seed: o.seed, Plan: plan, Log: os.Stdout})
}

func runLies(ctx context.Context, o options, args []string) (*rig.Table, error) {
	plan := soak.FullLies(o.time, o.record)
	if o.short {
		plan = soak.ShortLies()
	}
	return soak.Lies(ctx, soak.LieOptions{Daemon: args[0], Plan: plan, Only: o.only, Log: o.log()})
}
