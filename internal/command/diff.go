package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
)

// differences is the output of diff: what differs between two versions of definitions.
type differences struct {
	*run
	sides    [2]*side        // OLD and NEW
	affected map[string]bool // definitions that can have other metadata or values, because they or what they use differ
	catalog  *operand.Catalog
	pairs    map[string]*pair // affected definitions whose values are compared
	changes  []change
}

// side is one version of the definitions, with its context.
type side struct {
	definitions.Named
	byName map[string]served.Definition // those of the context, too
	errors map[string]*config.Problem   // errors in definitions that are compared, by their names
	set    *derived.Set                 // nil: no metadata are known
}

// change is a difference. Which fields it has depends on its kind.
type change struct {
	Name      string      `json:"name"`
	Kind      string      `json:"kind"`
	Message   string      `json:"message"`
	Before    any         `json:"before,omitempty"`
	After     any         `json:"after,omitempty"`
	Users     []string    `json:"users,omitempty"`
	Compared  int         `json:"compared,omitempty"`
	Differing int         `json:"differing,omitempty"`
	First     *difference `json:"first,omitempty"`
	Largest   *difference `json:"largest,omitempty"`
}

// changeKinds returns the kinds of changes, in the order in which they are printed. They stay what they are, because
// scripts read them.
func changeKinds() []string {
	return []string{
		"gone", "error", "metadata", "alarm", "values", "new", "expression", "oneline", "helptext", "labels", "mask",
		"control",
	}
}

// diff compares two versions of definitions. It returns 1 if something differs, and 2 if they cannot be compared.
func (r *run) diff(ctx context.Context, args []string) int {
	ctx, cancel := untilSignal(ctx)
	defer cancel()
	d := &differences{run: r, affected: map[string]bool{}, pairs: map[string]*pair{}}
	printChanges := d.print
	r.flags.FuncP("config", "c", "use `PATHS`, separated by colons, beside both, in place of the agent's files; -c=: none",
		commandline.PathList(&r.paths))
	r.pmcdOption()
	r.intervalOption("`TIME` between samples; default: the interval of the records")
	r.flags.FuncP("output", "o", "print the differences as `WORD`: text or json", commandline.Choice(func(word string) {
		printChanges = map[string]func(){formText: d.print, formJSON: func() { d.stdout.json(append([]change{}, d.changes...)) }}[word]
	}, formText, formJSON))
	r.timeOptions()
	operands, exit, done := r.parse(args)
	switch {
	case done:
		return exit
	case len(operands) != 2:
		return r.usageError(errors.New("name two files or directories: OLD and NEW"))
	case len(r.archive.Paths) == 0 && r.firstGiven("interval") != "":
		return r.usageError(errors.New("-t needs an archive: use -a"))
	}
	if err := d.compare(ctx, operands); err != nil {
		r.fail(err)
		return commandline.ExitUsage // 1 means that something differs
	}
	printChanges()
	switch {
	case r.stdout.err != nil: // the caller reports it
		return commandline.ExitUsage
	case len(d.changes) > 0:
		return commandline.ExitFailure
	}
	return commandline.ExitOK
}

// compare finds all changes.
func (d *differences) compare(ctx context.Context, paths []string) error {
	if err := d.read(paths); err != nil {
		return err
	}
	d.findAffected()
	if len(d.archive.Paths) > 0 || d.pmcdGiven {
		if err := d.connect(ctx); err != nil {
			return err
		}
		if err := d.bind(ctx); err != nil {
			return err
		}
	}
	if len(d.archive.Paths) > 0 {
		if err := d.compareValues(ctx); err != nil {
			return err
		}
	}
	users := d.usersOfGone()
	var names []string
	for _, s := range d.sides {
		names = slices.AppendSeq(slices.AppendSeq(names, maps.Keys(s.byName)), maps.Keys(s.errors))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		d.compareDefinitions(name, users)
	}
	d.compareMarks()
	kinds := changeKinds()
	slices.SortStableFunc(d.changes, func(x, y change) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, x.Kind), slices.Index(kinds, y.Kind)), cmp.Compare(x.Name, y.Name))
	})
	return nil
}

