package writer

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

var (
	start = time.Unix(1_700_000_000, 123_456_789)
	load  = pdu.Desc{PMID: pdu.NewPMID(60, 2, 0), Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
)

// Files that are there stay as they are.
func TestCreateRefuses(t *testing.T) {
	_, err := Create(filepath.Join(t.TempDir(), "a"), Label{Version: 1})
	require.ErrorContains(t, err, "version 2 or 3")
	_, err = Create(filepath.Join(t.TempDir(), "none", "a"), Label{Version: 3})
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, ending := range []string{".0", ".index", ".meta"} {
		base := filepath.Join(t.TempDir(), "a")
		require.NoError(t, os.WriteFile(base+ending, []byte("mine"), 0o600))
		_, err = Create(base, Label{Version: 3})
		require.ErrorIs(t, err, os.ErrExist)
		left, err := filepath.Glob(base + "*")
		require.NoError(t, err)
		assert.Equal(t, []string{base + ending}, left)
	}
}

func TestTimeGoesOn(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	w, err := Create(base, Label{Version: 2, Start: start})
	require.NoError(t, err)
	require.NoError(t, w.Metric(load, "made.load"))
	for n, at := range []time.Time{start, start} {
		w.Values().Number(load.PMID, load.Type, 0)
		err := w.Put(at)
		assert.Equal(t, n > 0, err != nil)
	}
	require.ErrorContains(t, w.Mark(start.Add(time.Hour)), "after that of", "errors stay")
	require.Error(t, w.Close())
	require.NoError(t, w.Discard())
	left, err := filepath.Glob(base + "*")
	require.NoError(t, err)
	assert.Empty(t, left)
}
