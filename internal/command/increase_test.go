package command

import (
	"encoding/csv"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
		after string // the increases of the old instance and the new one, in a sample and in a window
	}{
		"values":       {func(w *writer.Writer) { put(w, 0) }, "0,20000"},
		"an error":     {func(w *writer.Writer) { w.Values().Fail(desc.PMID, pdu.ErrNoAgent) }, "0,"},
		"nothing yet":  {func(w *writer.Writer) { w.Values().Fail(desc.PMID, pdu.ErrAgain) }, "0,"},
		"no instances": {func(w *writer.Writer) { put(w) }, ","}, // the old one comes back
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
			window := row.after
			if window == "," { // it has the tick before
				window = "0,"
			}
			assert.Contains(t, out, "02:03:00.000,"+row.after+","+window+"\n")
		})
	}
}

// Increases do not exceed what records show. Between two of them a counter that was reset falls slowly, and an instance
// that comes back may be there before. Other definitions make samples there, too.
func TestIncreasesBetweenRecords(t *testing.T) {
	counter := pdu.Desc{PMID: pdu.NewPMID(60, 0, 4), Type: pdu.TypeU64, InDom: pdu.NewInDom(60, 1), Sem: pdu.SemCounter}
	single := pdu.Desc{PMID: pdu.NewPMID(60, 0, 5), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}
	load := pdu.Desc{PMID: pdu.NewPMID(60, 2, 0), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	base, start := filepath.Join(t.TempDir(), "between"), time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)
	w, err := writer.Create(base, writer.Label{Version: 3, PID: 1, Start: start, Host: "web1", TimeZone: "UTC"})
	require.NoError(t, err)
	require.NoError(t, w.Metric(counter, "disk.dev.read"))
	require.NoError(t, w.Metric(single, "disk.all.read"))
	require.NoError(t, w.Metric(load, "mem.util.free"))
	require.NoError(t, w.InDom(start, counter.InDom, []pdu.Instance{{ID: 0, Name: "a"}, {ID: 1, Name: "b"}}))
	for second := range 21 {
		w.Values().Numbers(load.PMID, load.Type, []pdu.Inst{pdu.NoInst}, []uint64{uint64(second)})
		switch second { // a is reset after 10 seconds, and has counted 4 since; b is away then, and comes back
		case 0, 5:
			w.Values().Numbers(counter.PMID, counter.Type, []pdu.Inst{0, 1}, []uint64{1000, 100})
		case 10:
			w.Values().Numbers(counter.PMID, counter.Type, []pdu.Inst{0}, []uint64{4})
		case 15, 20:
			w.Values().Numbers(counter.PMID, counter.Type, []pdu.Inst{0, 1}, []uint64{uint64(second - 11), 500})
		}
		if second%5 == 0 {
			w.Values().Numbers(single.PMID, single.Type, []pdu.Inst{pdu.NoInst}, []uint64{1000, 1000, 6, 10, 40}[second/5:][:1])
		}
		require.NoError(t, w.Put(start.Add(time.Duration(second)*time.Second)))
	}
	require.NoError(t, w.Close())
	increases := []string{"increase(disk.dev.read)", "increase(disk.all.read)"}
	for name, args := range map[string][]string{
		"records":               nil,
		"beside others":         {"mem.util.free"},
		"beside a window":       {`sum_sample(increase(disk.dev.read), "5s")`, "mem.util.free"},
		"between records":       {"-t", "700ms"},
		"often":                 {"-t", "50ms"},
		"records and between":   {"-t", "2500ms"},
		"from the reset record": {"-S", "@2026-11-24 02:00:10"},
	} {
		t.Run(name, func(t *testing.T) {
			all := append([]string{"eval", "-a", base, "-Z", "UTC", "-o", "csv"}, increases...)
			out, errs, exit := newSite(t).run(append(all, args...)...)
			require.Equal(t, commandline.ExitOK, exit, errs)
			rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
			require.NoError(t, err)
			sums := map[string]float64{}
			for _, row := range rows[1:] {
				for k, text := range row[1:] {
					if text != "" {
						number, err := strconv.ParseFloat(text, 64)
						require.NoError(t, err)
						sums[rows[0][k+1]] += number
					}
				}
			}
			assert.LessOrEqual(t, sums["increase(disk.dev.read)-a"], 9.0, out)
			assert.LessOrEqual(t, sums["increase(disk.dev.read)-b"], 400.0, out)
			assert.LessOrEqual(t, sums["increase(disk.all.read)"], 40.0, out)
		})
	}
}