// read reads both versions, each behind the context, of which the other version is no part. A definition of the context
// that OLD has, too, is left out: it is probably a copy of OLD that the agent reads.
func (d *differences) read(paths []string) error {
	for i, path := range paths {
		reader := d.reader(d.paths)
		if reader.Paths == nil {
			reader.Paths = config.DefaultPaths(d.conf)
		}
		reader.Paths = slices.Concat(reader.Paths, []string{path})
		reader.Skip = func(file string) bool {
			return definitions.Within(file, paths) && !definitions.Within(file, []string{path})
		}
		s := &side{Named: definitions.ReadNamed(reader, []string{path}), errors: map[string]*config.Problem{}}
		d.sides[i] = s
		for _, p := range s.Problems {
			switch {
			case p.Severity != config.Error:
			case p.Pos.Line == 0 && slices.Contains(d.paths, p.Pos.File):
				return p
			case !s.Has(p.Pos.File):
			case p.Name == "":
				return fmt.Errorf("%s cannot be compared:\n%w", path, p)
			case s.errors[p.Name] == nil:
				s.errors[p.Name] = p
			}
		}
		s.byName = s.ByName()
		before := d.sides[0]
		for name, def := range s.byName {
			old, ok := before.byName[name]
			if !s.Has(def.File) && (before.errors[name] != nil || ok && before.Has(old.File)) {
				delete(s.byName, name)
			}
		}
	}
	return nil
}

