// Dice is a whole PMDA to read, to try and to copy: three dice that are thrown all the time. It has an
// instance domain, a counter, values that depend on time, a metric that can be stored, help texts and
// labels. It starts and ends as an agent should. README.md says how to run it.
//
//	main.go     options, log, start and end
//	agent.go    answers to pmcd: descriptors, instances, values, stores
//	metrics.go  the table of metrics, with names and texts
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"pmdaderived/pmda"
)

const (
	program       = "pmdadice"
	defaultDomain = 400 // the number of domain.h
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program. It returns the exit code. It prints to stdout only for --help: when pmcd has started the
// agent, stdout is the pipe.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := pflag.NewFlagSet(program, pflag.ContinueOnError)
	options := pmda.StandardOptions(flags)
	options.Domain, options.LogFile, options.User = defaultDomain, "dice.log", "pcp"
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		if _, err := fmt.Fprintf(stdout, "Usage: %s [options]\n\nOptions:\n%s", program, flags.FlagUsages()); err != nil {
			return exitFailure
		}
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n", program, err)
		return exitUsage
	}
	log := logrus.New()
	log.SetOutput(stderr)
	if options.Debugs("pdu") {
		log.SetLevel(logrus.DebugLevel)
	}
	if err := serve(ctx, options, log); err != nil {
		log.WithError(err).Error("ended")
		return exitFailure
	}
	return exitOK
}

// serve runs the agent. The order matters: root is given up before files are opened, and the handshake comes before
// anything slow.
func serve(ctx context.Context, options *pmda.Options, log *logrus.Logger) error {
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	if err := pmda.GiveLog(options.LogFile, options.User, ""); err != nil {
		return err
	}
	if err := pmda.DropPrivileges(options.User, ""); err != nil {
		return err
	}
	in, out, err := pmda.Stdio()
	if err != nil {
		return err
	}
	pmda.IgnoreSIGPIPE()
	if err := pmda.Greet(out, false); err != nil {
		return err
	}
	if err := pmda.OpenLog(options.LogFile, program, time.Now()); err != nil {
		log.WithError(err).Warn("no log file, logging to standard error")
	}
	// Slow preparations come here: requests wait in the pipe.
	agent, err := newAgent(options.Domain, time.Now(), rand.Uint32N)
	if err != nil {
		return err
	}
	log.WithField("domain", options.Domain).Info("started")
	err = (&pmda.Server{Agent: agent, Log: log, Greeted: true}).Serve(ctx, in, out)
	if ctx.Err() != nil {
		return nil // a signal ended it
	}
	return err
}
