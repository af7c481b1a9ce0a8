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

// helpColumn is the column in which the usage text explains an option, as in PCP's own programs.
const helpColumn = 24

// Usage writes a usage text. call says how the command is called, example has the arguments of an example.
func Usage(w io.Writer, flags *pflag.FlagSet, call, example string) error {
	var b strings.Builder
	b.WriteString("Usage: " + call + "\nOptions:\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
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
			fmt.Fprintln(&b, head)
			head = ""
		}
		fmt.Fprintf(&b, "%-*s%s\n", helpColumn, head, help)
	})
	fmt.Fprintf(&b, "\nExample: %s %s\nThe language of definitions: man 5 %[1]s\n", Name, example)
	_, err := io.WriteString(w, b.String())
	return err
}