// findAffected finds the definitions that differ, and those that use them, directly or not.
func (d *differences) findAffected() {
	before, after := d.sides[0], d.sides[1]
	users := map[string][]string{}
	var queue []string
	for i, s := range d.sides {
		for name, def := range s.byName {
			for operand := range def.Names {
				users[derived.ShortName(operand)] = append(users[derived.ShortName(operand)], name)
			}
			other, ok := d.sides[1-i].byName[name]
			if !ok || other.Expr.String() != def.Expr.String() || before.Language.NoValue != after.Language.NoValue {
				queue = append(queue, name)
			}
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		if name := queue[0]; !d.affected[name] {
			d.affected[name] = true
			queue = append(queue, users[name]...)
		}
	}
}

// bind binds the definitions of both sides to the metrics of the collector. Groups have the same instance domain on both
// sides if they are groups of the same instances by the same keys.
func (d *differences) bind(ctx context.Context) error {
	inDoms := map[derived.GroupDomain]pdu.InDom{}
	number := func(g derived.GroupDomain) pdu.InDom {
		if _, ok := inDoms[g]; !ok {
			inDoms[g] = pdu.NewInDom(commandline.Domain, 1+len(inDoms))
		}
		return inDoms[g]
	}
	var defs [2][]served.Definition
	for i, s := range d.sides {
		defs[i] = slices.Collect(maps.Values(s.byName))
	}
	catalog, err := session.LookUp(ctx, d.collector.Metrics, slices.Concat(defs[:]...))
	if err != nil {
		return err
	}
	d.catalog = catalog
	for i, s := range d.sides {
		language := s.Language
		language.GroupInDom = number
		s.set = served.Bind(served.Pointers(defs[i]), catalog, language)
	}
	return nil
}

// compareDefinitions adds the changes of a definition. users has who uses each definition that has gone.
func (d *differences) compareDefinitions(name string, users map[string][]string) {
	before, isOld := d.sides[0].byName[name]
	after, isNew := d.sides[1].byName[name]
	add := func(kind, format string, args ...any) *change { // the result is valid until the next call
		d.changes = append(d.changes, change{Name: name, Kind: kind, Message: fmt.Sprintf(format, args...)})
		return &d.changes[len(d.changes)-1]
	}
	was, is := d.reason(0, name), d.reason(1, name)
	changed := isOld && isNew && before.Expr.String() != after.Expr.String()
	e, f := d.sides[0].errors[name], d.sides[1].errors[name]
	newMistake := f != nil && (e == nil || e.Msg != f.Msg) // the places may differ
	switch {
	case was != "" && is != "":
		if d.affected[name] || newMistake {
			add("error", "not compared: %s", is)
		}
	case is != "" && isOld:
		add("error", "cannot be computed any more: %s", is)
	case is != "":
		add("error", "new, cannot be computed: %s", is)
	case was != "" && isNew:
		add("error", "could not be computed before: %s", was)
	case newMistake:
		add("error", "a mistake in NEW: %s: %s", f.Pos, f.Msg)
	}
	p := d.pairs[name]
	switch {
	case isOld && !isNew && f == nil:
		gone := add("gone", "gone")
		if _, masked := d.sides[1].Language.Masked[name]; masked {
			gone.Message = "masked"
		}
		if gone.Users = users[name]; len(gone.Users) > 0 {
			verb := map[bool]string{true: "uses", false: "use"}[len(gone.Users) == 1]
			gone.Message += "; " + strings.Join(gone.Users, ", ") + " " + verb + " it"
		}
	case isNew && !isOld && was == "" && is == "":
		add("new", "new")
	case isOld && isNew:
		d.addMetadata(name, add)
		if differs := p != nil && d.addValues(p, add); changed && !differs {
			expr := add("expression", "%s -> %s", printable.Line(before.Text), printable.Line(after.Text))
			expr.Before, expr.After = before.Text, after.Text
			if p != nil && p.compared > 0 {
				expr.Message += "; no value differs"
			}
		}
	}
	if isOld && isNew {
		for _, text := range []struct {
			kind   string
			of, to *string
		}{
			{"oneline", before.OneLine, after.OneLine},
			{"helptext", before.Help, after.Help},
			{"labels", before.Labels, after.Labels},
		} {
			if !reflect.DeepEqual(text.of, text.to) {
				c := add(text.kind, "%s %s -> %s", text.kind, orNone(text.of), orNone(text.to))
				c.Before, c.After = text.of, text.to
			}
		}
	}
}

// reason returns why a definition of a side cannot be computed, "" if it can, or if there is none.
func (d *differences) reason(i int, name string) string {
	s := d.sides[i]
	_, served := s.byName[name] // in spite of a mistake in a second definition, or in its labels
	if p := s.errors[name]; p != nil && !served {
		return p.Pos.String() + ": " + p.Msg
	}
	if s.set != nil {
		if m, ok := s.set.Lookup(name); ok && m.Err != nil {
			return m.Err.Reason()
		}
	}
	return ""
}

// metric returns a definition that can be computed, nil if it cannot be, or if no metadata are known.
func (s *side) metric(name string) *derived.Metric {
	if s.set != nil {
		if m, ok := s.set.Lookup(name); ok && m.Err == nil {
			return m
		}
	}
	return nil
}

// compareMarks adds the masks and control lines of the compared files that only one of them has.
func (d *differences) compareMarks() {
	for i, word := range []string{"gone", "new"} {
		s, other := d.sides[i], d.sides[1-i]
		for name, at := range s.Masks {
			if there, ok := other.Masks[name]; s.Has(at.File) && !(ok && other.Has(there.File)) {
				d.changes = append(d.changes, change{Name: name, Kind: "mask", Message: "mask " + word})
			}
		}
	}
	if was, is := d.sides[0].Language.NoValue, d.sides[1].Language.NoValue; was != is {
		d.changes = append(d.changes, change{
			Name: "option_novalue", Kind: "control", Message: fmt.Sprintf("control option %t -> %t", was, is),
			Before: was, After: is,
		})
	}
}

// orNone returns a text, or the word none.
func orNone(text *string) string {
	if text == nil {
		return "none"
	}
	return printable.Line(*text)
}

// print prints the changes, a paragraph for each, with the names in a column.
func (d *differences) print() {
	const widest = 28
	width := 0
	for _, c := range d.changes {
		if len(c.Name) <= widest {
			width = max(width, len(c.Name))
		}
	}
	for _, c := range d.changes {
		line := fmt.Sprintf("%-*s  %s", width, c.Name, c.Message)
		fmt.Fprintln(d.stdout, commandline.Wrap(line, d.width, width+2))
	}
}
