package derived

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// The corpus is what libpcp 6.0.3 answers for some two thousand definitions; testdata/corpus/README.md
// explains its files. The operands' values are in testdata/operands, recorded from a real pmcd by
// `go test ./test -run TestOperandsOfCorpus -record-operands`.

// corpusCase is a line of expected.jsonl.
type corpusCase struct {
	Name, Expr, Quirk string
	Setup, Steps      [][]string
	Class, Compare    string
	Type, Sem         string
	Dim, Scale        [3]int8
	InDom             *string
	Fetches           []corpusFetch
	Stderr            string
}

type corpusFetch struct {
	Values  *[][3]any
	Error   *struct{ Code pdu.Code }
	Elapsed float64
}

func readCorpus(tb testing.TB) []corpusCase {
	files, err := filepath.Glob("testdata/corpus/*/expected.jsonl")
	require.NoError(tb, err)
	var all []corpusCase
	for _, file := range files {
		if filepath.Base(filepath.Dir(file)) == "config" {
			continue
		}
		f, err := os.Open(file)
		require.NoError(tb, err)
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var c corpusCase
			require.NoError(tb, json.Unmarshal(lines.Bytes(), &c), "%s", lines.Text())
			c.Name = strings.TrimPrefix(c.Name, "dmc.")
			all = append(all, c)
		}
		require.NoError(tb, lines.Err())
		require.NoError(tb, f.Close())
	}
	require.Greater(tb, len(all), 1500)
	return all
}

// recording is what a collector said of the operands; TestOperandsOfCorpus in folder test makes it.
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
func (c recordedCatalog) samples(tb testing.TB, fetches []corpusFetch) []Sample {
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
	wanted := map[string]string{} // case → decision
	for _, d := range differences {
		for name := range strings.FieldsSeq(d.cases) {
			wanted[name] = d.id
		}
	}
	var report strings.Builder
	classes := map[string]int{}
	for _, c := range readCorpus(t) {
		def, err := Parse("dmc."+c.Name, c.Expr)
		if err != nil {
			continue // package syntax has a test of its own over the corpus
		}
		classes[c.Class+" "+c.Compare]++
		found := r.compare(t, c, def)
		id, ok := wanted[c.Name]
		if !ok {
			assert.Empty(t, found, "%s %s: %s", c.Name, c.Quirk, c.Expr)
			continue
		}
		delete(wanted, c.Name)
		assert.NotEmpty(t, found, "%s %s is no longer different: %s", c.Name, id, c.Expr)
		fmt.Fprintf(&report, "%s %s: %s\n%s\n\n", c.Name, id, c.Expr, strings.TrimPrefix(found, "\n"))
	}
	assert.Greater(t, classes["ok exact"], 1000, "cases whose values are compared")
	assert.Greater(t, classes["ok per-elapsed"], 10)
	assert.Greater(t, classes["semantic "], 140)
	assert.Greater(t, classes["unbound "], 20)
	assert.Empty(t, wanted, "these are not in the corpus, or not compared")
	golden(t, "corpus-differences.txt", report.String())
}

// compare returns how our answer differs from that of libpcp.
func (r *recording) compare(t *testing.T, c corpusCase, def *Definition) string {
	s := r.byKey[situationKey(c.Setup, c.Steps)]
	require.NotNil(t, s, "%s: the recording lacks its operands", c.Name)
	cat := recordedCatalog{r, s}
	set := NewSet([]*Definition{def}, cat, "derived")
	m := set.Metrics()[0]

	switch c.Class {
	case "semantic":
		if m.Err == nil {
			return "want " + strings.TrimSpace(c.Stderr) + ", got no error"
		}
		return different("message", c.Stderr, m.Err.Error()+"\n")
	case "unbound":
		return different("unbound", true, m.Err != nil && m.Err.Unbound())
	}
	if m.Err != nil {
		if c.Class == "ok" {
			return "want good, got " + m.Err.Error()
		}
		return ""
	}
	found := ""
	if c.Class == "ok" {
		found = differentDesc(c, m.Desc)
	}
	eval := set.NewEvaluation()
	var history []Sample
	for i, sample := range cat.samples(t, c.Fetches) {
		history = slices.Insert(history, 0, sample)
		eval.Reset(history...)
		got := eval.Value(m)
		if c.Class == "ok" {
			found += r.differentValues(c, i, m, got)
		}
	}
	return found
}

func different(what string, want, got any) string {
	if assert.ObjectsAreEqual(want, got) {
		return ""
	}
	return fmt.Sprintf("\n%s: want %v, got %v", what, want, got)
}

func differentDesc(c corpusCase, got pdu.Desc) string {
	indom := pdu.NoInDom.String()
	if c.InDom != nil {
		indom = *c.InDom
	}
	u := got.Units
	return different("type", c.Type, got.Type.String()) + different("semantics", c.Sem, got.Sem.String()) +
		different("indom", indom, got.InDom.String()) +
		different("dimension", c.Dim, [3]int8{u.Space, u.Time, u.Count}) +
		different("scale", c.Scale, [3]int8{int8(u.SpaceScale), int8(u.TimeScale), u.CountScale})
}

