package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRemote(t *testing.T) {
	assert.True(t, remote("/proc"), "inotify does not tell of what the kernel makes up")
	assert.False(t, remote("/nosuch"), "what is gone is looked for elsewhere")
	for name, row := range map[string]struct {
		magic uint32
		want  bool
	}{
		"nfs":     {0x6969, true},
		"cifs":    {0xff534d42, true},
		"fuse":    {0x65735546, true},
		"9p":      {0x01021997, true},
		"ext4":    {0xef53, false},
		"xfs":     {0x58465342, false},
		"btrfs":   {0x9123683e, false},
		"tmpfs":   {0x01021994, false},
		"overlay": {0x794c7630, false},
		"zfs":     {0x2fc12fc1, false},
	} {
		assert.Equal(t, row.want, unnotified(row.magic), name)
	}
}
