package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pmdaderived/config"
	"pmdaderived/internal/agent/served"
	"pmdaderived/internal/definitions"
)

// checkedFiles has the definitions of the files to check, among all that the agent reads.
type checkedFiles struct {
	definitions.Parsed
	asked         map[string]bool      // files to check, and directories that could not be read; nil: all
	named         map[string]bool      // files that operands name themselves, by real path
	drafts        map[string]bool      // files to check that the agent does not read
	shipped       map[string]bool      // files in directories of PCP and the agent
	readByClients map[string]bool      // files that clients read themselves
	version       string               // of PCP; "": not known
	portable      bool                 // all definitions are for clients, too
	modified      map[string]time.Time // by file
	fileProblems  []*config.Problem    // of whole files and directories, besides Loaded.Problems
}

// readChecked reads the files and directories that operands name, without operands all that the agent reads. A file
// that the agent reads keeps its place among the others. Other files are read after the agent's, whose definitions they
// may use.
func (t *invocation) readChecked(operands []string, offline bool) checkedFiles {
	c := checkedFiles{
		shipped: map[string]bool{}, readByClients: map[string]bool{}, version: t.conf.Version,
		modified: map[string]time.Time{},
	}
	around := t.paths
	if around == nil {
		around = config.DefaultPaths(t.conf)
	}
	names := map[string]string{} // of the files to check, by real path
	called := func(path string) string {
		name, ok := names[realPath(path)]
		if !ok {
			name = path
		}
		c.shipped[name], c.readByClients[name] = config.Shipped(t.conf, path), config.ReadByClients(t.conf, path)
		return name
	}
	if len(operands) == 0 {
		c.Parsed = definitions.Reader{Paths: t.paths, Conf: t.conf, Called: called}.Read()
	} else {
		outside, alone := c.sortOperands(operands, around, names, t.spooled)
		if alone && offline {
			around = nil // the result must be the same on every host
		}
		c.Parsed = definitions.Reader{Paths: slices.Concat(around, outside), Conf: t.conf, Called: called}.Read()
		if alone {
			c.dropUnused()
		}
	}
	for _, s := range c.Sources {
		c.modified[s.Path] = s.ModTime
	}
	return c
}

// standardInput is the operand that means standard input, and its name in messages.
const standardInput = "-"

// spool copies standard input to the file t.spooled, if it is an operand, and replaces the operand by the path.
func (t *invocation) spool(operands []string) error {
	if !slices.Contains(operands, standardInput) {
		return nil
	}
	f, err := os.CreateTemp("", "pmdaderived-*.conf")
	if err != nil {
		return err
	}
	t.spooled = f.Name()
	_, err = io.Copy(f, io.LimitReader(t.stdin, config.MaxFileSize+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	for i, operand := range operands {
		if operand == standardInput {
			operands[i] = t.spooled
		}
	}
	return nil
}

// sortOperands finds the files that operands name. It returns the paths of files that the agent does not read; alone
// means that it reads none of them. spooled is the copy of standard input.
func (c *checkedFiles) sortOperands(
	operands, around []string, names map[string]string, spooled string,
) (outside []string, alone bool) {
	c.asked, c.named, c.drafts = map[string]bool{}, map[string]bool{}, map[string]bool{}
	alone = true
	agents, added := map[string]bool{}, map[string]bool{} // by real paths
	for _, s := range config.Load(around, nil).Sources {
		agents[realPath(s.Path)] = true
	}
	for _, operand := range operands {
		named := config.Load([]string{operand}, nil)
		if len(named.Sources) == 0 {
			outside = append(outside, operand)
		}
		for _, s := range named.Sources {
			real, shown := realPath(s.Path), s.Path
			if s.Path == spooled {
				shown = standardInput
			}
			c.asked[shown], names[real] = true, shown
			if s.Path == operand {
				c.named[real] = true
			}
			if agents[real] {
				alone = false
				continue
			}
			c.drafts[shown] = true
			if !added[real] {
				added[real] = true
				outside = append(outside, s.Path)
			}
		}
		for _, p := range named.Problems {
			if p.Path != "" {
				c.asked[p.Path], names[realPath(p.Path)] = true, p.Path
				c.fileProblems = append(c.fileProblems, p)
			}
		}
	}
	return outside, alone
}

// otherFileProblems returns the problems of whole files and directories that are not in Loaded.Problems, each once.
func (c *checkedFiles) otherFileProblems() []*config.Problem {
	type subject struct{ path, code string }
	told := map[subject]bool{}
	for _, p := range c.Problems {
		told[subject{realPath(p.Path), p.Code}] = true
	}
	var found []*config.Problem
	graver := func(x, y *config.Problem) int { return cmp.Compare(x.Severity, y.Severity) }
	slices.SortStableFunc(c.fileProblems, graver)
	for _, p := range c.fileProblems {
		if at := (subject{realPath(p.Path), p.Code}); !told[at] {
			told[at] = true
			found = append(found, p)
		}
	}
	return found
}

// realPath returns an absolute path without symbolic links, as far as it can be found out.
func realPath(path string) string {
	if path == "" {
		return ""
	}
	path = absolute(path)
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return path
}

func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// dropUnused removes the definitions of other files that the files to check do not use.
func (c *checkedFiles) dropUnused() {
	asked := slices.DeleteFunc(slices.Clone(c.All), func(d served.Definition) bool { return !c.asked[d.File] })
	used := map[string]bool{}
	for _, d := range definitions.WithUsed(c.ByName(), asked...) {
		used[d.Name] = true
	}
	c.All = slices.DeleteFunc(c.All, func(d served.Definition) bool { return !used[d.Name] })
	c.Definitions = slices.DeleteFunc(c.Definitions, func(d *config.Definition) bool { return !used[d.Name] })
}

// concerns reports whether a problem is about a file to check. A replaced definition concerns both files. A draft
// replaces nothing, because the agent does not read it.
func (c *checkedFiles) concerns(p *config.Problem) bool {
	switch {
	case c.asked == nil:
		return true
	case p.Replaced.File == "":
		return c.asked[p.Pos.File]
	case c.drafts[p.Pos.File]:
		return c.asked[p.Pos.File] && c.asked[p.Replaced.File]
	}
	return c.asked[p.Pos.File] || c.asked[p.Replaced.File]
}

// lenient reports whether a file is for many hosts and is not named by an operand: there missing metrics are no
// mistake.
func (c *checkedFiles) lenient(file string) bool { return c.shipped[file] && !c.named[realPath(file)] }

// definitionCount returns the number of definitions to check, including those with syntax errors.
func (c *checkedFiles) definitionCount() int {
	n := 0
	for _, p := range c.Problems {
		if p.Severity == config.Error && definitions.CodeOf(p) == definitions.CodeSyntax && c.concerns(p) {
			n++
		}
	}
	for _, d := range c.All {
		if c.asked == nil || c.asked[d.File] {
			n++
		}
	}
	return n
}
