package pdu

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func decodeResult(t testing.TB, frame []byte) *Result {
	t.Helper()
	var r Result
	require.NoError(t, r.Decode(readFrame(t, frame).Body))
	return &r
}

// A set of values is the same after encoding and decoding, except as listed.
func TestValuesOverTheWire(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []Value
		format ValueFormat
		want   []Value
	}{
		{"32", []Value{Int32Value(NoInst, -5)}, InSitu, []Value{{Inst: NoInst, Type: TypeUnknown, Bits: 0xfffffffb}}},
		{"U32", []Value{Uint32Value(3, math.MaxUint32)}, InSitu, []Value{{Inst: 3, Type: TypeUnknown, Bits: math.MaxUint32}}},
		{"64", []Value{Int64Value(1, -5), Int64Value(2, math.MinInt64)}, Block, nil},
		{"U64", []Value{Uint64Value(1, math.MaxUint64)}, Block, nil},
		{"FLOAT", []Value{FloatValue(1, -1.5), FloatValue(2, float32(math.Inf(1)))}, Block, nil},
		{"DOUBLE", []Value{DoubleValue(1, math.Pi), DoubleValue(2, math.NaN())}, Block, nil},
		{
			"STRING",
			[]Value{StringValue(1, "a"), StringValue(2, "abc"), StringValue(3, ""), StringValue(4, "abcd")},
			Block,
			nil,
		},
		{"STRING with a NUL inside", []Value{StringValue(1, "ab\x00cd")}, Block, []Value{StringValue(1, "ab")}},
		{"AGGREGATE", []Value{AggregateValue(1, []byte{1, 0, 2}), AggregateValue(2, []byte{})}, Block, nil},
		{"AGGREGATE_STATIC", []Value{{Inst: 1, Type: TypeAggregateStatic, Bytes: []byte{1, 2}}}, StaticBlock, nil},
		{"EVENT", []Value{{Inst: 1, Type: TypeEvent, Bytes: []byte{0, 0, 0, 0}}}, StaticBlock, nil},
		{"a type nobody knows", []Value{{Inst: 1, Type: 77, Bytes: []byte{0, 0, 0, 0, 1}}}, Block, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == nil {
				tt.want = tt.values
			}
			got := decodeResult(t, (&Result{Sets: []ValueSet{{PMID: 9, Values: tt.values}}}).Append(nil, 0))
			assert.Equal(t, []ValueSet{{PMID: 9, Format: tt.format, Values: tt.want}}, got.Sets)
		})
	}
}

// Stock code leaves 32-bit integers in blocks in the byte order of the host, which is little-endian.
func TestInteger32InABlock(t *testing.T) {
	b := body(0, 0, 1, 9, 1, 1, -1, 11, 8, "\x07\x00\x00\x80")
	var r Result
	require.NoError(t, r.Decode(b))
	assert.Equal(
		t, []ValueSet{{PMID: 9, Format: Block, Values: []Value{{Inst: NoInst, Type: Type32, Bits: 0x80000007}}}}, r.Sets,
	)
	assert.Equal(t, b, r.Append(nil, 0)[HeaderSize:])
}

// FLOAT may travel in place; then the type is the descriptor's to tell.
func TestFloatInSitu(t *testing.T) {
	b := body(0, 0, 1, 9, 1, 0, -1, int(math.Float32bits(1.5)))
	var r Result
	require.NoError(t, r.Decode(b))
	v := r.Sets[0].Values[0]
	assert.Equal(t, TypeFloat, v.TypeOr(TypeFloat))
	assert.InDelta(t, 1.5, v.TypeOr(TypeFloat).Float64(v.Bits), 0)
	assert.Equal(t, b, r.Append(nil, 0)[HeaderSize:])
}

func TestStringWithoutNUL(t *testing.T) {
	var r Result
	require.NoError(t, r.Decode(body(0, 0, 1, 9, 1, 1, -1, 11, 0x06000007, "abc~")))
	assert.Equal(t, "abc", string(r.Sets[0].Values[0].Bytes))
}

