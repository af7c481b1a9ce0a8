package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"pmdaderived/config"
	"pmdaderived/internal/collector"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
)

// run is a run of a sub-command. Its fields get their values in this order, from the arguments to a session that can
// compute; a sub-command that needs less stops before.
type run struct {
	SubCommand
	program        Program
	stdout, stderr *output // those of program, without control characters
	width          int     // of stdout, in columns
	conf           config.PCPConf
	confErr        error // about the file of conf; only commands that contact pmcd need it

	options // parse

	definitions definitions.Named            // readDefinitions
	collector   *collector.Collector         // connect; nil before
	damage      map[string]bool              // kinds of damage to an archive that have been reported
	subjects    []subject                    // bindSubjects: the operands of eval and explain
	named       map[string]served.Definition // definitions by name, for subjects
	session     *session.Session             // of the subjects, or of what is recorded
}

// parse reads the command line of a sub-command. done means that the sub-command ends with this exit status.
func (r *run) parse(args []string) (rest []string, exit int, done bool) {
	r.flags.BoolFuncP("help", "?", "show this usage message and exit", func(string) error { return pflag.ErrHelp })
	rest, err := commandline.Parse(r.flags, args)
	if errors.Is(err, pflag.ErrHelp) {
		call := strings.TrimSpace(commandline.Name + " " + r.Name + " [options] " + r.Operands)
		// r.stdout remembers the error
		_ = commandline.Usage(r.stdout, r.width, r.flags, call+"\n\n"+strings.ToUpper(r.Help[:1])+r.Help[1:]+".\n",
			r.Example)
		return nil, commandline.ExitOK, true
	}
	if err := cmp.Or(err, r.contradiction()); err != nil {
		return nil, r.usageError(err), true
	}
	return rest, commandline.ExitOK, false
}

// usageError prints an error of the command line, and returns the exit status.
func (r *run) usageError(err error) int {
	fmt.Fprintf(r.stderr, "%s %s: %v\nTry \"%s %s --help\".\n", commandline.Name, r.Name, err, commandline.Name, r.Name)
	return commandline.ExitUsage
}

// sentence prints a line of text, or several if the terminal is narrower.
func (r *run) sentence(format string, args ...any) {
	fmt.Fprintln(r.stdout, commandline.Wrap(fmt.Sprintf(format, args...), r.width, 0))
}

// complain prints an error, or a warning, with the name of the sub-command: a script may run several.
func (r *run) complain(err error) {
	fmt.Fprintf(r.stderr, "%s %s: %v\n", commandline.Name, r.Name, err)
}

// fail prints an error, and returns the exit status. A command that was ended by a signal has failed, too: a script
// cannot know who sent the signal.
func (r *run) fail(err error) int {
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if part, ok := errors.AsType[collector.PartError](err); ok {
		return r.usageError(part)
	}
	r.complain(err)
	return commandline.ExitFailure
}

// untilSignal returns a context that ends when the program gets a signal to end, so that a command can clean up, and
// say that it was interrupted.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup(1) makes the program ignore it
		signals = append(signals, syscall.SIGHUP)
	}
	return signal.NotifyContext(ctx, signals...)
}

// reader returns a reader of definition files. It reads as the user that the agent runs as, without such an account as
// root: a person may be able to read more. Without paths it reads the files of the agent, because people ask about the
// metrics that they see.
func (r *run) reader(paths []string) definitions.Reader {
	if paths == nil {
		paths = r.agentPaths()
	}
	reader := definitions.Reader{Paths: paths, Conf: r.conf}
	if account, err := user.Lookup(r.conf.User); err == nil {
		reader.User, _ = strconv.Atoi(account.Uid) // a number on Unix
	}
	return reader
}

