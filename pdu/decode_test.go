package pdu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// body makes the body of a PDU: an int is a word of four bytes, a uint16 two, a uint8 one, a
// string its bytes.
func body(parts ...any) []byte {
	b := []byte{}
	for _, part := range parts {
		switch v := part.(type) {
		case int:
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		case int64:
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		case uint16:
			b = binary.BigEndian.AppendUint16(b, v)
		case uint8:
			b = append(b, v)
		case string:
			b = append(b, v...)
		default:
			panic(fmt.Sprintf("%T", v))
		}
	}
	return b
}

const huge = 0x7fffffff

// malformed is a body that cannot be decoded, with the field and the byte of its fault.
type malformed struct {
	name   string
	kind   Kind
	body   []byte
	field  string
	offset int
}

func allMalformed() []malformed {
	return []malformed{
		{"ERROR empty", KindError, body(), "code", 12},
		{"ERROR with half a challenge", KindError, body(0, uint16(2)), "challenge.features", 18},
		{"CREDS none", KindCreds, body(0), "numcreds", 12},
		{"CREDS negative", KindCreds, body(-1), "numcreds", 12},
		{"CREDS more than there are", KindCreds, body(2, 0x01020000), "numcreds", 12},
		{"CREDS too many", KindCreds, body(1025, string(make([]byte, 4*1025))), "numcreds", 12},
		{"PROFILE negative context", KindProfile, body(-1, 0, 0, 0), "ctxid", 12},
		{"PROFILE negative entries", KindProfile, body(0, 0, -1, 0), "numprof", 20},
		{"PROFILE huge entries", KindProfile, body(0, 0, huge, 0), "numprof", 20},
		{"PROFILE of 24 bytes with entries", KindProfile, body(0, 0, 1), "numprof", 20},
		{"PROFILE negative instances", KindProfile, body(0, 0, 1, 0, 1, 0, -1, 0), "prof[0].numinst", 36},
		{"PROFILE huge instances", KindProfile, body(0, 0, 1, 0, 1, 0, huge, 0), "prof[0].numinst", 36},
		{
			"PROFILE instances of two overlap the end", KindProfile, body(0, 0, 2, 0, 1, 0, 2, 0, 2, 0, 2, 0, 7, 8, 9),
			"prof[1].numinst", 52,
		},
		{"PROFILE instance left over", KindProfile, body(0, 0, 1, 0, 1, 0, 1, 0, 7, 8), "end", 48},
		{"FETCH of nothing", KindFetch, body(0, 0, 0, 0), "numpmid", 24},
		{"FETCH negative", KindFetch, body(0, 0, 0, -1), "numpmid", 24},
		{"FETCH huge", KindFetch, body(0, 0, 0, huge, 1), "numpmid", 24},
		{"FETCH left over", KindFetch, body(0, 0, 0, 1, 1, 2), "end", 32},
		{"HIGHRES_FETCH huge", KindHighResFetch, body(0, 0, 0, huge, 1), "numpmid", 24},
		{"DESC_REQ long", KindDescReq, body(1, 2), "end", 16},
		{"DESC short", KindDesc, body(1, 2, 3, 4), "desc", 12},
		{"DESC_IDS first word", KindDescIDs, body(0, 1, 1), "sts", 12},
		{"DESC_IDS none", KindDescIDs, body(-1, 0), "numids", 16},
		{"DESC_IDS huge", KindDescIDs, body(-1, huge, 1), "numids", 16},
		{"DESCS none", KindDescs, body(0), "numdescs", 12},
		{"DESCS huge", KindDescs, body(huge, 0, 0, 0, 0, 0), "numdescs", 12},
		{"INSTANCE_REQ huge name", KindInstanceReq, body(1, 0, 0, -1, huge, "abcd"), "namelen", 28},
		{"INSTANCE_REQ negative name", KindInstanceReq, body(1, 0, 0, -1, -4, "abcd"), "namelen", 28},
		{"INSTANCE_REQ bytes after the name", KindInstanceReq, body(1, 0, 0, -1, 4, "abcd", 0), "end", 36},
		{"INSTANCE negative", KindInstance, body(1, -1), "numinst", 16},
		{"INSTANCE huge", KindInstance, body(1, huge, 0, 0), "numinst", 16},
		{"INSTANCE huge name", KindInstance, body(1, 1, 0, huge), "inst[0].namelen", 24},
		{"INSTANCE second name", KindInstance, body(1, 2, 0, 3, "red~", 1, 5, "gree"), "inst[1].namelen", 36},
		{"INSTANCE missing pad inside", KindInstance, body(1, 2, 0, 3, "red", 1, 1, "g"), "inst[1].namelen", 36},
		{"TEXT_REQ long", KindTextReq, body(1, 5, 0), "end", 20},
		{"TEXT huge", KindText, body(1, huge, "abcd"), "buflen", 16},
		{"TEXT negative", KindText, body(1, -1, "abcd"), "buflen", 16},
		{"PMNS_NAMES huge", KindPMNSNames, body(5, 0, huge, 4, "abcd"), "numnames", 20},
		{"PMNS_NAMES statuses for some", KindPMNSNames, body(10, 1, 2, 0, 4, "abcd", 4, "abcd"), "numstatus", 16},
		{"PMNS_NAMES negative statuses", KindPMNSNames, body(5, -1, 1, 4, "abcd"), "numstatus", 16},
		{"PMNS_NAMES statuses without names", KindPMNSNames, body(5, huge, 0), "numstatus", 16},
		{"PMNS_NAMES count fits without statuses only", KindPMNSNames, body(9, 3, 3, 0, 0, 0, 0), "numnames", 20},
		{"PMNS_NAMES huge name", KindPMNSNames, body(huge, 0, 1, huge, "abcd"), "name[0].namelen", 24},
		{"PMNS_NAMES negative name", KindPMNSNames, body(9, 0, 1, -1), "name[0].namelen", 24},
		{"PMNS_NAMES string bytes too few", KindPMNSNames, body(4, 0, 1, 4, "abcd"), "nstrbytes", 12},
		{"PMNS_NAMES code and more", KindPMNSNames, body(0, 0, -12389, 0), "end", 24},
		{"PMNS_IDS none", KindPMNSIDs, body(0, 0), "numids", 16},
		{"PMNS_IDS huge", KindPMNSIDs, body(0, huge, 1), "numids", 16},
		{"PMNS_CHILD huge", KindPMNSChild, body(0, huge, "abcd"), "namelen", 16},
		{"PMNS_TRAVERSE negative", KindPMNSTraverse, body(0, -1, "abcd"), "namelen", 16},
		{"ATTR empty", KindAttr, body(), "attr", 12},
		{"ATTR too long", KindAttr, body(11, string(make([]byte, MaxAttrValue+1))), "value", 16},
		{"ATTR SASL too long", KindAttr, body(0, string(make([]byte, MaxSASLValue+1))), "value", 16},
		{"LABEL_REQ long", KindLabelReq, body(1, 4, 0), "end", 20},
		{"LABEL negative sets", KindLabel, body(1, 4, 0, -1), "nsets", 24},
		{"LABEL huge sets", KindLabel, body(1, 4, 0, huge), "nsets", 24},
		{
			"LABEL too many labels", KindLabel, body(1, 4, 0, 1, -1, 255, 0, 0, string(make([]byte, 8*255))), "set[0].nlabels",
			32,
		},
		{"LABEL labels beyond the end", KindLabel, body(1, 4, 0, 1, -1, 1, 52, 0), "set[0].label", 44},
		{"LABEL text beyond the end", KindLabel, body(1, 4, 0, 1, -1, 0, 44, 3, "{}"), "set[0].json", 36},
		{"LABEL huge text offset", KindLabel, body(1, 4, 0, 1, -1, 0, huge, 2, "{}"), "set[0].json", 36},
		{"LABEL negative text offset", KindLabel, body(1, 4, 0, 1, -1, 0, -44, 2, "{}"), "set[0].json", 36},
		{"LABEL text inside the sets", KindLabel, body(1, 4, 0, 1, -1, 0, 28, 2, "{}"), "set[0].json", 36},
		{"LABEL two sets with one text", KindLabel, body(1, 32, 0, 2, 0, 0, 60, 2, 1, 0, 60, 2, "{}"), "set[1].json", 52},
		{"LABEL negative text", KindLabel, body(1, 4, 0, 1, -1, 0, 44, -1), "set[0].jsonlen", 40},
		{
			"LABEL text too large", KindLabel, body(1, 4, 0, 1, -1, 0, 44, 65535, string(make([]byte, 65535))),
			"set[0].jsonlen", 40,
		},
		{
			"LABEL name outside the text", KindLabel,
			body(1, 4, 0, 1, -1, 1, 52, 2, uint16(1), uint8(2), uint8(4), uint16(0), uint16(0), "{}"), "set[0].label", 44,
		},
		{
			"LABEL value outside the text", KindLabel,
			body(1, 4, 0, 1, -1, 1, 52, 2, uint16(0), uint8(1), uint8(4), uint16(0xffff), uint16(0xffff), "{}"),
			"set[0].label", 44,
		},
		{"LABEL long tail", KindLabel, body(1, 4, 0, 1, -1, 0, 44, 2, "{}~~", 0), "end", 48},
		{"RESULT negative", KindResult, body(0, 0, -1), "numpmid", 20},
		{"RESULT huge", KindResult, body(0, 0, huge, 1, 0), "numpmid", 20},
		{"RESULT huge values", KindResult, body(0, 0, 1, 1, huge, 0, -1, 7), "vset[0].numval", 28},
		{"RESULT values without format", KindResult, body(0, 0, 1, 1, 1), "vset[0].numval", 28},
		{"RESULT second set cut", KindResult, body(0, 0, 2, 1, 1, 0, -1, 7), "vset[1]", 44},
		{"RESULT format 3", KindResult, body(0, 0, 1, 1, 1, 3, -1, 7), "vset[0].valfmt", 32},
		{"RESULT format -1", KindResult, body(0, 0, 1, 1, 1, -1, -1, 7), "vset[0].valfmt", 32},
		{"RESULT block in the value sets", KindResult, body(0, 0, 1, 1, 1, 1, -1, 10, 0x0200000c, 0, 7), "vset[0].index", 40},
		{"RESULT block beyond the end", KindResult, body(0, 0, 1, 1, 1, 1, -1, 14, 0x0200000c, 0, 7), "vset[0].index", 40},
		{"RESULT block index huge", KindResult, body(0, 0, 1, 1, 1, 1, -1, huge, 0x0200000c, 0, 7), "vset[0].index", 40},
		{"RESULT block index negative", KindResult, body(0, 0, 1, 1, 1, 1, -1, -1, 0x0200000c, 0, 7), "vset[0].index", 40},
		{
			"RESULT block index wraps around", KindResult, body(0, 0, 1, 1, 1, 1, -1, 0x4000000b, 0x0200000c, 0, 7),
			"vset[0].index", 40,
		},
		{"RESULT block too short", KindResult, body(0, 0, 1, 1, 1, 1, -1, 11, 0x06000003), "vset[0].vlen", 44},
		{"RESULT block too long", KindResult, body(0, 0, 1, 1, 1, 1, -1, 11, 0x06ffffff, "abcd"), "vset[0].vlen", 44},
		{"RESULT block without its pad", KindResult, body(0, 0, 1, 1, 1, 1, -1, 11, 0x06000006, "a\x00"), "vset[0].vlen", 44},
		{"RESULT 64 of 4 bytes", KindResult, body(0, 0, 1, 1, 1, 1, -1, 11, 0x02000008, 7), "vset[0].vlen", 44},
		{"RESULT U64 of 12 bytes", KindResult, body(0, 0, 1, 1, 1, 1, -1, 11, 0x03000010, 0, 0, 7), "vset[0].vlen", 44},
		{"RESULT DOUBLE of 0 bytes", KindResult, body(0, 0, 1, 1, 1, 1, -1, 11, 0x05000004), "vset[0].vlen", 44},
		{"RESULT FLOAT of 8 bytes", KindResult, body(0, 0, 1, 1, 1, 1, -1, 11, 0x0400000c, 0, 7), "vset[0].vlen", 44},
		{"RESULT 32 of 8 bytes", KindResult, body(0, 0, 1, 1, 1, 1, -1, 11, 0x0000000c, 0, 7), "vset[0].vlen", 44},
		{"RESULT bytes left over", KindResult, body(0, 0, 1, 1, 0, 7), "end", 32},
		{"RESULT block nobody has", KindResult, body(0, 0, 1, 1, 1, 1, -1, 11, 0x06000004, 0x06000004), "end", 48},
		{"RESULT gap before the blocks", KindResult, body(0, 0, 1, 1, 1, 1, -1, 12, 0x06000004, 0x06000004), "end", 48},
		{"RESULT two values, one block", KindResult, body(0, 0, 1, 1, 2, 1, 0, 13, 1, 13, 0x06000004), "vset[0].vlen", 52},
		{
			"RESULT block inside another", KindResult,
			body(0, 0, 1, 1, 2, 1, 0, 14, 1, 13, 0x0600000c, 0x06000004, 0x06000004), "vset[0].vlen", 52,
		},
		{"HIGHRES_RESULT huge", KindHighResResult, body(huge, int64(0), int64(0), 1, 0), "numpmid", 12},
		{"HIGHRES_RESULT negative", KindHighResResult, body(-1, int64(0), int64(0)), "numpmid", 12},
	}
}

