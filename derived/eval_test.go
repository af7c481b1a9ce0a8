package derived

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// The scripts in testdata/eval give operands at successive moments and what expressions make of them.
//
//	=== TITLE                   begins a story; nothing is left of the one before
//	@ SECONDS                   begins a sample; metrics keep their values until they get others
//	METRIC = VALUES             of a metric of package derivedtest
//	names INDOM = ID=NAME …     external names of instances
//	select INDOM = NAME=ID …    what the agent takes names in brackets to mean
//	labels INDOM LABEL = ID=VALUE …
//	refused INDOM = CODE        why other names and labels are not known; none: others do not exist
//	members INDOM = ID …        instances of a domain
//	let NAME = EXPR             a definition that others may use
//	> EXPR                      below it, indented, the result at each sample
//
//	VALUES   none | error: TEXT | VALUE | ID=VALUE …
//	VALUE    a decimal number, a "string", or hex:0a0b
//
// -update writes what the package computes.
func TestEval(t *testing.T) {
	files, err := filepath.Glob("testdata/eval/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			stories := strings.Split(string(text), "=== ")
			for i, story := range stories[1:] {
				title, _, _ := strings.Cut(story, "\n")
				t.Run(title, func(t *testing.T) { stories[i+1] = runStory(t, story) })
			}
			if *derivedtest.Update {
				require.NoError(t, os.WriteFile(file, []byte(strings.Join(stories, "=== ")), 0o644))
			}
		})
	}
}

// runStory checks a story and returns it with the results that were computed.
func runStory(t *testing.T, text string) string {
	lines := strings.Split(text, "\n")
	var made strings.Builder
	s := &story{tb: t, cat: derivedtest.NewCatalog(t)}
	for i := 0; i < len(lines); i++ {
		if i == len(lines)-1 {
			made.WriteString(lines[i])
			break
		}
		fmt.Fprintln(&made, lines[i])
		expr, ok := strings.CutPrefix(lines[i], "> ")
		if !ok {
			if i > 0 && lines[i] != "" && lines[i][0] != '#' {
				s.line(lines[i])
			}
			continue
		}
		var want []string
		for ; strings.HasPrefix(lines[i+1], "\t"); i++ {
			want = append(want, strings.TrimPrefix(lines[i+1], "\t"))
		}
		got := s.results(expr)
		if !*derivedtest.Update {
			assert.Equal(t, want, got, "%s", expr)
		}
		for _, line := range got {
			fmt.Fprintf(&made, "\t%s\n", line)
		}
	}
	return made.String()
}

// story has the samples and definitions of the lines of a script so far.
type story struct {
	tb      testing.TB
	cat     derivedtest.Catalog
	samples []*moment
	lets    []*Definition
}

func (s *story) line(line string) {
	if let, ok := strings.CutPrefix(line, "let "); ok {
		name, expr, _ := strings.Cut(let, " = ")
		s.lets = append(s.lets, definition(s.tb, name, expr))
		return
	}
	if at, ok := strings.CutPrefix(line, "@ "); ok {
		s.next(at)
		return
	}
	what, text, ok := strings.Cut(line+" ", " = ")
	require.True(s.tb, ok, line)
	now := s.samples[len(s.samples)-1]
	pairs := words(s.tb, text)
	verb, indom, _ := strings.Cut(what, " ")
	switch verb {
	case "names":
		names := map[pdu.Inst]string{}
		for _, p := range pairs {
			names[inst(s.tb, p[0])] = p[1]
		}
		now.named(inDom(s.tb, indom), names, nil, nil)
	case "labels":
		indom, label, _ := strings.Cut(indom, " ")
		values := map[pdu.Inst]string{}
		for _, p := range pairs {
			values[inst(s.tb, p[0])] = p[1]
		}
		now.named(inDom(s.tb, indom), nil, nil, map[string]map[pdu.Inst]string{label: values})
	case "select":
		selectors := map[string]pdu.Inst{}
		for _, p := range pairs {
			selectors[p[0]] = inst(s.tb, p[1])
		}
		now.named(inDom(s.tb, indom), nil, selectors, nil)
	case "refused":
		d := inDom(s.tb, indom)
		table := now.tables[d]
		table.refused = nil
		if word := strings.TrimSpace(text); word != "none" {
			code, err := pdu.ParseCode(word)
			require.NoError(s.tb, err)
			table.refused = code
		}
		now.tables[d] = table
		now.named(d, nil, nil, nil)
	case "members":
		var ids []pdu.Inst
		for _, p := range pairs {
			ids = append(ids, inst(s.tb, p[1]))
		}
		now.members[inDom(s.tb, indom)] = NewInstSet(ids)
	default:
		desc, err := s.cat.Desc(what)
		require.NoError(s.tb, err, line)
		now.values[desc.PMID] = vector(s.tb, desc, strings.TrimSpace(text))
	}
}

