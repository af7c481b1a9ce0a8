package rig

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmdatest"
)

const ms = time.Millisecond

func TestQuantiles(t *testing.T) {
	many := make(Durations, 1000)
	for i := range many {
		many[len(many)-1-i] = time.Duration(i+1) * ms
	}
	bounds := []time.Duration{ms, 5 * ms, 10 * ms, Forever}
	for _, row := range []struct {
		name string
		d    interface{ Quantile(q float64) time.Duration }
		q    float64
		want time.Duration
	}{
		{"nothing", Durations(nil), 0.99, 0},
		{"one", Durations{7 * ms}, 0.5, 7 * ms},
		{"least", many, 0, ms},
		{"median", many, 0.5, 500 * ms},
		{"p99", many, 0.99, 990 * ms},
		{"p99.9", many, 0.999, 999 * ms},
		{"max", many, 1, 1000 * ms},
		{"of few the highest", many[:10], 0.99, 1000 * ms},
		{"empty classes", Histogram{bounds, []uint64{0, 0, 0, 0}}, 0.5, 0},
		{"bound of the class", Histogram{bounds, []uint64{99, 1, 0, 0}}, 0.99, ms},
		{"next class", Histogram{bounds, []uint64{98, 2, 0, 0}}, 0.99, 5 * ms},
		{"max skips empty classes", Histogram{bounds, []uint64{99, 0, 1, 0}}, 1, 10 * ms},
		{"beyond all bounds", Histogram{bounds, []uint64{1, 0, 0, 1}}, 1, Forever},
	} {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, row.d.Quantile(row.q)) })
	}
	assert.Equal(t, 1000*ms, many[0], "the list stays as it was")
}

func TestFiguresSince(t *testing.T) {
	bounds := []time.Duration{ms, Forever}
	before := Figures{Numbers: map[string]float64{"n": 1}, Histograms: map[string]Histogram{"h": {bounds, []uint64{1, 2}}}}
	after := Figures{Numbers: map[string]float64{"n": 4}, Histograms: map[string]Histogram{"h": {bounds, []uint64{4, 2}}}}
	d := after.Since(before)
	assert.Equal(t, map[string]float64{"n": 3}, d.Numbers)
	assert.Equal(t, []uint64{3, 0}, d.Histograms["h"].Counts)
	assert.Equal(t, []uint64{4, 2}, after.Histograms["h"].Counts, "operands stay as they are")
	assert.EqualValues(t, 6, after.Histograms["h"].Total())
}

func TestParseBound(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0.01": 10 * time.Microsecond, "1.5": 1500 * time.Microsecond,
		"inf": Forever,
	} {
		got, err := parseBound(text)
		require.NoError(t, err)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "0", "soon"} {
		_, err := parseBound(text)
		assert.Error(t, err, text)
	}
}

func TestRows(t *testing.T) {
	limits := []Limit{{0.5, ms}, {0.99, 5 * ms}, {1, 0}}
	for _, row := range []struct {
		name             string
		row              Row
		measured, target string
		ok               bool
	}{
		{
			"times", Times("", Durations{4 * ms, ms, ms}, limits...), "p50 1 ms, p99 4 ms, max 4 ms",
			"p50 ≤ 1 ms, p99 ≤ 5 ms", true,
		},
		{
			"figures", FigureRow("", "µs", []float64{1, 0.00314, 314.159}, []float64{1.05, 2, 400}), "1; 0.00314; 314 µs",
			"≤ 1.05; 2; 400", true,
		},
		{"equal as printed", FigureRow("", "", []float64{1.0549, 2.004}, []float64{1.05, 2}), "1.05; 2", "≤ 1.05; 2", true},
		{"second worse", FigureRow("", "", []float64{1, 2.1}, []float64{1.05, 2}), "1; 2.1", "≤ 1.05; 2", false},
		{"no target", FigureRow("", "", []float64{9}, nil), "9", "", true},
		{"first has a target", FigureRow("", "", []float64{1, 9}, []float64{2}), "1; 9", "≤ 2", true},
		{"equal", Equal("", 3, 3), "3", "3", true},
		{"not equal", Equal("", 3, 4), "3", "4", false},
		{"most", AtMost("", 5, 5), "5", "≤ 5", true},
		{"too many", AtMost("", 6, 5), "6", "≤ 5", false},
		{"none", Some("", 0), "0", "> 0", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.measured, row.row.Measured)
			assert.Equal(t, row.target, row.row.Target)
			assert.Equal(t, row.ok, row.row.OK)
		})
	}
}

