package pmda

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"pmdaderived/pdu"
)

// Options are the values of the options that every agent has (pmdaGetOptions(3)). The program
// sets its defaults before it parses.
type Options struct {
	Domain   int      // -d: domain number of the agent, 1..510
	LogFile  string   // -l: path of the log, for [OpenLog]
	User     string   // -U: account to run as, for [DropPrivileges]
	HelpText string   // -h: path of the help text file
	Debug    []string // -D: debug options in the order given
}

// Debugs reports whether -D has the option what, or "all".
func (o *Options) Debugs(what string) bool {
	return slices.Contains(o.Debug, what) || slices.Contains(o.Debug, "all")
}

// StandardOptions adds the options of every agent to flags. flags.Parse sets the Options that it returns; the program
// sets its defaults there before. For -? and --help Parse returns [pflag.ErrHelp]. Parse refuses -i, -6 and -u, which
// make other agents listen on a socket: a [Server] talks to pmcd over a pipe only.
func StandardOptions(flags *pflag.FlagSet) *Options {
	o := new(Options)
	into := func(s *string) func(string) error {
		return func(arg string) error {
			if arg == "" {
				return errors.New("empty argument")
			}
			*s = arg
			return nil
		}
	}
	pipeOnly := func(string) error {
		return errors.New(`sockets are not supported, the agent talks to pmcd over a pipe only ` +
			`("pipe" in its line of pmcd.conf)`)
	}
	flags.FuncP("debug", "D", "debug options `SPEC`, separated by commas", o.addDebug)
	flags.FuncP("domain", "d", "domain number `NUM` of the agent", o.setDomain)
	flags.BoolFuncP("help", "?", "show this usage message and exit", func(string) error { return pflag.ErrHelp })
	flags.FuncP("helptext", "h", "take the help texts from `FILE`", into(&o.HelpText))
	flags.FuncP("log", "l", "write the log to `FILE`", into(&o.LogFile))
	flags.BoolFuncP("pipe", "p", "talk to pmcd over a pipe (the only way)", func(string) error { return nil })
	flags.FuncP("username", "U", "run as `USER` when started by root", into(&o.User))

	// These are not in the usage text.
	flags.Func("logfile", "", into(&o.LogFile))
	flags.FuncP("inet", "i", "", pipeOnly)
	flags.FuncP("ipv6", "6", "", pipeOnly)
	flags.FuncP("unix", "u", "", pipeOnly)
	for _, name := range []string{"logfile", "inet", "ipv6", "unix"} {
		flags.Lookup(name).Hidden = true
	}
	return o
}

// setDomain accepts 1 to 510. 511 belongs to dynamic roots and client-side derived metrics.
func (o *Options) setDomain(arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 || n >= pdu.DynamicDomain {
		return fmt.Errorf("%q is not a valid domain number: use 1 to %d", arg, pdu.DynamicDomain-1)
	}
	o.Domain = n
	return nil
}

// addDebug accepts a list of names as pmdbg -l shows them, or of the bit numbers that older versions used.
func (o *Options) addDebug(arg string) error {
	for name := range strings.SplitSeq(arg, ",") {
		name = strings.TrimSpace(name)
		if ok, _ := regexp.MatchString(`^\w+$`, name); !ok {
			return fmt.Errorf("unrecognized debug options specification %q", arg)
		}
		o.Debug = append(o.Debug, name)
	}
	return nil
}
