package config

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/regular"
)

func TestPCPConf(t *testing.T) {
	const file = `# PCP_VAR_DIR=/comment
PCP_VAR_DIR=/file/var

PCP_SYSCONF_DIR="/file/with blank"
PCP_RUN_DIR=/file/run` + " \r\n" + `PCP_LOG_DIR=
PCP_USER=first
PCP_USER='last'
OTHER=x
no variable
PCP_TMP_DIR="`
	for _, row := range []struct {
		name string
		env  map[string]string
		want PCPConf
		err  error
	}{
		{
			"file, then Debian's values",
			map[string]string{"PCP_CONF": "pcp.conf"},
			PCPConf{
				VarDir: "/file/var", SysconfDir: "/file/with blank", RunDir: "/file/run",
				LogDir: "/var/log/pcp", TmpDir: `"`, FileTmpDir: `"`, PMCDConf: "/etc/pcp/pmcd/pmcd.conf", User: "last", Group: "pcp", InDomConfig: "/etc/pcp/indom.conf",
			},
			nil,
		},
		{
			"environment before file",
			map[string]string{
				"PCP_CONF": "pcp.conf", "PCP_VAR_DIR": "/env/var", "PCP_SYSCONF_DIR": "/env/etc", "PCP_RUN_DIR": "/env/run",
				"PCP_LOG_DIR": "/env/log", "PCP_TMP_DIR": "/env/tmp", "PCP_PMCDCONF_PATH": "/env/conf", "PCP_USER": "u", "PCP_GROUP": "g", "PCP_INDOM_CONFIG": "/env/indom",
			},
			PCPConf{
				VarDir: "/env/var", SysconfDir: "/env/etc", RunDir: "/env/run",
				LogDir: "/env/log", TmpDir: "/env/tmp", FileTmpDir: `"`, PMCDConf: "/env/conf", User: "u", Group: "g", InDomConfig: "/env/indom",
			},
			nil,
		},
		{
			"a file that is not there",
			map[string]string{"PCP_CONF": "nothing", "PCP_VAR_DIR": "/env/var", "PCP_ETC_DIR": "/env/etc"},
			PCPConf{
				VarDir: "/env/var", SysconfDir: "/etc/pcp", RunDir: "/run/pcp",
				LogDir: "/var/log/pcp", TmpDir: "/var/lib/pcp/tmp", FileTmpDir: "/var/lib/pcp/tmp", PMCDConf: "/etc/pcp/pmcd/pmcd.conf", User: "pcp", Group: "pcp", InDomConfig: "/env/etc/pcp/indom.conf",
			},
			fs.ErrNotExist,
		},
		{
			"a file that cannot be read",
			map[string]string{"PCP_CONF": "."},
			PCPConf{
				VarDir: "/var/lib/pcp", SysconfDir: "/etc/pcp", RunDir: "/run/pcp",
				LogDir: "/var/log/pcp", TmpDir: "/var/lib/pcp/tmp", FileTmpDir: "/var/lib/pcp/tmp", PMCDConf: "/etc/pcp/pmcd/pmcd.conf", User: "pcp", Group: "pcp", InDomConfig: "/etc/pcp/indom.conf",
			},
			regular.ErrNotRegular,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTree(t, map[string]string{"pcp.conf": file})
			conf, err := ReadPCPConf(func(name string) string { return row.env[name] })
			require.ErrorIs(t, err, row.err)
			assert.Equal(t, row.want, conf)
		})
	}
}

func TestDefaultPaths(t *testing.T) {
	assert.Equal(t,
		[]string{"/v/config/derived", "/v/config/pmdaderived", "/s/pmdaderived"},
		DefaultPaths(PCPConf{VarDir: "/v", SysconfDir: "/s"}))
}

// The word stands behind the protocol in the line of the domain.
func TestNotReady(t *testing.T) {
	inTree(t, map[string]string{"pmcd.conf": `# derived 7 pipe binary notready /x
derived	510	pipe	binary 		/opt/pmdaderived -d 510
late	511	pipe	binary notready	/opt/late
"quoted" "507" "pipe" "binary" "NotReady" "/opt/quoted"
other 509 pipe binary /opt/other notready
sock 508 socket inet 4321 notready
`})
	conf := PCPConf{PMCDConf: "pmcd.conf"}
	assert.True(t, conf.NotReady(511))
	assert.True(t, conf.NotReady(507))
	for _, domain := range []int{7, 508, 509, 510, 512} {
		assert.False(t, conf.NotReady(domain), "%d", domain)
	}
	assert.False(t, PCPConf{PMCDConf: "nothing"}.NotReady(511))
}

// These are the words that pmcd of PCP 6.0.3 passes to its agents.
func TestPMCDLines(t *testing.T) {
	for _, row := range []struct {
		name, line string
		want       [][]string
	}{
		{"nothing", " \n#a b\n\t# c\n", nil},
		{"several lines", "a b\n\nc\td", [][]string{{"a", "b"}, {"c", "d"}}},
		{"quotes", `"/opt/a b" "c\d" "e\"f" ""`, [][]string{{"/opt/a b", `c\d`, `e"f`, ""}}},
		{"quotes inside a word", `i"j k"l g\"h "o"p`, [][]string{{`i"j`, `k"l`, `g"h`, "o", "p"}}},
		{"backslashes", `a\b z\\ x\ y`, [][]string{{`a\b`, `z\\`, `x\`, "y"}}},
		{"comments", `m\#n "x#y" p#q r`, [][]string{{"m#n", "x#y", "p"}}},
		{"continued", "one \\\n two fi\\\nve # x \\\ny\nz", [][]string{{"one", "two", "fi", "ve"}, {"z"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTree(t, map[string]string{"pmcd.conf": row.line})
			assert.Equal(t, row.want, PCPConf{PMCDConf: "pmcd.conf"}.PMCDLines())
		})
	}
}

// No call waits for a file that is not regular.
func TestPCPConfThatIsNoFile(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{fifo, "/dev/zero", "/dev/urandom"} {
		conf, err := ReadPCPConf(
			func(name string) string { return map[string]string{"PCP_CONF": path, "PCP_PMCDCONF_PATH": path}[name] },
		)
		require.EqualError(t, err, "PCP configuration: open "+path+": not a regular file")
		assert.Equal(t, "/var/lib/pcp", conf.VarDir)
		assert.False(t, conf.NotReady(510))
	}
}
