package command

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"

	"pmdaderived/config"
	"pmdaderived/derived"
)

// usersOfGone returns who uses each definition that NEW does not have any more: definitions of NEW and of the context,
// then files of PCP's tools. All are sorted.
func (d *differences) usersOfGone() map[string][]string {
	users := map[string][]string{}
	for name := range d.sides[0].byName {
		if _, stays := d.sides[1].byName[name]; !stays {
			users[name] = nil
		}
	}
	if len(users) == 0 {
		return users
	}
	add := func(name, user string) { // all names of a user in a row
		if known, gone := users[name]; gone && (len(known) == 0 || known[len(known)-1] != user) {
			users[name] = append(known, user)
		}
	}
	for user, def := range d.sides[1].byName {
		for name := range def.Names {
			add(derived.ShortName(name), user)
		}
	}
	for _, known := range users {
		slices.Sort(known)
	}
	served := regexp.MustCompile(`\b` + derived.Root + `\.(\w+(?:\.\w+)*)`)
	for _, dir := range toolDirectories(d.conf) {
		// An entry that cannot be read is left out, and most hosts lack some directories.
		_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil //nolint:nilerr // see above
			}
			text, _ := config.ReadFile(path)
			for _, match := range served.FindAllSubmatch(text, -1) {
				add(string(match[1]), path)
			}
			return nil
		})
	}
	return users
}

// toolDirectories returns the directories of PCP's tools that the agent's files are installed in, where those of the
// site are, too, and those for the rules of pmlogger and pmie.
func toolDirectories(conf config.PCPConf) []string {
	dirs := []string{"/usr/share/pmdaderived/dashboards"}
	for _, tool := range []string{"pmlogconf", "pmlogger", "pmieconf", "pmie", "pmchart"} {
		dirs = append(dirs, filepath.Join(conf.VarDir, "config", tool))
	}
	for _, tool := range []string{"pmrep", "dstat", "htop", "pmlogger", "pmie"} {
		dirs = append(dirs, filepath.Join(conf.SysconfDir, tool))
	}
	return dirs
}
