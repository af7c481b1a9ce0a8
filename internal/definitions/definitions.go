package definitions

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
)

// Parsed has the definitions of files, and the problems of these files.
type Parsed struct {
	config.Loaded
	All      []served.Definition // in the order of Loaded.Definitions
	Language derived.Language
}

const (
	control       = "#control "
	optionNoValue = "option_novalue" // the only option of libpcp that changes values
)

// Reader reads definition files.
type Reader struct {
	Paths  []string // nil: the default ones
	Conf   config.PCPConf
	User   int                        // the user that the agent runs as
	Before []served.Definition        // the result of the last Read: unchanged definitions are not parsed again
	Masks  map[string]config.Position // those of the last Read, which stay if their file is not read completely now
	Called func(path string) string   // returns the name of a file in messages; nil: its path
	Skip   func(path string) bool     // reports whether a file is left out; nil: none is

	drafts []string // read after Paths
}

// paths returns the paths of the files that are read.
func (f Reader) paths() []string {
	if f.Paths == nil {
		return config.DefaultPaths(f.Conf)
	}
	return f.Paths
}

// called returns the name of a file in messages.
func (f Reader) called(path string) string {
	if f.Called == nil {
		return path
	}
	return f.Called(path)
}

// Reads reports whether a file or directory is one of those that are read, or below one of them.
func (f Reader) Reads(path string) bool { return Within(path, f.paths()) }

// Read reads files and parses their definitions. The result does not refer to the text of a file, because a definition
// may outlive many versions of its file.
func (f Reader) Read() Parsed {
	known := make(map[string]*derived.Definition, len(f.Before))
	for _, d := range f.Before {
		known[d.Name] = d.Definition
	}
	var r Parsed
	parsed := map[*config.Definition]*derived.Definition{}
	accept := func(d *config.Definition) error {
		p := known[d.Name]
		if p == nil || p.Text != d.Expr || p.File != d.Pos.File {
			var err error
			if p, err = derived.Parse(strings.Clone(d.Name), strings.Clone(d.Expr)); err != nil {
				return err
			}
			p.File = d.Pos.File
		}
		known[p.Name], parsed[d] = p, p
		return nil
	}
	loading := config.LoadOptions{
		Accept: accept, DisplayName: f.called, AgentUser: f.User, Skip: f.Skip, MasksBefore: f.Masks,
	}
	paths := f.paths()
	if f.Paths == nil {
		loading.Optional = len(paths)
	}
	r.Loaded = loading.Load(slices.Concat(paths, f.drafts))
	r.applyControls(f.Conf.InDomConfig, f.called(f.Conf.InDomConfig))
	r.Language.Masked = make(map[string]string, len(r.Masked))
	for name, at := range r.Masked {
		r.Language.Masked[name] = at.String()
	}
	r.All = make([]served.Definition, 0, len(r.Definitions))
	for _, d := range r.Definitions {
		p, place := parsed[d], d.ExprLocation
		r.All = append(r.All, served.Definition{
			Definition: p,
			OneLine:    d.OneLine,
			Help:       d.Help,
			Labels:     d.Labels,
			Line:       d.Pos.Line,
			Secret:     d.Secret,
			Explain: func(offset int, msg string) string {
				at := place.Problem(p.Text, offset)
				line, caret := at.Excerpt.Lines()
				return printable.Escaped(msg) + "\n" + at.Pos.String() + "\n" + line + "\n" + caret
			},
		})
	}
	return r
}

// applyControls reads the control lines, of which the last one with an option counts, and the file of equivalent
// instance domains, which messages call so.
func (r *Parsed) applyControls(inDoms, called string) {
	for _, c := range r.Controls {
		p := &config.Problem{
			Pos: c.Pos, Severity: config.Note, Code: CodeControlOption,
			Excerpt: config.NewExcerpt(control+c.Option+"="+c.Value, len(control)+1),
		}
		switch {
		case !strings.EqualFold(c.Option, optionNoValue):
			p.Msg = fmt.Sprintf("control option %s is for clients that compute derived metrics themselves and has no "+
				"effect here", c.Option)
		case c.Value == "0" || c.Value == "1":
			r.Language.NoValue = c.Value == "1"
			continue
		default:
			p.Severity, p.Msg = config.Error, fmt.Sprintf("%q is not a valid value of control option %s: use 0 or 1",
				c.Value, c.Option)
		}
		r.Problems = append(r.Problems, p)
	}
	text, err := config.ReadFile(inDoms)
	if err == nil {
		r.Language.InDoms, err = derived.ParseInDomMaps(string(text))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Problems = append(r.Problems, &config.Problem{
			Pos: config.Position{File: called}, Severity: config.Error, Code: "unread", Path: inDoms, Err: err,
			Msg: fmt.Sprintf("equivalent instance domains are not used: %v", err),
		})
	}
}

// ByName returns the definitions by name.
func (r *Parsed) ByName() map[string]served.Definition {
	all := make(map[string]served.Definition, len(r.All))
	for _, d := range r.All {
		all[d.Name] = d
	}
	return all
}

// InFiles returns the definitions with their places in files, by name.
func (r *Parsed) InFiles() map[string]*config.Definition {
	all := make(map[string]*config.Definition, len(r.Definitions))
	for _, d := range r.Definitions {
		all[d.Name] = d
	}
	return all
}

// Derived returns definitions in the form of package derived.
func Derived(defs []served.Definition) []*derived.Definition {
	all := make([]*derived.Definition, len(defs))
	for i, d := range defs {
		all[i] = d.Definition
	}
	return all
}

// Labels returns the labels of definitions, by name.
func Labels(defs []served.Definition) map[string]string {
	labels := make(map[string]string)
	for _, d := range defs {
		if d.Labels != nil {
			labels[d.Name] = *d.Labels
		}
	}
	return labels
}

// WithUsed returns defs and all definitions that they use, directly or not.
func WithUsed(all map[string]served.Definition, defs ...served.Definition) []served.Definition {
	seen := make(map[string]bool, len(defs))
	var used []served.Definition
	for queue := slices.Clone(defs); len(queue) > 0; queue = queue[1:] {
		d := queue[0]
		if seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		used = append(used, d)
		for name := range d.Names {
			if operand, ok := all[derived.ShortName(name)]; ok {
				queue = append(queue, operand)
			}
		}
	}
	return used
}

// ForeignMetrics returns the metrics that definitions use and none of them defines, sorted.
func ForeignMetrics(defs []served.Definition) []string {
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

// MissingMetrics returns the metrics that definitions use and the collector does not have, sorted.
func MissingMetrics(defs []served.Definition, catalog *operand.Catalog) []string {
	return slices.DeleteFunc(ForeignMetrics(defs), func(name string) bool {
		_, err := catalog.Desc(name)
		return !errors.Is(err, pdu.ErrName) && !errors.Is(err, pdu.ErrNonLeaf)
	})
}
