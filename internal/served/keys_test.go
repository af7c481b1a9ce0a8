package served

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/identity"
)

// Groups of one key keep the domains and PMIDs that build 8b7eb1ae gave them: its state file does not change.
func TestStateOfOneKeyStays(t *testing.T) {
	before, err := os.ReadFile("testdata/state-8b7eb1ae")
	require.NoError(t, err)
	s, path := newSite(t), filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.WriteFile(path, before, 0o600))
	s.ids, err = identity.Load(path, testDomain)
	require.NoError(t, err)
	one := []string{
		"by.part = sum(up.bin) by (/^([a-z]+)/)", "by.label = max(up.bin) by (label(type))", "by.le = sum(up.bin) by (label(le))",
		"by.metric = count(up.bin) by (kind=up.bin)", "by.again = sum(by.part) by (again=/^(..?)/)",
		"by.share = up.bin / sum(up.bin) by (/^([a-z]+)/)",
	}
	s.serve(conf(one...))
	assert.Equal(t, slices.Repeat([]State{Bound}, 3), s.states("by.part", "by.le", "by.again"))
	assert.False(t, s.ids.MustSave())
	require.NoError(t, s.ids.Save())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
}
