package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/identity"
	"pmdaderived/pdu"
)

// runLogRewrite prints rules for pmlogrewrite(1) that make of the former metrics in archives the present
// ones, where the metadata of a definition has changed.
func runLogRewrite(_ context.Context, t *tool, args []string) int {
	state, file := defaultState(t.conf), ""
	t.flags.StringVarP(&file, "output", "o", "", "write to `FILE`, not to standard output")
	t.flags.StringVar(&state, "state", state, "read metric identifiers from `FILE`, the state file of the agent")
	rest, exit, done := t.parse(args)
	switch {
	case done:
		return exit
	case len(rest) > 0:
		return t.misused(fmt.Errorf("unexpected argument %q", rest[0]))
	}
	all, err := identity.Read(state)
	if err != nil {
		return t.fail(err)
	}
	var text strings.Builder
	printRules(&text, all)
	if file != "" {
		err = os.WriteFile(file, []byte(text.String()), 0o644)
	} else {
		_, err = io.WriteString(t.stdout, text.String())
	}
	if err != nil {
		return t.fail(err)
	}
	return exitOK
}

func printRules(w io.Writer, all map[string]identity.Remembered) {
	fmt.Fprintf(w, "# Rules for pmlogrewrite: they change former derived metrics into the present ones.\n")
	fmt.Fprintf(w, "global { }\n") // changes nothing; pmlogrewrite refuses a file without any rule
	for _, name := range slices.Sorted(maps.Keys(all)) {
		known := all[name]
		name, now := derived.FullName(name), known.Desc
		for _, was := range known.Former {
			fmt.Fprintf(w, "\n# %s\n#   was %s\n#   is  %s\n", name, described(was), described(now))
			if why := impossible(was, now); why != "" {
				fmt.Fprintf(w, "# %s. Give the former metric another name to merge archives:\n# metric %s { name -> %s_%s }\n",
					why, was.PMID, name, strings.ReplaceAll(was.PMID.String(), ".", "_"))
				continue
			}
			if narrower(was.Type, now.Type) {
				fmt.Fprintf(w, "# pmlogrewrite stops at a value that does not fit the type %s.\n", now.Type)
			}
			fmt.Fprintf(w, "metric %s { %s }\n", was.PMID, strings.Join(clauses(was, now), " "))
		}
	}
}

// described shows a descriptor in one line.
func described(d pdu.Desc) string {
	indom, units := "singular", d.Units.String()
	if d.InDom != pdu.NoInDom {
		indom = "instances of " + d.InDom.String()
	}
	if units == "" {
		units = "no units"
	}
	return fmt.Sprintf("%s: %s, %s, %s, %s", d.PMID, d.Type, d.Sem, units, indom)
}

// impossible says why values of one metric cannot be those of another; "": they can.
func impossible(was, now pdu.Desc) string {
	_, convertible := derived.NewConverter(was.Units, now.Units)
	switch {
	case was.Type != now.Type && (!was.Type.Numeric() || !now.Type.Numeric()):
		return "Only numbers can be converted to another type"
	case (was.Sem == pdu.SemCounter) != (now.Sem == pdu.SemCounter):
		return "Values cannot be converted to those of a counter, nor from them"
	case !was.Units.SameDimension(now.Units):
		return "The units have another dimension"
	case !convertible:
		return "There is no conversion to these units"
	case was.InDom != now.InDom:
		return "The instances are not the same"
	}
	return ""
}

// narrower reports whether a type lacks values that another one has.
func narrower(from, to pdu.Type) bool {
	switch to {
	case from, pdu.TypeFloat, pdu.TypeDouble: // at worst they are rounded
		return false
	case pdu.Type64:
		return from != pdu.Type32 && from != pdu.TypeU32
	case pdu.TypeU64:
		return from != pdu.TypeU32
	}
	return true
}

// clauses are what a rule changes.
func clauses(was, now pdu.Desc) []string {
	all := []string{"pmid -> " + now.PMID.String()}
	if was.Type != now.Type {
		all = append(all, "type -> "+now.Type.String())
	}
	if was.Sem != now.Sem {
		all = append(all, "sem -> "+strings.ToUpper(now.Sem.String()))
	}
	switch u := now.Units; {
	case !was.Units.SameExtra(u): // pmlogrewrite has the word since it has such units; "units" keeps them
		scale := u.Extra.ScaleName(u.ExtraScale)
		all = append(all, "extraunits -> "+ruleUnits(u)+","+strings.ToUpper(u.Extra.Name()+","+scale)+" rescale")
	case was.Units != u:
		all = append(all, "units -> "+ruleUnits(u)+" rescale")
	}
	return all
}

// ruleUnits writes units as rules have them: three dimensions, then three scales.
func ruleUnits(u pdu.Units) string {
	scale := func(dim int8, words []string, i int) string {
		switch {
		case dim == 0:
			return "0"
		case i >= 0 && i < len(words):
			return words[i]
		}
		return strconv.Itoa(i)
	}
	return fmt.Sprintf("%d,%d,%d,%s,%s,%s", u.Space, u.Time, u.Count,
		scale(u.Space, []string{"BYTE", "KBYTE", "MBYTE", "GBYTE", "TBYTE", "PBYTE", "EBYTE"}, int(u.SpaceScale)),
		scale(u.Time, []string{"NSEC", "USEC", "MSEC", "SEC", "MIN", "HOUR"}, int(u.TimeScale)),
		scale(u.Count, []string{"ONE"}, int(u.CountScale)))
}
