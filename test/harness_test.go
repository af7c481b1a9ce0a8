//go:build pcp

package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pmdaderived/internal/await"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// pollInterval is the pause between two attempts of the command poll.
const pollInterval = 20 * time.Millisecond

// TestScripts runs scripts/*.txtar. README.md documents the commands that are added to testscript's.
func TestScripts(t *testing.T) {
	work := worldReadableDir(t)
	h := harness{}
	testscript.Run(t, testscript.Params{
		Dir:                 "scripts",
		WorkdirRoot:         work,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               h.setup,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"pmcd":         h.pmcd,
			"pmcd-stop":    h.does((*pmcdtest.PMCD).Stop),
			"pmcd-restart": h.does((*pmcdtest.PMCD).Restart),
			"signal":       h.signal,
			"poll":         h.poll,
			"pmcd-log":     h.log,
		},
		Condition: func(condition string) (bool, error) {
			if condition == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", condition)
		},
	})
}

// harness has the commands of the scripts.
type harness struct{}

// running holds one script's pmcd.
type running struct {
	pmcd *pmcdtest.PMCD
}

type runningKey struct{}

func (h harness) setup(env *testscript.Env) error {
	r := &running{}
	env.Values[runningKey{}] = r
	fail, ok := env.T().(interface{ Errorf(string, ...any) })
	if !ok {
		return errors.New("testscript runs without *testing.T")
	}
	env.Defer(func() {
		if r.pmcd == nil {
			return
		}
		if err := r.pmcd.Stop(); err != nil {
			fail.Errorf("private pmcd: %v\n%s", err, r.pmcd.Log())
		}
		if err := r.pmcd.Remove(); err != nil {
			fail.Errorf("private pmcd: %v", err)
		}
	})
	// testscript makes a private folder, but the agent reads its files as another user.
	return filepath.WalkDir(env.WorkDir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = os.Chmod(path, 0o755)
		}
		return err
	})
}

// current returns the script's pmcd; without one the script fails.
func current(ts *testscript.TestScript) *pmcdtest.PMCD {
	p := ts.Value(runningKey{}).(*running).pmcd
	if p == nil {
		ts.Fatalf("no pmcd: use the command pmcd first")
	}
	return p
}

func plain(ts *testscript.TestScript, neg bool) {
	if neg {
		ts.Fatalf("this command cannot be negated")
	}
}

// check fails the script, with the logs of pmcd and its agents, if err is an error.
func check(ts *testscript.TestScript, p *pmcdtest.PMCD, err error) {
	if err != nil {
		ts.Logf("%s", p.Log())
		ts.Fatalf("%v", err)
	}
}

// pmcd [-only-stock] [-notready] [-pmcd OPTION]... [AGENT OPTION]...
func (h harness) pmcd(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg)
	r := ts.Value(runningKey{}).(*running)
	if r.pmcd != nil {
		ts.Fatalf("a script has one pmcd")
	}
	var cfg pmcdtest.Config
	stock, notReady := false, false
	for ; len(args) > 0; args = args[1:] {
		if args[0] == "-only-stock" {
			stock = true
			continue
		}
		if args[0] == "-notready" {
			notReady = true
			continue
		}
		if args[0] != "-pmcd" {
			break
		}
		if len(args) < 2 {
			ts.Fatalf("%s needs a value", args[0])
		}
		cfg.Flags = append(cfg.Flags, args[1])
		args = args[1:]
	}
	if !stock {
		program, err := daemonProgram()
		ts.Check(err)
		ts.Setenv("PMDADERIVED", program)
		cfg.Agents = []pmcdtest.Agent{{
			Name:     "derived",
			Domain:   domain,
			NotReady: notReady,
			Command:  append([]string{program, "-d", fmt.Sprint(domain)}, args...),
		}}
	}
	p, err := pmcdtest.Launch(cfg)
	ts.Check(err)
	r.pmcd = p
	for _, variable := range p.Env() {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "PCP_") || strings.HasPrefix(name, "PMCD_") || name == "PATH" {
			ts.Setenv(name, value)
		}
	}
	ts.Setenv("PMCD_DIR", p.Dir)
}

