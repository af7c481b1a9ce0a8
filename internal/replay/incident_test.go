package replay

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive/writer"
)

var update = flag.Bool("update", false, "write examples/incident again")

// night is when the archive of the examples begins.
var night = time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)

var (
	disks = pdu.NewInDom(60, 1)
	loads = pdu.NewInDom(60, 2)

	loadDesc = pdu.Desc{PMID: pdu.NewPMID(60, 2, 0), Type: pdu.TypeFloat, InDom: loads, Sem: pdu.SemInstant}
	ncpuDesc = pdu.Desc{PMID: pdu.NewPMID(60, 0, 32), Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
	busyDesc = pdu.Desc{
		PMID: pdu.NewPMID(60, 0, 46), Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemCounter,
		Units: pdu.Units{Time: 1, TimeScale: pdu.TimeMillisec},
	}
	readDesc = pdu.Desc{
		PMID: pdu.NewPMID(60, 0, 4), Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemCounter,
		Units: pdu.Units{Count: 1},
	}
	freeDesc = pdu.Desc{
		PMID: pdu.NewPMID(60, 1, 58), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant,
		Units: pdu.Units{Space: 1, SpaceScale: pdu.SpaceKbyte},
	}
)

// incident writes the archive of the examples: half an hour of a host with two disks. sdb is busy from 02:12 to 02:18.
// Disks and load are recorded every 10 s, memory every minute, the number of CPUs at the start. pmlogger restarts at
// 02:22, and from then on there is a third disk.
func incident(t *testing.T, base string) {
	t.Helper()
	w, err := writer.Create(base, writer.Label{
		Version: 3, PID: 4711, Start: night, Host: "web1.example", TimeZone: "UTC", ZoneInfo: ":Etc/UTC",
	})
	require.NoError(t, err)
	for _, m := range []struct {
		desc pdu.Desc
		name string
		text string
	}{
		{loadDesc, "kernel.all.load", "1, 5 and 15 minute load average"},
		{ncpuDesc, "hinv.ncpu", "number of CPUs"},
		{busyDesc, "disk.dev.avactive", "time in which a disk was busy"},
		{readDesc, "disk.dev.read", "reads of a disk"},
		{freeDesc, "mem.util.available", "memory that programs could have"},
	} {
		require.NoError(t, w.Metric(m.desc, m.name))
		require.NoError(t, w.Text(uint32(m.desc.PMID), pdu.TextPMID|pdu.TextOneLine, m.text))
	}
	host, err := pdu.NewLabelSet(pdu.NoInst, pdu.LabelContext, map[string]any{"hostname": "web1.example"})
	require.NoError(t, err)
	require.NoError(t, w.Labels(night, math.MaxUint32, pdu.LabelContext, []pdu.LabelSet{host}))
	require.NoError(t, w.InDom(night, loads, []pdu.Instance{
		{ID: 1, Name: "1 minute"},
		{ID: 5, Name: "5 minute"},
		{ID: 15, Name: "15 minute"},
	}))
	three := []pdu.Instance{{ID: 0, Name: "sda"}, {ID: 1, Name: "sdb"}, {ID: 2, Name: "sdc"}}
	require.NoError(t, w.InDom(night, disks, three[:2]))

	var busy, read [3]uint64
	load := [3]float64{0.3, 0.3, 0.3}
	for n := range 181 {
		at := night.Add(time.Duration(n) * 10 * time.Second)
		minute := n / 6
		here := []pdu.Inst{0, 1}
		if minute == 22 && n%6 == 0 {
			require.NoError(t, w.Mark(at.Add(-9*time.Second)))
			require.NoError(t, w.InDom(at, disks, three))
			busy, read = [3]uint64{}, [3]uint64{} // the host was restarted
		}
		if minute >= 22 {
			here = []pdu.Inst{0, 1, 2}
		}
		wanted := 0.3
		share := [3]uint64{200 + uint64(n%7)*40, 300 + uint64(n%5)*60, 50} // of 10,000 ms
		if minute >= 12 && minute < 18 {
			wanted, share[1] = 9, 9_700+uint64(n%3)*100
		}
		for i := range busy {
			busy[i] += share[i]
			read[i] += share[i] / 20
		}
		numbers := make([]uint64, 3)
		for i, minutes := range []float64{1, 5, 15} {
			load[i] += (wanted - load[i]) * (1 - math.Exp(-1/(6*minutes)))
			numbers[i] = uint64(math.Float32bits(float32(math.Round(100*load[i]) / 100)))
		}
		v := w.Values()
		if n == 0 || n == 22*6 { // as pmlogger does with log once
			v.Number(ncpuDesc.PMID, ncpuDesc.Type, 4)
		}
		v.Numbers(loadDesc.PMID, loadDesc.Type, []pdu.Inst{1, 5, 15}, numbers)
		v.Numbers(busyDesc.PMID, busyDesc.Type, here, busy[:len(here)])
		v.Numbers(readDesc.PMID, readDesc.Type, here, read[:len(here)])
		require.NoError(t, w.Put(at))
		if n%6 == 3 { // pmlogger has another timer for it
			v.Number(freeDesc.PMID, freeDesc.Type, uint64(8_000_000-1000*n))
			require.NoError(t, w.Put(at.Add(500*time.Millisecond)))
		}
	}
	require.NoError(t, w.Close())
}

const incidentPath = "../../examples/incident"

// The archive of the examples is what incident writes.
func TestIncident(t *testing.T) {
	base := filepath.Join(t.TempDir(), "incident")
	incident(t, base)
	for _, ending := range []string{".0", ".index", ".meta"} {
		made, err := os.ReadFile(base + ending)
		require.NoError(t, err)
		if *update {
			require.NoError(t, os.WriteFile(incidentPath+ending, made, 0o644))
		}
		kept, err := os.ReadFile(incidentPath + ending)
		require.NoError(t, err)
		assert.Equal(t, made, kept, "go test ./internal/replay -update writes it again")
	}
}
