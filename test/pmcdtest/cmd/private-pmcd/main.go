// Private-pmcd runs a command beside a pmcd of its own.
//
//	private-pmcd [-agent 'NAME DOMAIN PROGRAM [ARGUMENT]...']... -- COMMAND [ARGUMENT]...
//
// The pmcd has the stock agents pmcd, proc, sample, linux and mmv and those given with -agent, each the owner of the
// dynamic subtree NAME. In the command's environment stock tools use this pmcd without an option. It ends with the
// command.
//
// The exit status is that of the command; 128+N if signal N ended it; 125 if pmcd could not be started or
// ended; 126 if the command could not be started; 2 for wrong usage. If it is not 0 and there is an -agent,
// private-pmcd prints the logs of pmcd and its agents.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"pmdaderived/test/pmcdtest"
)

const (
	exitUsage     = 2
	exitNoPMCD    = 125
	exitNoCommand = 126
	exitSignal    = 128
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cfg, command, err := parse(args, stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(stderr, "private-pmcd: %v\n", err)
		}
		return exitUsage
	}

	// From here on a signal must not end this process before pmcd has ended. The terminal sends its signals to
	// the command as well. For any other signal the command gets a SIGTERM.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGQUIT)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGHUP, syscall.SIGTERM)
	defer stop()

	p, err := pmcdtest.Launch(cfg)
	if err != nil {
		fmt.Fprintf(stderr, "private-pmcd: %v\n", err)
		return exitNoPMCD
	}
	exit := runCommand(ctx, p, command, stdin, stdout, stderr)
	err = p.Stop()
	if err != nil || exit != 0 && len(cfg.Agents) > 0 {
		fmt.Fprintf(stderr, "private-pmcd: %s: exit status %d; the logs:\n%s", command[0], exit, p.Log())
	}
	if err = errors.Join(err, p.Remove()); err != nil {
		fmt.Fprintf(stderr, "private-pmcd: %v\n", err)
		return exitNoPMCD
	}
	return exit
}

// parse reads the command line. The usage message goes to stderr.
func parse(args []string, stderr io.Writer) (cfg pmcdtest.Config, command []string, err error) {
	flags := flag.NewFlagSet("private-pmcd", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: private-pmcd [options] -- COMMAND [ARGUMENT]...")
		flags.PrintDefaults()
	}
	flags.Func("agent", "a further `agent`: 'NAME DOMAIN PROGRAM [ARGUMENT]...', split at blanks",
		func(text string) error {
			agent, err := parseAgent(text)
			cfg.Agents = append(cfg.Agents, agent)
			return err
		})
	if err := flags.Parse(args); err != nil {
		return cfg, nil, err
	}
	if flags.NArg() == 0 {
		return cfg, nil, errors.New("no command given")
	}
	return cfg, flags.Args(), nil
}

func parseAgent(text string) (pmcdtest.Agent, error) {
	words := strings.Fields(text)
	if len(words) < 3 {
		return pmcdtest.Agent{}, errors.New("want a name, a domain number and a program")
	}
	domain, err := strconv.Atoi(words[1])
	if err != nil {
		return pmcdtest.Agent{}, fmt.Errorf("domain: %w", err)
	}
	program, err := exec.LookPath(words[2])
	if err != nil {
		return pmcdtest.Agent{}, err
	}
	if program, err = filepath.Abs(program); err != nil {
		return pmcdtest.Agent{}, err
	}
	return pmcdtest.Agent{Name: words[0], Domain: domain, Command: append([]string{program}, words[3:]...)}, nil
}

// runCommand runs the command to its end and returns the exit status for it.
func runCommand(ctx context.Context, p *pmcdtest.PMCD, command []string, stdin io.Reader, stdout,
	stderr io.Writer,
) int {
	cmd := p.Command(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintf(stderr, "private-pmcd: %v\n", err)
		return exitNoCommand
	}
	if wait, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
		return exitSignal + int(wait.Signal())
	}
	return cmd.ProcessState.ExitCode()
}
