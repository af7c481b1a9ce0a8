package commandline

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// NewFlags makes a set without options.
func NewFlags() *pflag.FlagSet {
	flags := pflag.NewFlagSet(Name, pflag.ContinueOnError)
	flags.Usage = func() {} // pflag prints nothing itself
	return flags
}

// Parse reads a command line and returns its operands. The error is pflag.ErrHelp for -? and --help. Any other error is
// a message in the words of this program.
func Parse(flags *pflag.FlagSet, args []string) (operands []string, err error) {
	err = flags.Parse(args)
	if err == nil {
		return flags.Args(), nil
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if e.GetSpecifiedShortnames() != "" {
			return nil, fmt.Errorf("unknown option -%s", e.GetSpecifiedName())
		}
		return nil, fmt.Errorf("unknown option --%s", e.GetSpecifiedName())
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		arg, _ := pflag.UnquoteUsage(e.GetFlag())
		return nil, fmt.Errorf("option %s needs an argument: %s", names(e.GetFlag()), arg)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, pflag.ErrHelp
		}
		if arg, _ := pflag.UnquoteUsage(e.GetFlag()); arg == "" {
			return nil, fmt.Errorf("option %s takes no argument", names(e.GetFlag()))
		}
		return nil, fmt.Errorf("option %s: %w", names(e.GetFlag()), e.Unwrap())
	}
	if errors.Is(err, pflag.ErrHelp) { // pflag returns it for -h, too, if that is no option
		return nil, errors.New("unknown option -h")
	}
	return nil, err
}

// names returns the names of an option: "-d, --domain".
func names(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "--" + f.Name
	}
	return "-" + f.Shorthand + ", --" + f.Name
}

// forArchives is the annotation of options about archives.
const forArchives = "for archives"

// ForArchives says that options are about archives: the usage text has them behind the others.
func ForArchives(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = flags.SetAnnotation(name, forArchives, nil) // fails only without such an option
	}
}

const (
	// helpColumn is the column in which the usage text explains an option, as in PCP's own programs.
	helpColumn = 24
	// leastColumns is the least width of a usage text: each word fits behind helpColumn.
	leastColumns = 60
)

// Usage writes a usage text whose lines have so many columns at most. call says how the command is called, example has
// the arguments of an example.
func Usage(w io.Writer, columns int, flags *pflag.FlagSet, call, example string) error {
	var general, archives strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		b := &general
		if _, ok := f.Annotations[forArchives]; ok {
			b = &archives
		}
		arg, help := pflag.UnquoteUsage(f)
		head := "  "
		if f.Shorthand != "" {
			head += strings.TrimSpace("-"+f.Shorthand+" "+arg) + ", "
		}
		head += "--" + f.Name
		switch {
		case arg == "":
		case f.NoOptDefVal != "":
			head += "[=" + arg + "]"
		default:
			head += "=" + arg
		}
		if len(head) > helpColumn-2 {
			fmt.Fprintln(b, head)
			head = ""
		}
		fmt.Fprintf(b, "%-*s%s\n", helpColumn, head, help)
	})
	text := "Usage: " + call + "\nOptions:\n" + general.String()
	if archives.Len() > 0 {
		text += "\nOptions for archives:\n" + archives.String()
	}
	text += fmt.Sprintf("\nExample: %s %s\nThe language of definitions: man 5 %[1]s\n", Name, example)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		indent := 0
		if strings.HasPrefix(line, " ") {
			indent = helpColumn
		}
		lines[i] = Wrap(line, max(columns, leastColumns), indent)
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n"))
	return err
}

// Wrap breaks a line between words where it is longer than columns, and indents the rest.
func Wrap(line string, columns, indent int) string {
	var b strings.Builder
	for len(line) > columns {
		end := strings.LastIndexByte(line[:columns+1], ' ')
		if end <= indent { // one word
			break
		}
		b.WriteString(strings.TrimRight(line[:end], " ") + "\n")
		line = strings.Repeat(" ", indent) + line[end+1:]
	}
	return b.String() + line
}
