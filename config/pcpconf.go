package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// PCPConf holds those of PCP's configuration variables that the agent needs. Source: pcp.conf(5).
type PCPConf struct {
	VarDir     string // PCP_VAR_DIR: what PCP keeps for one host
	SysconfDir string // PCP_SYSCONF_DIR: what the administrator edits
	RunDir     string // PCP_RUN_DIR: pmcd's socket
	LogDir     string // PCP_LOG_DIR
	TmpDir     string // PCP_TMP_DIR: MMV files
	User       string // PCP_USER: the account of daemons
	Group      string // PCP_GROUP
}

// pcpConfFile is read unless $PCP_CONF names another file.
const pcpConfFile = "/etc/pcp.conf"

// ReadPCPConf finds each variable in the environment, else in the file that $PCP_CONF names, else
// takes Debian's value. An empty variable counts as absent. Without $PCP_CONF the file is
// /etc/pcp.conf and need not exist. An error is about the file; the values are usable even then.
func ReadPCPConf(getenv func(string) string) (PCPConf, error) {
	var conf PCPConf
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
		{"PCP_USER", &conf.User, "pcp"},
		{"PCP_GROUP", &conf.Group, "pcp"},
	}

	values, err := readPCPConfFile(getenv("PCP_CONF"))
	for _, v := range variables {
		*v.value = v.usual
		if value := values[v.name]; value != "" {
			*v.value = value
		}
		if value := getenv(v.name); value != "" {
			*v.value = value
		}
	}
	return conf, err
}

// readPCPConfFile reads the file, or /etc/pcp.conf for "".
func readPCPConfFile(path string) (map[string]string, error) {
	optional := path == ""
	if optional {
		path = pcpConfFile
	}
	f, err := os.Open(path)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("PCP configuration: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFileSize))
	if err != nil {
		return nil, fmt.Errorf("PCP configuration: %w", err)
	}
	return parsePCPConf(string(text)), nil
}

// parsePCPConf reads lines PCP_…=VALUE. A value may stand in quotes; a later line wins.
func parsePCPConf(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, "=")
		if !ok || !strings.HasPrefix(name, "PCP_") {
			continue
		}
		value = strings.TrimRight(value, blanks)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		values[name] = value
	}
	return values
}
