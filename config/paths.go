package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// SplitPaths splits a path list at its colons. An empty list has no components, and a colon at the end adds none.
// Another empty component stays in the list, and Load reports it.
func SplitPaths(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(list, ":"), ":")
}

// DefaultPaths returns the path list for no other choice: the definitions that PCP ships, those that come with the
// agent, and those of the site. PCP's clients load the first ones by themselves. The agent's definitions have a
// directory of their own, because clients could not read all of them.
func DefaultPaths(conf PCPConf) []string {
	return []string{
		filepath.Join(conf.VarDir, "config", "derived"),
		filepath.Join(conf.VarDir, "config", "pmdaderived"),
		filepath.Join(conf.SysconfDir, "pmdaderived"),
	}
}

// Shipped reports whether a file is in the directories of [DefaultPaths] for definitions of PCP or of the agent. A
// site may have added files there.
func Shipped(conf PCPConf, file string) bool {
	paths := DefaultPaths(conf)
	return slices.ContainsFunc(paths[:len(paths)-1], func(dir string) bool { return strings.HasPrefix(file, dir+"/") })
}

// ReadByClients reports whether a file is in the directory from which PCP's clients load definitions by themselves.
func ReadByClients(conf PCPConf, file string) bool {
	return strings.HasPrefix(file, DefaultPaths(conf)[0]+"/")
}

// isSkipped reports whether a file or directory in a directory is skipped because of its name: unit tests of
// definitions, copies that people keep, and files that editors, package managers, NFS, Kubernetes and Ansible leave
// behind. A skipped copy would otherwise replace the definitions of the original, since later files win. Other hidden
// files are read, as libpcp does, unless isLeftOut has them.
func isSkipped(name string) bool {
	return matches(name, []string{
		"..*", ".#*", ".nfs*", ".ansible_tmp*", "#", "#*#",
		"*.test", "*~", ".*.sw?", "*.bak", "*.orig", "*.old", "*.rej", "*.save", "*.swp", "*.tmp",
		"*.dpkg-*", "*.ucf-*", "*.rpmnew", "*.rpmorig", "*.rpmsave",
	})
}

// isLeftOut reports whether an entry of a directory is left out with a note, because a clone of a repository has such
// entries beside definitions. A line of .git/config or .editorconfig can look like a definition.
func isLeftOut(name string, isDir bool) bool {
	return isDir && name[0] == '.' || matches(name, []string{
		"README*", "LICENSE*", "LICENCE*", "COPYING*", "CHANGELOG*", "CONTRIBUTING*", "CODEOWNERS", "Makefile", "*.md",
		".git*", ".hg*", ".*ignore", ".*rc", ".editorconfig", ".mailmap", ".*.json", ".*.toml", ".*.yaml", ".*.yml",
	})
}

func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		match, _ := filepath.Match(pattern, name)
		return match
	})
}
