package main

import (
	"github.com/sirupsen/logrus"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/derived/agent"
)

// loadDefinitions reads the definition files and parses what is in them. Problems are logged here.
func loadDefinitions(o *options, log logrus.FieldLogger) agent.Config {
	parsed := make(map[*config.Definition]*derived.Definition)
	accept := func(d *config.Definition) error {
		p, err := derived.Parse(d.Name, d.Expr)
		if err == nil {
			parsed[d] = p
		}
		return err
	}
	var loaded config.Loaded
	if o.paths == nil {
		loaded = config.LoadDefault(o.conf, accept)
	} else {
		loaded = config.Load(o.paths, accept)
	}
	c := agent.Config{Unread: func(file string) bool { return !loaded.Covers(file) }}
	for _, p := range loaded.Problems {
		switch entry := log.WithField("file", p.Pos.File); p.Severity {
		case config.Error:
			entry.Error(p.Error())
			c.Failures = append(c.Failures, agent.Failure{Name: p.Name, Message: p.Error()})
		case config.Warning:
			entry.Warn(p.Error())
		default:
			entry.Info(p.Error())
		}
	}
	for _, d := range loaded.Definitions {
		c.Definitions = append(c.Definitions, agent.Definition{
			Definition: parsed[d],
			OneLine:    d.OneLine,
			Help:       d.Help,
			File:       d.Pos.File,
			Line:       d.Pos.Line,
			Explain: func(offset int, msg string) string {
				return msg + "\n" + d.At(offset).String() + "\n" + d.Context(offset)
			},
		})
	}
	return c
}
