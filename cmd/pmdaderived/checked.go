package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pmdaderived/config"
	"pmdaderived/derived/agent"
)

// checked is what check looks at: definitions of the files that it is asked about, among those that the agent reads.
type checked struct {
	definitions
	files    map[string]bool      // those that it is asked about, and directories that could not be read; nil: all
	drafts   bool                 // the agent reads none of them
	around   []string             // what the agent reads
	shipped  map[string]bool      // files that the site has not written
	modified map[string]time.Time // by file
}

// readChecked reads the files and directories that operands name, all that the agent reads if there are none. A file that the agent
// reads is read in its place among the others; for other files the agent's give what they use and do not define.
func (t *tool) readChecked(operands []string, offline bool, limits agent.Limits) checked {
	c := checked{shipped: map[string]bool{}, modified: map[string]time.Time{}}
	around := t.paths
	if around == nil {
		around = config.DefaultPaths(t.conf)
	}
	c.around = around
	names := map[string]string{} // of the files asked about, by their real paths
	called := func(path string) string {
		name, ok := names[realPath(path)]
		if !ok {
			name = path
		}
		c.shipped[name] = config.Shipped(t.conf, path)
		return name
	}
	if len(operands) == 0 {
		c.definitions = readAgain(t.paths, t.conf, limits, nil)
	} else {
		outside := c.sort(operands, around, names)
		c.drafts = len(outside) == len(operands)
		if c.drafts && offline {
			around = nil // the outcome is to be the same on every host
		}
		c.definitions = readAs(slices.Concat(around, outside), limits, called)
		if c.drafts {
			c.dropUnused()
		}
	}
	for _, s := range c.Sources {
		c.modified[s.Path] = s.ModTime
		if len(operands) == 0 {
			called(s.Path)
		}
	}
	return c
}

// sort finds the files that operands name, and gives the operands with files that the agent does not read.
func (c *checked) sort(operands, around []string, names map[string]string) (outside []string) {
	c.files = map[string]bool{}
	read := map[string]bool{}
	for _, s := range config.Load(around, nil).Sources {
		read[realPath(s.Path)] = true
	}
	for _, operand := range operands {
		named := config.Load([]string{operand}, nil)
		known := len(named.Sources) > 0
		for _, s := range named.Sources {
			known = known && read[realPath(s.Path)]
			c.files[s.Path], names[realPath(s.Path)] = true, s.Path
		}
		for _, p := range named.Problems {
			if p.Path != "" {
				c.files[p.Path], names[realPath(p.Path)] = true, p.Path
			}
		}
		if !known {
			outside = append(outside, operand)
		}
	}
	return outside
}

// realPath is what a path is without links, as far as it can be said.
func realPath(path string) string {
	if path == "" {
		return ""
	}
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return path
}

// dropUnused forgets the definitions of other files that nothing asked about uses.
func (c *checked) dropUnused() {
	byName := make(map[string]int, len(c.all))
	var asked []subject
	for i, d := range c.all {
		byName[d.Name] = i
		if c.files[d.File] {
			asked = append(asked, subject{def: d})
		}
	}
	used := map[string]bool{}
	for _, d := range c.used(byName, asked) {
		used[d.Name] = true
	}
	c.all = slices.DeleteFunc(c.all, func(d agent.Definition) bool { return !used[d.Name] })
	c.Definitions = slices.DeleteFunc(c.Definitions, func(d *config.Definition) bool { return !used[d.Name] })
}

// asked reports whether a problem is one to tell. That a file takes the place of a definition of another concerns both; what
// the agent does not read takes no place.
func (c *checked) asked(p *config.Problem) bool {
	switch {
	case c.files == nil:
		return true
	case p.Replaced.File == "":
		return c.files[p.Pos.File]
	case c.drafts:
		return c.files[p.Pos.File] && c.files[p.Replaced.File]
	}
	return c.files[p.Pos.File] || c.files[p.Replaced.File]
}

// size is how many definitions the files have that are asked about.
func (c *checked) size() int {
	n := 0
	for _, d := range c.all {
		if c.files == nil || c.files[d.File] {
			n++
		}
	}
	return n
}

// closed finds files that we could read and the agent cannot, and directories of them, each obstacle once.
func (c *checked) closed(conf config.PCPConf) []*config.Problem {
	account, err := config.LookUpAccount(conf)
	if c.drafts || err != nil {
		return nil
	}
	var found []*config.Problem
	told := map[string]bool{}
	var paths []string
	if c.files == nil {
		for _, path := range c.around {
			if _, err := os.Stat(path); err == nil {
				paths = append(paths, path)
			}
		}
	}
	for _, s := range c.Sources {
		if s.Err == nil && (c.files == nil || c.files[s.Path]) {
			paths = append(paths, s.Path)
		}
	}
	for _, path := range paths {
		at := account.Obstacle(path)
		if at == "" || told[at] {
			continue
		}
		told[at] = true
		found = append(found, &config.Problem{
			Pos: config.Position{File: path}, Severity: config.Warning, Code: codeClosed,
			Msg: fmt.Sprintf("the agent cannot read it: user %s has no permission for %s", conf.User, at),
		})
	}
	return found
}
