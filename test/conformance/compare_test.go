package conformance

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

func values(text string) *[][3]any { return &[][3]any{{-1.0, nil, text}} }

func answer(text string) Answer {
	return Answer{Values: []Value{{Inst: pdu.NoInst, Text: text}}}
}

func TestDifferentValues(t *testing.T) {
	code := &struct{ Code pdu.Code }{pdu.ErrAgain}
	for _, row := range []struct {
		name, compare string
		want          Fetch
		got           Answer
		elapsed       float64
		different     bool
	}{
		{name: "same", compare: "exact", want: Fetch{Values: values("5")}, got: answer("5")},
		{name: "other value", compare: "exact", want: Fetch{Values: values("5")}, got: answer("6"), different: true},
		{name: "no value", compare: "exact", want: Fetch{Values: values("5")}, different: true},
		{
			name: "other instance", compare: "exact", want: Fetch{Values: &[][3]any{{1.0, "a", "5"}}},
			got: Answer{Values: []Value{{Inst: 1, Name: "b", Text: "5"}}}, different: true,
		},
		{name: "same error", compare: "exact", want: Fetch{Error: code}, got: Answer{Code: pdu.ErrAgain}},
		{name: "other error", compare: "exact", want: Fetch{Error: code}, got: Answer{Code: pdu.ErrValue}, different: true},
		{
			name: "error for values", compare: "exact", want: Fetch{Values: values("5")}, got: Answer{Code: pdu.ErrAgain},
			different: true,
		},
		{name: "values for error", compare: "exact", want: Fetch{Error: code}, got: answer("5"), different: true},
		{name: "not compared", compare: "live", want: Fetch{Values: values("5")}, got: answer("6")},
		{
			name: "the same over twice the time", compare: "per-elapsed", want: Fetch{Values: values("100"), Elapsed: 0.5},
			got: answer("50"), elapsed: 1,
		},
		{
			name: "within 2 %", compare: "per-elapsed", want: Fetch{Values: values("100"), Elapsed: 1}, got: answer("101.9"),
			elapsed: 1,
		},
		{
			name: "beyond 2 %", compare: "per-elapsed", want: Fetch{Values: values("100"), Elapsed: 1}, got: answer("102.1"),
			elapsed: 1, different: true,
		},
	} {
		c := &Case{Compare: row.compare, Fetches: []Fetch{row.want}}
		assert.Equal(t, row.different, c.DifferentValues(0, row.got, row.elapsed) != "", row.name)
	}
}

func TestDifferentDesc(t *testing.T) {
	indom := "29.2"
	c := &Case{
		Type: "32", Sem: "instant", InDom: &indom, Units: "Kbyte / sec", Dim: [3]int8{1, -1, 0},
		Scale: [3]int8{1, 3, 0},
	}
	good := pdu.Desc{
		Type: pdu.Type32, Sem: pdu.SemInstant, InDom: pdu.NewInDom(29, 2),
		Units: pdu.Units{Space: 1, SpaceScale: 1, Time: -1, TimeScale: pdu.TimeSec},
	}
	assert.Empty(t, c.DifferentDesc(good))
	for _, change := range []func(*pdu.Desc){
		func(d *pdu.Desc) { d.Type = pdu.TypeU32 },
		func(d *pdu.Desc) { d.Sem = pdu.SemCounter },
		func(d *pdu.Desc) { d.InDom = pdu.NoInDom },
		func(d *pdu.Desc) { d.Units.Space = 2 },
		func(d *pdu.Desc) { d.Units.TimeScale = pdu.TimeMillisec },
		func(d *pdu.Desc) { d.Units.Extra, d.Units.ExtraScale = pdu.ExtraVoltage, pdu.VoltageVolt },
	} {
		other := good
		change(&other)
		assert.NotEmpty(t, c.DifferentDesc(other), "%v", other)
	}
}

// recorder is a test that notes what Judge and Report say instead of failing.
type recorder struct {
	testing.TB
	failures int
	attrs    []string
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failures++ }
func (r *recorder) Attr(key, value string) {
	r.attrs = append(r.attrs, value)
}

func TestTallyJudges(t *testing.T) {
	tally := NewTally("run")
	wanted, plain := "prec.c060", "prec.c001"
	for _, row := range []struct {
		name, different, id string
		failures            int
	}{
		{plain, "", "", 0},
		{plain, "other", "", 1},
		{wanted, "other", "Q-NOT-TYPE", 0},
		{wanted, "", "", 1},
	} {
		r := &recorder{TB: t}
		assert.Equal(t, row.id, tally.Judge(r, &Case{Set: "prec", Name: row.name}, row.different))
		assert.Equal(t, row.failures, r.failures, "%s %q", row.name, row.different)
	}
	r := &recorder{TB: t}
	for class, failures := range map[string]int{"semantic": 0, "ok": 1} { // what libpcp accepts is no extension's
		r.failures = 0
		tally.Judge(r, &Case{Set: "ternary", Name: "ternary.c100", Class: class}, "other")
		assert.Equal(t, failures, r.failures, class)
	}
	r.failures = 0
	tally.Report(r)
	assert.Equal(t, []string{"run prec 4 1 1 2", "run ternary 2 0 1 1"}, r.attrs)
	assert.Zero(t, r.failures)
	tally.ReportCorpus(r)
	assert.Positive(t, r.failures, "most differences were not met")
}

func TestTable(t *testing.T) {
	attr := func(value string) string {
		return fmt.Sprintf(`{"Action":"attr","Package":"p","Test":"T","Key":"conformance","Value":%q}`, value)
	}
	events := strings.Join([]string{
		`{"Action":"output","Package":"p","Test":"T","Output":"=== RUN T\n"}`,
		attr("in-process arith 3 2 1 0"), attr("end-to-end arith 3 1 1 1"), attr("in-process units 5 5 0 0"),
		attr("in-process arith 1 1 0 0"),
		`{"Action":"attr","Package":"p","Test":"T","Key":"other","Value":"x"}`,
		`{"Action":"pass","Package":"p","Test":"U"}`,
		`{"Action":"output","Package":"p","Test":"T","Output":"differs\n"}`,
		`{"Action":"fail","Package":"p","Test":"T"}`,
	}, "\n")
	var problems, out bytes.Buffer
	table, failed, err := ReadTable(strings.NewReader(events), &problems)
	require.NoError(t, err)
	assert.True(t, failed)
	assert.Equal(t, "=== RUN T\ndiffers\n", problems.String())
	assert.Equal(t, 1, table.Failures())
	require.NoError(t, table.Write(&out))
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	assert.Equal(t, []string{
		"in-process end-to-end",
		"set cases agree wanted failures cases agree wanted failures",
		"arith 4 3 1 0 3 1 1 1",
		"units 5 5 0 0 - - - -",
		"all 9 8 1 0 3 1 1 1",
	}, lines)

	_, _, err = ReadTable(strings.NewReader(attr("in-process arith 3")), &problems)
	assert.Error(t, err)
}
