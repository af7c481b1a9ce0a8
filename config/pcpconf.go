package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pmdaderived/internal/blank"
)

// PCPConf has the variables of PCP's configuration that the agent needs. Source: pcp.conf(5).
type PCPConf struct {
	VarDir     string // PCP_VAR_DIR: PCP's files of this host
	SysconfDir string // PCP_SYSCONF_DIR: files that the administrator edits
	RunDir     string // PCP_RUN_DIR: pmcd's socket
	LogDir     string // PCP_LOG_DIR
	TmpDir     string // PCP_TMP_DIR: MMV files
	FileTmpDir string // PCP_TMP_DIR without the environment, which the module speed ignores
	PMCDConf   string // PCP_PMCDCONF_PATH: the list of pmcd's agents
	User       string // PCP_USER: the account of daemons
	Group      string // PCP_GROUP
	Version    string // PCP_VERSION: the installed version; "": not known

	// InDomConfig is the file that says which instance domains are equivalent: $PCP_INDOM_CONFIG, else
	// pcp/indom.conf below PCP_ETC_DIR. It need not exist. Source: __pmEquivInDom(3), where the latter has
	// another name than the one that PCP 7.2.2 reads.
	InDomConfig string
}

// pcpConfFile is read unless $PCP_CONF names another file.
const pcpConfFile = "/etc/pcp.conf"

// ReadPCPConf returns the value of each variable in the environment, else in the file that $PCP_CONF names, else
// Debian's value. An empty variable counts as missing. Without $PCP_CONF the file is /etc/pcp.conf, and it need not
// exist. An error is about the file. The values can be used even with an error.
func ReadPCPConf(getenv func(string) string) (PCPConf, error) {
	var conf PCPConf
	var etc string
	variables := [...]struct {
		name  string
		value *string
		usual string
	}{
		{"PCP_VAR_DIR", &conf.VarDir, "/var/lib/pcp"},
		{"PCP_SYSCONF_DIR", &conf.SysconfDir, "/etc/pcp"},
		{"PCP_RUN_DIR", &conf.RunDir, "/run/pcp"},
		{"PCP_LOG_DIR", &conf.LogDir, "/var/log/pcp"},
		{"PCP_TMP_DIR", &conf.TmpDir, "/var/lib/pcp/tmp"},
		{"PCP_PMCDCONF_PATH", &conf.PMCDConf, "/etc/pcp/pmcd/pmcd.conf"},
		{"PCP_USER", &conf.User, "pcp"},
		{"PCP_GROUP", &conf.Group, "pcp"},
		{"PCP_ETC_DIR", &etc, "/etc"},
		{"PCP_VERSION", &conf.Version, ""},
	}

	values, err := readPCPConfFile(getenv("PCP_CONF"))
	for _, v := range variables {
		*v.value = cmp.Or(getenv(v.name), values[v.name], v.usual)
	}
	conf.FileTmpDir = cmp.Or(values["PCP_TMP_DIR"], "/var/lib/pcp/tmp")
	conf.InDomConfig = cmp.Or(getenv("PCP_INDOM_CONFIG"), filepath.Join(etc, "pcp", "indom.conf"))
	return conf, err
}

// NotReady reports whether the line of pmcd.conf for the agent of a domain has the word notready. Then pmcd forwards
// no request before the agent has sent PM_ERR_PMDAREADY. NotReady returns false if the file cannot be read.
//
// Source: pmcd(1).
func (c PCPConf) NotReady(domain int) bool {
	return slices.ContainsFunc(c.PMCDLines(), func(words []string) bool { // NAME DOMAIN pipe binary [notready] COMMAND
		return len(words) > 4 && words[1] == strconv.Itoa(domain) && strings.EqualFold(words[2], "pipe") &&
			strings.EqualFold(words[4], "notready")
	})
}

// pmcdWord matches a comment, or a word: in quotes, or up to a blank or a comment. Quotes inside a word belong to it.
var pmcdWord = regexp.MustCompile(`#.*|"((?:\\"|[^"])*)"|(?:\\["#]|[^\s#])+`)

// PMCDLines returns the words of each line of pmcd.conf that has any, as pmcd reads them. It returns none if the file
// cannot be read: a host without pmcd has none.
//
// Source: pmcd(1). It was observed that \ stays before anything but " and #, and separates words at the end of a line.
func (c PCPConf) PMCDLines() (lines [][]string) {
	text, _ := ReadFile(c.PMCDConf)
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		var words []string
		for _, match := range pmcdWord.FindAllStringSubmatch(line, -1) {
			word := match[0]
			if word[0] == '#' {
				break
			}
			if len(word) > 1 && word[0] == '"' && word[len(word)-1] == '"' { // otherwise the quote is not closed
				word = match[1]
			}
			words = append(words, strings.NewReplacer(`\"`, `"`, `\#`, `#`).Replace(word))
		}
		if words != nil {
			lines = append(lines, words)
		}
	}
	return lines
}

// readPCPConfFile reads the lines PCP_…=VALUE of a file; path "" means /etc/pcp.conf. Quotes around a value are
// removed. A later line wins.
func readPCPConfFile(path string) (map[string]string, error) {
	text, err := ReadFile(cmp.Or(path, pcpConfFile))
	switch {
	case path == "" && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("PCP configuration: %w", err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(line, "=")
		if !ok || !strings.HasPrefix(name, "PCP_") {
			continue
		}
		value = strings.TrimRight(value, blank.All)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		values[name] = value
	}
	return values, nil
}