func (r *recording) differentValues(c corpusCase, i int, m *Metric, got *Vector) string {
	what := fmt.Sprintf("fetch %d", i)
	want := c.Fetches[i]
	switch {
	case c.Compare != "exact" && c.Compare != "per-elapsed":
		return ""
	case want.Error != nil:
		return different(what, want.Error.Code, got.Code)
	case got.Code < 0:
		return "\n" + what + ": got " + got.Code.Error()
	}
	var wants, gots []string
	for _, v := range *want.Values {
		wants = append(wants, fmt.Sprint(v[0], v[1], " ", v[2]))
	}
	for i := range got.Len() {
		id := got.At(i)
		var name any
		if text, ok := r.names[m.Desc.InDom].Name(id); ok {
			name = text
		}
		gots = append(gots, fmt.Sprint(id, name, " ", shortest(valueAt(got, i))))
	}
	if c.Compare == "per-elapsed" && len(wants) == len(gots) {
		for k, v := range *want.Values {
			if near(v[2].(string), valueAt(got, k)) {
				gots[k] = wants[k]
			}
		}
	}
	return different(what, wants, gots)
}

// shortest writes doubles as the corpus has them: positional between 1e-4 and 1e16.
func shortest(text string) string {
	if !strings.ContainsAny(text, ".e") || strings.HasPrefix(text, "hex") {
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	if a := math.Abs(f); a >= 1e-4 && a < 1e16 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return text
}

// near allows for elapsed times that the corpus has in microseconds.
func near(want, got string) bool {
	a, errA := strconv.ParseFloat(want, 64)
	b, errB := strconv.ParseFloat(got, 64)
	return errA == nil && errB == nil && math.Abs(a-b) <= 1e-3*math.Max(math.Abs(a), 1)
}

// differences are the cases that we answer otherwise than libpcp 6.0.3, on purpose; any other
// difference is a bug. Each gives the decision (spec language.md section 10, else design.md section 6)
// and the reason. What exactly differs is in testdata/corpus-differences.txt.
var differences = []struct{ id, why, cases string }{
	{"Q-NOT-TYPE", "the negation is U32 without units, as the man page says", `
		booledge.c036 booledge.c037 booledge.c044 booledge.c045 booledge.c048 booledge.c049
		booledge.c052 booledge.c056 booledge.c060 booledge.c062 booledge.c066 meta.c089 meta.c104
		prec.c060`},
	{"Q-REL-SEM", "a relation or boolean is never a counter, as the man page says", `
		booledge.c033 live.c057 meta.c013 meta.c026 meta.c039 meta.c052 meta.c065 meta.c090
		reledge.c025 reledge.c026 reledge.c028 reledge.c054 sem.c037 sem.c039 sem.c043 sem.c047
		sem.c052 sem.c055 sem.c056 sem.c061 sem.c064 sem.c065 sem.c066`},
	{"Q-MUL-SEM", "the product with a counter is a counter, as the man page says", `
		sem.c025 sem.c088 sem.c089 sem.c090`},
	{"Q-REL-SCALE", "relations convert to the larger scale, as the man page says", `
		reledge.c034 reledge.c035 reledge.c036`},
	{"Q-REL-CONST", "any constant may be compared with anything", `
		reledge.c039 reledge.c040 reledge.c042`},
	{"Q-CONST-LEFT", "a constant on the left keeps its scale", `
		meta.c199 meta.c201 units.c075 units.c076 units.c077 units.c078 units.c079 units.c084`},
	{"Q-SCALE-SIGN", "the sign of the operand's own dimension decides", `
		units.c045 units.c047 units.c063 units.c115`},
	{"Q-SCALE-POWER", "each power is converted", `
		units.c035 units.c037`},
	{"Q-SCALE-OVERFLOW", "conversion is exact at any size; libpcp counts in 32 or 64 bits and refuses Zbyte", `
		units.c014 units.c015 units.c019 units.c022 rescale.c051 rescale.c052 rescale.c053`},
	{"Q-DIM-RANGE", "a dimension that cannot be held is an error", `
		meta.c182 meta.c185 meta.c188 meta.c189 meta.c190 meta.c191`},
	{"Q-TERN-GUARD", "the domain of the guard must be that of the operands", `
		ternary.c068`},
	{"Q-TERN-POS", "values are paired by instance", `
		inst.c025 ternary.c036 ternary.c038 ternary.c042`},
	{"Q-TERN-BOTH", "only the selected operand matters", `
		ternary.c073 ternary.c074 ternary.c077 ternary.c078`},
	{"Q-TERN-LAZY", "a static guard selects at bind time, and the result has the metadata of the selected operand", `
		ternary.c027 ternary.c043 ternary.c047 ternary.c048 ternary.c053 ternary.c054 ternary.c055
		ternary.c057 ternary.c058 ternary.c060 ternary.c061 ternary.c064 ternary.c065 ternary.c067
		ternary.c080 ternary.c082`},
	{"Q-AGGR-EMPTY", "the average of nothing is no value", `
		func.c139`},
	{"avg", "computed in double: the average of 100, 200 … 900 is 500", `
		func.c004 func.c007 func.c009 func.c013 func.c015 func.c018 func.c235 func.c252 func.c262`},
	{"Q-DELTA-ERR", "after an error there is nothing to compare with", `
		delta.c035`},
	{"delta", "U64 is subtracted exactly before it becomes DOUBLE", `
		delta.c018 delta.c019`},
	{"Q-RATE-WRAP", "a counter that went backwards has no rate, of any type; anything else has a negative one", `
		rate.c018 rate.c019 rate.c021 rate.c023`},
	{"Q-UNKNOWN", "event.flags and event.missed exist inside libpcp only", `
		names.c068`},
}