func TestRun(t *testing.T) {
	rows := func(rows ...Row) func(context.Context) ([]Row, error) {
		return func(context.Context) ([]Row, error) { return rows, nil }
	}
	parts := []Part{
		{Name: "ages, slow", Run: rows(Row{What: "age", Measured: "p50 ≤ 1 ms", Target: "p50 ≤ 1 ms", OK: true})},
		{Name: "ages", Run: rows(Row{What: "how it was", Measured: "well", OK: true})},
		{Name: "others", Run: rows(Row{What: "fetches", Measured: "3", Target: "0"})},
		{Name: "broken", Run: func(context.Context) ([]Row, error) { return nil, errors.New("no\npmcd") }},
	}
	table, err := Run(t.Context(), nil, []string{"age"}, parts)
	require.NoError(t, err)
	assert.True(t, table.OK())
	var log, out strings.Builder
	table, err = Run(t.Context(), &Log{Out: &log, Verbose: true}, nil, parts)
	require.NoError(t, err)
	assert.False(t, table.OK())
	assert.Contains(t, log.String(), "fetches: 3 (0) MISSED")
	require.NoError(t, table.Write(&out))
	assert.Equal(t, `| what       | measured     | target     |        |
|------------|--------------|------------|--------|
| age        | p50 ≤ 1 ms   | p50 ≤ 1 ms | ok     |
| how it was | well         |            |        |
| fetches    | 3            | 0          | MISSED |
| broken     | not measured | no pmcd    | MISSED |
`, out.String())

	_, err = Run(t.Context(), nil, []string{"age", "nonsense"}, parts)
	assert.ErrorContains(t, err, `"nonsense"`)
}

func TestPaces(t *testing.T) {
	at := time.Now().Add(time.Hour)
	assert.Equal(t, at.Truncate(time.Second).Add(time.Second), Every(time.Second)(at))
	assert.True(t, Every(time.Second)(time.Unix(0, 0)).After(time.Now()), "what was missed is left out")
}

func TestBurstComesAndGoes(t *testing.T) {
	seen := map[int]bool{}
	for era := range uint64(20) {
		insts := BurstMembers(era * 5e9)
		seen[len(insts)] = true
		assert.Less(t, int(insts[len(insts)-1]), 10)
	}
	assert.Equal(t, map[int]bool{3: true, 4: true, 5: true, 6: true, 7: true}, seen)
}

// The agent serves every metric as its description says.
func TestAgent(t *testing.T) {
	a, err := newAgent("400")
	require.NoError(t, err)
	p := pmdatest.Start(t, a)
	p.Handshake()

	ids := make([]pdu.PMID, len(Metrics())+1)
	for item := range ids {
		ids[item] = pdu.NewPMID(400, 0, item)
	}
	sets := pmdatest.As[*pdu.Result](p, p.Request(&pdu.Fetch{PMIDs: ids})).Sets
	at := sets[0].Values[0].Bits
	for item, m := range Metrics() {
		desc := pmdatest.As[*pdu.DescReply](p, p.Request(&pdu.DescReq{PMID: ids[item]})).Desc
		for _, v := range sets[item].Values {
			assert.Equal(t, m.Value(at, v.Inst), v.Bits, m.Name)
		}
		if desc.InDom == pdu.NoInDom {
			assert.Len(t, sets[item].Values, 1, m.Name)
			continue
		}
		named := pmdatest.As[*pdu.InstanceReply](p, p.Request(&pdu.InstanceReq{
			InDom: desc.InDom,
			Inst:  pdu.NoInst,
		})).Instances
		assert.LessOrEqual(t, len(sets[item].Values), len(named), m.Name)
	}
	assert.Equal(t, pdu.ErrPMID, sets[len(ids)-1].Code)
	assert.Equal(t, pdu.ErrPMID, p.Refused(&pdu.DescReq{PMID: ids[len(ids)-1]}))
	assert.Equal(t, pdu.ErrInDom, p.Refused(&pdu.InstanceReq{InDom: pdu.NewInDom(400, 9), Inst: pdu.NoInst}))

	require.NoError(t, p.Close())

	status, helper := Helper([]string{agentWord, "wave", "?", None})
	assert.True(t, helper)
	assert.Equal(t, 1, status)
	_, helper = Helper([]string{"bench"})
	assert.False(t, helper)
}

func TestProcesses(t *testing.T) {
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p, err := ReadProcess(cmd.Process.Pid)
	require.NoError(t, err)
	assert.Equal(t, 1, p.Threads)
	assert.Positive(t, p.Files)
	assert.Positive(t, p.Resident)
	assert.Less(t, p.Age, time.Minute)
	before, err := CPU(1)
	require.NoError(t, err)
	assert.Positive(t, before)
	require.NoError(t, stdin.(io.Closer).Close())
	require.NoError(t, cmd.Wait())
	_, err = CPU(cmd.Process.Pid)
	assert.Error(t, err, "a process that has ended has no clock")
	_, err = ReadProcess(cmd.Process.Pid)
	assert.Error(t, err)
}

func TestFolder(t *testing.T) {
	f, err := NewFolder(map[string]string{"cat": "/bin/cat"})
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Remove()) }()
	path, err := f.Write("text", "hullo")
	require.NoError(t, err)
	out, err := exec.Command(f.Path("cat"), path).Output()
	require.NoError(t, err)
	assert.Equal(t, "hullo", string(out))
	left, err := filepath.Glob(f.Path("*"))
	require.NoError(t, err)
	assert.Equal(t, []string{f.Path("cat"), f.Path("text")}, left)
	_, err = NewFolder(map[string]string{"gone": "/no/such"})
	assert.ErrorContains(t, err, "make builds what is missing")
}
