package config

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestObstacle(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // testing makes it for us alone
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"open", "closed", "unlisted"} {
		require.NoError(t, os.Mkdir(path(name), 0o755))
		require.NoError(t, os.WriteFile(path(name+"/f"), nil, 0o644))
	}
	require.NoError(t, os.WriteFile(path("open/own"), nil, 0o600))
	require.NoError(t, os.WriteFile(path("open/group"), nil, 0o640))
	require.NoError(t, os.Symlink("../closed/f", path("open/link")))
	require.NoError(t, os.Symlink("nowhere", path("open/broken")))
	require.NoError(t, os.Chmod(path("closed"), 0o700))
	require.NoError(t, os.Chmod(path("unlisted"), 0o711))
	info, err := os.Stat(path("open/own"))
	require.NoError(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	other, mate := Account{uid: 54321}, Account{uid: 54321, gids: []uint64{uint64(owner.Gid)}}
	for _, row := range []struct {
		name     string
		account  Account
		of, want string
	}{
		{"a file for all", other, "open/f", ""},
		{"its directory", other, "open", ""},
		{"the owner's file", other, "open/own", "open/own"},
		{"the owner", Account{uid: uint64(owner.Uid)}, "open/own", ""},
		{"root", Account{}, "open/own", ""},
		{"the group's file", other, "open/group", "open/group"},
		{"one of the group", mate, "open/group", ""},
		{"one of the group has no more than it", mate, "open/own", "open/own"},
		{"a closed directory", other, "closed", "closed"},
		{"a file in it", other, "closed/f", "closed"},
		{"a link into it", other, "open/link", "closed"},
		{"names that cannot be read", other, "unlisted", "unlisted"},
		{"a file among them", other, "unlisted/f", ""},
		{"nothing", other, "nothing", ""},
		{"a link to nothing", other, "open/broken", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := row.want
			if above := closedAbove(t, row.account, dir); above != "" {
				want = above
			} else if want != "" {
				want = path(want)
			}
			assert.Equal(t, want, row.account.Obstacle(path(row.of)))
		})
	}
}

// closedAbove is the first directory above one for tests that an account cannot search: TMPDIR may be anywhere.
func closedAbove(t *testing.T, a Account, dir string) string {
	t.Helper()
	above := ""
	for up := filepath.Dir(dir); up != "/"; up = filepath.Dir(up) {
		info, err := os.Stat(up)
		require.NoError(t, err)
		owner, mode := info.Sys().(*syscall.Stat_t), info.Mode().Perm()
		switch {
		case uint64(owner.Uid) == a.uid:
			mode >>= 6
		case slices.Contains(a.gids, uint64(owner.Gid)):
			mode >>= 3
		}
		if a.uid != 0 && mode&1 == 0 {
			above = up
		}
	}
	return above
}

func TestLookUpAccount(t *testing.T) {
	a, err := LookUpAccount(PCPConf{User: "root", Group: "root"})
	require.NoError(t, err)
	assert.Zero(t, a.uid)
	assert.Contains(t, a.gids, uint64(0))
	_, err = LookUpAccount(PCPConf{User: "no such user"})
	assert.Error(t, err)
}
