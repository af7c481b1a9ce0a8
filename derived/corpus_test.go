package derived

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
	"pmdaderived/test/conformance"
)

// The corpus is what libpcp 6.0.3 answers for some sixteen hundred definitions; package conformance reads
// and judges it. The operands' values are in testdata/operands, recorded from a real pmcd by
// `go test ./test -tags pcp -run TestOperandsOfCorpus -record-operands`.

// recording has the answers of a collector about the operands; TestOperandsOfCorpus in folder test makes it.
type recording struct {
	Metrics map[string]recordedDesc
	Failing map[string]pdu.Code
	InDoms  map[pdu.InDom]struct {
		Names     map[pdu.Inst]string
		Selectors map[string]pdu.Inst
	}
	Situations []*situation

	names map[pdu.InDom]*NameTable
	byKey map[string]*situation
}

type recordedDesc struct {
	PMID  pdu.PMID
	Type  pdu.Type
	InDom pdu.InDom
	Sem   pdu.Semantics
	Units uint32
}

type situation struct {
	Setup, Steps [][]string
	Descs        map[string]recordedDesc
	Fetches      []map[string]struct {
		Code   pdu.Code
		Values [][2]any
	}
}

func situationKey(setup, steps [][]string) string {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s []string) bool { return s[0] == "sleep" })
	return fmt.Sprint(setup, steps)
}

func readRecording(tb testing.TB) *recording {
	data, err := os.ReadFile("testdata/operands/operands.json")
	require.NoError(tb, err)
	r := &recording{names: map[pdu.InDom]*NameTable{}, byKey: map[string]*situation{}}
	require.NoError(tb, json.Unmarshal(data, r))
	for d, names := range r.InDoms {
		r.names[d] = NewNameTable(names.Names, names.Selectors)
	}
	for _, s := range r.Situations {
		r.byKey[situationKey(s.Setup, s.Steps)] = s
	}
	return r
}

// recordedCatalog is the collector as it was in a situation.
type recordedCatalog struct {
	*recording
	*situation
}

func (c recordedCatalog) Desc(name string) (pdu.Desc, error) {
	if code := c.Failing[name]; code < 0 {
		return pdu.Desc{}, code
	}
	d, ok := c.Descs[name]
	if !ok {
		d, ok = c.Metrics[name]
	}
	if !ok {
		return pdu.Desc{}, fmt.Errorf("%s: not in the recording", name)
	}
	return pdu.Desc{PMID: d.PMID, Type: d.Type, InDom: d.InDom, Sem: d.Sem, Units: pdu.UnitsFromWire(d.Units)}, nil
}

// samples makes the fetches of a case, oldest first.
func (c recordedCatalog) samples(tb testing.TB, fetches []conformance.Fetch) []Sample {
	at := time.Unix(1_700_000_000, 0)
	var made []Sample
	for i, fetch := range c.Fetches {
		if i < len(fetches) && fetches[i].Elapsed > 0 {
			at = at.Add(time.Duration(fetches[i].Elapsed * float64(time.Second)))
		} else {
			at = at.Add(time.Second)
		}
		m := &moment{at: at, values: map[pdu.PMID]*Vector{}, names: c.names}
		for name, got := range fetch {
			desc, err := c.Desc(name)
			require.NoError(tb, err)
			v := &Vector{Code: got.Code, Type: desc.Type}
			var ids []pdu.Inst
			for _, value := range got.Values {
				addValue(tb, v, value[1].(string))
				ids = append(ids, pdu.Inst(value[0].(float64)))
			}
			if desc.InDom != pdu.NoInDom {
				v.Insts = NewInstSet(ids)
			}
			m.values[desc.PMID] = v
		}
		made = append(made, m)
	}
	return made
}

