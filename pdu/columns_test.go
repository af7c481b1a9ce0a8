package pdu

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
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
	f := highResFrame(
		t, numbersOf(1, 1, 2), numbersOf(2, 1, 2), ValueSet{PMID: 3, Format: Block, Values: []Value{StringValue(1, "a")}},
	)
	require.NoError(t, c.Decode(f))
	assert.InDelta(t, 1, testing.AllocsPerRun(100, func() { _ = c.Decode(f) }), 0)
}

func TestColumnsOfOtherKinds(t *testing.T) {
	var c Columns
	require.ErrorIs(t, c.Decode(readFrame(t, (&Fetch{PMIDs: []PMID{1}}).Append(nil, 0))), ErrIPC)
}

// wrongSets are sets that cannot be read, or hold a code. A block of theirs is at word ownBlock of the frame that
// aroundOne makes.
const ownBlock = 8 + 5 + 5 + 5 + 6

var wrongSets = []struct {
	name  string
	set   []byte // for metric 7
	block []byte
	code  Code
}{
	{"a 64-bit number of 4 bytes", body(7, 1, 1, -1, ownBlock), body(0x03000008, 7), ErrConv},
	{"a 64-bit number of no bytes", body(7, 1, 1, -1, ownBlock), body(0x03000004), ErrConv},
	{"a 64-bit number of 12 bytes", body(7, 1, 1, -1, ownBlock), body(0x03000010, 0, 0, 7), ErrConv},
	{"a 32-bit number of 8 bytes", body(7, 1, 1, -1, ownBlock), body(0x0100000c, 0, 7), ErrConv},
	{"a block of 3 bytes", body(7, 1, 1, -1, ownBlock), body(0x03000003), ErrIPC},
	{"a block beyond the end", body(7, 1, 1, -1, ownBlock), body(0x06ffffff), ErrIPC},
	{"an index in the head", body(7, 1, 1, -1, 3), nil, ErrIPC},
	{"an index beyond the end", body(7, 1, 1, -1, huge), nil, ErrIPC},
	{"an index below zero", body(7, 1, 1, -1, -1), nil, ErrIPC},
	{"no such format", body(7, 1, 3, -1, ownBlock), nil, ErrIPC},
	{"a format below zero", body(7, 1, -1, -1, ownBlock), nil, ErrIPC},
	{"a code", body(7, -5), nil, -5},
}

// aroundOne is a HIGHRES_RESULT of three sets: set, which has a block or none, between two with the numbers 1 and 2.
func aroundOne(set, block []byte) []byte {
	blocks := ownBlock - 6 - (5*4-len(set))/4
	return slices.Concat(
		body(3, int64(5), int64(7), 1, 1, 1, -1, blocks), set, body(2, 1, 1, -1, blocks+3),
		body(0x0300000c, 0, 1, 0x0300000c, 0, 2), block,
	)
}

// A wrong set has a code, and the sets beside it are good.
func TestColumnsWrongSets(t *testing.T) {
	number := func(id PMID, n uint64) Column {
		return Column{PMID: id, Type: TypeU64, Format: Block, Insts: []Inst{NoInst}, Bits: []uint64{n}}
	}
	for _, row := range wrongSets {
		t.Run(row.name, func(t *testing.T) {
			var c Columns
			for range 2 { // into used ones, too
				err := c.Decode(Frame{Kind: KindHighResResult, Body: aroundOne(row.set, row.block)})
				assert.Equal(t, row.code == -5, err == nil, "%v", err)
				assertColumns(t, []Column{number(1, 1), {PMID: 7, Code: row.code, Type: TypeUnknown}, number(2, 2)}, c.Sets)
			}
		})
	}
	t.Run("where no set begins, none is read", func(t *testing.T) {
		var c Columns
		unread := Column{PMID: NoPMID, Code: ErrIPC, Type: TypeUnknown}
		for range 2 {
			require.ErrorIs(
				t, c.Decode(Frame{Kind: KindHighResResult, Body: body(3, int64(5), int64(7), 1, 1, 0, -1, 1, 7, huge, 0, -1)}),
				ErrIPC,
			)
			one := number(1, 1)
			one.Type, one.Format = TypeUnknown, InSitu
			assertColumns(t, []Column{one, unread, unread}, c.Sets)
		}
	})
}

