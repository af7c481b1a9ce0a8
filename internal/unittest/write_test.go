package unittest

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// A written test can be parsed, with any names and values, and passes.
func TestRecording(t *testing.T) {
	disks := pdu.NewInDom(60, 1)
	set := derived.NewInstSet([]pdu.Inst{3, 7, 9})
	two := derived.NewInstSet([]pdu.Inst{9, 3})
	numbers := func(t pdu.Type, s *derived.InstSet, bits ...uint64) *derived.Vector {
		return &derived.Vector{Type: t, Insts: s, Bits: bits}
	}
	text := func(s string) *derived.Vector {
		return &derived.Vector{Type: pdu.TypeString, Blobs: [][]byte{[]byte(s)}}
	}
	double := func(f float64) *derived.Vector { return numbers(pdu.TypeDouble, nil, math.Float64bits(f)) }
	refused := &derived.Vector{Code: pdu.ErrPermission}
	total := pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemCounter, InDom: disks, Units: pdu.Units{Count: 1, CountScale: 3}}
	rate := pdu.Desc{
		Type: pdu.TypeDouble, Sem: pdu.SemInstant, InDom: disks,
		Units: pdu.Units{Count: 1, CountScale: 3, Time: -1, TimeScale: pdu.TimeSec},
	}
	single := func(t pdu.Type) pdu.Desc { return pdu.Desc{Type: t, Sem: pdu.SemInstant, InDom: pdu.NoInDom} }
	celsius := single(pdu.TypeDouble)
	celsius.Units = pdu.Units{
		Time: -1, TimeScale: pdu.TimeMin, Extra: pdu.ExtraTemperature,
		ExtraScale: pdu.TemperatureCelsius,
	}
	rates := []*derived.Vector{
		{Type: pdu.TypeDouble}, numbers(pdu.TypeDouble, two, math.Float64bits(10), math.Float64bits(0.5)), refused,
	}
	r := Recording{
		Title: "recorded # now", Times: []time.Duration{0, 1_000_000_007, 2 * time.Minute},
		InDoms: []RecordedInDom{{InDom: disks, Instances: []pdu.Instance{
			{ID: 3, Name: `a "b" # [c]\`},
			{ID: 7, Name: "5:x"},
			{ID: 9, Name: "é\n#"},
			{ID: 11, Name: "never"},
		}}},
		Metrics: []Recorded{
			{Name: "total", Desc: total, Values: []*derived.Vector{
				numbers(pdu.TypeU64, set, 1, 2, math.MaxUint64-100), numbers(pdu.TypeU64, two, math.MaxUint64-90, 1),
				refused,
			}},
			{
				Name: "node", Desc: single(pdu.TypeString),
				Values: []*derived.Vector{text(`"moss\ #x`), text(""), {Type: pdu.TypeString}},
			},
			{Name: "temp", Desc: celsius, Values: []*derived.Vector{
				double(1.0 / 3), double(math.Inf(-1)),
				double(-5e-300),
			}},
			{Name: "gone", Code: pdu.ErrAppVersion},
			{Name: "none", Desc: total, Values: []*derived.Vector{{}, {}, {}}},
		},
		Derived: []Recorded{
			{Name: "d.total", Desc: total, Values: []*derived.Vector{
				numbers(pdu.TypeU64, set, 1, 2, math.MaxUint64-100), numbers(pdu.TypeU64, two, math.MaxUint64-90, 1),
				refused,
			}},
			{
				Name: "d.name", Desc: single(pdu.TypeString),
				Values: []*derived.Vector{text(`"moss\ #x`), text(""), {Type: pdu.TypeString}},
			},
			{Name: "d.temp", Desc: celsius, Labels: `{"team":"a \"b\" # [","tier":1}`, Values: []*derived.Vector{
				double(2.0 / 3), double(math.Inf(-1)),
				double(-1e-299),
			}},
			{Name: "d.rate", Desc: rate, Values: rates},
			{Name: "d.none", Desc: total, Values: []*derived.Vector{{}, {}, {}}},
			{Name: "d.unknown", Err: &derived.Error{
				Metric: "d.unknown", What: "operand nosuch",
				Rule: derived.RuleUnknownOperand,
			}},
		},
	}
	r.Derived[3].Values[1] = numbers(pdu.TypeDouble, two, math.Float64bits(10/1.000000007), math.Float64bits(0))
	written := r.String()
	assert.Equal(t, `metric total  U64 counter count x 10^3 60.1
metric node   STRING instant none singular
metric temp   DOUBLE instant temperature (C) / min singular
metric gone   PM_ERR_APPVERSION
metric none   U64 counter count x 10^3 60.1
indom  60.1 3:"a \"b\" # [c]\\" 7:"5:x" 9:"é #" 11:"never"

test recorded # now
    times                           0s 1.000000007s 2m
    given  total[a "b" # [c\]\\]    1x2 _
    given  total[5:x]               2 _x2
    given  total[é #]               18446744073709551515 18446744073709551525 _
    given  total                    _x2 PM_ERR_PERMISSION
    given  node                     "\"moss\\ #x" "" _
    given  temp                     0.3333333333333333 -inf -5e-300
    given  none                     _x3
    expect d.total[a "b" # [c\]\\]  1x2 _
    expect d.total[5:x]             2 _x2
    expect d.total[é #]             18446744073709551515 18446744073709551525 _
    expect d.total                  _x2 PM_ERR_PERMISSION
    metadata d.total                U64 counter count x 10^3 60.1
    expect d.name                   "\"moss\\ #x" "" _
    metadata d.name                 STRING instant none singular
    expect d.temp                   0.6666666666666666 -inf -1e-299
    metadata d.temp                 DOUBLE instant temperature (C) / min singular {"team":"a \"b\" # [","tier":1}
    expect d.rate[a "b" # [c\]\\]   _ 0 _
    expect d.rate[é #]              _ 9.999999930000001 _
    expect d.rate                   _x2 PM_ERR_PERMISSION
    metadata d.rate                 DOUBLE instant count x 10^3 / sec 60.1
    expect d.none                   _x3
    metadata d.none                 U64 counter count x 10^3 60.1
    error  d.unknown                "operand nosuch: Unknown operand metric"
`, written)

	f, problems := Parse("x.test", []byte(written))
	require.Empty(t, problems)
	defs, labels := labelled(t, "d.total = total\nd.name = node\nd.temp = temp * 2\n"+
		`d.temp(labels) = {"team":"a \"b\" # [", "tier":1}`+"\nd.rate = rate(total)\nd.none = "+
		"none\nd.unknown = nosuch\n")
	assert.Empty(t, Run(derived.Language{}, defs, labels, f.Tests[0]).String())
}
