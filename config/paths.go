package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// SplitPaths cuts a path list at its colons. An empty list has no component, and a colon at the
// end begins none; any other empty component stays, for Load to report.
func SplitPaths(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(list, ":"), ":")
}

// DefaultPaths returns the path list that is used when none is given: the definitions that PCP
// ships, which its own clients load by default too, those that come with the agent, then the site's
// own. The agent's have a directory of their own: clients could not read all of them.
func DefaultPaths(conf PCPConf) []string {
	return []string{
		filepath.Join(conf.VarDir, "config", "derived"),
		filepath.Join(conf.VarDir, "config", "pmdaderived"),
		filepath.Join(conf.SysconfDir, "pmdaderived"),
	}
}

// Shipped reports whether a file found by the default path list is where PCP and the agent have theirs. A site may have put
// its own there, too.
func Shipped(conf PCPConf, file string) bool {
	paths := DefaultPaths(conf)
	return slices.ContainsFunc(paths[:len(paths)-1], func(dir string) bool { return strings.HasPrefix(file, dir+"/") })
}

// ReadByClients reports whether a file is where PCP's clients look by themselves for definitions that they compute.
func ReadByClients(conf PCPConf, file string) bool {
	return strings.HasPrefix(file, DefaultPaths(conf)[0]+"/")
}

// isSkipped reports whether a file or directory in a directory is left out because of its name, without definitions: tests
// of definitions, which lie beside them, copies that people keep, and what nobody put there on purpose: what editors,
// package managers and NFS leave behind, Kubernetes' ..data, and what Ansible renames when it is written. Because later
// files replace definitions of earlier ones, an old copy beside a file would win over it. Other hidden files are read, as
// libpcp does.
func isSkipped(name string) bool {
	patterns := []string{
		"..*", ".#*", ".nfs*", ".ansible_tmp*", "#", "#*#",
		"*.test", "*~", ".*.sw?", "*.bak", "*.orig", "*.old", "*.rej", "*.save", "*.swp", "*.tmp",
		"*.dpkg-*", "*.ucf-*", "*.rpmnew", "*.rpmorig", "*.rpmsave",
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		match, _ := filepath.Match(pattern, name)
		return match
	})
}
