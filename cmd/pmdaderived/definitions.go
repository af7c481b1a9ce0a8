package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/served"
	"pmdaderived/pdu"
)

// definitions are those of a path list, with what is wrong in its files.
type definitions struct {
	config.Loaded
	all      []served.Definition // one for each of Loaded.Definitions
	language derived.Language
}

const (
	control       = "#control "
	optionNoValue = "option_novalue" // that of libpcp's options that says what a definition means
)

// reading is what definitions are read from, and how.
type reading struct {
	paths  []string // nil: the default ones
	conf   config.PCPConf
	before []served.Definition      // parsed once: what is in them still is not parsed again
	called func(path string) string // what files and directories are called; nil: as they are
}

// definitions reads files and parses what is in them. Nothing parsed holds on to the text of a file, since most of it
// outlives many of them.
func (f reading) definitions() definitions {
	known := make(map[string]*derived.Definition, len(f.before))
	for _, d := range f.before {
		known[d.Name] = d.Definition
	}
	var r definitions
	accept := func(d *config.Definition) error {
		p := known[d.Name]
		if p == nil || p.Text != d.Expr {
			var err error
			if p, err = derived.Parse(strings.Clone(d.Name), strings.Clone(d.Expr)); err != nil {
				return err
			}
		}
		known[p.Name] = p
		return nil
	}
	loading := config.Loading{Accept: accept, Called: f.called}
	paths := f.paths
	if paths == nil {
		paths, loading.Missing = config.DefaultPaths(f.conf), config.Note
	}
	r.Loaded = loading.Load(paths)
	r.configure(f.conf.InDomConfig)
	r.all = make([]served.Definition, 0, len(r.Definitions))
	for _, d := range r.Definitions {
		parsed, place := known[d.Name], d.Place // the last that was taken
		r.all = append(r.all, served.Definition{
			Definition: parsed,
			OneLine:    d.OneLine,
			Help:       d.Help,
			File:       d.Pos.File,
			Line:       d.Pos.Line,
			Secret:     d.Secret,
			Explain: func(offset int, msg string) string {
				at := place.Problem(parsed.Text, offset)
				return config.Printable(msg) + "\n" + at.Pos.String() + "\n" + at.Line + "\n" + at.Caret
			},
		})
	}
	return r
}

// configure finds out what the site has configured about the language: the last control line of an option counts, and
// inDoms is the file of equivalent instance domains.
func (r *definitions) configure(inDoms string) {
	for _, c := range r.Controls {
		p := &config.Problem{
			Pos: c.Pos, Severity: config.Note, Code: codeControlOption,
			Line: control + c.Option + "=" + c.Value, Caret: strings.Repeat(" ", len(control)) + "^",
		}
		switch {
		case !strings.EqualFold(c.Option, optionNoValue):
			p.Msg = fmt.Sprintf("control option %s is for clients that compute derived metrics themselves and has no effect here", c.Option)
		case c.Value == "0" || c.Value == "1":
			r.language.NoValue = c.Value == "1"
			continue
		default:
			p.Severity, p.Msg = config.Warning, fmt.Sprintf("%q is not a valid value of control option %s: use 0 or 1", c.Value, c.Option)
		}
		r.Problems = append(r.Problems, p)
	}
	text, err := config.ReadFile(inDoms)
	if err == nil {
		r.language.InDoms, err = derived.ParseInDomMaps(string(text))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Problems = append(r.Problems, &config.Problem{
			Pos: config.Position{File: inDoms}, Severity: config.Error, Code: "unread", Path: inDoms, Err: err,
			Msg: fmt.Sprintf("equivalent instance domains are not used: %v", err),
		})
	}
}

// named are the definitions by their names.
func (r *definitions) named() map[string]served.Definition {
	all := make(map[string]served.Definition, len(r.all))
	for _, d := range r.all {
		all[d.Name] = d
	}
	return all
}

// byName are the definitions as they stand in their files, by their names.
func (r *definitions) byName() map[string]*config.Definition {
	all := make(map[string]*config.Definition, len(r.Definitions))
	for _, d := range r.Definitions {
		all[d.Name] = d
	}
	return all
}

// parsed are definitions without what the agent says of them.
func parsed(defs []served.Definition) []*derived.Definition {
	all := make([]*derived.Definition, len(defs))
	for i, d := range defs {
		all[i] = d.Definition
	}
	return all
}

// withUsed gives definitions and those of all that they use, directly or not.
func withUsed(all map[string]served.Definition, defs ...served.Definition) []served.Definition {
	taken := make(map[string]bool, len(defs))
	var used []served.Definition
	for queue := slices.Clone(defs); len(queue) > 0; queue = queue[1:] {
		d := queue[0]
		if taken[d.Name] {
			continue
		}
		taken[d.Name] = true
		used = append(used, d)
		for name := range d.Names {
			if operand, ok := all[derived.ShortName(name)]; ok {
				queue = append(queue, operand)
			}
		}
	}
	return used
}

// foreign are the metrics that definitions use and none of them defines, sorted.
func foreign(defs []served.Definition) []string {
	own := make(map[string]bool, len(defs))
	for _, d := range defs {
		own[d.Name] = true
	}
	var names []string
	for _, d := range defs {
		for name := range d.Names {
			if !own[derived.ShortName(name)] {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// missing are the metrics that definitions use and the collector does not have, sorted.
func missing(defs []served.Definition, catalog *operand.Catalog) []string {
	return slices.DeleteFunc(foreign(defs), func(name string) bool {
		_, err := catalog.Desc(name)
		return !errors.Is(err, pdu.ErrName) && !errors.Is(err, pdu.ErrNonLeaf)
	})
}
