//go:build pcp

package test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
	"pmdaderived/pmda/pmapi/archive/writer"
	"pmdaderived/test/pmcdtest"
)

// recordedArchives has the archives of pmda/pmapi/archive.
var recordedArchives = []string{"v2a", "v3a", "marks2", "marks3", "volumes"}

func recorded(name string) string { return filepath.Join("../pmda/pmapi/archive/testdata", name) }

func openRecorded(t *testing.T, name string) *archive.Archive {
	t.Helper()
	a := must(archive.Open(recorded(name)))(t)
	t.Cleanup(func() { assert.NoError(t, a.Close()) })
	return a
}

// pmrep -a prints what we fetch: raw values of many kinds of metrics at 200 ascending times.
func TestArchiveAsPmrep(t *testing.T) {
	names := comparable(t, sampleChanging,
		"sample.milliseconds", "sample.seconds", "sample.double.bin_ctr", "sample.longlong.million", "sample.ulonglong.bin_ctr",
		"kernel.all.sysfork", "kernel.all.load", "sample.float.one", "sample.drift", "sample.step", "hinv.ncpu", "sample.bin",
	)
	for _, name := range recordedArchives {
		t.Run(name, func(t *testing.T) {
			a := openRecorded(t, name)
			step := (a.End().Sub(a.Start()) / 201).Truncate(time.Millisecond)
			cmd := exec.Command("pmrep", append([]string{
				"-a", recorded(name), "-Z", "UTC", "-r", "-p", "-f", "%s", "-o", "csv", "-P", "6",
				"-t", fmt.Sprintf("%dmsec", step.Milliseconds()), "-s", "200",
			}, names...)...)
			cmd.Env = append(cmd.Environ(), "PCP_DERIVED_CONFIG=", "PCP_PYTHON_PROG=/usr/bin/python3")
			out, err := cmd.Output()
			require.NoError(t, err)
			s := bufio.NewScanner(bytes.NewReader(out))
			require.True(t, s.Scan())
			header := strings.Split(s.Text(), ",")[1:]
			have := fetched(t, a, names, step)
			rows := 0
			for ; s.Scan(); rows++ {
				for i, want := range strings.Split(s.Text(), ",")[1:] {
					value, ok := have[rows][columnOf(strings.Trim(header[i], `"`))]
					if want == "" {
						assert.False(t, ok, "row %d %s: %v", rows, header[i], value)
						continue
					}
					x, err := strconv.ParseFloat(want, 64)
					require.NoError(t, err)
					assert.True(t, ok && math.Abs(x-value) <= max(1, 1e-9*math.Abs(x)), "row %d %s: want %s, have %v", rows,
						header[i], want, value)
				}
			}
			assert.Equal(t, 200, rows)
		})
	}
}

// pmval -a prints what we fetch of a counter that wraps, which is wider than pmrep's columns.
func TestArchiveAsPmval(t *testing.T) {
	const metric = "sample.wrap.long"
	line := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d+ +(-?\d+|No values available)$`)
	for _, name := range recordedArchives {
		t.Run(name, func(t *testing.T) {
			a := openRecorded(t, name)
			step := (a.End().Sub(a.Start()) / 201).Truncate(time.Millisecond)
			out, err := exec.Command("pmval", "-a", recorded(name), "-Z", "UTC", "-r", "-w", "20",
				"-t", fmt.Sprintf("%dmsec", step.Milliseconds()), "-s", "200", metric).Output()
			require.NoError(t, err)
			lines := line.FindAllSubmatch(out, -1)
			require.Len(t, lines, 200)
			for i, row := range fetched(t, a, []string{metric}, step) {
				want := "No values available"
				if value, ok := row[metric]; ok {
					want = strconv.FormatFloat(value, 'f', 0, 64)
				}
				assert.Equal(t, want, string(lines[i][1]), "row %d", i)
			}
		})
	}
}

// Between two records of an archive, a numeric metric that is no counter has the value of the record before in PCP
// 6.0, as with us, and that of the nearest one since 6.3.2.
func TestArchiveBetweenRecords(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	base := filepath.Join(t.TempDir(), "made")
	w := must(writer.Create(base, writer.Label{
		Version: 2, PID: 1, Start: start, Host: "made.example",
		TimeZone: "UTC",
	}))(t)
	metrics := make(map[string]pdu.Desc)
	for i, m := range []struct {
		name string
		typ  pdu.Type
		sem  pdu.Semantics
	}{
		{"counter", pdu.TypeU32, pdu.SemCounter},
		{"instant", pdu.TypeU32, pdu.SemInstant},
		{"discrete", pdu.TypeU32, pdu.SemDiscrete},
		{"text", pdu.TypeString, pdu.SemInstant},
		{"constant", pdu.TypeString, pdu.SemDiscrete},
	} {
		metrics[m.name] = pdu.Desc{PMID: pdu.NewPMID(60, 0, i), Type: m.typ, InDom: pdu.NoInDom, Sem: m.sem}
		require.NoError(t, w.Metric(metrics[m.name], "made."+m.name))
	}
	for n := range 3 {
		value := 100 * (n + 1)
		for _, d := range metrics {
			if d.Type == pdu.TypeString {
				w.Values().Strings(d.PMID, d.Type, nil, [][]byte{strconv.AppendInt(nil, int64(value), 10)})
			} else {
				w.Values().Number(d.PMID, d.Type, uint64(value))
			}
		}
		require.NoError(t, w.Put(start.Add(time.Duration(n)*10*time.Second)))
	}
	require.NoError(t, w.Close())

	a := must(archive.Open(base))(t)
	defer a.Close()
	printed := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d+ +"?(\d+)"?$`)
	for _, row := range []struct {
		metric        string
		second        int
		ours, nearest string
	}{
		{"counter", 14, "240", "240"},
		{"counter", 16, "260", "260"},
		{"instant", 14, "200", "200"},
		{"instant", 15, "200", "200"},
		{"instant", 16, "200", "300"},
		{"instant", 20, "300", "300"},
		{"discrete", 15, "200", "200"},
		{"discrete", 16, "200", "300"},
		{"discrete", 20, "300", "300"},
		{"text", 16, "200", "200"},
		{"text", 20, "300", "300"},
		{"constant", 16, "200", "200"},
	} {
		t.Run(fmt.Sprintf("%s at %d s", row.metric, row.second), func(t *testing.T) {
			desc := metrics[row.metric]
			c := a.NewContext(time.Time{}, time.Time{})
			defer c.Close()
			c.SetTime(start.Add(time.Duration(row.second) * time.Second))
			res := must(c.Fetch(t.Context(), []pdu.PMID{desc.PMID}))(t)
			require.Len(t, res.Sets[0].Values, 1)
			v := res.Sets[0].Values[0]
			if desc.Type == pdu.TypeString {
				assert.Equal(t, row.ours, string(v.Bytes))
			} else {
				assert.Equal(t, row.ours, strconv.FormatUint(v.Bits, 10))
			}
			out := stockTool(t, "pmval", "-r", "-a", base, "-O", fmt.Sprint(row.second, "sec"), "-s", "1", "made."+row.metric)
			line := printed.FindStringSubmatch(out)
			require.NotNil(t, line, out)
			want := row.ours
			if takesNearest(t) {
				want = row.nearest
			}
			assert.Equal(t, want, line[1])
		})
	}
}

