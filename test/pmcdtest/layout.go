package pmcdtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxSocketPath is the longest path of a unix socket, in bytes, without the NUL that ends it (unix(7)).
const maxSocketPath = 107

// owner is the user that pmcd becomes.
type owner struct {
	user, group string
	uid, gid    int
	become      bool // we are root: pmcd becomes the owner, who needs the folders that it writes to
}

func findOwner(conf pcpConf) (owner, error) {
	become := os.Geteuid() == 0
	u, err := user.Current()
	if become {
		u, err = user.Lookup(conf["PCP_USER"])
	}
	if err != nil {
		return owner{}, err
	}
	g, err := user.LookupGroupId(u.Gid)
	if become {
		g, err = user.LookupGroup(conf["PCP_GROUP"])
	}
	if err != nil {
		return owner{}, err
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(g.Gid)
	return owner{user: u.Username, group: g.Name, uid: uid, gid: gid, become: become}, errors.Join(uidErr, gidErr)
}

// makeDir makes the top folder: its path is short enough for a socket in it and, for root, open to
// everybody, since pmcd gives up root's rights.
func makeDir(own owner) (string, error) {
	base := os.TempDir()
	longest := len(base) + len("/pmcd-0123456789/run/pmcd.socket")
	if longest > maxSocketPath || own.become && !reachable(base) {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "pmcd-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// reachable reports whether every user can pass through each folder of the path.
func reachable(path string) bool {
	for {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(path)
		if parent == path {
			return true
		}
		path = parent
	}
}

// buildTree makes the folders and links below dir that doc.go lists.
func buildTree(dir string, cfg Config, conf pcpConf, own owner) error {
	for _, name := range []string{
		"run", "log", "log/pmcd", "log/pmlogger", "log/pmie", "log/pmproxy",
		"tmp", "tmp/mmv", "tmp/pmlogger", "tmp/pmie", "tmp/pmproxy",
		"var", "var/pmns", "var/config", "var/config/pmda", "var/config/pmdaderived", "etc", "etc/pmdaderived",
	} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		if own.become {
			if err := os.Chown(path, own.uid, own.gid); err != nil {
				return err
			}
		}
	}
	ownConf := []string{"pmdaderived"}
	if cfg.Labels != "" {
		ownConf = append(ownConf, "labels")
		labels := filepath.Join(dir, "etc", "labels")
		if err := os.Mkdir(labels, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(labels, "host"), []byte(cfg.Labels), 0o644); err != nil {
			return err
		}
	}
	for _, farm := range []struct {
		from, to string
		except   []string
	}{
		{conf["PCP_VAR_DIR"], "var", []string{"pmns", "config", "tmp"}},
		{filepath.Join(conf["PCP_VAR_DIR"], "config"), "var/config", []string{"pmda", "pmdaderived"}},
		{conf["PCP_SYSCONF_DIR"], "etc", ownConf},
	} {
		if err := linkAll(farm.from, filepath.Join(dir, farm.to), farm.except); err != nil {
			return err
		}
	}
	return nil
}

// linkAll makes a link in folder to for each entry of folder from that is not excepted.
func linkAll(from, to string, except []string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if slices.Contains(except, entry.Name()) {
			continue
		}
		if err := os.Symlink(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// stockAgents returns the lines of pmcd.conf for the agents that every private pmcd has.
// proc and linux become root without -U, which only root can do.
func stockAgents(conf pcpConf, own owner) string {
	as := ""
	if !own.become {
		as = " -U " + own.user
	}
	pmdas := conf["PCP_PMDAS_DIR"]
	return strings.Join([]string{
		"pmcd 2 dso pmcd_init " + pmdas + "/pmcd/pmda_pmcd.so",
		"proc 3 pipe binary " + pmdas + "/proc/pmdaproc -d 3" + as,
		"sample 29 pipe binary " + pmdas + "/sample/pmdasample -d 29",
		"linux 60 pipe binary " + pmdas + "/linux/pmdalinux -d 60" + as,
		"mmv 70 dso mmv_init " + pmdas + "/mmv/pmda_mmv.so",
		"",
	}, "\n")
}

func writeControlFile(path string, cfg Config, conf pcpConf, own owner) error {
	var b strings.Builder
	b.WriteString(stockAgents(conf, own))
	for _, agent := range cfg.Agents {
		b.WriteString(agent.line())
	}
	access := cfg.Access
	if access == "" {
		access = stockAccess
	}
	b.WriteString("\n[access]\n" + access + "\n")
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// writePMNS merges the name spaces of all agents into folder/root, as the installation scripts of the agents would.
func writePMNS(folder string, cfg Config, conf pcpConf) error {
	stock := filepath.Join(conf["PCP_VAR_DIR"], "pmns")
	sources := []string{stock + "/root_pmcd", stock + "/root_proc", stock + "/root_linux", stock + "/root_mmv"}
	add := func(name, text string) error {
		path := filepath.Join(folder, name)
		sources = append(sources, path)
		return os.WriteFile(path, []byte(text), 0o644)
	}
	// Like most agents that are not in the default control file, sample has no root section of its own.
	sample := fmt.Sprintf("#define SAMPLE 29\nroot { sample }\n#include %q\n",
		conf["PCP_PMDAS_DIR"]+"/sample/pmns")
	if err := add("root_sample", sample); err != nil {
		return err
	}
	for _, agent := range cfg.Agents {
		if err := add("root_"+agent.Name, agent.pmns()); err != nil {
			return err
		}
	}
	merge := exec.Command(filepath.Join(conf["PCP_BINADM_DIR"], "pmnsmerge"),
		append(sources, filepath.Join(folder, "root"))...)
	if out, err := merge.CombinedOutput(); err != nil {
		return fmt.Errorf("merge the name spaces: %w\n%s", err, out)
	}
	return nil
}