// pmlogger writes each of its groups into a record of its own, some milliseconds apart. An increase lacks nothing that
// records show, whatever groups there are and whatever number a singular metric has. A test that is recorded has the
// same increases as its samples.
func TestIncreasesOfGroups(t *testing.T) {
	counter := pdu.Desc{PMID: pdu.NewPMID(60, 0, 4), Type: pdu.TypeU64, InDom: pdu.NewInDom(60, 1), Sem: pdu.SemCounter}
	single := pdu.Desc{PMID: pdu.NewPMID(60, 0, 5), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}
	load := pdu.Desc{PMID: pdu.NewPMID(60, 2, 0), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	base, start := filepath.Join(t.TempDir(), "groups"), time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)
	w, err := writer.Create(base, writer.Label{Version: 3, PID: 1, Start: start, Host: "web1", TimeZone: "UTC"})
	require.NoError(t, err)
	require.NoError(t, w.Metric(counter, "disk.dev.read"))
	require.NoError(t, w.Metric(single, "disk.all.read"))
	require.NoError(t, w.Metric(load, "mem.util.free"))
	require.NoError(t, w.InDom(start, counter.InDom,
		[]pdu.Instance{{ID: 0, Name: "a"}, {ID: 1, Name: "b"}, {ID: 2, Name: "c"}}))
	for round := range 8 {
		at := start.Add(time.Duration(round) * 10 * time.Second)
		w.Values().Numbers(counter.PMID, counter.Type, []pdu.Inst{0}, []uint64{uint64(5000 + 100*round)})
		require.NoError(t, w.Put(at))
		ids, bits := []pdu.Inst{1, 2}, []uint64{uint64(9000 + 10*round), uint64(40 * (round - 2))}
		if round < 3 { // c is new then, and has counted 40
			ids, bits = ids[:1], bits[:1]
		}
		w.Values().Numbers(counter.PMID, counter.Type, ids, bits)
		require.NoError(t, w.Put(at.Add(5*time.Millisecond)))
		total := uint64(1000 + 10*round)
		if round >= 3 { // it was reset, and has counted 30
			total = uint64(10 * round)
		}
		w.Values().Numbers(single.PMID, single.Type, []pdu.Inst{3}, []uint64{total})
		require.NoError(t, w.Put(at.Add(10*time.Millisecond)))
		w.Values().Numbers(load.PMID, load.Type, []pdu.Inst{pdu.NoInst}, []uint64{uint64(round)})
		require.NoError(t, w.Put(at.Add(15*time.Millisecond)))
	}
	require.NoError(t, w.Close())
	increases := []string{"eval", "-a", base, "-Z", "UTC", "-o", "csv", "increase(disk.dev.read)", "increase(disk.all.read)"}
	for name, row := range map[string]struct {
		args []string
		sums []float64 // of a, b, c and the singular metric
	}{
		"rounds":         {nil, []float64{700, 70, 200, 90}},
		"beside another": {[]string{"mem.util.free"}, []float64{700, 70, 200, 90}},
		"intervals":      {[]string{"-t", "10s"}, []float64{700, 60, 200, 80}},
		"between":        {[]string{"-t", "2500ms"}, []float64{700, 68, 200, 88}},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, exit := newSite(t).run(append(slices.Clone(increases), row.args...)...)
			require.Equal(t, commandline.ExitOK, exit, errs)
			rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
			require.NoError(t, err)
			require.Greater(t, len(rows[0]), len(row.sums), out)
			sums := make([]float64, len(row.sums))
			for _, r := range rows[1:] {
				for k := range sums {
					if r[k+1] != "" {
						number, err := strconv.ParseFloat(r[k+1], 64)
						require.NoError(t, err)
						sums[k] += number
					}
				}
			}
			assert.Equal(t, row.sums, sums, out)
		})
	}
	for name, args := range map[string][]string{"whole": {"8"}, "part": {"4", "-S", "35s"}, "intervals": {"6", "-t", "7s"}} {
		t.Run("recorded/"+name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.conf")
			writeFile(t, path, "x = increase(disk.dev.read)\ny = increase(disk.all.read)\nz = mem.util.free\n")
			out, errs, exit := newSite(t).run(append(append([]string{"test", "--record"}, args...), "-a", base, path)...)
			assert.Equal(t, []any{"", commandline.ExitOK}, []any{errs, exit}, out)
		})
	}
}
