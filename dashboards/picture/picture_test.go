package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func draw(t *testing.T, table string, charts ...Chart) (string, error) {
	t.Helper()
	var out strings.Builder
	err := Draw(&out, strings.NewReader(table), charts)
	if err == nil {
		decoder := xml.NewDecoder(strings.NewReader(out.String()))
		for err := error(nil); !errors.Is(err, io.EOF); _, err = decoder.Token() {
			require.NoError(t, err, out.String())
		}
	}
	return out.String(), err
}

// Places: x from 44 to 456, y from 194 (0) up to 52 (the end of the axis).
func TestDraw(t *testing.T) {
	two := []Curve{{"a", "first"}, {"b", "second"}}
	for _, row := range []struct {
		name  string
		table string
		chart Chart
		want  []string // paths
	}{
		{
			"lines", "Time,a,b\n10,0,100\n12,50,100\n14,100,0\n",
			Chart{Max: 100, Curves: two},
			[]string{"M44.0,194.0L250.0,123.0L456.0,52.0", "M44.0,52.0L250.0,52.0L456.0,194.0"},
		},
		{
			"a gap interrupts a line", "Time,a,b\n1,0,0\n2,,0\n3,0,0\n4,0,0\n",
			Chart{Max: 1, Curves: two},
			[]string{"M44.0,194.0M318.7,194.0L456.0,194.0"},
		},
		{
			"values beyond the axis stay on the chart", "Time,a,b\n1,-5,7\n2,0,0\n",
			Chart{Max: 1, Curves: two},
			[]string{"M44.0,194.0L456.0,194.0", "M44.0,52.0L456.0,194.0"},
		},
		{
			"areas on top of each other", "Time,a,b\n1,50,50\n2,0,50\n",
			Chart{Max: 100, Stacked: true, Curves: two},
			[]string{"M44.0,123.0L456.0,194.0L456.0,194.0L44.0,194.0Z", "M44.0,52.0L456.0,123.0L456.0,194.0L44.0,123.0Z"},
		},
		{
			"rows without values at the beginning are left out", "Time,a,b\n1,,\n2,0,1\n3,1,0\n",
			Chart{Max: 1, Curves: two},
			[]string{"M44.0,194.0L456.0,52.0"},
		},
		{
			"the axis fits the largest value", "Time,a,b\n1,0,3\n2,5,0\n",
			Chart{Curves: two},
			[]string{"M44.0,194.0L456.0,52.0", "M44.0,108.8L456.0,194.0"},
		},
		{
			"nothing but zeros", "Time,a,b\n1,0,0\n2,0,0\n",
			Chart{Curves: two},
			[]string{"M44.0,194.0L456.0,194.0"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			svg, err := draw(t, row.table, row.chart)
			require.NoError(t, err)
			for _, path := range row.want {
				assert.Contains(t, svg, `d="`+path+`"`)
			}
			assert.Contains(t, svg, ">second</text>")
		})
	}
}

// The picture of the README shows what is in the table beside it: `make picture` draws it anew.
func TestHost(t *testing.T) {
	table, err := os.ReadFile("../../docs/img/host.csv")
	require.NoError(t, err)
	want, err := os.ReadFile("../../docs/img/host.svg")
	require.NoError(t, err)
	got, err := draw(t, string(table), Host()...)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func TestDrawEscapes(t *testing.T) {
	svg, err := draw(t, "Time,a\n1,0\n2,0\n", Chart{Title: "<&>", Max: 1, Curves: []Curve{{"a", "a<b"}}})
	require.NoError(t, err)
	assert.Contains(t, svg, ">&lt;&amp;&gt;</text>")
}

func TestDrawRefuses(t *testing.T) {
	for _, row := range []struct{ name, table, want string }{
		{"nothing", "", "table: empty"},
		{"no rows", "Time,a\n", "table: 0 rows with values are too few for a curve"},
		{"one row", "Time,a\n1,\n2,0\n", "table: 1 rows with values are too few for a curve"},
		{"no number", "Time,a\n1,x\n", `table, line 2: strconv.ParseFloat: parsing "x": invalid syntax`},
		{"time stands", "Time,a\n1,0\n1,0\n", "table: time does not go on after 0 s"},
		{"no such column", "Time,b\n1,0\n2,0\n", `chart "c": no column a`},
		{"ragged", "Time,a\n1\n", "table: record on line 2: wrong number of fields"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := draw(t, row.table, Chart{Title: "c", Max: 1, Curves: []Curve{{"a", "a"}}})
			assert.EqualError(t, err, row.want)
		})
	}
}
