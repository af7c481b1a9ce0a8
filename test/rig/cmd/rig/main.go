// Rig runs the daemon under load and prints its measurements as a table.
//
//	rig bench [-t TIME] [-quick] [-strict] [-only TEXT]... [-v] PROGRAMS how fast it is, beside C: test/bench
//	rig soak [-t TIME] [-seed N] [-liars N] DAEMON                       everything at once: docs/reliability.md
//
// DAEMON is the path of pmdaderived; PROGRAMS is a folder with it and the programs that it is compared with. With
// TEXT it measures only the lines whose names contain it, or one of several. The Makefile has a target for each
// command.
//
// The exit status is 1 if the run failed or a row misses its target (of bench, only with -strict), 2 for wrong usage.
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

// options are those of all commands. Not every command uses all.
type options struct {
	time                   time.Duration
	only                   []string
	quick, strict, verbose bool
	seed                   uint64
	liars                  int
}

// command is a sub-command.
type command struct {
	time time.Duration // without -t
	run  func(context.Context, options, string) (*rig.Table, error)
}

func commands() map[string]command {
	return map[string]command{
		"bench": {5 * time.Second, runBench},
		"soak":  {10 * time.Minute, runSoak},
	}
}

func run(ctx context.Context, args []string) int {
	name := strings.Join(args[:min(1, len(args))], "")
	c, ok := commands()[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "rig: no command %q, only bench and soak\n", name)
		return 2
	}
	var o options
	flags := flag.NewFlagSet("rig "+name, flag.ContinueOnError)
	flags.DurationVar(&o.time, "t", c.time, "how long a comparison or the soak goes on")
	flags.Func("only", "measure only what has this `text` in its name, or one of several", func(text string) error {
		o.only = append(o.only, text)
		return nil
	})
	flags.BoolVar(&o.verbose, "v", false, "tell what figures are made of")
	flags.BoolVar(&o.quick, "quick", false, "bench: as short as makes sense")
	flags.BoolVar(&o.strict, "strict", false, "bench: exit with 1 if a line misses its target")
	flags.Uint64Var(&o.seed, "seed", 1, "soak: what all random choices begin with")
	flags.IntVar(&o.liars, "liars", soak.MostLiars, "soak: how many agents lie")
	if err := flags.Parse(args[1:]); err != nil {
		return 2
	}
	if flags.NArg() != 1 || o.time <= 0 || o.liars < 0 || o.liars > soak.MostLiars {
		fmt.Fprintf(os.Stderr, "rig %s: wrong arguments, see -help\n", name)
		return 2
	}
	table, err := c.run(ctx, o, flags.Arg(0))
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

// log writes to stderr: stdout is for the table.
func (o options) log() *rig.Log { return &rig.Log{Out: os.Stderr, Verbose: o.verbose} }

func (o options) bench(programs string) bench.Options {
	if o.quick {
		o.time = 200 * time.Millisecond
	}
	return bench.Options{Programs: programs, Time: o.time, Only: o.only, Log: o.log()}
}

func runBench(ctx context.Context, o options, program string) (*rig.Table, error) {
	return bench.Run(ctx, o.bench(program))
}

func runSoak(ctx context.Context, o options, program string) (*rig.Table, error) {
	if o.time < soak.Least {
		return nil, fmt.Errorf("-t %v: the disturbances need %v at least", o.time, soak.Least)
	}
	return soak.Run(ctx, soak.Options{Daemon: program, Seed: o.seed, Plan: soak.Full(o.time, o.liars), Log: os.Stdout})
}
