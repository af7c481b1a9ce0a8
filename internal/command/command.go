package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"pmdaderived/config"
	"pmdaderived/internal/collector"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/plural"
)

// invocation is a run of a sub-command.
type invocation struct {
	subCommand
	conf           config.PCPConf
	getenv         func(string) string
	confErr        error                 // about the file of conf; only commands that contact pmcd need it
	usage          func(io.Writer) error // writes the usage text of the program
	stdin          io.Reader
	stdout, stderr *output
	flags          *pflag.FlagSet

	paths     []string // of definitions; nil: the default ones
	pmcd      string
	pmcdGiven bool // with -h or $PCP_HOST
	archive   archiveOptions
	damage    map[string]bool // kinds of damage that have been reported
	spooled   string          // copy of standard input
}

// Summary describes a sub-command in the usage text of the program.
type Summary struct{ Name, Operands, Help, Example string }

// subCommand is a sub-command with its function.
type subCommand struct {
	Summary
	run func(ctx context.Context, t *invocation, args []string) int
}

func subCommands() []subCommand {
	return []subCommand{
		{Summary{"check", "[PATH]...", "look for mistakes in definition files", "check site.conf"}, runCheck},
		{
			Summary{
				"explain", "NAME|EXPR...", "show the metadata of every part of an expression",
				"explain 'rate(disk.all.total)'",
			},
			runExplain,
		},
		{
			Summary{
				"eval", "NAME|EXPR...", "compute metrics, without the agent", "eval -t 5 -s 3 'rate(disk.all.total)'",
			},
			runEval,
		},
		{Summary{"test", "FILE|DIR...", "run unit tests of definitions", "test site.test"}, runTest},
		{
			Summary{
				"replay", "OUT [NAME]...", "write an archive of derived metrics, computed from another archive",
				"replay -a incident -c site.conf out",
			},
			runReplay,
		},
		{Summary{"help", "[COMMAND]", "show help for a sub-command, or this list", "help eval"}, runHelp},
	}
}

// Summaries returns the sub-commands in the order of the usage text.
func Summaries() []Summary {
	commands := subCommands()
	all := make([]Summary, len(commands))
	for i, c := range commands {
		all[i] = c.Summary
	}
	return all
}

