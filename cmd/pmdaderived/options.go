package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/config"
	"pmdaderived/derived/agent"
	"pmdaderived/derived/agent/mmv"
	"pmdaderived/pmda"
)

// Defaults of options.
const (
	defaultDomain   = 510
	defaultInterval = 10 * time.Second
)

// options is the command line.
type options struct {
	standard pmda.Options
	agent    agent.Options // as far as options say what they are
	group    string
	paths    []string // nil: the default ones
	conf     config.PCPConf
	pmcd     string
	mmv      string // name of our MMV file; "": none
	logLevel logrus.Level
	version  bool

	set pmda.OptionSet
}

// defaultState is where metric identifiers are remembered.
func defaultState(conf config.PCPConf) string {
	return filepath.Join(conf.VarDir, "config", "pmda", "derived.identities")
}

// parseOptions reads the command line of the daemon. There are options even when there is an error.
func parseOptions(args []string, conf config.PCPConf, getenv func(string) string) (*options, error) {
	o := &options{
		standard: pmda.Options{
			Domain:  defaultDomain,
			LogFile: filepath.Join(conf.LogDir, "pmcd", "derived.log"),
			User:    conf.User,
		},
		agent: agent.Options{
			StateFile: defaultState(conf),
			Interval:  defaultInterval,
			Protected: []string{"proc", "hotproc", "systemd"},
		},
		group:    conf.Group,
		conf:     conf,
		pmcd:     defaultPMCD(conf, getenv),
		mmv:      program,
		logLevel: logrus.InfoLevel,
	}
	o.set = pmda.OptionSet{Program: program, Options: append(o.usual(), o.own()...)}
	operands, err := o.set.Parse(args)
	switch {
	case err != nil:
		return o, err
	case len(operands) > 0:
		return o, fmt.Errorf("unexpected argument %q; the sub-commands are %s", operands[0], commandNames())
	}
	if o.standard.User != conf.User {
		o.group = "" // the account's own
	}
	if len(o.standard.Debug) > 0 {
		o.logLevel = max(o.logLevel, logrus.DebugLevel)
	}
	return o, nil
}

// usual are the options of every agent, with what they mean to this one.
func (o *options) usual() []pmda.Option {
	all := pmda.StandardOptions(&o.standard)
	for i := range all {
		switch all[i].Short {
		case 'D':
			all[i].Help = "log every PDU, whatever SPEC says"
		case 'h':
			all[i].Help = "accepted and ignored: help texts are part of the definitions"
		}
	}
	return all
}

func (o *options) own() []pmda.Option {
	return []pmda.Option{
		{
			Short: 'c', Long: "config", Arg: "PATHS", Set: pathList(&o.paths),
			Help: "read definitions from the files and directories in this list, separated by colons",
		},
		{Long: "pmcd", Arg: "SPEC", Set: address(&o.pmcd), Help: "get the operands from the pmcd at this address"},
		{
			Long: "interval", Arg: "TIME", Set: duration(&o.agent.Interval, 0),
			Help: "shortest time that delta() and rate() cover in the first fetch of a client; 0: they have no values then",
		},
		nonFiniteOption(&o.agent.NonFinite),
		{Long: "state", Arg: "FILE", Set: text(&o.agent.StateFile), Help: "keep metric identifiers in FILE"},
		{Long: "protect", Arg: "NAMES", Set: o.setProtected, Help: "metrics and subtrees that only users known to pmcd may see, separated by commas"},
		{
			Long: "mmv", Arg: "NAME", Set: o.setMMV,
			Help: "export metrics about the agent as mmv.NAME, through pmdammv(1), or off",
		},
		{Long: "log-level", Arg: "LEVEL", Set: o.setLogLevel, Help: "error, warn, info, debug"},
		{Short: 'V', Long: "version", Set: set(&o.version), Help: "print the version"},
	}
}

func (o *options) usage(w io.Writer) error {
	o.set.Intro = fmt.Sprintf("       %s COMMAND [options] [operands]\n\nSub-commands (%[1]s help COMMAND shows its options):\n", program)
	for _, c := range subCommands() {
		o.set.Intro += fmt.Sprintf("  %-22s%s\n", c.name+" "+c.operands, c.help)
	}
	o.set.Intro += "\nWithout a sub-command the program is the agent. pmcd starts it with these options.\n"
	return o.set.Usage(w)
}

// nonFiniteOption is --non-finite, of the daemon and of eval.
func nonFiniteOption(serve *bool) pmda.Option {
	return pmda.Option{
		Long: "non-finite", Arg: "WORD", Set: choice(func(word string) { *serve = word == "serve" }, "drop", "serve"),
		Help: "values that are infinite or not a number: drop or serve",
	}
}

func (o *options) setProtected(arg string) error {
	o.agent.Protected = strings.FieldsFunc(arg, func(c rune) bool { return c == ',' })
	return nil
}

func (o *options) setMMV(arg string) error {
	if arg == "off" {
		o.mmv = ""
		return nil
	}
	o.mmv = arg
	return mmv.CheckName(arg)
}

func (o *options) setLogLevel(arg string) error {
	level, err := logrus.ParseLevel(arg)
	if err != nil {
		return fmt.Errorf("%q is not a valid level; the levels are error, warn, info and debug", arg)
	}
	o.logLevel = level
	return nil
}
