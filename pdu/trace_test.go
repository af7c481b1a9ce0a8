package pdu

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite golden files")

// The trace of all vectors, one line each, is read like code when it changes.
func TestTraceGolden(t *testing.T) {
	const path = "testdata/trace.golden"
	var got strings.Builder
	for _, v := range loadVectors(t) {
		got.WriteString(v.name + ": " + Trace(readFrame(t, v.frame)) + "\n")
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}

func TestTrace(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    Frame
		want string
	}{
		{
			"broken body",
			Frame{Kind: KindFetch, From: 3, Body: body(0, 0, 0, 7)},
			"FETCH from=3 len=28 (decode FETCH: numpmid at byte 24: 7 items do not fit 0 bytes) 00000000000000000000000000000007",
		},
		{
			"unknown kind",
			Frame{Kind: 0x7018, Body: []byte("abc")},
			"Kind(0x7018) from=0 len=15 (decode Kind(0x7018): type at byte 4: no such PDU) 616263",
		},
		{
			"broken ATTR keeps its bytes",
			Frame{Kind: KindAttr, Body: body(int(AttrPassword), strings.Repeat("s", MaxAttrValue+1))},
			"ATTR from=0 len=4112 (decode ATTR: value at byte 16: 4096 bytes are more than 4095)",
		},
		{
			"password",
			Frame{Kind: KindAttr, Body: body(int(AttrPassword), "secret")},
			"ATTR from=0 len=22 attr=password bytes=6",
		},
		{"SASL payload", Frame{Kind: KindAttr, Body: body(int(AttrSASL), "secret")}, "ATTR from=0 len=22 attr=sasl bytes=6"},
		{"unknown attribute", Frame{Kind: KindAttr, Body: body(99, "x")}, `ATTR from=0 len=17 attr=Attribute(99) value="x"`},
		{
			"long text",
			Frame{Kind: KindText, Body: body(1, 80, strings.Repeat("x", 80))},
			`TEXT from=0 len=100 ident=0x00000001 text="` + strings.Repeat("x", 64) + `"...`,
		},
		{
			"long list",
			Frame{Kind: KindFetch, Body: (&Fetch{PMIDs: make([]PMID, 17)}).Append(nil, 0)[HeaderSize:]},
			"FETCH from=0 len=96 ctxid=0 pmids=17[0.0.0 0.0.0 0.0.0 0.0.0 0.0.0 0.0.0 0.0.0 0.0.0 0.0.0 0.0.0 0.0.0 0.0.0 0.0.0 0.0.0 0.0.0 0.0.0 ...]",
		},
		{
			"label code",
			Frame{Kind: KindLabel, Body: body(1, 32, 0, 1, 7, -12360, 44, 0)},
			"LABEL from=0 len=44 indom=0.1 type=INSTANCES sets=1[7:PM_ERR_INST]",
		},
		{
			"odd profile",
			Frame{Kind: KindProfile, Body: body(0, 7, 0, 0)},
			"PROFILE from=0 len=28 ctxid=0 default=ProfileState(7) indoms=0",
		},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, Trace(tt.f)) })
	}
}

// Every attribute has a name, and only secrets are hidden.
func TestAttributeNames(t *testing.T) {
	want := strings.Fields("sasl protocol secure compress userauth username authname password method realm " +
		"unixsock userid groupid local processid container exclusive")
	for i, name := range want {
		a := Attribute(i)
		assert.Equal(t, name, a.String())
		text, err := a.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, name, string(text))
		assert.Equal(t, name == "sasl" || name == "password", a.secret())
	}
}
