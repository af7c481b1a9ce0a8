// Fresh-bench measures how fresh derived metrics are and prints a table: docs/freshness.md explains it.
//
//	fresh-bench -daemon FILE [-t TIME] [-only NAMES] [-v]
//
// The exit status is 1 if a promise was not kept or something could not be measured, 2 for wrong usage.
// `make bench-fresh` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"pmdaderived/test/freshbench"
)

func main() {
	if status, helper := freshbench.Helper(os.Args[1:]); helper {
		os.Exit(status)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o freshbench.Options
	flags := flag.NewFlagSet("fresh-bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Daemon, "daemon", "bin/pmdaderived", "`path` of the daemon")
	source := flags.String("source", ".", "the source `tree`, for its conformance test")
	length := flags.Duration("t", 3*time.Minute, "how long the periodic tools run; the irregular ones run half as long")
	only := flags.String("only", "", "the measurements to make, separated by commas: "+strings.Join(freshbench.Names(), ", "))
	verbose := flags.Bool("v", false, "tell what is being done")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *length <= 0 {
		fmt.Fprintln(stderr, "fresh-bench: wrong arguments, see -help")
		return 2
	}
	o.Plan = freshbench.Full(*length, *source)
	o.Only = strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })
	if *verbose {
		o.Log = stderr
	}
	table, err := freshbench.Run(ctx, o)
	if table != nil {
		if writeErr := table.Write(stdout); writeErr != nil && err == nil {
			err = writeErr
		}
	}
	if err != nil {
		fmt.Fprintf(stderr, "fresh-bench: %v\n", err)
		return 1
	}
	if !table.OK() {
		return 1
	}
	return 0
}
