// Soak runs the daemon under everything at once and prints what it finds: docs/reliability.md explains it.
//
//	soak -daemon FILE [-t TIME] [-seed N] [-short]
//
// The exit status is 1 if something does not hold or the run could not be made, 2 for wrong usage. `make soak` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pmdaderived/test/soak"
)

func main() {
	if status, helper := soak.Helper(os.Args[1:]); helper {
		os.Exit(status)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := soak.Options{Log: stdout}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Daemon, "daemon", "bin/pmdaderived", "`path` of the daemon")
	length := flags.Duration("t", 10*time.Minute, "how long")
	short := flags.Bool("short", false, "the small plan that the tests use")
	flags.Uint64Var(&o.Seed, "seed", 1, "what all random choices begin with")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	switch {
	case flags.NArg() > 0:
		fmt.Fprintln(stderr, "soak: wrong arguments, see -help")
		return 2
	case !*short && *length < soak.Least:
		fmt.Fprintf(stderr, "soak: -t %v: the disturbances need %v at least\n", *length, soak.Least)
		return 2
	}
	if o.Plan = soak.Full(*length); *short {
		o.Plan = soak.Short()
	}
	table, err := soak.Run(ctx, o)
	if err != nil {
		fmt.Fprintf(stderr, "soak: %v\n", err)
		return 1
	}
	if err := table.Write(stdout); err != nil {
		fmt.Fprintf(stderr, "soak: %v\n", err)
		return 1
	}
	if !table.OK() {
		return 1
	}
	return 0
}