// The order of the blocks is the sender's choice.
func TestBlocksInAnyOrder(t *testing.T) {
	want := []ValueSet{
		{PMID: 1, Format: Block, Values: []Value{StringValue(0, "zero"), StringValue(1, "one")}},
		{PMID: 2, Code: ErrPMID},
		{PMID: 3, Values: []Value{{Inst: 0, Type: TypeUnknown, Bits: 5}}},
		{PMID: 4, Format: StaticBlock, Values: []Value{DoubleValue(0, 2), DoubleValue(1, 3)}},
	}
	head := func(a, b, c, d int) []byte {
		return body(0, 0, 4, 1, 2, 1, 0, a, 1, b, 2, int(ErrPMID), 3, 1, 0, 0, 5, 4, 2, 2, 0, c, 1, d)
	}
	zero := body(0x06000009, "zero\x00~~~")
	one := body(0x06000008, "one\x00")
	two := body(0x0500000c, 0x40000000, 0)
	three := body(0x0500000c, 0x40080000, 0)
	const first = 27 // word of the first block
	for _, tt := range []struct {
		name string
		body []byte
	}{
		{"of the values", bytes.Join([][]byte{head(first, first+3, first+5, first+8), zero, one, two, three}, nil)},
		{"backwards", bytes.Join([][]byte{head(first+8, first+6, first+3, first), three, two, one, zero}, nil)},
		{"mixed", bytes.Join([][]byte{head(first+3, first+9, first, first+6), two, zero, three, one}, nil)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r Result
			require.NoError(t, r.Decode(tt.body))
			assert.Equal(t, want, r.Sets)
			assert.Equal(t, hex.Dump(bytes.Join([][]byte{head(first, first+3, first+5, first+8), zero, one, two, three}, nil)),
				hex.Dump(r.Append(nil, 0)[HeaderSize:]))
		})
	}
}

func TestValueTooLarge(t *testing.T) {
	for _, tt := range []struct {
		name string
		v    Value
		want Code
	}{
		{"largest string", StringValue(NoInst, strings.Repeat("x", MaxBlockBody-1)), 0},
		{"string too large", StringValue(NoInst, strings.Repeat("x", MaxBlockBody)), ErrTooBig},
		{"largest aggregate", AggregateValue(NoInst, make([]byte, MaxBlockBody)), 0},
		{"aggregate too large", AggregateValue(NoInst, make([]byte, MaxBlockBody+1)), ErrTooBig},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sets := []ValueSet{{PMID: 1, Values: []Value{tt.v}}, {PMID: 2, Values: []Value{Int32Value(NoInst, 7)}}}
			frame := (&Result{Sets: sets}).Append(nil, 0)
			got := decodeResult(t, frame)
			require.Len(t, got.Sets, 2)
			assert.Equal(t, tt.want, got.Sets[0].Code)
			assert.Equal(t, uint64(7), got.Sets[1].Values[0].Bits)

			var w ResultWriter
			w.Strings(1, tt.v.Type, nil, [][]byte{tt.v.Bytes})
			w.Numbers(2, Type32, nil, []uint64{7})
			assert.True(t, bytes.Equal(frame, w.Frame(0, 0)))
		})
	}
}

// randomSets returns sets as an agent could send them.
func randomSets(rnd *rand.Rand, n int) []ValueSet {
	types := []Type{Type32, TypeU32, Type64, TypeU64, TypeFloat, TypeDouble, TypeString, TypeAggregate, TypeEvent}
	sets := make([]ValueSet, n)
	for i := range sets {
		sets[i].PMID = PMID(rnd.Uint32())
		switch rnd.IntN(5) {
		case 0:
			sets[i].Code = ErrAgain
			continue
		case 1:
			continue
		}
		typ := types[rnd.IntN(len(types))]
		for range 1 + rnd.IntN(4) {
			v := Value{Inst: Inst(rnd.Int32()), Type: typ}
			switch typ.size() {
			case 4:
				v.Bits = uint64(rnd.Uint32())
			case 8:
				v.Bits = rnd.Uint64()
			default:
				v.Bytes = bytes.Repeat([]byte{'x'}, rnd.IntN(9))
			}
			sets[i].Values = append(sets[i].Values, v)
		}
	}
	return sets
}

func TestResultGivesBackAfterAnOutlier(t *testing.T) {
	large := Result{Sets: []ValueSet{{PMID: 1, Values: make([]Value, 50_000)}}}
	frame := large.Append(nil, 0)
	var r Result
	require.NoError(t, r.Decode(frame[HeaderSize:]))
	require.GreaterOrEqual(t, cap(r.columns.values), 50_000)
	small := (&Result{Sets: []ValueSet{{PMID: 1}}}).Append(nil, 0)
	for range 2 * useWindow {
		require.NoError(t, r.Decode(small[HeaderSize:]))
	}
	assert.LessOrEqual(t, cap(r.columns.values)*40, retainedBytes)
}
