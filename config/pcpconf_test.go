package config

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
				LogDir: "/var/log/pcp", TmpDir: `"`, User: "last", Group: "pcp",
			},
			nil,
		},
		{
			"environment before file",
			map[string]string{
				"PCP_CONF": "pcp.conf", "PCP_VAR_DIR": "/env/var", "PCP_SYSCONF_DIR": "/env/etc", "PCP_RUN_DIR": "/env/run",
				"PCP_LOG_DIR": "/env/log", "PCP_TMP_DIR": "/env/tmp", "PCP_USER": "u", "PCP_GROUP": "g",
			},
			PCPConf{
				VarDir: "/env/var", SysconfDir: "/env/etc", RunDir: "/env/run",
				LogDir: "/env/log", TmpDir: "/env/tmp", User: "u", Group: "g",
			},
			nil,
		},
		{
			"a file that is not there",
			map[string]string{"PCP_CONF": "nothing", "PCP_VAR_DIR": "/env/var"},
			PCPConf{
				VarDir: "/env/var", SysconfDir: "/etc/pcp", RunDir: "/run/pcp",
				LogDir: "/var/log/pcp", TmpDir: "/var/lib/pcp/tmp", User: "pcp", Group: "pcp",
			},
			fs.ErrNotExist,
		},
		{
			"a file that cannot be read",
			map[string]string{"PCP_CONF": "."},
			PCPConf{
				VarDir: "/var/lib/pcp", SysconfDir: "/etc/pcp", RunDir: "/run/pcp",
				LogDir: "/var/log/pcp", TmpDir: "/var/lib/pcp/tmp", User: "pcp", Group: "pcp",
			},
			syscall.EISDIR,
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
