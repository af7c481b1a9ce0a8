package command

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/commandline"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive/writer"
)

// An instance that is new after a record without values is not born: nobody recorded how it came.
func TestNothingIsBornAfterARecordedError(t *testing.T) {
	desc := pdu.Desc{PMID: pdu.NewPMID(60, 0, 4), Type: pdu.TypeU64, InDom: pdu.NewInDom(60, 1), Sem: pdu.SemCounter}
	put := func(w *writer.Writer, insts ...pdu.Inst) {
		w.Values().Numbers(desc.PMID, desc.Type, insts, []uint64{10, 20_000}[:len(insts)])
	}
	for name, row := range map[string]struct {
		away  func(w *writer.Writer)
		after string // the increase of the new instance, in a sample and in a window
	}{
		"values":       {func(w *writer.Writer) { put(w, 0) }, "20000"},
		"an error":     {func(w *writer.Writer) { w.Values().Fail(desc.PMID, pdu.ErrNoAgent) }, ""},
		"nothing yet":  {func(w *writer.Writer) { w.Values().Fail(desc.PMID, pdu.ErrAgain) }, ""},
		"no instances": {func(w *writer.Writer) { put(w) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			base, start := filepath.Join(t.TempDir(), "away"), time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)
			w, err := writer.Create(base, writer.Label{Version: 3, PID: 1, Start: start, Host: "web1", TimeZone: "UTC"})
			require.NoError(t, err)
			require.NoError(t, w.Metric(desc, "disk.dev.read"))
			require.NoError(t, w.InDom(start, desc.InDom, []pdu.Instance{{ID: 0, Name: "a"}, {ID: 1, Name: "b"}}))
			for i, record := range []func(){
				func() { put(w, 0) }, func() { put(w, 0) }, func() { row.away(w) }, func() { put(w, 0, 1) }, func() { put(w, 0, 1) },
			} {
				record()
				require.NoError(t, w.Put(start.Add(time.Duration(i)*time.Minute)))
			}
			require.NoError(t, w.Close())
			out, errs, exit := newSite(t).run("eval", "-a", base, "-Z", "UTC", "-o", "csv",
				"increase(disk.dev.read)", `sum_sample(increase(disk.dev.read), "10min", "1min")`)
			require.Equal(t, commandline.ExitOK, exit, errs)
			assert.Contains(t, out, "02:03:00.000,0,"+row.after+",0,"+row.after+"\n")
		})
	}
}