func TestCorpus(t *testing.T) {
	r := readRecording(t)
	tally := conformance.NewTally("in-process")
	var report strings.Builder
	classes := map[string]int{}
	for _, c := range conformance.ReadCorpus(t, "testdata/corpus") {
		classes[c.Class+" "+c.Compare]++
		different := r.compare(t, c)
		if id := tally.Judge(t, c, different); id != "" {
			fmt.Fprintf(&report, "%s %s: %s\n%s\n\n", c.Name, id, c.Expr, strings.TrimPrefix(different, "\n"))
		}
	}
	tally.ReportCorpus(t)
	assert.Greater(t, classes["ok exact"], 1000, "cases whose values are compared")
	assert.Greater(t, classes["ok per-elapsed"], 10)
	assert.Greater(t, classes["semantic "], 140)
	assert.Greater(t, classes["syntax "], 200)
	assert.Greater(t, classes["unbound "], 20)
	derivedtest.Golden(t, "corpus-differences.txt", report.String())
}

// compare returns how our answer differs from that of libpcp.
func (r *recording) compare(t *testing.T, c *conformance.Case) string {
	text := " " + c.Expr // as behind the "=": the blank counts for the caret
	def, err := Parse("dmc."+c.Name, text)
	if err != nil || c.Refused() {
		return differentSyntax(t, c, text, err)
	}
	s := r.byKey[situationKey(c.Setup, c.Steps)]
	require.NotNil(t, s, "%s: the recording lacks its operands", c.Name)
	cat := recordedCatalog{r, s}
	return differentMetric(t, c, def, cat, cat.samples(t, c.Fetches), r.names)
}

// differentMetric returns how a definition that has no syntax error answers otherwise than libpcp did. The
// samples are those of its fetches, oldest first.
func differentMetric(
	t *testing.T, c *conformance.Case, def *Definition, cat Catalog, samples []Sample, names map[pdu.InDom]*NameTable,
) string {
	set := Language{}.NewSet([]*Definition{def}, cat, "derived")
	m := set.Metrics()[0]

	switch {
	case c.Class == "crash" && m.Err != nil:
		return "want a crash, got " + m.Err.Error()
	case c.Class == "semantic" && m.Err == nil:
		return "want " + c.Message() + ", got no error"
	case c.Class == "semantic":
		return conformance.Different("message", c.Message(), m.Err.Error())
	case c.Class == "unbound":
		return conformance.Different("unbound", true, m.Err != nil && m.Err.Unbound())
	case m.Err != nil:
		return "want good, got " + m.Err.Error()
	}
	found := ""
	if c.Class == "ok" {
		found = c.DifferentDesc(m.Desc)
	}
	eval := set.NewEvaluation()
	var history []Sample
	for i, sample := range samples {
		history = slices.Insert(history, 0, sample)
		eval.Reset(history...)
		answer := answerOf(m, eval.Value(m), names)
		if c.Class == "crash" {
			found += fmt.Sprintf("fetch %d: want a crash, got %v", i, answer)
			continue
		}
		found += c.DifferentValues(i, answer, c.Fetches[i].Elapsed)
	}
	return found
}

func differentSyntax(t *testing.T, c *conformance.Case, text string, err error) string {
	var fault *syntax.Error
	switch {
	case err == nil:
		return "want a syntax error, got none"
	case !c.Refused():
		return "want good, got " + err.Error()
	case c.Class == "config": // no expression at all: the file reader has its own message
		return ""
	}
	require.ErrorAs(t, err, &fault)
	shown := conformance.Shown(text, fault.Offset(), fault.Msg)
	return conformance.Different("message", c.Message(), shown)
}

func answerOf(m *Metric, v *Vector, names map[pdu.InDom]*NameTable) conformance.Answer {
	a := conformance.Answer{Code: v.Code}
	for i := range v.Len() {
		one := conformance.Value{Inst: v.At(i)}
		if v.Type.Numeric() {
			one.Text = conformance.Text(v.Type, v.Bits[i], nil)
		} else {
			one.Text = conformance.Text(v.Type, 0, v.Blobs[i])
		}
		if name, ok := names[m.Desc.InDom].Name(one.Inst); ok {
			one.Name = name
		}
		a.Values = append(a.Values, one)
	}
	return a
}
