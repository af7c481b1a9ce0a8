package pmcdtest

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// pcpConf holds the variables of the machine's pcp.conf.
type pcpConf map[string]string

// readPCPConf reads $PCP_CONF, by default /etc/pcp.conf, in the format of pcp.conf(5). Variables of the
// environment do not count: they may be those of another private pmcd.
func readPCPConf() (pcpConf, error) {
	path := os.Getenv("PCP_CONF")
	if path == "" {
		path = "/etc/pcp.conf"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("PCP is not installed (scripts/install-pcp does it): %w", err)
	}
	conf := make(pcpConf)
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && strings.HasPrefix(name, "PCP_") {
			conf[name] = strings.Trim(value, `"`)
		}
	}
	for _, name := range []string{
		"PCP_BINADM_DIR", "PCP_PMDAS_DIR", "PCP_SYSCONF_DIR", "PCP_TMP_DIR", "PCP_VAR_DIR", "PCP_USER", "PCP_GROUP",
	} {
		if conf[name] == "" {
			return nil, fmt.Errorf("%s does not set %s", path, name)
		}
	}
	return conf, nil
}

// write writes the variables to a file, with another PCP_TMP_DIR. The module speed, which writes MMV files, reads
// PCP_TMP_DIR only there.
func (c pcpConf) write(path, tmp string) error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		value := c[name]
		if name == "PCP_TMP_DIR" {
			value = tmp
		}
		fmt.Fprintf(&b, "%s=%s\n", name, value)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
