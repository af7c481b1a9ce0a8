//go:build pcp

package test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/conformance"
	"pmdaderived/test/pmcdtest"
)

const (
	corpusGlob   = "../derived/testdata/corpus/*/expected.jsonl"
	operandsFile = "../derived/testdata/operands/operands.json"
)

var recordOperands = flag.Bool("record-operands", false,
	"write what a private pmcd says about the operands of the language corpus to derived/testdata/operands")

// recording is the content of operandsFile: everything that the definitions of the corpus can ask a
// collector. Numbers are decimal, aggregates and events "hex:" and their bytes, as in the corpus.
type recording struct {
	Metrics    map[string]recordedDesc   `json:"metrics"`
	Failing    map[string]pdu.Code       `json:"failing"` // names without a descriptor, and why
	InDoms     map[string]*recordedNames `json:"indoms"`
	Situations []*situation              `json:"situations"`
}

type recordedDesc struct {
	PMID  pdu.PMID      `json:"pmid"`
	Type  pdu.Type      `json:"type"`
	InDom pdu.InDom     `json:"indom"`
	Sem   pdu.Semantics `json:"sem"`
	Units uint32        `json:"units"` // as on the wire
}

type recordedNames struct {
	Names     map[pdu.Inst]string `json:"names"`
	Selectors map[string]pdu.Inst `json:"selectors"` // names in brackets, as the agent takes them
}

// situation has the stores and steps that some cases of the corpus have in common. Fetches has the operands of all of
// them, at each fetch.
type situation struct {
	Setup   [][]string                 `json:"setup"`
	Steps   [][]string                 `json:"steps"`
	Descs   map[string]recordedDesc    `json:"descs,omitempty"` // that are not as in Metrics
	Fetches []map[string]recordedValue `json:"fetches"`

	operands map[string]bool
	defs     []*derived.Definition
}

type recordedValue struct {
	Code   pdu.Code `json:"code,omitempty"`
	Values [][2]any `json:"values,omitempty"` // instance, value
}

// defaults is the state of the sample agent in which the corpus was made.
var defaults = [][]string{
	{"sample.long.write_me", "13"},
	{"sample.ulong.write_me", "13"},
	{"sample.longlong.write_me", "13"},
	{"sample.ulonglong.write_me", "13"},
	{"sample.float.write_me", "13"},
	{"sample.double.write_me", "13"},
	{"sample.string.write_me", "13"},
	{"sample.write_me", "2"},
	{"sample.many.count", "5"},
	{"sample.dodgey.control", "5"},
	{"sample.error_code", "0"},
	{"sample.dynamic.meta.pmdesc.type", "0"},
	{"sample.dynamic.meta.pmdesc.sem", "4"},
	{"sample.dynamic.meta.pmdesc.units", "520105984"},
	{"sample.controller.mirage", "10000"},
	{"sample.bin", "100", "bin-100"},
	{"sample.bin", "200", "bin-200"},
	{"sample.bin", "300", "bin-300"},
	{"sample.bin", "400", "bin-400"},
	{"sample.bin", "500", "bin-500"},
	{"sample.bin", "600", "bin-600"},
	{"sample.bin", "700", "bin-700"},
	{"sample.bin", "800", "bin-800"},
	{"sample.bin", "900", "bin-900"},
}

// The recorded operands that package derived runs the corpus over are those of a real collector: same
// descriptors, and the same values where they do not move.
func TestOperandsOfCorpus(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{})
	ctx := context.Background()
	conn := dial(t, p)
	r := &recorder{t: t, ctx: ctx, conn: conn, recording: recording{
		Metrics: map[string]recordedDesc{}, Failing: map[string]pdu.Code{}, InDoms: map[string]*recordedNames{},
	}}
	for _, s := range situations(t) {
		r.record(s)
	}
	text := must(json.MarshalIndent(r.recording, "", " "))(t)
	if *recordOperands {
		require.NoError(t, os.WriteFile(operandsFile, append(text, '\n'), 0o644))
	}

	var kept, now recording
	data := must(os.ReadFile(operandsFile))(t)
	require.NoError(t, json.Unmarshal(data, &kept))
	require.NoError(t, json.Unmarshal(text, &now))
	if controlIsString(t, conn) {
		control := kept.Metrics[sampleControl]
		control.Type = pdu.TypeString
		kept.Metrics[sampleControl] = control
	}
	assert.Equal(t, kept.Metrics, now.Metrics)
	assert.Equal(t, kept.Failing, now.Failing)
	require.Len(t, now.Situations, len(kept.Situations))
	for i, s := range kept.Situations {
		for k, fetch := range s.Fetches {
			assert.Equal(t, fetch["sample.bin"], now.Situations[i].Fetches[k]["sample.bin"])
		}
	}
}

// sampleControl is the one operand of the corpus that is another metric in PCP 7: a string in place of a number.
const sampleControl = "sample.control"

func controlIsString(t *testing.T, conn *pmapi.Conn) bool {
	t.Helper()
	found := must(conn.LookupNames(t.Context(), []string{sampleControl}))(t)
	desc := must(conn.Desc(t.Context(), found[0].PMID))(t)
	return desc.Type == pdu.TypeString
}