// pmcd-stop and pmcd-restart
func (h harness) does(action func(*pmcdtest.PMCD) error) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, _ []string) {
		plain(ts, neg)
		p := current(ts)
		check(ts, p, action(p))
	}
}

var signals = map[string]syscall.Signal{
	"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "INT": syscall.SIGINT,
	"USR1": syscall.SIGUSR1, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
}

// signal NAME [PROGRAM]
func (h harness) signal(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg)
	if len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: signal NAME [PROGRAM]")
	}
	sig, ok := signals[args[0]]
	if !ok {
		ts.Fatalf("no signal %s", args[0])
	}
	p := current(ts)
	program := "pmdaderived"
	if len(args) == 2 {
		program = args[1]
	}
	if program == "pmcd" {
		check(ts, p, p.Signal(sig))
		return
	}
	pid, ok := p.PidOf(program)
	if !ok {
		check(ts, p, fmt.Errorf("%s is not among %v", program, p.Processes()))
	}
	check(ts, p, syscall.Kill(pid, sig))
}

// pmcd-log PATTERN, and its negation
func (h harness) log(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] pmcd-log PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	// A message may come a moment after what it is about.
	limit := await.Limit
	if neg {
		limit = 0
	}
	if within(context.Background(), limit, func() bool { return pattern.MatchString(current(ts).Log()) }) == neg {
		ts.Fatalf("match of %s in the logs: want %v\n%s", args[0], !neg, current(ts).Log())
	}
}

// poll [-stdout PATTERN]... [-stderr PATTERN]... PROGRAM [ARGUMENT]..., and its negation
func (h harness) poll(ts *testscript.TestScript, neg bool, args []string) {
	p := current(ts)
	attempt, err := parsePoll(args)
	ts.Check(err)
	attempt.succeeds = !neg
	deadline := time.Now().Add(await.Limit)
	for {
		stdout, stderr, problem := attempt.run(p, ts.MkAbs("."))
		if problem == nil {
			// cat makes the output that of the last command, which stdout and stderr check.
			seen := ts.MkAbs(".poll")
			ts.Check(os.WriteFile(seen, stdout, 0o644))
			ts.Check(ts.Exec("cat", seen))
			return
		}
		if time.Now().After(deadline) {
			check(ts, p, fmt.Errorf("after %v still: %w\n[stdout]\n%s\n[stderr]\n%s", await.Limit, problem, stdout, stderr))
		}
		rig.Sleep(context.Background(), pollInterval)
	}
}

// attempt is one command of poll, with its conditions.
type attempt struct {
	patterns map[string][]*regexp.Regexp // by the option that gives them
	command  []string
	succeeds bool
}

func parsePoll(args []string) (attempt, error) {
	const usage = "usage: [!] poll [-stdout PATTERN]... [-stderr PATTERN]... PROGRAM [ARGUMENT]..."
	if len(args) == 0 {
		return attempt{}, errors.New(usage)
	}
	a := attempt{patterns: map[string][]*regexp.Regexp{}}
	for ; len(args) > 2 && (args[0] == "-stdout" || args[0] == "-stderr"); args = args[2:] {
		pattern, err := regexp.Compile("(?m)" + args[1])
		if err != nil {
			return attempt{}, err
		}
		a.patterns[args[0]] = append(a.patterns[args[0]], pattern)
	}
	if len(args) == 0 {
		return attempt{}, errors.New(usage)
	}
	a.command = args
	return a, nil
}

// run runs the command once and returns the conditions that do not hold yet.
func (a attempt) run(p *pmcdtest.PMCD, dir string) (stdout, stderr []byte, problem error) {
	ctx, cancel := context.WithTimeout(context.Background(), await.Limit)
	defer cancel()
	cmd := p.Command(ctx, a.command[0], a.command[1:]...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	switch {
	case a.succeeds && err != nil:
		problem = err
	case !a.succeeds && err == nil:
		problem = errors.New("the command succeeds")
	}
	for option, printed := range map[string][]byte{"-stdout": out.Bytes(), "-stderr": errs.Bytes()} {
		for _, pattern := range a.patterns[option] {
			if !pattern.Match(printed) {
				problem = errors.Join(problem, fmt.Errorf("no match for %s %s", option, pattern))
			}
		}
	}
	return out.Bytes(), errs.Bytes(), problem
}
