//go:build pcp

package test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive/writer"
)

// writeArchive makes an archive that has something of everything, with so many records a second apart.
func writeArchive(t *testing.T, version, records int, most int64) (base string) {
	t.Helper()
	var (
		start = time.Unix(1_700_000_000, 123_456_789)
		disks = pdu.NewInDom(60, 1)
		load  = pdu.Desc{PMID: pdu.NewPMID(60, 2, 0), Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
		reads = pdu.Desc{
			PMID: pdu.NewPMID(60, 0, 4), Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemCounter,
			Units: pdu.UnitsFromWire(0x00100000),
		}
		errs    = pdu.Desc{PMID: pdu.NewPMID(60, 0, 5), Type: pdu.TypeU32, InDom: disks, Sem: pdu.SemInstant}
		kernels = pdu.Desc{PMID: pdu.NewPMID(60, 12, 0), Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
	)
	base = filepath.Join(t.TempDir(), "made")
	w, err := writer.Create(base, writer.Label{
		Version: version, PID: 42, Start: start, Host: "made.example",
		TimeZone: "AEST-10", ZoneInfo: ":Australia/Brisbane",
	})
	require.NoError(t, err)
	if most > 0 {
		w.MaxVolume = most
	}
	require.NoError(t, w.Metric(load, "made.load", "made.alias"))
	require.NoError(t, w.Metric(reads, "made.disk.reads"))
	require.NoError(t, w.Metric(errs, "made.disk.errors"))
	require.NoError(t, w.Metric(kernels, "made.kernel"))
	require.NoError(t, w.Text(uint32(load.PMID), pdu.TextPMID|pdu.TextOneLine, "how much is to do"))
	require.NoError(t, w.Text(uint32(disks), pdu.TextInDom|pdu.TextOneLine, "disks"))
	set, err := pdu.NewLabelSet(pdu.NoInst, pdu.LabelContext, map[string]any{"hostname": "made.example"})
	require.NoError(t, err)
	require.NoError(t, w.Labels(start, math.MaxUint32, pdu.LabelContext, []pdu.LabelSet{set}))
	both := []pdu.Instance{{ID: 0, Name: "sda"}, {ID: 7, Name: "sdb"}}
	its := func(values []string, name string) []string { return append(values, name) }
	named, err := pdu.NameLabels([]string{"disk"}, both, its)
	require.NoError(t, err)
	require.NoError(t, w.InDom(start, disks, both[:1]))
	require.NoError(t, w.Labels(start, uint32(disks), pdu.LabelInstances, named))
	for n := range records {
		at := start.Add(time.Duration(n) * time.Second)
		insts := []pdu.Inst{0}
		if n == 2 {
			require.NoError(t, w.InDom(at, disks, both))
		}
		if n >= 2 {
			insts = []pdu.Inst{0, 7}
		}
		numbers := []uint64{uint64(1000 * n), 1<<63 + uint64(n)}[:len(insts)]
		w.Values().Number(load.PMID, load.Type, math.Float64bits(float64(n)+0.5))
		w.Values().Numbers(reads.PMID, reads.Type, insts, numbers)
		w.Values().Numbers(errs.PMID, errs.Type, insts, []uint64{uint64(n), 9}[:len(insts)])
		w.Values().Strings(kernels.PMID, kernels.Type, nil, [][]byte{[]byte("6." + strconv.Itoa(n))})
		if n == 1 {
			w.Values().Fail(pdu.NewPMID(60, 2, 0), pdu.ErrAgain)
		}
		require.NoError(t, w.Put(at))
		if n == 3 {
			require.NoError(t, w.Mark(at.Add(time.Millisecond)))
		}
	}
	require.NoError(t, w.Put(start), "nothing to write")
	require.NoError(t, w.Close())
	return base
}

// PCP reads what package archive/writer writes.
func TestArchiveWriterForStockTools(t *testing.T) {
	for _, version := range []int{2, 3} {
		t.Run(strconv.Itoa(version), func(t *testing.T) {
			base := writeArchive(t, version, 6, 0)
			assert.Empty(t, stockTool(t, "pmlogcheck", base))
			all := stockTool(t, "pmdumplog", "-aeh", base)
			for _, want := range []string{
				"Log Format Version " + strconv.Itoa(version), "Performance metrics from host made.example",
				"made.load", "made.alias", "Data Type: 64-bit unsigned int  InDom: 60.1", `inst [7 or "sdb"]`, `"hostname":"made.example"`,
				"how much is to do", "disks", "<mark>", "9223372036854775813", `value "6.5"`, "value 5.5", `sdb`,
			} {
				assert.Contains(t, all, want)
			}
			merged := filepath.Join(t.TempDir(), "merged")
			stockTool(t, "pmlogextract", base, merged)
			assert.Empty(t, stockTool(t, "pmlogcheck", merged))
			assert.Contains(t, stockTool(t, "pmlogsummary", base, "made.load"), "made.load  2.250")
		})
	}
}

func TestArchiveWriterVolumes(t *testing.T) {
	for _, version := range []int{2, 3} {
		base := writeArchive(t, version, 100, 4096)
		volumes, err := filepath.Glob(base + ".[0-9]*")
		require.NoError(t, err)
		assert.Greater(t, len(volumes), 2)
		assert.Empty(t, stockTool(t, "pmlogcheck", base))
		assert.Contains(t, stockTool(t, "pmval", "-w", "8", "-a", base, "-U", base, "made.load"), "99.50")
	}
}

// stockTool runs a tool of PCP over an archive.
func stockTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %q: %s", name, args, out)
	return string(out)
}
