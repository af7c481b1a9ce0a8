package writer

import (
	"os"
	"path/filepath"
	"strings"
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
	for _, name := range []string{"", ".", "..", "/", "a/", "a,b", "a*"} {
		t.Chdir(t.TempDir())
		_, err = Create(name, Label{Version: 3})
		require.ErrorContains(t, err, "is not a valid name of an archive", name)
	}
	for _, ending := range []string{".0", ".7", ".3.xz", ".2.lzma", ".index", ".index.Z", ".meta", ".meta.zst"} {
		base := filepath.Join(t.TempDir(), "a")
		require.NoError(t, os.WriteFile(base+ending, []byte("mine"), 0o600))
		_, err = Create(base, Label{Version: 3})
		require.ErrorIs(t, err, os.ErrExist)
		left, err := filepath.Glob(base + "*")
		require.NoError(t, err)
		assert.Equal(t, []string{base + ending}, left)
	}
}

// What libpcp refuses to open, or pmlogcheck calls bad, is not written, and the rest of the archive is.
func TestWriterRefuses(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	w, err := Create(base, Label{Version: 3, Start: start})
	require.NoError(t, err)
	colours := pdu.NewInDom(60, 1)
	bad := func(change func(d *pdu.Desc)) pdu.Desc {
		d := load
		change(&d)
		return d
	}
	long := strings.Repeat("x", 4096)
	set := func(labels, size int) []pdu.LabelSet {
		return []pdu.LabelSet{{Inst: pdu.NoInst, JSON: strings.Repeat("x", size), Labels: make([]pdu.Label, labels)}}
	}
	for want, err := range map[string]error{
		"0 is not a valid semantics of metric 60.2.0":            w.Metric(bad(func(d *pdu.Desc) { d.Sem = 0 }), "made.x"),
		"11 is not a valid type of metric 60.2.0":                w.Metric(bad(func(d *pdu.Desc) { d.Type = 11 }), "made.x"),
		"metric 60.2.0: a name of 0 bytes is not a valid one":    w.Metric(load, ""),
		"metric 60.2.0: a name of 4096 bytes is not a valid one": w.Metric(load, "made.x", long),
		"-5 is not a valid number of an instance of domain 60.1": w.InDom(start, colours, []pdu.Instance{{ID: 0}, {ID: -5}}),
		"labels of 0xf000001: a label set has more than 254":     w.Labels(start, uint32(colours), pdu.LabelInDom, set(255, 3)),
		"labels or 65534 bytes":                                  w.Labels(start, uint32(colours), pdu.LabelInDom, set(1, 65535)),
	} {
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, w.Metric(bad(func(d *pdu.Desc) { d.Type, d.Sem = pdu.TypeNoSupport, 0 }), "made.none"))
	require.NoError(t, w.Metric(load, long[1:]))
	require.NoError(t, w.InDom(start, colours, []pdu.Instance{{ID: 0, Name: "a"}}))
	require.NoError(t, w.Labels(start, uint32(colours), pdu.LabelInDom, set(254, 65534)))
	w.Values().Number(load.PMID, load.Type, 0)
	require.NoError(t, w.Put(start.Add(time.Second)))
	require.NoError(t, w.Close())
}

// An archive appears as a whole, so that a process that is killed leaves none.
func TestPublish(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	w, err := Create(base, Label{Version: 3, Start: start})
	require.NoError(t, err)
	w.MaxVolume = 1
	require.NoError(t, w.Metric(load, "made.load"))
	for n := range 4 {
		w.Values().Number(load.PMID, load.Type, 0)
		require.NoError(t, w.Put(start.Add(time.Duration(n)*time.Second)))
	}
	present, err := filepath.Glob(base + "*")
	require.NoError(t, err)
	require.Empty(t, present)
	require.NoError(t, w.Close())
	entries, err := os.ReadDir(filepath.Dir(base))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	assert.Equal(t, []string{"a.0", "a.1", "a.2", "a.3", "a.index", "a.meta"}, names)

	again, err := Create(filepath.Join(filepath.Dir(base), "b"), Label{Version: 3, Start: start})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(again.base+".1", []byte("mine"), 0o600))
	require.ErrorIs(t, again.Close(), os.ErrExist, "it came in between")
	require.NoError(t, again.Discard())
	assert.NoFileExists(t, again.base+".0")
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
