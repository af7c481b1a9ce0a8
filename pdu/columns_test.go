package pdu

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// columnsOf is what columns should be, made from the values that were sent.
func columnsOf(sets []ValueSet) []Column {
	var all []Column
	for _, set := range sets {
		col := Column{PMID: set.PMID, Code: set.Code, Type: TypeUnknown, Format: set.Format}
		mixed := false
		for i, v := range set.Values {
			if set.Format == InSitu {
				v.Type = TypeUnknown
			}
			if i == 0 {
				col.Type = v.Type
			}
			mixed = mixed || v.Type != col.Type
			col.Insts = append(col.Insts, v.Inst)
			if v.Type == TypeUnknown || v.Type.Numeric() {
				col.Bits = append(col.Bits, v.Bits)
			} else {
				col.Blobs = append(col.Blobs, v.Bytes)
			}
		}
		if mixed || col.Type == TypeNoSupport {
			col.Type, col.Bits, col.Blobs = TypeNoSupport, nil, nil
		}
		all = append(all, col)
	}
	return all
}

// assertColumns compares columns, empty lists being as good as none.
func assertColumns(t testing.TB, want, got []Column) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		w, g := want[i], got[i]
		g.last = nil
		if len(g.Blobs) == 0 {
			g.Blobs = nil
		}
		assert.Equal(t, w, g, "set %d", i)
	}
}

func highResFrame(t testing.TB, sets ...ValueSet) Frame {
	t.Helper()
	return readFrame(t, (&HighResResult{Sec: 5, Nsec: 7, Sets: sets}).Append(nil, 0))
}

func numbersOf(id PMID, insts ...Inst) ValueSet {
	set := ValueSet{PMID: id, Format: Block}
	for _, inst := range insts {
		set.Values = append(set.Values, Uint64Value(inst, math.MaxUint64-uint64(inst)))
	}
	return set
}

// Columns hold what a Result holds.
func TestColumns(t *testing.T) {
	for _, row := range []struct {
		name string
		sets []ValueSet
	}{
		{"none", nil},
		{"a code and no values", []ValueSet{{PMID: 1, Code: ErrPMID}, {PMID: 2}}},
		{"in situ", []ValueSet{{PMID: 1, Values: []Value{Int32Value(3, -5), Int32Value(4, 6)}}}},
		{"64", []ValueSet{{PMID: 1, Format: Block, Values: []Value{Int64Value(1, -5), Int64Value(2, math.MinInt64)}}}},
		{"U64 twice", []ValueSet{numbersOf(1, 1, 2, 3), numbersOf(2, 4, 5)}},
		{"DOUBLE", []ValueSet{{PMID: 1, Format: Block, Values: []Value{DoubleValue(NoInst, math.Pi)}}}},
		{"FLOAT", []ValueSet{{PMID: 1, Format: Block, Values: []Value{FloatValue(1, 1.5), FloatValue(2, 2.5)}}}},
		{"strings between numbers", []ValueSet{
			numbersOf(1, 1, 2),
			{PMID: 2, Format: Block, Values: []Value{StringValue(1, "a"), StringValue(2, ""), StringValue(3, "abcde")}},
			numbersOf(3, 1, 2),
			{PMID: 4, Format: Block, Values: []Value{AggregateValue(1, []byte{1, 0, 2})}},
		}},
		{"several types in one set", []ValueSet{
			{PMID: 1, Format: Block, Values: []Value{Uint64Value(1, 1), Int64Value(2, 2)}},
			{PMID: 2, Format: Block, Values: []Value{Uint64Value(1, 1), StringValue(2, "2")}},
			{PMID: 3, Format: Block, Values: []Value{StringValue(1, "1"), DoubleValue(2, 2)}},
			numbersOf(4, 1),
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := highResFrame(t, row.sets...)
			var c Columns
			for range 2 { // into used ones, too
				require.NoError(t, c.Decode(f))
				assert.Equal(t, time.Unix(5, 7), c.Time)
				assertColumns(t, columnsOf(row.sets), c.Sets)
				assertColumns(t, columnsOf(row.sets), columnsOf(c.ValueSets()))
			}
			old := readFrame(t, (&Result{Sec: 5, Usec: 7, Sets: row.sets}).Append(nil, 0))
			require.NoError(t, c.Decode(old))
			assert.Equal(t, time.Unix(5, 7000), c.Time)
			assertColumns(t, columnsOf(row.sets), c.Sets)
		})
	}
}

// A list of instances is the same array while the instances are the same.
func TestColumnsShareInstances(t *testing.T) {
	var c Columns
	decode := func(sets ...ValueSet) []Column {
		require.NoError(t, c.Decode(highResFrame(t, sets...)))
		return c.Sets
	}
	same := func(want []Inst, got Column) {
		t.Helper()
		assert.Equal(t, want, got.Insts)
		assert.Same(t, &want[0], &got.Insts[0])
	}
	sets := decode(numbersOf(1, 1, 2), numbersOf(2, 1, 2))
	first := sets[0].Insts
	same(first, sets[1])
	bits := sets[0].Bits

	sets = decode(numbersOf(1, 1, 2), numbersOf(2, 2))
	same(first, sets[0])
	assert.Equal(t, []Inst{2}, sets[1].Insts)
	assert.NotSame(t, &bits[0], &sets[0].Bits[0], "numbers are the receiver's")

	assert.Nil(t, decode(ValueSet{PMID: 1, Code: ErrAgain})[0].Insts)
	sets = decode(numbersOf(1, 1, 2))
	same(first, sets[0])

	mine := []Inst{1, 2}
	sets[0].Insts = mine
	same(mine, decode(numbersOf(1, 1, 2))[0])
	assert.Equal(t, []Inst{1, 3}, decode(numbersOf(1, 1, 3))[0].Insts)
	assert.Equal(t, []Inst{1, 2}, mine, "never changed")
}