// named gives the sample a table of names of its own. Names, selectors and labels that are not nil replace those that
// it has; other labels stay.
func (m *moment) named(
	d pdu.InDom, names map[pdu.Inst]string, selectors map[string]pdu.Inst, labels map[string]map[pdu.Inst]string,
) {
	table := m.tables[d]
	if names != nil {
		table.names = names
	}
	if selectors != nil {
		table.selectors = selectors
	}
	all := maps.Clone(table.labels)
	if all == nil {
		all = map[string]map[pdu.Inst]string{}
	}
	maps.Copy(all, labels)
	table.labels = all
	m.tables[d] = table
	m.names[d] = NewNameTable(table.names, table.selectors).WithLabels(all)
	if table.refused != nil {
		m.names[d] = m.names[d].Unanswered(table.refused, table.refused)
	}
}

// next begins a sample with all that the one before has.
func (s *story) next(at string) {
	seconds, err := strconv.ParseFloat(at, 64)
	require.NoError(s.tb, err)
	m := &moment{
		at:     time.Unix(1_700_000_000, 0).Add(time.Duration(seconds * float64(time.Second))),
		values: map[pdu.PMID]*Vector{}, members: map[pdu.InDom]*InstSet{},
		names: map[pdu.InDom]*NameTable{}, tables: map[pdu.InDom]table{},
	}
	if n := len(s.samples); n > 0 {
		old := s.samples[n-1]
		for id, v := range old.values {
			m.values[id] = v
		}
		for d, v := range old.names {
			m.names[d] = v
		}
		maps.Copy(m.tables, old.tables)
		for d, v := range old.members {
			m.members[d] = v
		}
	}
	s.samples = append(s.samples, m)
}

// words cuts a line into blank-separated KEY=VALUE pairs; both may be quoted, the key may lack.
func words(tb testing.TB, text string) [][2]string {
	var pairs [][2]string
	word := func() string {
		if !strings.HasPrefix(text, `"`) {
			n := strings.IndexAny(text, " =")
			if n < 0 {
				n = len(text)
			}
			w := text[:n]
			text = text[n:]
			return w
		}
		quoted, err := strconv.QuotedPrefix(text)
		require.NoError(tb, err)
		text = text[len(quoted):]
		w, err := strconv.Unquote(quoted)
		require.NoError(tb, err)
		return w
	}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		p := [2]string{1: word()}
		if strings.HasPrefix(text, "=") {
			text = text[1:]
			p = [2]string{p[1], word()}
		}
		pairs = append(pairs, p)
	}
	return pairs
}

func inDom(tb testing.TB, text string) pdu.InDom {
	d, err := pdu.ParseInDom(text)
	require.NoError(tb, err)
	return d
}

func inst(tb testing.TB, text string) pdu.Inst {
	n, err := strconv.Atoi(text)
	require.NoError(tb, err)
	return pdu.Inst(n)
}

// codes that operands can have in scripts.
var codes = []pdu.Code{
	pdu.ErrAgain, pdu.ErrAppVersion, pdu.ErrBadDerive, pdu.ErrNoAgent,
	pdu.ErrPMID, pdu.ErrProfile, pdu.ErrType, pdu.ErrValue,
}

