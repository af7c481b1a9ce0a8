package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"pmdaderived/config"
	"pmdaderived/internal/agent"
	"pmdaderived/internal/agent/mmv"
	"pmdaderived/internal/command"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/served"
	"pmdaderived/pmda"
)

// defaultInterval is the default of --interval.
const defaultInterval = 10 * time.Second

// options has the daemon's options.
type options struct {
	standard *pmda.Options
	agent    agent.Options // the fields that have options
	group    string
	paths    []string // nil: the default ones
	conf     config.PCPConf
	pmcd     string
	mmv      string // name of the MMV file; "": none
	logLevel logrus.Level
	version  bool

	flags *pflag.FlagSet // set the fields above
}

// parseOptions reads the command line of the daemon. It returns options even with an error.
func parseOptions(args []string, conf config.PCPConf, getenv func(string) string) (*options, error) {
	flags := commandline.NewFlags()
	o := &options{
		standard: pmda.StandardOptions(flags),
		agent: agent.Options{
			StateFile: commandline.StateFile(conf),
			Interval:  defaultInterval,
			Protected: served.DefaultProtected(),
		},
		group:    conf.Group,
		conf:     conf,
		pmcd:     commandline.PMCD(conf, getenv),
		mmv:      commandline.Name,
		logLevel: logrus.InfoLevel,
		flags:    flags,
	}
	o.standard.Domain = commandline.Domain
	o.standard.LogFile = filepath.Join(conf.LogDir, "pmcd", "derived.log")
	o.standard.User = conf.User
	o.define()
	operands, err := commandline.Parse(flags, args)
	switch {
	case err != nil:
		return o, err
	case len(operands) > 0:
		return o, fmt.Errorf("unexpected argument %q; the sub-commands are %s", operands[0], command.Names())
	}
	if o.standard.User != conf.User {
		o.group = "" // that of the account
	}
	if len(o.standard.Debug) > 0 {
		o.logLevel = max(o.logLevel, logrus.DebugLevel)
	}
	return o, nil
}

// define adds the daemon's own options, and describes options of every agent that mean something else here.
func (o *options) define() {
	f := o.flags
	f.Lookup("debug").Usage = "log every message from and to pmcd; any `SPEC` does the same"
	f.Lookup("helptext").Usage = "accepted and ignored: help texts are not in a `FILE` but part of the definitions"
	f.FuncP("config", "c", "read definitions from the files and directories in `PATHS`, separated by colons",
		commandline.PathList(&o.paths))
	f.Func("interval", "shortest `TIME` that delta() and rate() cover in the first fetch of a client; 0: they have "+
		"no values then",
		commandline.Duration(&o.agent.Interval, 0))
	f.Func("log-level", "`LEVEL` of the log: error, warn, info or debug", o.setLogLevel)
	f.Func("mmv", "export metrics about the agent as mmv.`NAME`, through pmdammv(1), or off", o.setMMV)
	commandline.NonFinite(f, &o.agent.NonFinite)
	f.Func("pmcd", "get the operands from the pmcd at the address `SPEC`", commandline.Address(&o.pmcd))
	f.Func("protect", "`NAMES` of metrics and subtrees that only users known to pmcd may see, separated by commas",
		o.setProtected)
	f.StringVar(&o.agent.StateFile, "state", o.agent.StateFile, "keep metric identifiers in `FILE`")
	f.BoolVarP(&o.version, "version", "V", false, "print the version")
}

func (o *options) usage(w io.Writer, columns int) error {
	call := fmt.Sprintf("%s [options]\n       %[1]s COMMAND [options] [operands]\n\nSub-commands (%[1]s help COMMAND "+
		"shows its options):\n", commandline.Name)
	for _, c := range command.SubCommands() {
		call += fmt.Sprintf("  %-22s%s\n", c.Name+" "+c.Operands, c.Help)
	}
	return commandline.Usage(w, columns, o.flags, call+"\nWithout a sub-command the program is the agent. pmcd starts it with "+
		"these options.\n", "eval 'rate(disk.all.total)'")
}

// printProgramUsage writes the usage text, which does not depend on the host.
func printProgramUsage(w io.Writer, columns int) error {
	o, _ := parseOptions(nil, config.PCPConf{}, func(string) string { return "" })
	return o.usage(w, columns)
}

func (o *options) setProtected(arg string) error {
	arg = strings.TrimSuffix(strings.ReplaceAll(arg, ".*,", ","), ".*") // a.b.* means what a.b means
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