// situations reads the corpus.
func situations(t *testing.T) []*situation {
	files := must(filepath.Glob(corpusGlob))(t)
	byKey := map[string]*situation{}
	for _, file := range files {
		f := must(os.Open(file))(t)
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var c struct {
				Name, Expr   string
				Setup, Steps [][]string
			}
			require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
			def, err := derived.Parse(c.Name, c.Expr)
			if err != nil {
				continue // a syntax error has no operands
			}
			c.Steps = slices.DeleteFunc(c.Steps, func(s []string) bool { return s[0] == "sleep" })
			key := fmt.Sprint(c.Setup, c.Steps)
			if byKey[key] == nil {
				byKey[key] = &situation{Setup: c.Setup, Steps: c.Steps, operands: map[string]bool{}}
			}
			s := byKey[key]
			s.defs = append(s.defs, def)
			for name := range def.Names {
				s.operands[name] = true
			}
		}
		require.NoError(t, lines.Err())
		require.NoError(t, f.Close())
	}
	require.NotEmpty(t, byKey)
	var all []*situation
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		all = append(all, byKey[key])
	}
	return all
}

type recorder struct {
	t    *testing.T
	ctx  context.Context
	conn *pmapi.Conn
	recording
}

func (r *recorder) record(s *situation) {
	for _, store := range slices.Concat(defaults, s.Setup) {
		r.store(store)
	}
	catalog := derived.CatalogMap{}
	var names []string
	var ids []pdu.PMID
	for _, name := range slices.Sorted(maps.Keys(s.operands)) {
		desc, code := r.desc(name)
		if code < 0 {
			r.Failing[name] = code
			continue
		}
		got := recordedDesc{desc.PMID, desc.Type, desc.InDom, desc.Sem, desc.Units.Wire()}
		if known, ok := r.Metrics[name]; !ok {
			r.Metrics[name] = got
		} else if known != got {
			if s.Descs == nil {
				s.Descs = map[string]recordedDesc{}
			}
			s.Descs[name] = got
		}
		catalog[name] = desc
		names, ids = append(names, name), append(ids, desc.PMID)
		if desc.InDom != pdu.NoInDom {
			r.names(desc.InDom)
		}
	}
	r.selectors(derived.Language{}.NewSet(s.defs, catalog, ""))
	for _, step := range s.Steps {
		switch step[0] {
		case "store":
			r.store(step[1:])
		case "fetch":
			s.Fetches = append(s.Fetches, r.fetch(names, ids, catalog))
		}
	}
	r.Situations = append(r.Situations, s)
}

func (r *recorder) desc(name string) (pdu.Desc, pdu.Code) {
	found := must(r.conn.LookupNames(r.ctx, []string{name}))(r.t)
	if found[0].Code < 0 {
		return pdu.Desc{}, found[0].Code
	}
	desc, err := r.conn.Desc(r.ctx, found[0].PMID)
	return desc, pdu.CodeOf(err)
}

func (r *recorder) names(d pdu.InDom) {
	known := r.InDoms[d.String()]
	if known == nil {
		known = &recordedNames{map[pdu.Inst]string{}, map[string]pdu.Inst{}}
		r.InDoms[d.String()] = known
	}
	instances, err := r.conn.Instances(r.ctx, d)
	if err != nil {
		return // a domain without instances, or that nobody owns
	}
	for _, i := range instances {
		known.Names[i.ID] = i.Name
	}
}

func (r *recorder) selectors(set *derived.Set) {
	for _, m := range set.Metrics() {
		if m.Err != nil {
			continue
		}
		for _, sel := range m.Needs().Selectors {
			if id, err := r.conn.InstanceID(r.ctx, sel.InDom, sel.Name); err == nil {
				r.InDoms[sel.InDom.String()].Selectors[sel.Name] = id
			}
		}
	}
}

func (r *recorder) fetch(names []string, ids []pdu.PMID, catalog derived.CatalogMap) map[string]recordedValue {
	got := make(map[string]recordedValue, len(names))
	if len(ids) == 0 {
		return got
	}
	res := must(r.conn.Fetch(r.ctx, ids))(r.t)
	for i, set := range res.Sets {
		v := recordedValue{Code: set.Code}
		for _, value := range set.Values {
			v.Values = append(v.Values, [2]any{value.Inst, conformance.Text(catalog[names[i]].Type, value.Bits, value.Bytes)})
		}
		got[names[i]] = v
	}
	return got
}

// store does what pmstore METRIC VALUE [INSTANCE] does.
func (r *recorder) store(words []string) {
	desc, code := r.desc(words[0])
	require.Zero(r.t, code, "%v", words)
	id := pdu.NoInst
	if len(words) == 3 {
		id = must(r.conn.InstanceID(r.ctx, desc.InDom, words[2]))(r.t)
	}
	value := pdu.Value{Inst: id, Type: desc.Type}
	switch desc.Type {
	case pdu.Type32, pdu.Type64:
		n := must(strconv.ParseInt(words[1], 10, 64))(r.t)
		value.Bits = uint64(n)
		if desc.Type == pdu.Type32 {
			value.Bits = uint64(uint32(n))
		}
	case pdu.TypeU32, pdu.TypeU64:
		value.Bits = must(strconv.ParseUint(words[1], 10, 64))(r.t)
	case pdu.TypeFloat, pdu.TypeDouble:
		f := must(strconv.ParseFloat(words[1], 64))(r.t)
		value.Bits = math.Float64bits(f)
		if desc.Type == pdu.TypeFloat {
			value.Bits = uint64(math.Float32bits(float32(f)))
		}
	default:
		value.Bytes = []byte(words[1])
	}
	err := r.conn.Store(r.ctx, []pdu.ValueSet{{PMID: desc.PMID, Values: []pdu.Value{value}}})
	require.NoError(r.t, err, "%v", words)
}