// Values that name the same block get no more of it in all than was sent: copies of a large one, for each of very many
// values, would be more than anybody has.
func TestColumnsShareBlocks(t *testing.T) {
	var c Columns
	require.NoError(
		t, c.Decode(Frame{Kind: KindResult, Body: body(0, 0, 1, 1, 2, 1, 0, 13, 1, 13, 0x06000006, "ab~~", 0, 0)}),
	)
	assert.Equal(t, [][]byte{[]byte("ab"), []byte("ab")}, c.Sets[0].Blobs)
	require.ErrorIs(
		t, c.Decode(Frame{Kind: KindResult, Body: body(0, 0, 1, 1, 2, 1, 0, 13, 1, 13, 0x06000006, "ab~~", 0)}), ErrIPC,
	)
	assert.Equal(t, ErrIPC, c.Sets[0].Code)
}

// FuzzColumns: any bytes are the columns that the plainest of readers makes of them, code by code.
func FuzzColumns(f *testing.F) {
	for _, v := range loadVectors(f) {
		if k := v.kind(); k == KindResult || k == KindHighResResult {
			f.Add(k == KindHighResResult, v.body())
		}
	}
	f.Add(true, highResFrame(f, numbersOf(1, 1, 2), numbersOf(2, 2, 1)).Body)
	for _, row := range wrongSets {
		f.Add(true, aroundOne(row.set, row.block))
	}
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
			assertColumns(t, columnsOf(want), c.Sets)
		}
	})
}

// readPlainly reads a result word by word, and reports whether all is well.
func readPlainly(f Frame) (sets []ValueSet, ok bool) {
	defer func() {
		if recover() != nil { // an index out of range
			sets, ok = nil, false
		}
	}()
	n, at := int32(word(f.Body, 8)), 12
	if f.Kind == KindHighResResult {
		n, at = int32(word(f.Body, 0)), 20
		_ = f.Body[at-1]
	}
	if n < 0 || int(n) > (len(f.Body)-at)/8 {
		return nil, false
	}
	ok = true
	ends := []int{at} // of sets
	for len(ends) <= int(n) {
		end, whole := setEnd(f.Body, ends[len(ends)-1])
		if ok = whole; !whole {
			break
		}
		ends = append(ends, end)
	}
	behind := ends[len(ends)-1] // the sets
	left := len(f.Body) - behind
	for i := range ends[1:] {
		set := ValueSet{PMID: PMID(word(f.Body, ends[i])), Code: min(0, Code(word(f.Body, ends[i]+4)))}
		for at := ends[i] + 12; at < ends[i+1]; at += 8 {
			set.Format = ValueFormat(word(f.Body, ends[i]+8))
			v := Value{Inst: Inst(word(f.Body, at)), Type: TypeUnknown, Bits: uint64(word(f.Body, at+4))}
			code := ErrIPC
			switch set.Format {
			case InSitu:
				code = 0
			case Block, StaticBlock:
				code = v.readPlainly(f.Body, int(v.Bits)*4-HeaderSize, behind, &left)
			}
			if code < 0 {
				set, ok = ValueSet{PMID: set.PMID, Code: code}, false
				break
			}
			set.Values = append(set.Values, v)
		}
		sets = append(sets, set)
	}
	for len(sets) < int(n) {
		sets = append(sets, ValueSet{PMID: NoPMID, Code: ErrIPC})
	}
	return sets, ok && left == 0
}

func word(b []byte, at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }

// setEnd is where a value set ends that is whole.
func setEnd(body []byte, at int) (end int, whole bool) {
	if len(body) < at+8 {
		return 0, false
	}
	count := int(int32(word(body, at+4)))
	if count <= 0 {
		return at + 8, true
	}
	end = at + 12 + 8*count
	return end, end <= len(body)
}

// readPlainly reads a value block.
func (v *Value) readPlainly(body []byte, at, behind int, left *int) Code {
	if at < behind || at+4 > len(body) {
		return ErrIPC
	}
	head := word(body, at)
	length := int(head & 0xffffff)
	if length < 4 || at+pad4(length) > len(body) || pad4(length) > *left {
		return ErrIPC
	}
	*left -= pad4(length)
	data := body[at+4 : at+length]
	*v = Value{Inst: v.Inst, Type: Type(head >> 24), Bytes: data}
	switch {
	case v.Type == TypeUnknown:
		v.Type = TypeNoSupport
	case v.Type.Numeric():
		v.Bytes = nil
		switch {
		case len(data) != v.Type.size():
			return ErrConv
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
	return 0
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
