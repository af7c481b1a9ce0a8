package operand

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// result returns an upstream answer with these values.
func result(tb testing.TB, sets ...pdu.ValueSet) *pmapi.Columns {
	tb.Helper()
	message := pdu.HighResResult{Sec: 1, Sets: sets}
	var c pdu.Columns
	require.NoError(tb, c.Decode(pdu.Frame{Kind: message.Kind(), Body: message.Append(nil, 0)[pdu.HeaderSize:]}))
	return &pmapi.Columns{Time: c.Time, Sets: c.Sets}
}

func valuesOf(id pdu.PMID, insts ...pdu.Inst) pdu.ValueSet {
	set := pdu.ValueSet{PMID: id, Format: pdu.Block}
	for _, inst := range insts {
		set.Values = append(set.Values, pdu.Uint64Value(inst, uint64(inst)*10))
	}
	return set
}

// Equal instance sets of samples are the same pointer, which makes evaluation fast.
func TestInstanceSetsAreShared(t *testing.T) {
	a, b, other := pdu.NewPMID(60, 1, 1), pdu.NewPMID(60, 1, 2), pdu.NewPMID(60, 2, 1)
	binDom, otherDom := pdu.NewInDom(60, 1), pdu.NewInDom(60, 2)
	asked := NewList(
		pdu.Desc{PMID: a, Type: pdu.TypeU64, InDom: binDom},
		pdu.Desc{PMID: b, Type: pdu.TypeU64, InDom: binDom},
		pdu.Desc{PMID: other, Type: pdu.TypeU64, InDom: otherDom},
	)
	m := NewMaker(&InstanceCache{}, time.Now())
	var changed []pdu.InDom
	take := func(sets ...pdu.ValueSet) *Sample {
		s, noticed := m.Make(result(t, sets...), time.Now(), time.Now(), asked)
		changed = noticed.Changed
		return s
	}
	first := take(valuesOf(a, 1, 2), valuesOf(b, 1, 2), valuesOf(other, 1, 2))
	assert.Equal(t, []pdu.InDom{binDom, otherDom}, changed)
	assert.Same(t, first.Values(a, new(int32)).Insts, first.Values(b, new(int32)).Insts, "of one domain")
	assert.Equal(t, []pdu.Inst{1, 2}, first.Values(a, new(int32)).Insts.IDs())
	assert.Equal(t, []uint64{10, 20}, first.Values(a, new(int32)).Bits)

	second := take(valuesOf(a, 1, 2), valuesOf(b, 1, 2), valuesOf(other, 1, 2))
	assert.Empty(t, changed)
	assert.Same(t, first.Values(a, new(int32)).Insts, second.Values(b, new(int32)).Insts)
	assert.Same(t, first.Values(other, new(int32)).Insts, second.Values(other, new(int32)).Insts)

	third := take(valuesOf(a, 1, 2), valuesOf(b, 2), valuesOf(other, 2, 1))
	assert.Equal(t, []pdu.InDom{binDom, otherDom}, changed, "fewer ones, another order")
	assert.Same(t, first.Values(a, new(int32)).Insts, third.Values(a, new(int32)).Insts)
	fourth := take(valuesOf(a, 1, 2), valuesOf(b, 2), valuesOf(other, 2, 1))
	assert.Empty(t, changed, "metrics of a domain may differ for good")
	assert.Same(t, third.Values(a, new(int32)).Insts, fourth.Values(a, new(int32)).Insts)
	assert.Same(t, third.Values(b, new(int32)).Insts, fourth.Values(b, new(int32)).Insts)

	m.Reset()
	assert.NotSame(t, fourth.Values(a, new(int32)).Insts, take(valuesOf(a, 1, 2)).Values(a, new(int32)).Insts)
}