func TestMalformed(t *testing.T) {
	for _, tt := range allMalformed() {
		t.Run(tt.name, func(t *testing.T) {
			m := New(tt.kind)
			err := m.Decode(tt.body)
			var wrong *DecodeError
			require.ErrorAs(t, err, &wrong)
			assert.Equal(t, tt.field, wrong.Field, wrong.Reason)
			assert.Equal(t, tt.offset, wrong.Offset)
			assert.Equal(t, tt.kind, wrong.Kind)
			assert.NotEmpty(t, wrong.Reason)
			assert.Less(t, allocated(func() { _ = New(tt.kind).Decode(tt.body) }), uint64(16<<10+4*len(tt.body)))
		})
	}
}

func TestDecodeErrorText(t *testing.T) {
	err := new(InstanceReply).Decode(body(1, 2, 0, 3, "red~", 1, 5, "gree"))
	assert.EqualError(t, err, "decode INSTANCE: inst[1].namelen at byte 36: 5 bytes wanted, 4 left")
	err = new(DescIDs).Decode(nil)
	assert.EqualError(t, err, "decode DESC_IDS: sts at byte 12: 4 bytes wanted, 0 left", "the first failure counts")
}

// Forms that differ between stock senders are accepted and mean the same.
func TestTolerated(t *testing.T) {
	for _, tt := range []struct {
		name string
		body []byte
		want Message
	}{
		{"ERROR short", body(-12358), &Error{Code: ErrPMID}},
		{
			"ERROR long", body(0, uint8(2), uint8(1), uint16(0x0e44)),
			&Error{Extended: true, Challenge: Challenge{Version: 2, Licensed: 1, Features: 0x0e44}},
		},
		{
			"ERROR version has 7 bits", body(0, uint8(0x82), uint8(1), uint16(0)),
			&Error{Extended: true, Challenge: Challenge{Version: 2, Licensed: 1}},
		},
		{"CREDS of unknown type", body(2, 0x01020004, 0x63090909), &Creds{Version: 2, Features: FeatureAuth}},
		{"CREDS without a version", body(1, 0x63090909), &Creds{}},
		{"PROFILE of 24 bytes", body(3, 1, 0), &Profile{Context: 3, Default: Exclude}},
		{"PROFILE of 28 bytes", body(3, 1, 0, -1), &Profile{Context: 3, Default: Exclude}},
		{"INSTANCE_REQ without pad", body(1, 0, 0, -1, 3, "red"), &InstanceReq{InDom: 1, Inst: NoInst, Name: "red"}},
		{"INSTANCE without last pad", body(1, 1, 4, 3, "red"), &InstanceReply{InDom: 1, Instances: []Instance{{4, "red"}}}},
		{"TEXT without pad", body(1, 3, "red"), &Text{Ident: 1, Text: "red"}},
		{"TEXT with another pad", body(1, 3, "red\x00"), &Text{Ident: 1, Text: "red"}},
		{"PMNS_NAMES without last pad", body(4, 0, 1, 3, "red"), &PMNSNames{Names: []string{"red"}}},
		{"PMNS_NAMES generous string bytes", body(99, 0, 1, 3, "red~"), &PMNSNames{Names: []string{"red"}}},
		{"PMNS_NAMES empty name", body(1, 0, 1, 0), &PMNSNames{Names: []string{""}}},
		{"PMNS_CHILD without pad", body(1, 3, "red"), &PMNSChild{WithStatus: true, Name: "red"}},
		{"PMNS_TRAVERSE without pad", body(0, 3, "red"), &PMNSTraverse{Name: "red"}},
		{"ATTR without NUL", body(11, "1000"), &Attr{Attr: AttrUserID, Value: "1000"}},
		{"ATTR with NUL", body(11, "1000\x00"), &Attr{Attr: AttrUserID, Value: "1000", NUL: true}},
		{"ATTR of two NULs", body(11, "\x00\x00"), &Attr{Attr: AttrUserID, Value: "\x00", NUL: true}},
		{
			"ATTR longest", body(15, strings.Repeat("x", MaxAttrValue-1)+"\x00"),
			&Attr{Attr: AttrContainer, Value: strings.Repeat("x", MaxAttrValue-1), NUL: true},
		},
		{"ATTR longest SASL", body(0, strings.Repeat("x", MaxSASLValue)), &Attr{Value: strings.Repeat("x", MaxSASLValue)}},
		{"ATTR without value", body(15), &Attr{Attr: AttrContainer}},
		{
			"LABEL with pad", body(1, 4, 0, 1, -1, 0, 44, 2, "{}~~"),
			&Labels{Ident: 1, Type: LabelInDom, Sets: []LabelSet{{Inst: NoInst, JSON: "{}"}}},
		},
		{
			"LABEL empty set without running offset", body(1, 4, 0, 1, 7, 0, 0, 0),
			&Labels{Ident: 1, Type: LabelInDom, Sets: []LabelSet{{Inst: 7}}},
		},
		{
			"LABEL code", body(1, 32, 0, 1, 7, -12360, 44, 0),
			&Labels{Ident: 1, Type: LabelInstances, Sets: []LabelSet{{Inst: 7, Code: ErrInst}}},
		},
		{"RESULT of nothing", body(0, 0, 0), &Result{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := New(tt.want.Kind())
			require.NoError(t, got.Decode(tt.body))
			switch got := got.(type) {
			case *Result: // has memory of its own beside what is compared here
			case *Labels:
				assert.Equal(t, tt.want.(*Labels).Sets, got.Sets)
			default:
				assert.Equal(t, tt.want, got)
			}
			assert.Equal(t, tt.want.Append(nil, 0), got.Append(nil, 0))
		})
	}
}

