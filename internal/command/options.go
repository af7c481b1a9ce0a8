package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"pmdaderived/internal/collector"
	"pmdaderived/internal/commandline"
)

// options has the options that several sub-commands have. Each sub-command adds those that it takes, and keeps its own
// beside its output.
type options struct {
	flags       *pflag.FlagSet
	paths       []string // -c; nil: the files of the agent
	pmcd        string   // -h, $PCP_HOST
	pmcdGiven   bool
	archive     collector.Selection // -a, -S, -T, -A, -O, -Z, -z, -t
	onlyArchive string              // the first option that needs -a
	pause       time.Duration       // -t, or defaultPause
}

// defaultPause is the time between samples of a pmcd.
const defaultPause = time.Second

// pathsOption adds -c.
func (r *run) pathsOption() {
	r.flags.FuncP("config", "c", "use the definitions in `PATHS`, separated by colons, beside the agent's; -c=: none",
		commandline.PathList(&r.paths))
}

// pmcdOption adds -h and reads $PCP_HOST, which count as one option, as in pmGetOptions(3). It also adds --pmcd, the
// name that the option has in the daemon, where it is in place of $PCP_HOST.
func (r *run) pmcdOption() {
	variable := r.program.Getenv("PCP_HOST")
	if variable != "" {
		r.pmcd, r.pmcdGiven = variable, true
	}
	option := "" // the argument of the first of these options
	accept := func(before string) func(arg string) error {
		return func(arg string) error {
			if other := cmp.Or(option, before); other != "" {
				return fmt.Errorf("too many hosts requested: %s and %s", other, arg)
			}
			option, r.pmcdGiven = arg, true
			return commandline.Address(&r.pmcd)(arg)
		}
	}
	r.flags.FuncP("host", "h", "ask the pmcd on `HOST`; default: $PCP_HOST, or this host", accept(variable))
	r.flags.Func("pmcd", "in place of -h and $PCP_HOST", accept(""))
	r.flags.Lookup("pmcd").Hidden = true
}

// archiveOption adds -a.
func (r *run) archiveOption() {
	r.flags.StringArrayVarP(&r.archive.Paths, "archive", "a", nil,
		"ask the archives in `FILES`, several or those of a folder, instead of a pmcd")
	commandline.ForArchives(r.flags, "archive")
}

// timeOptions adds -a and the options that select a part of an archive. They need -a, unless a pmcd can follow them.
func (r *run) timeOptions() {
	r.archiveOption()
	text := func(to *string, name, short, help string) {
		r.flags.FuncP(name, short, help, func(arg string) error {
			r.onlyArchive = cmp.Or(r.onlyArchive, "-"+short)
			*to = arg
			return nil
		})
	}
	text(&r.archive.Window.Start, "start", "S", "begin at this `TIME` of the archive: 30min, -1hour, @10:00")
	text(&r.archive.Window.End, "finish", "T", "end at this `TIME`")
	text(&r.archive.Window.Align, "align", "A", "begin at a multiple of this `TIME`")
	text(&r.archive.Window.Origin, "origin", "O", "take the first sample at this `TIME`")
	r.flags.StringVarP(&r.archive.Zone, "timezone", "Z", "", "read and print times in this `ZONE`, as in the variable TZ")
	r.flags.BoolFuncP("hostzone", "z", "read and print times in the zone of the archive's host",
		func(arg string) (err error) {
			r.onlyArchive = cmp.Or(r.onlyArchive, "-z")
			r.archive.HostZone, err = strconv.ParseBool(arg)
			return err
		})
	commandline.ForArchives(r.flags, "start", "finish", "align", "origin", "hostzone")
}

// intervalOption adds -t, the time between samples.
func (r *run) intervalOption(help string) {
	r.flags.FuncP("interval", "t", help, func(arg string) error {
		if err := commandline.Duration(&r.pause, time.Millisecond)(arg); err != nil {
			return err
		}
		r.archive.Every = r.pause
		return nil
	})
}

// contradiction returns an error if options contradict each other: to ignore one of them would be worse.
func (o *options) contradiction() error {
	switch {
	case len(o.archive.Paths) == 0 && o.onlyArchive != "":
		return fmt.Errorf("%s needs an archive: use -a", o.onlyArchive)
	case len(o.archive.Paths) > 0 && o.pmcdGiven:
		return errors.New("only one host or archive allowed: -a cannot be used with -h or PCP_HOST")
	case o.archive.HostZone && o.archive.Zone != "":
		return errors.New("-z and -Z cannot be used together")
	}
	return nil
}

// firstGiven returns the first of these options that the command line has, "" if it has none.
func (r *run) firstGiven(names ...string) string {
	if i := slices.IndexFunc(names, r.flags.Changed); i >= 0 {
		return "--" + names[i]
	}
	return ""
}