// Program has what the program gives to its sub-commands.
type Program struct {
	Getenv         func(string) string
	Usage          func(io.Writer) error // writes the usage text of the program
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs the sub-command that args begin with, and returns its exit status. known is false if args begin with none.
func (p Program) Run(ctx context.Context, args []string) (status int, known bool) {
	for _, c := range subCommands() {
		if len(args) == 0 || args[0] != c.Name {
			continue
		}
		conf, err := config.ReadPCPConf(p.Getenv)
		t := &invocation{
			subCommand: c, conf: conf, confErr: err, getenv: p.Getenv, usage: p.Usage, stdin: p.Stdin,
			stdout: &output{w: p.Stdout}, stderr: &output{w: p.Stderr}, damage: map[string]bool{},
			flags: commandline.NewFlags(), pmcd: commandline.PMCD(conf, p.Getenv),
		}
		status = c.run(ctx, t, args[1:])
		if t.stdout.err != nil && status == commandline.ExitOK {
			t.complain(t.stdout.err)
			status = commandline.ExitFailure
		}
		return status, true
	}
	return 0, false
}

// runHelp prints the usage text of a sub-command, or of the program.
func runHelp(ctx context.Context, t *invocation, args []string) int {
	args, exit, done := t.parse(args)
	switch {
	case done:
		return exit
	case len(args) == 0:
		_ = t.usage(t.stdout) // t.stdout remembers the error
		return commandline.ExitOK
	case len(args) > 1:
		return t.usageError(fmt.Errorf("unexpected argument %q", args[1]))
	}
	for _, c := range subCommands() {
		if c.Name == args[0] {
			of := *t
			of.subCommand, of.flags = c, commandline.NewFlags()
			return c.run(ctx, &of, []string{"--help"})
		}
	}
	return t.usageError(fmt.Errorf("%q is not a sub-command; the sub-commands are %s", args[0], Names()))
}

// Names returns the names of all sub-commands, for a message.
func Names() string {
	var names []string
	for _, c := range subCommands() {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// parse reads the command line of a sub-command. done means that the sub-command ends with this exit status.
func (t *invocation) parse(args []string) (rest []string, exit int, done bool) {
	t.flags.BoolFuncP("help", "?", "show this usage message and exit", func(string) error { return pflag.ErrHelp })
	rest, err := commandline.Parse(t.flags, args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		call := strings.TrimSpace(commandline.Name + " " + t.Name + " [options] " + t.Operands)
		// t.stdout remembers the error
		_ = commandline.Usage(t.stdout, t.flags, call+"\n\n"+strings.ToUpper(t.Help[:1])+t.Help[1:]+".\n",
			t.Example)
		return nil, commandline.ExitOK, true
	case err != nil:
		return nil, t.usageError(err), true
	}
	if err := t.archive.misfits(t.pmcdGiven); err != nil {
		return nil, t.usageError(err), true
	}
	return rest, commandline.ExitOK, false
}

// firstGiven returns the first of these options that the command line has, "" if it has none.
func (t *invocation) firstGiven(names ...string) string {
	for _, name := range names {
		if t.flags.Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// usageError prints an error of the command line, and returns the exit status.
func (t *invocation) usageError(err error) int {
	fmt.Fprintf(t.stderr, "%s %s: %v\nTry \"%s %s --help\".\n", commandline.Name, t.Name, err, commandline.Name, t.Name)
	return commandline.ExitUsage
}

func (t *invocation) complain(err error) {
	fmt.Fprintf(t.stderr, "%s %s: %v\n", commandline.Name, t.Name, err)
}

// untilSignal returns a context that ends when the program gets a signal to end.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup(1) makes the program ignore it
		signals = append(signals, syscall.SIGHUP)
	}
	return signal.NotifyContext(ctx, signals...)
}

// fail prints an error, and returns the exit status. A command that was ended by a signal has failed, too.
func (t *invocation) fail(err error) int {
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if window, ok := errors.AsType[collector.PartError](err); ok {
		return t.usageError(window)
	}
	t.complain(err)
	return commandline.ExitFailure
}

func (t *invocation) pathsOption() {
	t.flags.FuncP("config", "c", "read definitions from the files and directories in `PATHS`, separated by colons",
		commandline.PathList(&t.paths))
}

// read reads definition files.
func (t *invocation) read(paths []string) definitions.Parsed {
	return t.reader(paths).Read()
}

// agentPaths returns the paths of -c in the agent's line of pmcd.conf, nil if there is none.
func (t *invocation) agentPaths() (paths []string) {
	text, _ := config.ReadFile(t.conf.PMCDConf) // optional
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line) // NAME DOMAIN pipe binary [notready] PROGRAM OPTIONS
		at := slices.IndexFunc(words, func(word string) bool { return filepath.Base(word) == commandline.Name })
		if at <= 0 || words[0][0] == '#' {
			continue
		}
		flags := commandline.NewFlags()
		flags.ParseErrorsAllowlist.UnknownFlags = true
		flags.FuncP("config", "c", "", commandline.PathList(&paths))
		_, _ = commandline.Parse(flags, words[at+1:]) // the agent tells mistakes
	}
	return paths
}

// reader returns a reader for the user that the agent runs as; without such an account for root. Without paths it reads
// the files of the agent.
func (t *invocation) reader(paths []string) definitions.Reader {
	if paths == nil {
		paths = t.agentPaths()
	}
	r := definitions.Reader{Paths: paths, Conf: t.conf}
	if account, err := user.Lookup(t.conf.User); err == nil {
		r.User, _ = strconv.Atoi(account.Uid) // a number on Unix
	}
	return r
}

// readPaths reads the definition files of -c, by default those of the agent. It says how many mistakes they have, if -c
// names them or all is true. A path of -c that cannot be read is an error.
func (t *invocation) readPaths(all bool) (definitions.Parsed, error) {
	read := t.read(t.paths)
	for _, p := range read.Problems {
		if p.Severity == config.Error && p.Pos.Line == 0 && slices.Contains(t.paths, p.Pos.File) {
			return read, p
		}
	}
	if wrong := countOf(read.Problems, config.Error); wrong > 0 && (all || t.paths != nil) {
		t.complain(fmt.Errorf("%s in the definitions: run %s check", plural.Of(wrong, "mistake"), commandline.Name))
	}
	return read, nil
}

// pmcdOption adds -h and reads $PCP_HOST, which count as one option, as in pmGetOptions(3). It also adds --pmcd, the name
// that the option has in the daemon, where it is in place of $PCP_HOST.
func (t *invocation) pmcdOption() {
	variable := t.getenv("PCP_HOST")
	if variable != "" {
		t.pmcd, t.pmcdGiven = variable, true
	}
	option := "" // the argument of the first of these options
	accept := func(before string) func(arg string) error {
		return func(arg string) error {
			if other := cmp.Or(option, before); other != "" {
				return fmt.Errorf("too many hosts requested: %s and %s", other, arg)
			}
			option, t.pmcdGiven = arg, true
			return commandline.Address(&t.pmcd)(arg)
		}
	}
	t.flags.FuncP("host", "h", "ask the pmcd on `HOST`; default: $PCP_HOST, or this host", accept(variable))
	t.flags.Func("pmcd", "in place of -h and $PCP_HOST", accept(""))
	t.flags.Lookup("pmcd").Hidden = true
}
