package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/derived/agent"
)

// definitions are those of a path list, with what is wrong in its files.
type definitions struct {
	config.Loaded
	all      []agent.Definition // one for each of Loaded.Definitions
	language derived.Language
}

const (
	control       = "#control "
	optionNoValue = "option_novalue" // that of libpcp's options that says what a definition means
)

// readDefinitions reads definition files and parses what is in them, within the usual limits. paths is nil for the
// default ones.
func readDefinitions(paths []string, conf config.PCPConf) definitions {
	return readAgain(paths, conf, defaultLimits(), nil)
}

// readAs reads the definition files of a path list; called says what files and directories are called in it.
func readAs(paths []string, conf config.PCPConf, limits agent.Limits, called func(path string) string) definitions {
	return parseAll(nil, conf, limits, func(o config.Loading) config.Loaded {
		o.Called = called
		return o.Load(paths)
	})
}

// readAgain reads definition files and parses what is new in them since before was read.
func readAgain(paths []string, conf config.PCPConf, limits agent.Limits, before []agent.Definition) definitions {
	return parseAll(before, conf, limits, func(o config.Loading) config.Loaded {
		if paths == nil {
			return o.LoadDefault(conf)
		}
		return o.Load(paths)
	})
}

// parseAll parses what load reads, except what has been parsed before. Nothing parsed holds
// on to the text of a file, since most of it outlives many of them.
func parseAll(
	before []agent.Definition, conf config.PCPConf, limits agent.Limits, load func(config.Loading) config.Loaded,
) definitions {
	known := make(map[string]*derived.Definition, len(before))
	for _, d := range before {
		known[d.Name] = d.Definition
	}
	var r definitions
	accept := func(d *config.Definition) error {
		p := known[d.Name]
		if p == nil || p.Text != d.Expr {
			var err error
			if p, err = derived.ParseWithin(strings.Clone(d.Name), strings.Clone(d.Expr), ofExpressions(limits)); err != nil {
				return err
			}
		}
		known[p.Name] = p
		return nil
	}
	r.Loaded = load(config.Loading{Accept: accept, Definitions: int(limits.Definitions)})
	r.configure(conf.InDomConfig)
	r.all = make([]agent.Definition, 0, len(r.Definitions))
	for _, d := range r.Definitions {
		parsed, place := known[d.Name], d.Place() // the last that was taken
		r.all = append(r.all, agent.Definition{
			Definition: parsed,
			OneLine:    d.OneLine,
			Help:       d.Help,
			File:       d.Pos.File,
			Line:       d.Pos.Line,
			Explain: func(offset int, msg string) string {
				return msg + "\n" + place.At(parsed.Text, offset).String() + "\n" + place.Context(parsed.Text, offset)
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
			p.Severity, p.Msg = config.Warning, fmt.Sprintf("%q is not a valid value of control option %s: want 0 or 1", c.Value, c.Option)
		}
		r.Problems = append(r.Problems, p)
	}
	text, err := readLimited(inDoms)
	if err == nil {
		r.language.InDoms, err = derived.ParseInDomMaps(string(text))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Problems = append(r.Problems, &config.Problem{
			Pos: config.Position{File: inDoms}, Severity: config.Error, Code: "unread", Path: inDoms, Err: err,
			Msg: fmt.Sprintf("no instance domains are taken as equivalent: %v", err),
		})
	}
}

// source reads the definitions for the agent, again and again. It belongs to the agent, which never
// loads twice at a time.
type source struct {
	options *options
	watcher *config.Watcher
	log     logrus.FieldLogger
	last    agent.Config
	told    map[string]bool // the problems of last
}

func newSource(o *options, log logrus.FieldLogger) *source {
	paths := o.paths
	if paths == nil {
		paths = config.DefaultPaths(o.conf)
	}
	return &source{options: o, log: log, watcher: config.NewWatcher(config.WatchOptions{
		Paths: paths, Poll: o.watchPoll, PollOnly: o.watch == watchPoll, Log: log,
	})}
}

// load returns what the files say now, or once more what they said before while they are being written.
// Problems are logged when they are new.
func (s *source) load() agent.Config {
	r := readAgain(s.options.paths, s.options.conf, s.options.limits, s.last.Definitions)
	if !s.watcher.Took(&r.Loaded) {
		return s.last
	}
	read := config.Loaded{Sources: r.Sources} // the rest is not needed for long
	c := agent.Config{
		Definitions: r.all, Files: r.files(), Language: r.language, Read: time.Now(),
		Unread: func(file string) bool { return !read.Covers(file) },
	}
	told := make(map[string]bool, len(r.Problems))
	for _, p := range r.Problems {
		text := p.Error()
		if p.Severity == config.Error {
			c.Failures = append(c.Failures, agent.Failure{
				Name: p.Name, File: p.Pos.File, Line: p.Pos.Line, Message: text,
			})
		}
		told[text] = true
		if s.told[text] {
			continue
		}
		switch entry := s.log.WithField("file", p.Pos.File); p.Severity {
		case config.Error:
			entry.Error(text)
		case config.Warning:
			entry.Warn(text)
		default:
			entry.Info(text)
		}
	}
	s.last, s.told = c, told
	return c
}

// files says what became of each file.
func (r *definitions) files() []agent.File {
	files := make([]agent.File, 0, len(r.Sources))
	at := make(map[string]int, len(r.Sources))
	for _, s := range r.Sources {
		f := agent.File{Path: s.Path, Modified: s.ModTime}
		switch {
		case s.Err != nil:
			f.Error = s.Err.Error()
		case s.Incomplete:
			f.Error = "not read to its end"
		}
		at[s.Path] = len(files)
		files = append(files, f)
	}
	for _, d := range r.Definitions {
		if i, ok := at[d.Pos.File]; ok {
			files[i].Definitions++
		}
	}
	for _, p := range r.Problems {
		if i, ok := at[p.Pos.File]; ok && p.Severity == config.Error && p.Path == "" {
			files[i].Failed++
		}
	}
	return files
}
