package pmda

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pmdaderived/pdu"
)

// Options are the values of the options that every agent has (pmdaGetOptions(3)). The program
// sets the defaults before it parses.
type Options struct {
	Domain   int      // -d: number of the agent, 1..510
	LogFile  string   // -l: path of the log
	User     string   // -U: account to run as
	HelpText string   // -h: path of the help text file
	Debug    []string // -D: debug options in the order given
}

// Debugs reports whether -D names what or "all".
func (o *Options) Debugs(what string) bool {
	return slices.Contains(o.Debug, what) || slices.Contains(o.Debug, "all")
}

// StandardOptions returns the options of every agent; parsing sets o. A program adds its own ones
// to the list. The options that make an agent listen on a socket are known and refused: pmcd
// starts this agent and talks to it over a pipe.
func StandardOptions(o *Options) []Option {
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
	return []Option{
		{Short: 'D', Long: "debug", Arg: "SPEC", Set: o.addDebug, Help: "debug options, separated by commas"},
		{Short: 'd', Long: "domain", Arg: "NUM", Set: o.setDomain, Help: "domain number of the agent"},
		{Short: 'h', Long: "helptext", Arg: "FILE", Set: into(&o.HelpText), Help: "take the help texts from FILE"},
		{Short: 'l', Long: "log", Arg: "FILE", Set: into(&o.LogFile), Help: "write the log to FILE"},
		{Long: "logfile", Arg: "FILE", Set: into(&o.LogFile)},
		{Short: 'p', Long: "pipe", Set: func(string) error { return nil }, Help: "talk to pmcd over a pipe (the only way)"},
		{Short: 'U', Long: "username", Arg: "USER", Set: into(&o.User), Help: "run as USER when started by root"},
		{Short: 'i', Long: "inet", Arg: "PORT", Set: pipeOnly},
		{Short: '6', Long: "ipv6", Arg: "PORT", Set: pipeOnly},
		{Short: 'u', Long: "unix", Arg: "PATH", Set: pipeOnly},
	}
}

// setDomain leaves out 511, which belongs to dynamic roots and client-side derived metrics.
func (o *Options) setDomain(arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 || n >= pdu.DynamicDomain {
		return fmt.Errorf("%q is not a valid domain number: use 1 to %d", arg, pdu.DynamicDomain-1)
	}
	o.Domain = n
	return nil
}

// addDebug takes a list of names, or of the bit numbers that came before names, as pmdbg -l shows.
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
