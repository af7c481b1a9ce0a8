// Bench runs the benchmark of package bench: `make bench`, which builds what it needs.
//
//	bench [-quick] [-strict] [-t TIME] [-only TEXT] [-v] PROGRAMS
//	bench -profile FOLDER [-t TIME] PROGRAMS
//
// The second form profiles the agent instead and leaves the profiles in the folder.
// PROGRAMS is the folder that holds the programs to measure. The exit status is 1 if anything could not
// be measured at all, or with -strict if a line misses its target, and 2 for wrong usage.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pmdaderived/test/bench"
)

func main() {
	o := bench.Options{Out: os.Stdout, Progress: os.Stderr}
	var quick, strict bool
	flag.DurationVar(&o.Time, "t", 5*time.Second, "how long each comparison is repeated")
	flag.BoolVar(&quick, "quick", false, "as short as makes sense: a minute or two in all")
	flag.BoolVar(&strict, "strict", false, "exit with 1 if a line misses its target")
	flag.StringVar(&o.Only, "only", "", "measure only the lines, or profile only the loads, whose name contains this `text`")
	flag.BoolVar(&o.Verbose, "v", false, "print what the figures are made of")
	profile := flag.String("profile", "", "profile the agent under load instead; leave the profiles in this `folder`")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "bench: want the folder of the programs; see make bench")
		os.Exit(2)
	}
	if quick {
		o.Time = 200 * time.Millisecond
	}
	o.Programs = flag.Arg(0)
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	var missed int
	var err error
	if *profile != "" {
		err = bench.Profile(ctx, o, *profile)
	} else {
		missed, err = bench.Run(ctx, o)
	}
	cancel()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
	if strict && missed > 0 {
		os.Exit(1)
	}
}