// agentPaths returns the paths of -c in the agent's line of pmcd.conf, nil if there is none.
func (r *run) agentPaths() (paths []string) {
	for _, words := range r.conf.PMCDLines() { // NAME DOMAIN pipe binary [notready] PROGRAM OPTIONS
		program := slices.IndexFunc(words, func(word string) bool { return filepath.Base(word) == commandline.Name })
		if program <= 0 {
			continue
		}
		flags := commandline.NewFlags()
		flags.ParseErrorsAllowlist.UnknownFlags = true
		flags.FuncP("config", "c", "", commandline.PathList(&paths))
		_, _ = commandline.Parse(flags, words[program+1:]) // the agent tells mistakes
	}
	return paths
}

// readDefinitions reads the definition files of -c, by default those of the agent, which are context otherwise. An empty
// list means no files at all. It says how many mistakes they have if -c names them, or always: who asks for one metric
// did not ask about the agent's files. It also says that later files of the agent replace definitions of -c. A path of
// -c that cannot be read is an error.
func (r *run) readDefinitions(always bool) error {
	reader := r.reader(nil)
	if r.paths != nil && len(r.paths) == 0 {
		reader.Paths = r.paths
	}
	r.definitions = definitions.ReadNamed(reader, r.paths)
	own := slices.DeleteFunc(slices.Clone(r.definitions.Problems),
		func(p *config.Problem) bool { return !r.definitions.Concerns(p) })
	for _, p := range own {
		if p.Severity == config.Error && p.Pos.Line == 0 && slices.Contains(r.paths, p.Pos.File) {
			return p
		}
	}
	if wrong := countOf(own, config.Error); wrong > 0 && (always || r.paths != nil) {
		r.complain(fmt.Errorf("%s in the definitions: run %s", plural.Of(wrong, "mistake"),
			strings.Join(append([]string{commandline.Name, "check"}, r.paths...), " ")))
	}
	inFiles, has := r.definitions.InFiles(), r.definitions.Has
	replaced := slices.DeleteFunc(own, func(p *config.Problem) bool {
		return p.Code != codeReplaced || !has(p.Replaced.File) || has(inFiles[p.Name].Pos.File)
	})
	if len(replaced) > 0 {
		name := replaced[0].Name
		r.complain(fmt.Errorf("later files replace %s of -c, such as %s at %s", plural.Of(len(replaced), "definition"), name,
			inFiles[name].Pos))
	}
	return nil
}

// connect opens the selected archive, and warns of damage. Without one it connects to the pmcd of -h or of this host.
func (r *run) connect(ctx context.Context) (err error) {
	if len(r.archive.Paths) == 0 {
		if r.confErr != nil {
			r.complain(r.confErr)
		}
		r.collector, err = collector.Connect(ctx, r.pmcd)
		return err
	}
	r.archive.Local = r.localZone()
	archive, err := r.archive.Open()
	if err != nil {
		return err
	}
	r.collector = collector.FromArchive(archive)
	for _, damage := range archive.Damage() {
		r.reportDamage(damage)
	}
	if archive.Part.Unaligned {
		r.complain(fmt.Errorf("-A is ignored: the time window contains no multiple of %s", r.archive.Window.Align))
	}
	return nil
}

// localZone returns the zone of the variable TZ, or that of this host. A zone that is not known is UTC, as for the C
// library, but with a warning.
func (r *run) localZone() *time.Location {
	zone, err := collector.LocalZone(r.program.Getenv("TZ"))
	if err != nil {
		r.complain(fmt.Errorf("TZ: %w; times are in UTC", err))
	}
	return zone
}

// reportDamage prints a fault of an archive, unless one of that kind in the same file has been printed: a damaged
// volume may have thousands.
func (r *run) reportDamage(err error) {
	if kind := collector.DamageKind(err); !r.damage[kind] {
		r.damage[kind] = true
		r.complain(err)
	}
}

// verify reports all damage of an archive, for a command that does not read all of it and would not notice.
func (r *run) verify(ctx context.Context) error {
	if r.collector.Archive == nil {
		return nil
	}
	return r.collector.Archive.Verify(ctx, r.reportDamage)
}
