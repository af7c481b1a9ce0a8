package pdu

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNewLabelSet(t *testing.T) {
	for _, tt := range []struct {
		name   string
		level  LabelType
		labels map[string]any
		json   string
		want   []string // name=value flags
	}{
		{"none", LabelItem, nil, "", nil},
		{"one string", LabelInDom, map[string]any{"model": "RGB"}, `{"model":"RGB"}`, []string{`model="RGB" 4`}},
		{
			"sorted", LabelDomain,
			map[string]any{"role": "testing", "agent": "sample"},
			`{"agent":"sample","role":"testing"}`,
			[]string{`agent="sample" 2`, `role="testing" 2`},
		},
		{
			"values as JSON", LabelItem,
			map[string]any{"a": 1, "b": -2.5, "c": true, "d": nil, "e": []int{1, 2}, "f": `q"<&>`, "g": json.RawMessage("[ 1 ]")},
			`{"a":1,"b":-2.5,"c":true,"d":null,"e":[1,2],"f":"q\"<&>","g":[1]}`,
			[]string{"a=1 16", "b=-2.5 16", "c=true 16", "d=null 16", "e=[1,2] 16", `f="q\"<&>" 16`, "g=[1] 16"},
		},
		{
			"inside others", LabelInstances,
			map[string]any{"a.b": 1, "a.c.d": 2, "z": 3},
			`{"a.b":1,"a.c.d":2,"z":3}`,
			[]string{"a.b=1 96", "a.c.d=2 96", "z=3 32"},
		},
		{"dotted", LabelItem, map[string]any{"derived.file": "x"}, `{"derived.file":"x"}`, []string{`derived.file="x" 80`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := NewLabelSet(7, tt.level, tt.labels)
			require.NoError(t, err)
			assert.Equal(t, tt.json, set.JSON)
			assert.Equal(t, Inst(7), set.Inst)
			var got []string
			for _, l := range set.Labels {
				got = append(got, fmt.Sprintf("%s=%s %d", set.Name(l), set.Value(l), l.Flags))
			}
			assert.Equal(t, tt.want, got)

			m := Labels{Ident: 1, Type: tt.level, Sets: []LabelSet{set, set}}
			var back Labels
			require.NoError(t, back.Decode(m.Append(nil, 0)[HeaderSize:]))
			assert.Equal(t, m.Sets, back.Sets)
		})
	}
}

// The golden vectors of the sample agent can be made from their labels.
func TestNewLabelSetLikeStock(t *testing.T) {
	v := loadVector(t, "testdata/vectors/a2p-label-indom.vec")
	set, err := NewLabelSet(NoInst, LabelInDom, map[string]any{"model": "RGB"})
	require.NoError(t, err)
	m := Labels{Ident: uint32(NewInDom(29, 1)), Type: LabelInDom, Sets: []LabelSet{set}}
	assert.Equal(t, hex.Dump(v.frame), hex.Dump(m.Append(nil, 0)))
}

func TestNewLabelSetErrors(t *testing.T) {
	many := map[string]any{}
	for i := range MaxLabels + 1 {
		many[fmt.Sprintf("l%d", i)] = i
	}
	for _, tt := range []struct {
		name   string
		labels map[string]any
		want   string
	}{
		{"empty name", map[string]any{"": 1}, `label "": not a name`},
		{"digit first", map[string]any{"1a": 1}, `label "1a": not a name`},
		{"underscore first", map[string]any{"_a": 1}, `label "_a": not a name`},
		{"blank", map[string]any{"a b": 1}, `label "a b": not a name`},
		{"quote", map[string]any{`a"`: 1}, `label "a\"": not a name`},
		{"empty part", map[string]any{"a..b": 1}, `label "a..b": not a name`},
		{"dot last", map[string]any{"a.": 1}, `label "a.": not a name`},
		{"nested", map[string]any{"a": map[string]any{"b": 1}}, "label a: nested, name what is inside a.NAME"},
		{"not JSON", map[string]any{"a": math.NaN()}, "label a: json: unsupported value: NaN"},
		{"long name", map[string]any{strings.Repeat("a", 256): 1}, "name above 255 bytes"},
		{"too many", many, "255 labels in a set, at most 254"},
		{"too large", map[string]any{"a": strings.Repeat("x", MaxLabelJSON)}, "label a: set above 65534 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewLabelSet(NoInst, LabelItem, tt.labels)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// The labels of many instances are those that each would have alone, and share memory.
func TestNameLabels(t *testing.T) {
	all := []Instance{{ID: 3, Name: "root"}, {ID: 9}, {ID: 1, Name: `a "b" \ <&>`}, {ID: 1<<31 - 1, Name: "ü\u2028\x01\xff"}, {ID: 0, Name: "last"}}
	same := func(values []string, name string) []string { return append(values, name) }
	three := func(values []string, name string) []string { return append(values, name, "of "+name, "") }
	for _, row := range []struct {
		names  []string
		values func([]string, string) []string
	}{{[]string{"kind"}, same}, {[]string{"a.b"}, same}, {[]string{"route", "a.b", "code"}, three}} {
		sets, err := NameLabels(row.names, all, row.values)
		require.NoError(t, err)
		for i, one := range all {
			labels := map[string]any{}
			for k, value := range row.values(nil, one.Name) {
				labels[row.names[k]] = value
			}
			want, err := NewLabelSet(one.ID, LabelInstances, labels)
			require.NoError(t, err)
			assert.Equal(t, want, sets[i])
		}
	}
	sets, err := NameLabels([]string{"kind"}, nil, same)
	assert.NoError(t, err)
	assert.Empty(t, sets)
	_, err = NameLabels([]string{"a", "1st"}, all, same)
	assert.ErrorContains(t, err, "not a name")
	_, err = NameLabels([]string{strings.Repeat("a", MaxLabelName+1)}, all, same)
	assert.ErrorIs(t, err, ErrTooBig)
	for size, ok := range map[int]bool{MaxLabelJSON: true, MaxLabelJSON + 1: false} {
		_, err = NameLabels([]string{"a"}, []Instance{{Name: strings.Repeat("x", size-len(`{"a":""}`))}}, same)
		assert.Equal(t, ok, err == nil, "%d bytes", size)
	}
}

// The largest set that is allowed goes over the wire and back.
func TestNewLabelSetLargest(t *testing.T) {
	const rest = len(`{"a":""}`)
	for _, tt := range []struct {
		name string
		size int
		ok   bool
	}{
		{"fits", MaxLabelJSON, true},
		{"one too many", MaxLabelJSON + 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := NewLabelSet(NoInst, LabelItem, map[string]any{"a": strings.Repeat("x", tt.size-rest)})
			if !tt.ok {
				assert.ErrorIs(t, err, ErrTooBig)
				return
			}
			require.NoError(t, err)
			require.Len(t, set.JSON, tt.size)
			m := Labels{Type: LabelItem, Sets: []LabelSet{set}}
			var back Labels
			require.NoError(t, back.Decode(m.Append(nil, 0)[HeaderSize:]))
			assert.Equal(t, m.Sets, back.Sets)
		})
	}
}

func TestLabelTypes(t *testing.T) {
	assert.Equal(t, "CONTEXT|DOMAIN|INDOM|CLUSTER|ITEM|INSTANCES", LabelType(63).String())
	assert.Equal(t, "ONELINE|HELP|PMID|INDOM", TextType(15).String())
	assert.Equal(t, "HELP|INDOM|0x10", TextType(26).String())
	assert.Equal(t, "AUTH|CONTAINER|LABELS|HIGHRES|DESCS", Features(0x0e44).String())
}
