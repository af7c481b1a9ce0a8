package main

import (
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
}

// errTold says that somebody has been told already.
var errTold = errors.New("told")

// subjects finds out what operands stand for, and gives them with all definitions that they use.
// Mistakes have been told when it returns errTold.
func (t *tool) subjects(args []string) ([]subject, []agent.Definition, error) {
	read := readDefinitions(t.paths, t.conf)
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
		switch broken := read.problem(name); {
		case ok:
			s.def, s.source = read.all[at], read.Definitions[at]
		case broken != nil:
			fmt.Fprintln(t.stderr, broken)
			err = errTold
		default:
			// The name can be nobody else's, and in no expression.
			var parsed *derived.Definition
			var fault error
			if parsed, fault = derived.Parse("("+arg+")", arg); fault != nil {
				t.showFault(arg, fault)
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
		add(s.def)
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
}

// nameless is the error of an expression that has no name.
type nameless struct{ fault *derived.Error }

func (e *nameless) Error() string {
	return "semantic error: " + strings.TrimPrefix(e.fault.Error(), "Semantic error: derived metric "+e.fault.Metric+": ")
}

func (e *nameless) Offset() int { return e.fault.Offset() }
