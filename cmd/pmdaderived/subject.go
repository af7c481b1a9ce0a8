package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/derived/agent"
)

// subject is what an operand of explain and eval stands for: a definition of the files, or an expression
// written on the command line.
type subject struct {
	given  string // as written
	def    agent.Definition
	source *config.Definition // nil: the command line
	broken *config.Problem    // why the definition could not be read; then there is nothing else
	meant  *config.Problem    // of a line that may have been meant to define it
}

// errTold says that somebody has been told already.
var errTold = errors.New("told")

// subjects finds out what operands stand for, and gives them with all definitions that they use.
// Mistakes have been told: those of expressions when it returns errTold, and those of definitions.
func (t *tool) subjects(args []string) ([]subject, []agent.Definition, error) {
	read := readDefinitions(t.paths, t.conf)
	t.language = read.language
	byName := make(map[string]int, len(read.all))
	for i, d := range read.all {
		byName[d.Name] = i
	}
	var err error
	subjects := make([]subject, len(args))
	for i, arg := range args {
		name := short(arg)
		s := subject{given: arg}
		at, ok := byName[name]
		if !ok { // served as derived.derived.…
			at, ok = byName[arg]
		}
		switch broken := read.problem(name); {
		case ok:
			s.def, s.source = read.all[at], read.Definitions[at]
		case broken != nil:
			fmt.Fprintln(t.stderr, broken)
			t.showHint(broken)
			s.broken = broken
		default:
			s.meant = read.unnamed(arg)
			// The name can be nobody else's, and in no expression.
			var parsed *derived.Definition
			var fault error
			if parsed, fault = derived.Parse("("+arg+")", arg); fault != nil {
				t.showFault(arg, fault)
				t.showMeant(s)
				err = errTold
			}
			s.def.Definition = parsed
		}
		subjects[i] = s
	}
	if err != nil {
		return nil, nil, err
	}
	return subjects, read.used(byName, subjects), nil
}

// short is the name of a definition, with or without that of the subtree it is served in.
func short(name string) string { return strings.TrimPrefix(name, agent.Root+".") }

// problem is why a definition of that name could not be read, nil if there is none.
func (r *definitions) problem(name string) *config.Problem {
	i := slices.IndexFunc(r.Problems, func(p *config.Problem) bool {
		return p.Name == name && p.Severity == config.Error
	})
	if i < 0 {
		return nil
	}
	return r.Problems[i]
}

// unnamed is what is wrong with a line that begins with a name and does not define it, nil if there is none.
func (r *definitions) unnamed(name string) *config.Problem {
	for _, p := range r.Problems {
		if p.Severity != config.Error || p.Name != "" || p.Pos.Line == 0 {
			continue
		}
		words := strings.FieldsFunc(p.Line, func(c rune) bool { return strings.ContainsRune(" \t=(", c) })
		if len(words) > 0 && (words[0] == name || words[0] == short(name)) {
			return p
		}
	}
	return nil
}

// showMeant tells of a line that may have been meant.
func (t *tool) showMeant(s subject) {
	if s.meant != nil {
		t.complain(fmt.Errorf("this line may be meant to define %s:\n%w", s.given, s.meant))
	}
}

// used gives the definitions of the subjects and those that they use, directly or not.
func (r *definitions) used(byName map[string]int, subjects []subject) []agent.Definition {
	var defs []agent.Definition
	taken := make(map[string]bool)
	add := func(d agent.Definition) {
		if !taken[d.Name] {
			taken[d.Name] = true
			defs = append(defs, d)
		}
	}
	for _, s := range subjects {
		if s.broken == nil {
			add(s.def)
		}
	}
	for next := 0; next < len(defs); next++ {
		for name := range defs[next].Names {
			if at, ok := byName[short(name)]; ok {
				add(r.all[at])
			}
		}
	}
	return defs
}

// showFault tells what is wrong with an expression of the command line.
func (t *tool) showFault(text string, fault error) {
	offset := 0
	if at, ok := errors.AsType[interface {
		error
		Offset() int
	}](fault); ok {
		offset = at.Offset()
	}
	text = oneLine(text)
	t.complain(fmt.Errorf("%w\n%s\n%s", fault, text, caretLine(text, min(offset, max(0, len(text)-1)))))
	t.showHint(fault)
}

// showHint tells what a syntax error may come from.
func (t *tool) showHint(fault error) {
	if err, ok := errors.AsType[*derived.SyntaxError](fault); ok && err.Hint.Text != "" {
		t.complain(errors.New(err.Hint.Text))
	}
}

// showBroken tells why a subject cannot be computed.
func (t *tool) showBroken(s subject, fault *derived.Error) {
	if s.source != nil {
		fmt.Fprintln(t.stderr, problemOf(s.source, agent.Fault{
			Definition: s.def, Offset: fault.Offset(), Message: fault.Error(), Err: fault,
		}))
		return
	}
	t.showFault(s.given, &nameless{fault})
	t.showMeant(s)
}

// showNear tells which metrics may be meant where a subject uses some that there are not.
func (t *tool) showNear(ctx context.Context, session *openSession, s subject) error {
	names := foreign(usedBy(s, session.defs))
	if len(names) == 0 {
		return nil
	}
	found, err := session.conn.LookupNames(ctx, names)
	if err != nil {
		return err
	}
	suggester := newSuggester(session.conn)
	for i, name := range names {
		if found[i].Code == 0 {
			continue
		}
		if meant := suggester.of(ctx, name); meant != "" {
			t.complain(fmt.Errorf("there is no %s on this host, but %s", name, meant))
		}
	}
	return nil
}

// foreign are the metrics that definitions use and none of them defines, sorted.
func foreign(defs []agent.Definition) []string {
	own := make(map[string]bool, len(defs))
	for _, d := range defs {
		own[d.Name] = true
	}
	var names []string
	for _, d := range defs {
		for name := range d.Names {
			if !own[short(name)] {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// nameless is the error of an expression that has no name.
type nameless struct{ fault *derived.Error }

func (e *nameless) Error() string {
	return "semantic error: " + strings.TrimPrefix(e.fault.Error(), "Semantic error: derived metric "+e.fault.Metric+": ")
}

func (e *nameless) Offset() int { return e.fault.Offset() }
