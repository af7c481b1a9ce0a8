package commandline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"pmdaderived/config"
	"pmdaderived/internal/timewindow"
	"pmdaderived/pmda/pmapi"
)

// Choice reads one of some words.
func Choice(set func(word string), words ...string) func(string) error {
	return func(arg string) error {
		if !slices.Contains(words, arg) {
			last := len(words) - 1
			return fmt.Errorf("%q: want %s or %s", arg, strings.Join(words[:last], ", "), words[last])
		}
		set(arg)
		return nil
	}
}

// PathList reads paths separated by colons, and adds them to those read before. An empty list means no paths, not the
// default ones. pflag returns "=" for "-c=", and "" for "--config=".
func PathList(to *[]string) func(string) error {
	return func(arg string) error {
		if arg == "=" {
			arg = ""
		}
		if *to == nil {
			*to = []string{}
		}
		*to = append(*to, config.SplitPaths(arg)...)
		return nil
	}
}

// Address reads the address of a pmcd.
func Address(to *string) func(string) error {
	return func(arg string) error {
		_, _, err := pmapi.ParseAddress(arg)
		if err == nil {
			*to = arg
		}
		return err
	}
}

// Duration reads an interval that is not shorter than least: "10s", "500ms", "1min", or a number of seconds.
func Duration(d *time.Duration, least time.Duration) func(string) error {
	return func(arg string) error {
		v, err := timewindow.ParseInterval(arg)
		if err != nil {
			return fmt.Errorf("%q is not a time such as 10s or 500ms", arg)
		}
		if v < least {
			return fmt.Errorf("%q is shorter than %s", arg, least)
		}
		*d = v
		return nil
	}
}

// NonFinite adds the option --non-finite, which the daemon, eval and replay have.
func NonFinite(f *pflag.FlagSet, serve *bool) {
	f.Func("non-finite", "values that are infinite or not a number: `WORD` is drop or serve",
		Choice(func(word string) { *serve = word == "serve" }, "drop", "serve"))
}