// vector reads VALUES.
func vector(tb testing.TB, desc pdu.Desc, text string) *Vector {
	v := &Vector{Type: desc.Type}
	if message, ok := strings.CutPrefix(text, "error: "); ok {
		i := slices.IndexFunc(codes, func(c pdu.Code) bool { return c.Error() == message })
		require.GreaterOrEqual(tb, i, 0, text)
		v.Code = codes[i]
		return v
	}
	ids := []pdu.Inst{}
	if text != "none" {
		for _, p := range words(tb, text) {
			addValue(tb, v, p[1])
			if p[0] != "" {
				ids = append(ids, inst(tb, p[0]))
			}
		}
	}
	if desc.InDom != pdu.NoInDom {
		require.Equal(tb, v.Len(), len(ids), text)
		v.Insts = NewInstSet(ids)
	}
	return v
}

// textOf is a vector as VALUES.
func textOf(v *Vector) string {
	if v.Code < 0 {
		return strings.TrimSuffix("error: "+v.Code.Error()+": "+v.Why, ": ")
	}
	if v.Len() == 0 {
		return "none"
	}
	var words []string
	for i := range v.Len() {
		word := valueAt(v, i)
		if v.Type == pdu.TypeString {
			word = strconv.Quote(word)
		}
		if v.Insts != nil {
			word = fmt.Sprintf("%d=%s", v.At(i), word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// results evaluates an expression at every sample: with a new evaluation for each, and with one that
// is used for all, over samples that share equal sets of instances. They must agree.
func (s *story) results(expr string) []string {
	def, err := Parse("it", expr)
	if err != nil {
		return []string{err.Error()}
	}
	set := Language{}.NewSet(append([]*Definition{def}, s.lets...), s.cat, "derived")
	m := set.Metrics()[0]
	if m.Err != nil {
		return []string{m.Err.Error()}
	}
	kept := set.NewEvaluation()
	shared := interned(s.samples)
	var got []string
	for i := range s.samples {
		fresh := set.NewEvaluation()
		fresh.Reset(newestFirst(s.samples[:i+1])...)
		v := fresh.Value(m)
		checkVector(s.tb, m, v)
		text := textOf(v)
		kept.Reset(newestFirst(shared[:i+1])...)
		assert.Equal(s.tb, text, textOf(kept.Value(m)), "%s with a kept evaluation", expr)
		got = append(got, text)
	}
	return got
}

// checkVector checks that a result is as the documentation of Vector says.
func checkVector(tb testing.TB, m *Metric, v *Vector) {
	if v.Code < 0 || v.Len() == 0 {
		return
	}
	assert.Equal(tb, m.Desc.Type, v.Type)
	assert.Equal(tb, m.Desc.InDom != pdu.NoInDom, v.Insts != nil, "instances")
	if v.Insts != nil {
		assert.Equal(tb, v.Len(), v.Insts.Len())
	} else {
		assert.Equal(tb, 1, v.Len())
	}
	if v.Type == pdu.Type32 || v.Type == pdu.TypeU32 || v.Type == pdu.TypeFloat {
		for _, b := range v.Bits {
			assert.Zero(tb, b>>32, "32-bit types are zero-extended")
		}
	}
}

func newestFirst(samples []*moment) []Sample {
	var history []Sample
	for _, m := range slices.Backward(samples) {
		history = append(history, m)
	}
	return history
}

// interned copies samples so that equal sets of instances are one, as the agent makes them.
func interned(samples []*moment) []*moment {
	var known []*InstSet
	var made []*moment
	for _, m := range samples {
		c := *m
		c.values = map[pdu.PMID]*Vector{}
		for id, v := range m.values {
			same := *v
			if v.Insts != nil {
				i := slices.IndexFunc(known, func(s *InstSet) bool { return slices.Equal(s.IDs(), v.Insts.IDs()) })
				if i < 0 {
					i = len(known)
					known = append(known, v.Insts)
				}
				same.Insts = known[i]
			}
			c.values[id] = &same
		}
		made = append(made, &c)
	}
	return made
}
