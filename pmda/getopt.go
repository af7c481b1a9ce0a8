package pmda

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ErrHelp is what [OptionSet.Parse] returns for -? and --help: the program prints the usage text to
// standard output and ends successfully.
var ErrHelp = errors.New("help requested")

// Option is one option of a command line. It has a short form, a long one or both.
type Option struct {
	Short    byte   // 0: none
	Long     string // "": none
	Arg      string // what its argument is called in the usage text; "": it takes none
	Optional bool   // the argument may be left out: it is attached (--name=ARG) or there is none
	Help     string // "": it works, but the usage text is silent about it

	// Set takes the option, in the order of the command line and as often as it is given. arg is ""
	// for an option without one.
	Set func(arg string) error
}

// OptionSet reads a command line the way getopt_long does, as the options of a PMDA are meant:
// short options in clusters (-pd510), arguments attached or following (-d510, -d 510, --domain=510,
// --domain 510), long names cut short where no other begins the same way, options after operands,
// "--" before operands that look like options. -? and --help are built in.
type OptionSet struct {
	Program  string // as the usage text calls it
	Operands string // what follows "[options]" in the usage text, if anything
	Intro    string // lines between that and the options, if any
	Options  []Option
}

// Parse reads args, the command line without the program's name, and returns the operands. It
// stops at the first error; the options before that have been set.
func (s *OptionSet) Parse(args []string) (operands []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			return append(operands, args...), nil
		case strings.HasPrefix(arg, "--"):
			args, err = s.parseLong(arg[2:], args)
		case len(arg) > 1 && arg[0] == '-':
			args, err = s.parseShort(arg[1:], args)
		default:
			operands = append(operands, arg)
		}
		if err != nil {
			return nil, err
		}
	}
	return operands, nil
}

// parseLong takes one long option, its dashes removed; next is what follows on the command line.
func (s *OptionSet) parseLong(arg string, next []string) (rest []string, err error) {
	name, value, attached := strings.Cut(arg, "=")
	o, err := s.findLong(name)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Arg == "" && attached:
		return nil, fmt.Errorf("option --%s takes no argument", o.Long)
	case o.Optional && !attached:
	case o.Arg != "" && !attached && len(next) == 0:
		return nil, fmt.Errorf("option --%s needs an argument: %s", o.Long, o.Arg)
	case o.Arg != "" && !attached:
		value, next = next[0], next[1:]
	}
	return next, o.take("--"+o.Long, value)
}

func (s *OptionSet) findLong(name string) (*Option, error) {
	var found []*Option
	for _, o := range s.all() {
		switch {
		case o.Long == "":
		case o.Long == name:
			return &o, nil
		case strings.HasPrefix(o.Long, name):
			found = append(found, &o)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("unknown option --%s", name)
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, o := range found {
		names[i] = "--" + o.Long
	}
	return nil, fmt.Errorf("option --%s is ambiguous: %s", name, strings.Join(names, ", "))
}

// parseShort takes a cluster of short options, its dash removed.
func (s *OptionSet) parseShort(cluster string, next []string) (rest []string, err error) {
	for i := range len(cluster) {
		o, err := s.findShort(cluster[i])
		if err != nil {
			return nil, err
		}
		flag := "-" + string(o.Short)
		if o.Arg == "" {
			if err := o.take(flag, ""); err != nil {
				return nil, err
			}
			continue
		}
		if attached := cluster[i+1:]; attached != "" {
			return next, o.take(flag, attached)
		}
		if o.Optional {
			return next, o.take(flag, "")
		}
		if len(next) == 0 {
			return nil, fmt.Errorf("option %s needs an argument: %s", flag, o.Arg)
		}
		return next[1:], o.take(flag, next[0])
	}
	return next, nil
}

func (s *OptionSet) findShort(c byte) (*Option, error) {
	for _, o := range s.all() {
		if o.Short == c && c != 0 {
			return &o, nil
		}
	}
	return nil, fmt.Errorf("unknown option -%c", c)
}

func (o *Option) take(flag, value string) error {
	err := o.Set(value)
	if err != nil && !errors.Is(err, ErrHelp) {
		return fmt.Errorf("option %s: %w", flag, err)
	}
	return err
}

// all returns the options with the one that is built in.
func (s *OptionSet) all() []Option {
	return append(slices.Clip(s.Options), Option{
		Short: '?', Long: "help",
		Help: "show this usage message and exit",
		Set:  func(string) error { return ErrHelp },
	})
}

// helpColumn is where the usage text explains an option, as in the texts of PCP's own programs.
const helpColumn = 24

// Usage writes the usage text.
func (s *OptionSet) Usage(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s", strings.TrimRight(s.Program+" [options] "+s.Operands, " "))
	b.WriteString("\n" + s.Intro + "\nOptions:\n")
	for _, o := range s.all() {
		if o.Help == "" {
			continue
		}
		head := "  " + o.forms()
		if len(head) > helpColumn-2 {
			fmt.Fprintln(&b, head)
			head = ""
		}
		help := strings.ReplaceAll(o.Help, "\n", "\n"+strings.Repeat(" ", helpColumn))
		fmt.Fprintf(&b, "%-*s%s\n", helpColumn, head, help)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// forms shows how the option may be written: "-d NUM, --domain=NUM", "--werror[=CODES]".
func (o *Option) forms() string {
	short, long := "", ""
	switch {
	case o.Arg == "":
	case o.Optional:
		short, long = "["+o.Arg+"]", "[="+o.Arg+"]"
	default:
		short, long = " "+o.Arg, "="+o.Arg
	}
	var forms []string
	if o.Short != 0 {
		forms = append(forms, "-"+string(o.Short)+short)
	}
	if o.Long != "" {
		forms = append(forms, "--"+o.Long+long)
	}
	return strings.Join(forms, ", ")
}
