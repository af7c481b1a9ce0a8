package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"pmdaderived/config"
	"pmdaderived/internal/commandline"
)

// SubCommand is a sub-command, as the usage text of the program shows it.
type SubCommand struct {
	Name, Operands, Help, Example string

	execute func(r *run, ctx context.Context, args []string) int // returns the exit status
}

// SubCommands returns the sub-commands in the order of the usage text.
func SubCommands() []SubCommand {
	return []SubCommand{
		{"check", "[PATH]...", "look for mistakes in definition files", "check site.conf", (*run).check},
		{
			"explain", "NAME|EXPR...", "show the metadata of every part of an expression",
			"explain 'rate(disk.all.total)'", (*run).explain,
		},
		{
			"eval", "NAME|EXPR...", "compute metrics, without the agent", "eval -t 5 -s 3 'rate(disk.all.total)'",
			(*run).eval,
		},
		{"test", "FILE|DIR...", "run unit tests of definitions", "test site.test", (*run).test},
		{
			"replay", "OUT [NAME]...", "write an archive of derived metrics, computed from another archive",
			"replay -a incident -c site.conf out", (*run).replay,
		},
		{
			"diff", "OLD NEW", "show what differs between two versions of definitions", "diff -a incident site.conf new.conf",
			(*run).diff,
		},
		{"help", "[COMMAND]", "show help for a sub-command, or this list", "help eval", (*run).help},
	}
}

// Names returns the names of all sub-commands, for a message.
func Names() string {
	var names []string
	for _, c := range SubCommands() {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// Program has what the program gives to its sub-commands.
type Program struct {
	Getenv         func(string) string
	Usage          func(w io.Writer, columns int) error // writes the usage text of the program
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs the sub-command that args begin with, and returns its exit status. known is false if args begin with none.
func (p Program) Run(ctx context.Context, args []string) (status int, known bool) {
	for _, c := range SubCommands() {
		if len(args) == 0 || args[0] != c.Name {
			continue
		}
		conf, err := config.ReadPCPConf(p.Getenv)
		r := &run{
			SubCommand: c, program: p, stdout: &output{w: p.Stdout}, stderr: &output{w: p.Stderr}, conf: conf, confErr: err,
			options: options{flags: commandline.NewFlags(), pmcd: commandline.PMCD(conf, p.Getenv), pause: defaultPause},
			damage:  map[string]bool{}, width: Columns(p.Stdout, p.Getenv),
		}
		defer func() {
			if r.collector != nil {
				r.collector.Close()
			}
		}()
		status = c.execute(r, ctx, args[1:])
		if r.stdout.err != nil {
			r.complain(r.stdout.err)
			status = max(status, commandline.ExitFailure)
		}
		return status, true
	}
	return 0, false
}

// help prints the usage text of a sub-command, or of the program.
func (r *run) help(ctx context.Context, args []string) int {
	args, exit, done := r.parse(args)
	switch {
	case done:
		return exit
	case len(args) == 0:
		_ = r.program.Usage(r.stdout, r.width) // r.stdout remembers the error
		return commandline.ExitOK
	case len(args) > 1:
		return r.usageError(fmt.Errorf("unexpected argument %q", args[1]))
	}
	for _, c := range SubCommands() {
		if c.Name == args[0] {
			other := *r // each sub-command adds its options itself, so it is asked for its usage text
			other.SubCommand, other.flags = c, commandline.NewFlags()
			return c.execute(&other, ctx, []string{"--help"})
		}
	}
	return r.usageError(fmt.Errorf("%q is not a sub-command; the sub-commands are %s", args[0], Names()))
}
