package main

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"

	"github.com/sirupsen/logrus"

	"pmdaderived/config"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/served"
)

// definitionSource reads the definitions for the agent. Only the agent calls load, never concurrently.
type definitionSource struct {
	options *options
	watcher *config.Watcher
	log     logrus.FieldLogger
	last    served.Config
	masks   map[string]config.Position // of the files that last was read from
	logged  map[[sha256.Size]byte]bool // digests of the problems of last
}

func newDefinitionSource(o *options, log logrus.FieldLogger) *definitionSource {
	paths := o.paths
	if paths == nil {
		paths = config.DefaultPaths(o.conf)
	}
	return &definitionSource{options: o, log: log, watcher: config.NewWatcher(paths, log)}
}

// load returns the definitions of the files. While a file is being written it returns those of the last call. It logs
// problems that are new, the first ones of each file.
func (s *definitionSource) load() served.Config {
	r := definitions.Reader{
		Paths: s.options.paths, Conf: s.options.conf, Before: s.last.Definitions,
		Masks: s.masks, Called: printable.Escaped, User: os.Geteuid(),
	}.Read()
	if !s.watcher.RecordLoad(&r.Loaded) {
		return s.last
	}
	c := served.Config{
		Definitions: r.All, Files: servedFiles(&r), Language: r.Language, Unread: r.Unread.Find,
	}
	secret := make(map[string]bool)
	for _, source := range r.Sources {
		secret[source.Path] = source.Secret
	}
	logged, reported := make(map[[sha256.Size]byte]bool, len(r.Problems)), make(served.Reported)
	for _, p := range r.Problems {
		if secret[p.Pos.File] && p.Path == "" || p.Path == s.options.conf.InDomConfig && mayQuoteFile(p.Err) &&
			config.Secret(p.Path) {
			at := config.Position{File: p.Pos.File, Line: p.Pos.Line}
			p = &config.Problem{
				Pos: at, Severity: p.Severity, Name: p.Name, Attribute: p.Attribute, Msg: served.HiddenProblem,
			}
		}
		text := p.Error()
		if p.Severity == config.Error {
			c.Failures = append(c.Failures, served.Failure{
				Name: p.Name, Attribute: p.Attribute, File: p.Pos.File, Line: p.Pos.Line, Message: text,
				Secret: secret[p.Pos.File],
			})
		}
		digest := sha256.Sum256([]byte(text))
		if !s.logged[digest] && !reported.Add(p.Pos.File) {
			continue
		}
		logged[digest] = true
		if s.logged[digest] {
			continue
		}
		entry := s.log.WithField("file", p.Pos.File)
		switch p.Severity {
		case config.Error:
			entry.WithError(p).Error("problem in the definition files")
		case config.Warning:
			entry.WithError(p).Warn("problem in the definition files")
		case config.Note: // what is as it should be is neither a problem nor an error
			entry.WithField("note", p).Info("note about the definition files")
		}
	}
	reported.LogRest(s.log, "more problems in the definition files, run pmdaderived check --all")
	s.last, s.masks, s.logged = c, r.Masks, logged
	return c
}

// mayQuoteFile reports whether an error about a file may contain text of the file. An error of opening or reading it
// does not.
func mayQuoteFile(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return !ok
}

// servedFiles returns the state of each file.
func servedFiles(r *definitions.Parsed) []served.File {
	files := make([]served.File, 0, len(r.Sources))
	at := make(map[string]int, len(r.Sources))
	for _, s := range r.Sources {
		f := served.File{Path: s.Path}
		switch {
		case s.Err != nil:
			f.Error = printable.Escaped(s.Err.Error())
		case s.Incomplete:
			f.Error = "not read completely"
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
