package definitions

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/served"
)

// Named has the definitions of files that a person names, and those of the agent's files as context: expressions mean
// what they would mean if the agent read the named files, too.
type Named struct {
	Parsed
	Portable bool // all definitions are for clients, too
	conf     config.PCPConf
	files    map[string]string // what messages call the files and directories that are named; none: all that the agent reads
	drafts   map[string]bool   // those of them that the agent does not read
	places   map[string]place  // of all files, by what messages call them
}

// place is where a file is. This path, and the keys of Named.files and Named.drafts, are absolute: a file may be named
// in several ways.
type place struct {
	path  string
	named string // the file itself, or the nearest directory above it, that is named; "": the file is context
}

// ReadNamed reads the agent's files, which r has the paths of, and the named files. A file that the agent reads keeps its
// place among the others. Other files are read after them. Without names it reads the agent's files.
func ReadNamed(r Reader, files []string) Named {
	n := Named{conf: r.Conf, files: map[string]string{}, drafts: map[string]bool{}, places: map[string]place{}}
	agent := r
	for _, file := range files {
		if path := AbsolutePath(file); n.files[path] == "" {
			n.files[path] = agent.called(file)
		}
	}
	r.Called = func(path string) string {
		at := place{path: AbsolutePath(path)}
		for dir := range upwards(at.path) {
			if name, ok := n.files[dir]; ok {
				at.named = dir
				if path = name; dir != at.path {
					path = filepath.Join(name, strings.TrimPrefix(at.path, dir))
				}
				break
			}
		}
		n.places[path] = at
		return path
	}
	n.Parsed = r.Read()
	read := map[string]bool{} // files, and the directories above them
	for _, s := range n.Sources {
		for path := range upwards(n.places[s.Path].path) {
			read[path] = read[path] || s.Err == nil
		}
	}
	for _, file := range files {
		if path := AbsolutePath(file); !n.drafts[path] && !(read[path] && agent.Reads(file)) {
			n.drafts[path] = true
			r.drafts = append(r.drafts, file)
		}
	}
	if len(r.drafts) > 0 {
		n.Parsed = r.Read()
	}
	n.tidy(len(agent.paths()) == 0)
	return n
}

// tidy keeps each problem once, though several paths may lead to a file. alone: there is no context, so that nothing is
// known of what files mask.
func (n *Named) tidy(alone bool) {
	type subject struct {
		pos config.Position
		msg string
	}
	reported := map[subject]*config.Problem{}
	n.Problems = slices.DeleteFunc(n.Problems, func(p *config.Problem) bool {
		at := subject{p.Pos, p.Msg}
		if first := reported[at]; first != nil {
			first.Severity = min(first.Severity, p.Severity) // a usual folder that is named must exist
			return true
		}
		reported[at] = p
		return alone && p.Code == "masks-nothing"
	})
}

// DropUnused removes the definitions of the context that drafts do not use, unless a named file is no draft: the agent may
// have an earlier version of the drafts.
func (n *Named) DropUnused() {
	if len(n.drafts) < len(n.files) || len(n.files) == 0 {
		return
	}
	used := map[string]bool{}
	for _, d := range WithUsed(n.ByName(), n.Own()...) {
		used[d.Name] = true
	}
	n.All = slices.DeleteFunc(n.All, func(d served.Definition) bool { return !used[d.Name] })
	n.Definitions = slices.DeleteFunc(n.Definitions, func(d *config.Definition) bool { return !used[d.Name] })
}

// Has reports whether a file is named, or below a directory that is.
func (n *Named) Has(file string) bool { return len(n.files) == 0 || n.places[file].named != "" }

// Own returns the definitions of the named files.
func (n *Named) Own() []served.Definition {
	return slices.DeleteFunc(slices.Clone(n.All), func(d served.Definition) bool { return !n.Has(d.File) })
}

// ErrorInPlaceOf returns the error that a person who asks for a name is told in place of its definition d, nil if there
// is none: where a named file has an error, a definition of the context is not what the person means.
func (n *Named) ErrorInPlaceOf(d *config.Definition, name string) *config.Problem {
	if d == nil {
		return n.ErrorOf(name)
	}
	for _, p := range n.Problems {
		if p.Name == name && p.Severity == config.Error && n.Has(p.Pos.File) && !n.Has(d.Pos.File) {
			return p
		}
	}
	return nil
}

// Within reports whether a path is one of some paths, or below one of them. Links are not followed.
func Within(path string, paths []string) bool {
	above := slices.Collect(upwards(AbsolutePath(path)))
	return slices.ContainsFunc(paths, func(of string) bool { return slices.Contains(above, AbsolutePath(of)) })
}

// upwards yields an absolute path, and the directories above it.
func upwards(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(path) && filepath.Dir(path) != path {
			path = filepath.Dir(path)
		}
	}
}

// AbsolutePath returns the absolute form of a path, or the path itself if the working directory is not known.
func AbsolutePath(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// Concerns reports whether a problem is about a named file. A replaced definition concerns both files. A draft replaces
// nothing of the agent's files, because the agent does not read it.
func (n *Named) Concerns(p *config.Problem) bool {
	switch {
	case p.Replaced.File == "":
		return n.Has(p.Pos.File)
	case n.drafts[n.places[p.Pos.File].named]:
		return n.Has(p.Pos.File) && n.Has(p.Replaced.File)
	}
	return n.Has(p.Pos.File) || n.Has(p.Replaced.File)
}

// Shipped reports whether a file is in a directory of PCP or of the agent, whose definitions are for many hosts.
func (n *Named) Shipped(file string) bool { return config.Shipped(n.conf, n.places[file].path) }

// Lenient reports whether a file is for many hosts and is not named by itself: there missing metrics are no mistake.
func (n *Named) Lenient(file string) bool {
	at := n.places[file]
	return n.Shipped(file) && at.named != at.path
}

// DefinitionCount returns the number of definitions of the named files, including those with syntax errors.
func (n *Named) DefinitionCount() int {
	count := len(n.Own())
	for _, p := range n.Problems {
		if p.Severity == config.Error && CodeOf(p) == CodeSyntax && n.Concerns(p) {
			count++
		}
	}
	return count
}

// AllowedSupport returns how little support by libpcp the definitions of a file may have. With --portable they need the
// support of every libpcp, except in files of PCP or the agent that are not named. In files that clients read
// themselves they need the support of the installed libpcp.
func (n *Named) AllowedSupport(file string) syntax.Support {
	switch {
	case n.Portable && !n.Lenient(file):
		return syntax.Everywhere
	case config.ReadByClients(n.conf, n.places[file].path):
		return supportOf(n.conf.Version)
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
