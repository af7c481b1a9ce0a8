package definitions

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"pmdaderived/config"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/served"
)

// CheckedFiles has all definitions that the agent would read, and says which of their files are to be checked.
type CheckedFiles struct {
	Parsed
	asked         map[string]bool   // files to check, and directories that could not be read; nil: all
	named         map[string]bool   // files that operands name themselves, by real path
	drafts        map[string]bool   // files to check that the agent does not read
	Shipped       map[string]bool   // files in directories of PCP and the agent
	readByClients map[string]bool   // files that clients read themselves
	version       string            // of PCP; "": not known
	Portable      bool              // all definitions are for clients, too
	fileProblems  []*config.Problem // of whole files and directories, besides Loaded.Problems
}

// ReadChecked reads the files and directories that operands name, without operands all that the agent reads. A file
// that the agent reads keeps its place among the others. Other files are read after the agent's, whose definitions they
// may use. r has the agent's paths. With offline the agent's files are not read if it reads none of the others. spooled is
// the copy of standard input.
func ReadChecked(r Reader, operands []string, offline bool, spooled string) CheckedFiles {
	c := CheckedFiles{
		Shipped: map[string]bool{}, readByClients: map[string]bool{}, version: r.Conf.Version,
	}
	around := r.Paths
	if around == nil {
		around = config.DefaultPaths(r.Conf)
	}
	names := map[string]string{} // of the files to check, by real path
	r.Called = func(path string) string {
		name, ok := names[realPath(path)]
		if !ok {
			name = path
		}
		c.Shipped[name], c.readByClients[name] = config.Shipped(r.Conf, path), config.ReadByClients(r.Conf, path)
		return name
	}
	if len(operands) == 0 {
		c.Parsed = r.Read()
	} else {
		outside, alone := c.sortOperands(operands, around, names, spooled, config.LoadOptions{AgentUser: r.User})
		if alone && offline {
			around = nil // the result must be the same on every host
		}
		r.Paths = slices.Concat(around, outside)
		c.Parsed = r.Read()
		if alone {
			c.dropUnused()
		}
		if len(around) == 0 { // what the files mask is not read
			c.Problems = slices.DeleteFunc(c.Problems, func(p *config.Problem) bool { return p.Code == "masks-nothing" })
		}
	}
	return c
}

// StandardInput is the operand that means standard input, and its name in messages.
const StandardInput = "-"

// sortOperands finds the files that operands name. It returns the paths of the files that the agent does not read,
// where around has the paths that it reads. alone reports whether it reads none of the named files. names gets the
// names that messages have for files, by real path. spooled is the copy of standard input.
func (c *CheckedFiles) sortOperands(
	operands, around []string, names map[string]string, spooled string, options config.LoadOptions,
) (outside []string, alone bool) {
	c.asked, c.named, c.drafts = map[string]bool{}, map[string]bool{}, map[string]bool{}
	alone = true
	agents, added := map[string]bool{}, map[string]bool{} // by real paths
	for _, s := range options.Load(around).Sources {
		agents[realPath(s.Path)] = true
	}
	for _, operand := range operands {
		named := options.Load([]string{operand})
		if len(named.Sources) == 0 {
			outside = append(outside, operand)
		}
		for _, s := range named.Sources {
			real, shown := realPath(s.Path), s.Path
			if s.Path == spooled {
				shown = StandardInput
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
			// An entry that is refused because of its directory would be read by itself.
			if !added[real] && (s.Err == nil || s.Path == operand) {
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

// OtherFileProblems returns the problems of whole files and directories that are not in Loaded.Problems, each once.
func (c *CheckedFiles) OtherFileProblems() []*config.Problem {
	type subject struct{ path, code string }
	reported := map[subject]bool{}
	for _, p := range c.Problems {
		reported[subject{realPath(p.Path), p.Code}] = true
	}
	var found []*config.Problem
	graver := func(x, y *config.Problem) int { return cmp.Compare(x.Severity, y.Severity) }
	slices.SortStableFunc(c.fileProblems, graver)
	for _, p := range c.fileProblems {
		if at := (subject{realPath(p.Path), p.Code}); !reported[at] {
			reported[at] = true
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
	path = AbsolutePath(path)
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return path
}

// AbsolutePath returns the absolute form of a path, or the path itself if the working directory is not known.
func AbsolutePath(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// dropUnused removes the definitions of other files that the files to check do not use.
func (c *CheckedFiles) dropUnused() {
	asked := slices.DeleteFunc(slices.Clone(c.All), func(d served.Definition) bool { return !c.asked[d.File] })
	used := map[string]bool{}
	for _, d := range WithUsed(c.ByName(), asked...) {
		used[d.Name] = true
	}
	c.All = slices.DeleteFunc(c.All, func(d served.Definition) bool { return !used[d.Name] })
	c.Definitions = slices.DeleteFunc(c.Definitions, func(d *config.Definition) bool { return !used[d.Name] })
}

// Concerns reports whether a problem is about a file to check. A replaced definition concerns both files. A draft
// replaces nothing, because the agent does not read it.
func (c *CheckedFiles) Concerns(p *config.Problem) bool {
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

// Lenient reports whether a file is for many hosts and is not named by an operand: there missing metrics are no
// mistake.
func (c *CheckedFiles) Lenient(file string) bool { return c.Shipped[file] && !c.named[realPath(file)] }

// DefinitionCount returns the number of definitions to check, including those with syntax errors.
func (c *CheckedFiles) DefinitionCount() int {
	n := 0
	for _, p := range c.Problems {
		if p.Severity == config.Error && CodeOf(p) == CodeSyntax && c.Concerns(p) {
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

// AllowedSupport returns how little support by libpcp the definitions of a file may have. With --portable they need the
// support of every libpcp, except in files of PCP or the agent that are not named. In files that clients read
// themselves they need the support of the installed libpcp.
func (c *CheckedFiles) AllowedSupport(file string) syntax.Support {
	switch {
	case c.Portable && !c.Lenient(file):
		return syntax.Everywhere
	case c.readByClients[file]:
		return supportOf(c.version)
	}
	return syntax.Nowhere
}

// supportOf returns what the libpcp of a PCP version supports. An unknown version may be the newest.
func supportOf(version string) syntax.Support {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	switch {
	case err != nil || major >= 7:
		return syntax.PCP7
	case major == 6 && minor >= 3:
		return syntax.PCP63
	}
	return syntax.Everywhere
}