// Whatever a peer writes into any word, a decoder neither panics nor allocates more than in
// proportion to what was sent.
func TestLyingWords(t *testing.T) {
	words := []uint32{0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0x3fffffff, 0x00ffffff, 0x20000000}
	for _, v := range loadVectors(t) {
		t.Run(v.name, func(t *testing.T) {
			limit := uint64(16*len(v.frame) + 2<<10)
			for off := 0; off+4 <= len(v.frame)-HeaderSize; off += 4 {
				bodies := make([][]byte, len(words))
				messages := make([]Message, len(words))
				for i, word := range words {
					bodies[i], messages[i] = v.body(), New(v.kind())
					binary.BigEndian.PutUint32(bodies[i][off:], word)
				}
				spent := allocated(func() {
					for i, m := range messages {
						if m.Decode(bodies[i]) != nil {
							messages[i] = nil
						}
					}
				})
				require.LessOrEqual(t, spent, limit*uint64(len(words)), "word %d", off/4)
				for _, m := range messages {
					if m != nil {
						_ = m.String()
						_ = m.Append(nil, 0)
					}
				}
			}
		})
	}
}

// Strings are copies: they outlive the buffer of the Reader.
func TestStringsOutliveTheFrame(t *testing.T) {
	for _, v := range loadVectors(t) {
		switch v.kind() {
		case KindResult, KindHighResResult:
			continue // values borrow, and say so
		}
		b := v.body()
		m := New(v.kind())
		require.NoError(t, m.Decode(b))
		clear(b)
		assertSameBytes(t, v, m)
	}
}

func TestValuesBorrowTheFrame(t *testing.T) {
	for _, v := range []Value{StringValue(NoInst, "abc"), AggregateValue(NoInst, []byte("abc"))} {
		frame := (&Result{Sets: []ValueSet{{PMID: 1, Values: []Value{v}}, {PMID: 2, Values: []Value{v}}}}).Append(nil, 0)
		var r Result
		require.NoError(t, r.Decode(frame[HeaderSize:]))
		got := r.Sets[0].Values[0].Bytes
		assert.Equal(t, "abc", string(got))
		assert.Equal(t, len(got), cap(got), "appending to a borrowed value must not write into the frame")
		copy(frame[bytes.Index(frame, []byte("abc")):], "xyz")
		assert.Equal(t, "xyz", string(got))
	}
}
