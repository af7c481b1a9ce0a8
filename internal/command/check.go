package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"pmdaderived/config"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/operand"
)

// findings is the output of check: the problems of definition files.
type findings struct {
	*run
	all     bool // all problems of a file, and each shipped definition that waits for metrics
	treat   treatment
	files   definitions.CheckedFiles
	catalog *operand.Catalog // metadata of the operands; nil: the text only is checked
}

// allWarnings is the value of --werror without codes.
const allWarnings = "all"

// check finds mistakes in definition files: lines that cannot be read, expressions that are wrong, and, if there is a
// collector, expressions that do not fit its metrics. It also warns of what is probably not meant. It returns 1 if there
// is an error.
func (r *run) check(ctx context.Context, args []string) int {
	var offline, asJSON, portable bool
	f := &findings{run: r}
	r.flags.FuncP("config", "c", "the agent reads the files and directories in `PATHS`, separated by colons",
		commandline.PathList(&r.paths))
	r.flags.BoolVar(&f.all, "all", false, "show all messages about a file, and each shipped definition that waits for "+
		"metrics")
	r.flags.BoolVar(&offline, "offline", false, "do not contact pmcd: check the text only")
	r.flags.BoolVar(&portable, "portable", false,
		"warn about what clients cannot compute themselves, or only since PCP 6.3 or 7.2")
	r.flags.BoolVar(&asJSON, "json", false, "print the problems as a JSON array")
	r.flags.Func("werror", "treat warnings as errors: all, or those with the `CODES` in this list",
		func(arg string) error {
			if arg == allWarnings {
				f.treat.allErrors = true
				return nil
			}
			return parseCodes(arg, &f.treat.errors)
		})
	r.flags.Lookup("werror").NoOptDefVal = allWarnings
	r.flags.Func("ignore", "hide warnings and notes with the `CODES` in this list",
		func(arg string) error { return parseCodes(arg, &f.treat.ignored) })
	r.archiveOption()
	r.pmcdOption()
	paths, exit, done := r.parse(args)
	sourceGiven := r.pmcdGiven || len(r.archive.Paths) > 0
	switch {
	case done:
		return exit
	case slices.ContainsFunc(f.treat.errors, func(code string) bool { return slices.Contains(f.treat.ignored, code) }):
		return r.usageError(errors.New("--werror and --ignore cannot have the same code"))
	case offline && r.firstGiven("archive", "host") != "":
		return r.usageError(errors.New("--offline cannot be used with -a or -h"))
	}

	spooled, err := r.spool(paths)
	defer func() { _ = os.Remove(spooled) }()
	if err != nil {
		return r.fail(err)
	}
	f.files = definitions.ReadChecked(r.reader(r.paths), paths, offline, spooled)
	f.files.Portable = portable
	if !offline && (sourceGiven || len(f.files.All) > 0) {
		if err := f.lookUpOperands(ctx); err != nil {
			if sourceGiven { // only the default pmcd may be missing
				exit = commandline.ExitFailure
			}
			r.complain(err)
		}
	}
	problems := f.treat.apply(f.problems(ctx), f.files.InFiles())
	if asJSON {
		f.printJSON(problems)
	} else {
		f.print(problems)
	}
	f.summarize(problems)
	if countOf(problems, config.Error) > 0 {
		return commandline.ExitFailure
	}
	return exit
}

// spool copies standard input to a file, if it is an operand, and replaces the operand by the path of the file: so it is
// read as any other. The caller removes the file.
func (r *run) spool(operands []string) (path string, err error) {
	if !slices.Contains(operands, definitions.StandardInput) {
		return "", nil
	}
	f, err := os.CreateTemp("", "pmdaderived-*.conf")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, io.LimitReader(r.program.Stdin, config.MaxFileSize+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return f.Name(), fmt.Errorf("standard input: %w", err)
	}
	for i, operand := range operands {
		if operand == definitions.StandardInput {
			operands[i] = f.Name()
		}
	}
	return f.Name(), nil
}

func countOf(problems []*config.Problem, s config.Severity) int {
	n := 0
	for _, p := range problems {
		if p.Severity == s {
			n++
		}
	}
	return n
}
