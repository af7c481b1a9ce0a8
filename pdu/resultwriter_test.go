package pdu

import (
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// write adds a set by the method that an agent would use for it.
func write(w *ResultWriter, set *ValueSet) {
	if set.Code < 0 || len(set.Values) == 0 {
		w.Fail(set.PMID, set.Code)
		return
	}
	t := set.Values[0].Type
	var insts []Inst
	var bits []uint64
	var blobs [][]byte
	for _, v := range set.Values {
		insts = append(insts, v.Inst)
		bits = append(bits, v.Bits)
		blobs = append(blobs, v.Bytes)
	}
	if t.Numeric() {
		w.Numbers(set.PMID, t, insts, bits)
	} else {
		w.Strings(set.PMID, t, insts, blobs)
	}
}

// The writer and the message are two ways to the same bytes.
func TestResultWriterEqualsResult(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var w ResultWriter
	for range 500 {
		sets := randomSets(rnd, rnd.IntN(12))
		want := (&Result{Sec: int32(ChangeNames), Sets: sets}).Append(nil, 7)
		w.Reset()
		for i := range sets {
			write(&w, &sets[i])
		}
		require.Equal(t, len(sets), w.Len())
		require.Equal(t, want, w.Frame(7, ChangeNames))
		require.Equal(t, want, w.Frame(7, ChangeNames), "a second time")

		w.Reset()
		for i := range sets {
			w.Set(&sets[i])
		}
		require.Equal(t, len(want), w.Size())
		require.Equal(t, want, w.Frame(7, ChangeNames))
	}
}

// Neither what the writer was used for before nor a frame in between is part of what it writes.
func TestResultWriterGoesOnAfterFrame(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		var w ResultWriter
		if rnd.IntN(2) == 0 {
			w.Strings(1, TypeString, nil, [][]byte{make([]byte, rnd.IntN(9000))})
			w.Frame(0, 0)
			w.Reset()
		}
		sets := randomSets(rnd, rnd.IntN(40))
		half := rnd.IntN(len(sets) + 1)
		for i := range sets[:half] {
			write(&w, &sets[i])
		}
		if rnd.IntN(2) == 0 {
			require.Equal(t, (&Result{Sets: sets[:half]}).Append(nil, 0), w.Frame(0, 0))
		}
		for i := range sets[half:] {
			write(&w, &sets[half+i])
		}
		require.Equal(t, (&Result{Sets: sets}).Append(nil, 0), w.Frame(0, 0))
	}
}

