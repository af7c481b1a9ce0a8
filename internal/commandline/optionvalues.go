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

// Choice takes one of several words.
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

// PathList takes paths, separated by colons; an empty list is none at all, not the default one.
func PathList(to *[]string) func(string) error {
	return func(arg string) error {
		*to = append([]string{}, config.SplitPaths(arg)...)
		return nil
	}
}

// Address takes that of a pmcd.
func Address(to *string) func(string) error {
	return func(arg string) error {
		_, _, err := pmapi.ParseAddress(arg)
		if err == nil {
			*to = arg
		}
		return err
	}
}

// Duration reads an interval of at least some time: "10s", "500ms", "1min", a plain number of seconds.
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

// NonFinite is --non-finite, of the daemon, eval and replay.
func NonFinite(f *pflag.FlagSet, serve *bool) {
	f.Func("non-finite", "values that are infinite or not a number: `WORD` is drop or serve",
		Choice(func(word string) { *serve = word == "serve" }, "drop", "serve"))
}