// In the steady state only the memory of the numbers is new.
func TestColumnsAllocation(t *testing.T) {
	var c Columns
	f := highResFrame(t, numbersOf(1, 1, 2), numbersOf(2, 1, 2), ValueSet{PMID: 3, Format: Block, Values: []Value{StringValue(1, "a")}})
	require.NoError(t, c.Decode(f))
	assert.InDelta(t, 1, testing.AllocsPerRun(100, func() { _ = c.Decode(f) }), 0)
}

func TestColumnsOfOtherKinds(t *testing.T) {
	var c Columns
	require.ErrorIs(t, c.Decode(readFrame(t, (&Fetch{PMIDs: []PMID{1}}).Append(nil, 0))), ErrIPC)
}

// FuzzColumns: any bytes are columns exactly if the plainest of readers takes them, and say the same.
func FuzzColumns(f *testing.F) {
	for _, v := range loadVectors(f) {
		if k := v.kind(); k == KindResult || k == KindHighResResult {
			f.Add(k == KindHighResResult, v.body())
		}
	}
	f.Add(true, highResFrame(f, numbersOf(1, 1, 2), numbersOf(2, 2, 1)).Body)
	f.Fuzz(func(t *testing.T, high bool, body []byte) {
		frame := Frame{Kind: KindResult, Body: body}
		if high {
			frame.Kind = KindHighResResult
		}
		want, ok := readPlainly(frame)
		var c Columns
		for range 2 {
			err := c.Decode(frame)
			require.Equal(t, ok, err == nil, "%v", err)
			if ok {
				assertColumns(t, columnsOf(want), c.Sets)
			}
		}
	})
}

// readPlainly reads a result word by word. What does not fit is an index out of range.
func readPlainly(f Frame) (sets []ValueSet, ok bool) {
	defer func() { ok = recover() == nil && ok }()
	word := func(at int) uint32 { return binary.BigEndian.Uint32(f.Body[at:]) }
	n, at := int32(word(8)), 12
	if f.Kind == KindHighResResult {
		n, at = int32(word(0)), 20
	}
	if n < 0 || f.Kind == KindHighResResult && binary.BigEndian.Uint64(f.Body[12:]) >= 1e9 {
		return nil, false
	}
	blocks := make(map[int]bool) // by where they begin
	for range n {
		set, count := ValueSet{PMID: PMID(word(at))}, int32(word(at+4))
		at += 8
		if count <= 0 {
			set.Code = Code(count)
			sets = append(sets, set)
			continue
		}
		set.Format = ValueFormat(word(at))
		at += 4
		if set.Format < InSitu || set.Format > StaticBlock {
			return nil, false
		}
		for range count {
			v := Value{Inst: Inst(word(at)), Type: TypeUnknown, Bits: uint64(word(at + 4))}
			if set.Format != InSitu {
				begin := int(v.Bits)*4 - HeaderSize
				if blocks[begin] || !v.readPlainly(f.Body[begin:]) {
					return nil, false
				}
				blocks[begin] = true
			}
			set.Values = append(set.Values, v)
			at += 8
		}
		sets = append(sets, set)
	}
	for at < len(f.Body) && blocks[at] { // they fill the rest
		delete(blocks, at)
		at += pad4(int(word(at) & 0xffffff))
	}
	return sets, at == len(f.Body) && len(blocks) == 0
}

// readPlainly reads a value block.
func (v *Value) readPlainly(block []byte) bool {
	head := binary.BigEndian.Uint32(block)
	data := block[4 : head&0xffffff]
	*v = Value{Inst: v.Inst, Type: Type(head >> 24), Bytes: data}
	switch {
	case v.Type == TypeUnknown:
		v.Type = TypeNoSupport
	case v.Type.Numeric():
		v.Bytes = nil
		switch {
		case len(data) != v.Type.size():
			return false
		case len(data) == 8:
			v.Bits = binary.BigEndian.Uint64(data)
		case v.Type == TypeFloat:
			v.Bits = uint64(binary.BigEndian.Uint32(data))
		default:
			v.Bits = uint64(binary.LittleEndian.Uint32(data))
		}
	case v.Type == TypeString:
		v.Bytes, _, _ = bytes.Cut(data, []byte{0})
	}
	return true
}

func BenchmarkColumns(b *testing.B) {
	for _, row := range []struct {
		name          string
		sets, entries int
	}{{"singular", 2000, 1}, {"instances", 10, 1000}} {
		b.Run(row.name, func(b *testing.B) {
			insts := []Inst{NoInst}
			if row.entries > 1 {
				insts = make([]Inst, row.entries)
				for i := range insts {
					insts[i] = Inst(i)
				}
			}
			sets := make([]ValueSet, row.sets)
			for i := range sets {
				sets[i] = numbersOf(PMID(i), insts...)
			}
			f := highResFrame(b, sets...)
			b.Run("columns", func(b *testing.B) {
				var c Columns
				b.ReportAllocs()
				for b.Loop() {
					if c.Decode(f) != nil {
						b.Fatal("not decoded")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*row.sets*row.entries), "ns/value")
			})
			b.Run("values", func(b *testing.B) {
				var r HighResResult
				b.ReportAllocs()
				for b.Loop() {
					if r.Decode(f.Body) != nil {
						b.Fatal("not decoded")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*row.sets*row.entries), "ns/value")
			})
		})
	}
}
