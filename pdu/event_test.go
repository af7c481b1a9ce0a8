package pdu

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEventsRoundTrip(t *testing.T) {
	want := Events{Records: []EventRecord{
		{Sec: 1_700_000_000, Nsec: 123_456_000, Flags: EventPoint, Params: []EventParam{
			{PMID: 1, Type: Type32, Bits: 0xfffffff2},
			{PMID: 2, Type: TypeU64, Bits: math.MaxUint64},
			{PMID: 3, Type: TypeString, Bytes: []byte("twelve")},
			{PMID: 4, Type: TypeFloat, Bits: uint64(math.Float32bits(-17))},
			{PMID: 5, Type: TypeDouble, Bits: math.Float64bits(8)},
			{PMID: 6, Type: TypeAggregate, Bytes: []byte{0, 1, 2}},
		}},
		{Sec: 2, Flags: EventMissed, Missed: 7},
		{Sec: 3, Flags: EventStart | EventID | EventParent},
	}}
	for _, typ := range []Type{TypeEvent, TypeHighResEvent} {
		t.Run(typ.String(), func(t *testing.T) {
			var got Events
			b := want.Append(nil, typ)
			require.NoError(t, got.Decode(typ, b))
			assert.Equal(t, want.Records, got.Records)
			assert.Equal(t, b, got.Append(nil, typ))
			assert.Equal(t, b, got.Append([]byte("abc"), typ)[3:])
			for n := range b { // every prefix is refused
				require.ErrorIs(t, new(Events).Decode(typ, b[:n]), ErrIPC, "%d bytes", n)
			}
			require.ErrorIs(t, new(Events).Decode(typ, append(b, 0)), ErrIPC)

			require.NoError(t, got.Decode(typ, body(0)), "into used ones")
			assert.Empty(t, got.Records)
		})
	}
}

func TestEventsOfVectors(t *testing.T) {
	seen := 0
	for _, v := range loadVectors(t) {
		if v.kind() != KindResult {
			continue
		}
		var r Result
		require.NoError(t, r.Decode(v.body()))
		for _, set := range r.Sets {
			for _, value := range set.Values {
				if value.Type != TypeEvent && value.Type != TypeHighResEvent {
					continue
				}
				seen++
				var e Events
				require.NoError(t, e.Decode(value.Type, value.Bytes))
				assert.Len(t, e.Append(nil, value.Type), len(value.Bytes))
			}
		}
	}
	assert.GreaterOrEqual(t, seen, 4)
}

func TestEventsMalformed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		typ    Type
		body   []byte
		field  string
		offset int
	}{
		{"not events", TypeString, body(0), "vtype", 4},
		{"empty", TypeEvent, body(), "nrecords", 4},
		{"negative records", TypeEvent, body(-1), "nrecords", 4},
		{"huge records", TypeEvent, body(huge, 1, 2, 0, 0), "nrecords", 4},
		{"record too short for high resolution", TypeHighResEvent, body(1, 1, 2, 0, 0), "nrecords", 4},
		{"negative parameters", TypeEvent, body(1, 1, 2, 0, -1), "record[0].nparams", 20},
		{"huge parameters", TypeEvent, body(1, 1, 2, 0, huge, 1, 0x01000008, 5), "record[0].nparams", 20},
		{"parameter too short", TypeEvent, body(1, 1, 2, 0, 1, 1, 0x06000003), "record[0].param.len", 28},
		{"parameter too long", TypeEvent, body(1, 1, 2, 0, 1, 1, 0x06000009, "abcd"), "record[0].param.value", 32},
		{"number of a wrong size", TypeEvent, body(1, 1, 2, 0, 1, 1, 0x03000008, 5), "record[0].param.len", 28},
		{"second record cut", TypeEvent, body(2, 1, 2, 0, 1, 1, 0x01000008, 5, 1, 2, 0), "record[1].nparams", 48},
		{"bytes left over", TypeEvent, body(1, 1, 2, 0, 0, 0), "end", 24},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var wrong *DecodeError
			require.ErrorAs(t, new(Events).Decode(tt.typ, tt.body), &wrong)
			assert.Equal(t, tt.field, wrong.Field, wrong.Reason)
			assert.Equal(t, tt.offset, wrong.Offset)
		})
	}
}

func TestEventsTolerated(t *testing.T) {
	t.Run("last pad missing", func(t *testing.T) {
		var e Events
		require.NoError(t, e.Decode(TypeEvent, body(1, 1, 2, 1, 1, 1, 0x06000005, "x")))
		assert.Equal(t, []EventParam{{PMID: 1, Type: TypeString, Bytes: []byte("x")}}, e.Records[0].Params)
	})
	t.Run("missed with another flag has no parameters", func(t *testing.T) {
		var e Events
		require.NoError(t, e.Decode(TypeEvent, body(1, 1, 2, -0x7fffffff, 9)))
		assert.Equal(t, []EventRecord{{Sec: 1, Nsec: 2000, Flags: EventMissed | EventPoint, Missed: 9}}, e.Records)
	})
}

func TestEventFlags(t *testing.T) {
	assert.Equal(t, "POINT|START|END|ID|PARENT", EventFlags(31).String())
	assert.Equal(t, "MISSED", EventMissed.String())
	assert.Equal(t, "POINT|MISSED", (EventMissed | EventPoint).String())
	assert.Equal(t, "0", EventFlags(0).String())
}