// Strings that have not changed are the same slice as in the sample before, which makes comparisons fast.
func TestStringsAreShared(t *testing.T) {
	id := pdu.NewPMID(60, 1, 1)
	asked := NewList(pdu.Desc{PMID: id, Type: pdu.TypeString, InDom: pdu.NewInDom(60, 1)})
	m := NewMaker(&InstanceCache{}, time.Now())
	take := func(texts ...string) [][]byte {
		set := pdu.ValueSet{PMID: id, Format: pdu.Block}
		for i, text := range texts {
			set.Values = append(set.Values, pdu.StringValue(pdu.Inst(i), text))
		}
		s, _ := m.Make(result(t, set), time.Now(), time.Now(), asked)
		blobs := s.Values(id, new(int32)).Blobs
		for i, text := range texts {
			require.Equal(t, text, string(blobs[i]))
		}
		require.Len(t, blobs, len(texts))
		return blobs
	}
	first := take("root", "pcp")
	second := take("root", "pcp")
	assert.Same(t, &first[0], &second[0], "the list, too")
	third := take("root", "moss", "pcp")
	assert.Same(t, &first[0][0], &third[0][0])
	assert.Equal(t, "pcp", string(first[1]), "samples do not change")
	for range 3 * blobSamples {
		take()
	}
	assert.NotSame(t, &third[0][0], &take("root")[0][0], "they are forgotten when nothing has them")
	for range 3 * blobSamples {
		take("root")
	}
	last := take("root")
	assert.Same(t, &last[0], &take("root")[0])
	m.Reset()
	assert.NotSame(t, &last[0][0], &take("root")[0][0])
}

func TestSampleValues(t *testing.T) {
	id := pdu.NewPMID(60, 0, 1)
	for _, row := range []struct {
		name string
		desc pdu.Desc
		set  pdu.ValueSet
		code pdu.Code
		bits []uint64
	}{
		{"an error", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom}, pdu.ValueSet{Code: pdu.ErrNoAgent}, pdu.ErrNoAgent, nil},
		{"nothing", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom}, pdu.ValueSet{}, 0, nil},
		{"in situ", pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom}, pdu.ValueSet{Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeUnknown, Bits: 7}}}, 0, []uint64{7}},
		{"another sign", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom}, pdu.ValueSet{Values: []pdu.Value{pdu.Int64Value(pdu.NoInst, 7)}}, 0, []uint64{7}},
		{"another width", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom}, pdu.ValueSet{Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 7)}}, pdu.ErrType, nil},
		{"in situ for a wide type", pdu.Desc{Type: pdu.TypeDouble, InDom: pdu.NoInDom}, pdu.ValueSet{Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeUnknown, Bits: 7}}}, pdu.ErrType, nil},
		{"a number for a string", pdu.Desc{Type: pdu.TypeString, InDom: pdu.NoInDom}, pdu.ValueSet{Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 7)}}, pdu.ErrType, nil},
		{"a string for a number", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom}, pdu.ValueSet{Values: []pdu.Value{pdu.StringValue(pdu.NoInst, "7")}}, pdu.ErrType, nil},
		{"bytes for events", pdu.Desc{Type: pdu.TypeEvent, InDom: pdu.NoInDom}, pdu.ValueSet{Values: []pdu.Value{pdu.AggregateValue(pdu.NoInst, []byte{7})}}, pdu.ErrType, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.set.PMID, row.desc.PMID = id, id
			s, _ := NewMaker(&InstanceCache{}, time.Now()).Make(result(t, row.set), time.Now(), time.Now(), NewList(row.desc))
			assert.Equal(t, row.code, s.Values(id, new(int32)).Code)
			assert.ElementsMatch(t, row.bits, s.Values(id, new(int32)).Bits)
			assert.Equal(t, pdu.ErrAgain, s.Values(id+1, new(int32)).Code, "not sampled")
		})
	}
}

// The index of an operand in one sample is the first one that is tried in the next, whatever its list.
func TestHint(t *testing.T) {
	a := pdu.Desc{PMID: pdu.NewPMID(60, 0, 1), Type: pdu.TypeU64}
	b := pdu.Desc{PMID: pdu.NewPMID(60, 0, 2), Type: pdu.TypeU64}
	m, now := NewMaker(&InstanceCache{}, time.Now()), time.Now()
	hint := new(int32)
	for _, list := range [][]pdu.Desc{{a, b}, {a, b}, {b, a}, {b}, {}, {a}} {
		s := m.ErrorSample(list, pdu.ErrNoAgent, now)
		want := pdu.ErrAgain
		if at := slices.Index(s.list.IDs, b.PMID); at >= 0 {
			want = pdu.ErrNoAgent
			require.Same(t, &s.vectors[at], s.Values(b.PMID, hint))
			require.EqualValues(t, at, *hint)
		}
		require.Equal(t, want, s.Values(b.PMID, hint).Code)
	}
}
