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

// Values are in the column of their instance's name, also when the names have moved to other numbers.
func TestNamesThatMove(t *testing.T) {
	base := filepath.Join(t.TempDir(), "moved")
	start := time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)
	w, err := writer.Create(base, writer.Label{Version: 3, PID: 1, Start: start, Host: "web1.example", TimeZone: "UTC"})
	require.NoError(t, err)
	desc := pdu.Desc{PMID: pdu.NewPMID(60, 0, 4), Type: pdu.TypeU64, InDom: pdu.NewInDom(60, 1), Sem: pdu.SemInstant}
	require.NoError(t, w.Metric(desc, "disk.dev.read"))
	for i, names := range [][]string{{"sda", "sdb"}, {"sda", "sdb"}, {"sdb", "sda"}} {
		now := start.Add(time.Duration(i) * time.Minute)
		require.NoError(t, w.InDom(now, desc.InDom, []pdu.Instance{{ID: 0, Name: names[0]}, {ID: 1, Name: names[1]}}))
		w.Values().Numbers(desc.PMID, desc.Type, []pdu.Inst{0, 1}, []uint64{uint64(10 + i), uint64(20 + i)})
		require.NoError(t, w.Put(now))
	}
	require.NoError(t, w.Close())
	s := newSite(t)
	for form, want := range map[string]string{
		"text": `                         disk.dev.read  instance
2026-11-24 02:00:00.000             10  sda
2026-11-24 02:00:00.000             20  sdb
2026-11-24 02:01:00.000             11  sda
2026-11-24 02:01:00.000             21  sdb
2026-11-24 02:02:00.000             12  sdb
2026-11-24 02:02:00.000             22  sda
`,
		"csv": `Time,disk.dev.read-sda,disk.dev.read-sdb
2026-11-24 02:00:00.000,10,20
2026-11-24 02:01:00.000,11,21
2026-11-24 02:02:00.000,22,12
`,
		"json": `{"time":"2026-11-24T02:00:00Z","values":{"disk.dev.read":{"sda":10,"sdb":20}}}
{"time":"2026-11-24T02:01:00Z","values":{"disk.dev.read":{"sda":11,"sdb":21}}}
{"time":"2026-11-24T02:02:00Z","values":{"disk.dev.read":{"sda":22,"sdb":12}}}
`,
	} {
		out, errs, exit := s.run("eval", "-a", base, "-z", "-o", form, "disk.dev.read")
		assert.Equal(t, []any{want, "", 0}, []any{out, errs, exit}, form)
	}
}