func TestResultWriterCases(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write func(w *ResultWriter)
		want  ValueSet
	}{
		{"code", func(w *ResultWriter) { w.Fail(9, ErrAgain) }, ValueSet{Code: ErrAgain}},
		{"no values", func(w *ResultWriter) { w.Fail(9, 0) }, ValueSet{}},
		{"code above zero", func(w *ResultWriter) { w.Fail(9, 3) }, ValueSet{Code: ErrGeneric}},
		{"set with code above zero", func(w *ResultWriter) { w.Set(&ValueSet{PMID: 9, Code: 3}) }, ValueSet{}},
		{
			"set with code and values", func(w *ResultWriter) { w.Set(&ValueSet{PMID: 9, Code: ErrInst, Values: make([]Value, 2)}) },
			ValueSet{Code: ErrInst},
		},
		{
			"set of a format that does not exist", func(w *ResultWriter) { w.Set(&ValueSet{PMID: 9, Format: 7, Values: []Value{StringValue(1, "x")}}) },
			ValueSet{Format: Block, Values: []Value{StringValue(1, "x")}},
		},
		{
			"singular number", func(w *ResultWriter) { w.Numbers(9, TypeU32, nil, []uint64{7}) },
			ValueSet{Values: []Value{{Inst: NoInst, Type: TypeUnknown, Bits: 7}}},
		},
		{
			"32 keeps the low half", func(w *ResultWriter) { w.Numbers(9, Type32, []Inst{4}, []uint64{^uint64(0)}) },
			ValueSet{Values: []Value{{Inst: 4, Type: TypeUnknown, Bits: 0xffffffff}}},
		},
		{"no numbers, no list", func(w *ResultWriter) { w.Numbers(9, Type64, nil, nil) }, ValueSet{}},
		{"no numbers, empty list", func(w *ResultWriter) { w.Numbers(9, Type64, []Inst{}, []uint64{}) }, ValueSet{}},
		{
			"two numbers without instances", func(w *ResultWriter) { w.Numbers(9, Type64, nil, []uint64{1, 2}) },
			ValueSet{Code: ErrGeneric},
		},
		{
			"one number too few", func(w *ResultWriter) { w.Numbers(9, Type64, []Inst{1, 2}, []uint64{1}) },
			ValueSet{Code: ErrGeneric},
		},
		{"numbers of a text", func(w *ResultWriter) { w.Numbers(9, TypeString, nil, []uint64{1}) }, ValueSet{Code: ErrType}},
		{
			"number", func(w *ResultWriter) { w.Number(9, Type64, 1<<40) },
			ValueSet{Format: Block, Values: []Value{Int64Value(NoInst, 1<<40)}},
		},
		{
			"number of 32 bits", func(w *ResultWriter) { w.Number(9, Type32, ^uint64(0)) },
			ValueSet{Values: []Value{{Inst: NoInst, Type: TypeUnknown, Bits: 0xffffffff}}},
		},
		{
			"number FLOAT", func(w *ResultWriter) { w.Number(9, TypeFloat, 5) },
			ValueSet{Format: Block, Values: []Value{{Inst: NoInst, Type: TypeFloat, Bits: 5}}},
		},
		{"number of a text", func(w *ResultWriter) { w.Number(9, TypeString, 5) }, ValueSet{Code: ErrType}},
		{
			"numbers of no type", func(w *ResultWriter) { w.Numbers(9, TypeNoSupport, nil, []uint64{1}) },
			ValueSet{Code: ErrType},
		},
		{
			"singular text", func(w *ResultWriter) { w.Strings(9, TypeString, nil, [][]byte{[]byte("x")}) },
			ValueSet{Format: Block, Values: []Value{StringValue(NoInst, "x")}},
		},
		{"no texts", func(w *ResultWriter) { w.Strings(9, TypeString, nil, nil) }, ValueSet{}},
		{"texts of a number", func(w *ResultWriter) { w.Strings(9, Type32, nil, [][]byte{{1}}) }, ValueSet{Code: ErrType}},
		{
			"one text too many", func(w *ResultWriter) { w.Strings(9, TypeString, []Inst{1}, [][]byte{{1}, {2}}) },
			ValueSet{Code: ErrGeneric},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.PMID = 9
			var w ResultWriter
			w.Strings(1, TypeString, nil, [][]byte{[]byte("before")})
			tt.write(&w)
			w.Strings(2, TypeString, nil, [][]byte{[]byte("after")})
			require.Equal(t, 3, w.Len())
			got := decodeResult(t, w.Frame(0, 0))
			require.Len(t, got.Sets, 3)
			assert.Equal(t, tt.want, got.Sets[1])
			assert.Equal(t, "before", string(got.Sets[0].Values[0].Bytes))
			assert.Equal(t, "after", string(got.Sets[2].Values[0].Bytes))
		})
	}
}

func TestResultWriterZeroValue(t *testing.T) {
	var w ResultWriter
	assert.Zero(t, w.Len())
	assert.Equal(t, w.Size(), len(w.Frame(0, 0)))
	w.Reset()
	assert.Equal(t, hex.Dump((&Result{}).Append(nil, 3)), hex.Dump(w.Frame(3, 0)))
}

func TestResultWriterGivesBackAfterAnOutlier(t *testing.T) {
	var w ResultWriter
	w.Strings(1, TypeString, nil, [][]byte{make([]byte, 4<<20)})
	w.Frame(0, 0)
	w.Reset()
	w.Numbers(1, Type64, nil, []uint64{1})
	assert.LessOrEqual(t, cap(w.sets.data), retainedBytes)
	assert.LessOrEqual(t, cap(w.blocks.data), retainedBytes)
}