// fetched returns the values at ascending times, by the names of pmrep's columns.
func fetched(t *testing.T, a *archive.Archive, names []string, step time.Duration) (rows []map[string]float64) {
	begin := a.Start().Truncate(time.Microsecond) // the resolution of the tools
	c := a.NewContext(begin, time.Time{})
	defer c.Close()
	found, err := a.LookupNames(t.Context(), names)
	require.NoError(t, err)
	var ids []pdu.PMID
	for _, f := range found {
		ids = append(ids, f.PMID)
	}
	for i := range 200 {
		c.SetTime(begin.Add(step * time.Duration(i)))
		res, err := c.Fetch(t.Context(), ids)
		require.NoError(t, err)
		row := make(map[string]float64)
		for j, s := range res.Sets {
			desc, err := a.Desc(t.Context(), s.PMID)
			require.NoError(t, err)
			for _, v := range s.Values {
				column := names[j]
				if desc.InDom != pdu.NoInDom {
					name, err := c.InstanceName(t.Context(), desc.InDom, v.Inst)
					require.NoError(t, err)
					column += "-" + name
				}
				row[column] = desc.Type.Float64(v.Bits)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// pmdumplog -m prints as many records, values and marks as we read.
func TestArchiveAsPmdumplog(t *testing.T) {
	inst := regexp.MustCompile(`inst \[(-?\d+) or`)
	for _, name := range recordedArchives {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command("pmdumplog", "-m", recorded(name)).Output()
			require.NoError(t, err)
			marks := bytes.Count(out, []byte("<mark>"))
			want := len(inst.FindAll(out, -1))
			haveMarks, have := 0, 0
			a := openRecorded(t, name)
			c := a.NewContext(time.Time{}, time.Time{})
			defer c.Close()
			for {
				r, err := c.Next(t.Context())
				if err != nil {
					break
				}
				if r.Mark {
					haveMarks++
				}
				for _, s := range r.Sets {
					if d, err := a.Desc(t.Context(), s.PMID); err == nil && d.InDom != pdu.NoInDom &&
						d.Type != pdu.TypeHighResEvent && d.Type != pdu.TypeEvent {
						have += len(s.Insts)
					}
				}
			}
			assert.Equal(t, marks, haveMarks, "marks")
			assert.Equal(t, want, have, "values with an instance")
		})
	}
}

// Of an archive whose pmlogger was killed, and whose last record is torn, everything before that is read.
func TestArchiveOfKilledPmlogger(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{})
	base := filepath.Join(t.TempDir(), "torn")
	conf := writeFile(t, t.TempDir(), "logger.conf", "log mandatory on 100 msec { pmcd.numclients }\n")
	logger := p.Command(t.Context(), "pmlogger", "-c", conf, "-l", base+".log", base)
	require.NoError(t, logger.Start())
	await.Until(t, "the archive has some records", func() bool {
		info, err := os.Stat(base + ".0")
		return err == nil && info.Size() > 2000
	})
	require.NoError(t, logger.Process.Kill())
	_ = logger.Wait()

	program := must(daemonProgram())(t)
	samples := func() (n int, errs string) {
		out, errs, exit := p.Run(t, program, "eval", "-a", base, "-o", "csv", "pmcd.numclients")
		require.Zero(t, exit, errs)
		return strings.Count(out, "\n") - 1, errs
	}
	data := must(os.ReadFile(base + ".0"))(t)
	last, end := 0, 0 // of the last whole record
	for end+4 <= len(data) {
		next := end + int(binary.BigEndian.Uint32(data[end:]))
		if next > len(data) {
			break
		}
		last, end = end, next
	}
	require.NoError(t, os.WriteFile(base+".0", data[:end], 0o644))
	whole, _ := samples()
	require.Greater(t, whole, 10)
	for _, cut := range []int{1, 4, 5, 12} {
		require.NoError(t, os.WriteFile(base+".0", data[:last+cut], 0o644))
		n, errs := samples()
		assert.Equal(t, whole-1, n, "%d bytes of the last record", cut)
		assert.Contains(t, errs, fmt.Sprintf("torn.0 at byte %d: the record is truncated", last))
	}
}
