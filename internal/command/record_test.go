package command

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive/writer"
)

// An instance that has gone has the name that it had, unless another number has that name since.
func TestRecordedNames(t *testing.T) {
	base, path := filepath.Join(t.TempDir(), "gone"), filepath.Join(t.TempDir(), "disks.conf")
	start := time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)
	w, err := writer.Create(base, writer.Label{Version: 3, PID: 1, Start: start, Host: "web1.example", TimeZone: "UTC"})
	require.NoError(t, err)
	desc := pdu.Desc{PMID: pdu.NewPMID(60, 0, 4), Type: pdu.TypeU64, InDom: pdu.NewInDom(60, 1), Sem: pdu.SemInstant}
	require.NoError(t, w.Metric(desc, "disk.dev.read"))
	for i, disks := range [][]pdu.Instance{
		{{ID: 0, Name: "sda"}, {ID: 1, Name: "sdb"}, {ID: 2, Name: "sdc"}},
		{{ID: 0, Name: "sda"}, {ID: 3, Name: "sdc"}},
	} {
		now := start.Add(time.Duration(i) * time.Second)
		require.NoError(t, w.InDom(now, desc.InDom, disks))
		var ids []pdu.Inst
		for _, disk := range disks {
			ids = append(ids, disk.ID)
		}
		w.Values().Numbers(desc.PMID, desc.Type, ids, make([]uint64, len(ids)))
		require.NoError(t, w.Put(now))
	}
	require.NoError(t, w.Close())
	writeFile(t, path, "disks = disk.dev.read\n")
	out, errs, exit := newSite(t).run("test", "--record", "2", "-a", base, path)
	assert.Equal(t, []any{"", 0}, []any{errs, exit}, out)
	assert.Contains(t, out, `indom  60.1 0:"sda" 1:"sdb" 2:"instance 2" 3:"sdc"`)
}
