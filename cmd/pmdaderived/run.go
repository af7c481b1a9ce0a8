package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"pmdaderived/config"
	"pmdaderived/internal/agent"
	"pmdaderived/internal/agent/mmv"
	"pmdaderived/internal/command"
	"pmdaderived/internal/commandline"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
)

// run is the whole program: the agent, or the sub-command that args begin with. It returns the exit status.
// Sub-commands write only their results to stdout; for the agent it is a pipe to pmcd.
func run(
	ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer,
) int {
	commands := command.Program{Getenv: getenv, Usage: printProgramUsage, Stdin: stdin, Stdout: stdout, Stderr: stderr}
	if status, known := commands.Run(ctx, args); known {
		return status
	}
	conf, confErr := config.ReadPCPConf(getenv)
	o, err := parseOptions(args, conf, getenv)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return printed(o.usage(stdout, command.Columns(stdout, getenv)), stderr)
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\nTry \"%s --help\".\n", commandline.Name, err, commandline.Name)
		return commandline.ExitUsage
	case o.version:
		_, err := fmt.Fprintf(stdout, "%s %s\n", commandline.Name, version())
		return printed(err, stderr)
	}
	if confErr != nil {
		fmt.Fprintf(stderr, "%s: %v\n", commandline.Name, confErr)
	}
	if info, err := os.Stdin.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(stderr, "%s is started by pmcd, which talks to it over a pipe on standard input and output.\n"+
			"See %s --help, and the script Install.\n", commandline.Name, commandline.Name)
		return commandline.ExitUsage
	}
	if err := daemon(ctx, o); err != nil {
		return commandline.ExitFailure
	}
	return commandline.ExitOK
}

// printed reports that stdout cannot be written, and returns the exit status.
func printed(err error, stderr io.Writer) int {
	if err == nil {
		return commandline.ExitOK
	}
	fmt.Fprintf(stderr, "%s: %v\n", commandline.Name, err)
	return commandline.ExitFailure
}

// daemon runs the agent. The order matters: it gives up its rights before it opens files, and shakes hands before it
// does anything slow. It has logged the error that it returns.
func daemon(ctx context.Context, o *options) error {
	log := newLogger(os.Stderr, o.logLevel, logLimit, time.Now)
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	o.agent.StoreUser = os.Getuid() // who starts the agent can also end it
	if err := pmda.GiveLog(o.standard.LogFile, o.standard.User, o.group); err != nil {
		log.WithError(err).Warn("cannot create the log file")
	}
	if err := pmda.DropPrivileges(o.standard.User, o.group); err != nil {
		log.WithError(err).Error("cannot run as an ordinary user")
		return err
	}
	if err := pmda.Harden(); err != nil {
		log.WithError(err).Warn("cannot drop rights that the agent does not need")
	}
	in, out, err := pmda.Stdio()
	if err != nil {
		log.WithError(err).Error("cannot use the pipes of pmcd")
		return err
	}
	pmda.IgnoreSIGPIPE()
	if err := pmda.Greet(out, true); err != nil {
		log.WithError(err).Error("cannot write to pmcd")
		return err
	}
	var beside []func(context.Context)
	var a *agent.Agent
	var failed error
	err = pmda.UntilHangup(ctx, in, shutdownTimeout, func() { a, beside, failed = prepare(o, log, hup) })
	if err == nil && failed != nil {
		return failed
	}
	if err == nil {
		err = serve(ctx, &pmda.Server{Agent: a, Log: log, Greeted: true}, in, out, beside...)
	}
	switch {
	case err == nil, errors.Is(err, pmda.ErrHangup):
		log.Info("pmcd closed the pipe, exiting")
		err = nil
	case ctx.Err() != nil:
		log.WithField("reason", err).Info("exiting on a signal")
		err = nil
	case errors.Is(err, syscall.EPIPE): // pmcd has ended, or has dropped the agent
		log.WithField("reason", err).Warn("pmcd closed the pipe without reading a reply, exiting")
		err = nil
	default:
		log.WithError(err).Error("exiting")
	}
	return err
}

// prepare opens the log, reads configuration and state, and makes the agent, with the tasks that run beside its request
// loop. It may wait for a disk. It has logged the error that it returns.
func prepare(
	o *options, log *logrus.Logger, hup <-chan os.Signal,
) (a *agent.Agent, beside []func(context.Context), err error) {
	if err := pmda.OpenLog(o.standard.LogFile, commandline.Name, time.Now()); err != nil {
		log.WithError(err).Warn("no log file, logging to standard error")
	}
	log.WithFields(logrus.Fields{
		"version": version(), "domain": o.standard.Domain, "user": os.Getuid(), "config": o.paths, "pmcd": o.pmcd,
	}).Info("started")
	if o.conf.NotReady(o.standard.Domain) {
		err := errors.New("pmcd sends no requests to an agent with the word notready in its line; remove the word " +
			"and send SIGHUP to pmcd")
		log.WithError(err).WithField("file", o.conf.PMCDConf).Error("exiting")
		return nil, nil, err
	}

	files := newDefinitionSource(o, log)
	settings := o.agent
	settings.Domain, settings.Version, settings.Log = o.standard.Domain, version(), log
	settings.Load = files.load
	settings.Dial = func(ctx context.Context, opts ...pmapi.Option) (*pmapi.Conn, error) {
		return commandline.Dial(ctx, o.pmcd, opts...)
	}
	settings.Debug = func(on bool) {
		log.SetLevel(o.logLevel)
		if on {
			log.SetLevel(max(o.logLevel, logrus.DebugLevel))
		}
	}
	a = agent.New(settings)
	beside = []func(context.Context){
		a.Run,
		func(ctx context.Context) { reloadOnSignal(ctx, hup, a.Reload) },
		func(ctx context.Context) { files.watcher.Run(ctx, a.Reload) },
	}
	switch {
	case o.mmv == "":
	case o.conf.TmpDir != o.conf.FileTmpDir:
		log.WithError(errors.New("PCP_TMP_DIR in the environment is not that of pcp.conf")).Warn("no metrics below mmv")
	default:
		beside = append(beside, mmv.New(mmv.Options{
			Dir:     filepath.Join(o.conf.TmpDir, "mmv"),
			Name:    o.mmv,
			Figures: a.Figures(),
			Log:     log,
		}).Run)
	}
	return a, beside, nil
}

// shutdownTimeout is how long tasks may go on after pmcd has closed the pipe. A task that waits longer, for a file
// system that does not answer, ends with the process.
const shutdownTimeout = 3 * time.Second

// serve runs the request loop and the tasks beside it until pmcd closes the pipe or ctx ends. Then it waits for the
// tasks, up to [shutdownTimeout].
func serve(
	ctx context.Context, server *pmda.Server, in, out *os.File, beside ...func(context.Context),
) error {
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	for _, task := range beside {
		tasks.Go(func() { task(ctx) })
	}
	err := server.Serve(ctx, in, out)
	cancel()
	ended := make(chan struct{})
	go func() {
		tasks.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(shutdownTimeout):
		server.Log.Warn("exiting although a task is still waiting for a file")
	}
	return err
}

// reloadOnSignal calls reload for every signal until ctx ends.
func reloadOnSignal(ctx context.Context, signals <-chan os.Signal, reload func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			reload()
		}
	}
}

// release is the version that scripts/version prints. The Makefile sets it.
var release string //nolint:gochecknoglobals // the linker sets it

// version returns the release, or else the version of the module or commit that the program was built from.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return cmp.Or(info.Main.Version, "devel")
	}
	return "devel"
}
