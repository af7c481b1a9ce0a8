package main

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmdatest"
)

const (
	red pdu.Inst = iota
	green
	blue
)

func pmid(item int) pdu.PMID { return pdu.NewPMID(defaultDomain, 0, item) }

// table is a pmcd with the agent, whose clock the test moves and whose dice fall as the test says.
type table struct {
	*pmdatest.PMCD
	now  time.Time
	next uint32 // what random gives
}

func start(t *testing.T) *table {
	t.Helper()
	b := &table{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	a, err := newAgent(defaultDomain, b.now, func(n uint32) uint32 {
		require.Less(t, b.next, n)
		return b.next
	})
	require.NoError(t, err)
	b.PMCD = pmdatest.StartServer(t, &pmda.Server{Agent: a, Now: func() time.Time { return b.now }})
	b.Handshake()
	return b
}

// fetch returns what a tool would show.
func (b *table) fetch(items ...int) string {
	ids := make([]pdu.PMID, len(items))
	for i, item := range items {
		ids[i] = pmid(item)
	}
	var text bytes.Buffer
	for _, set := range pmdatest.As[*pdu.Result](b.PMCD, b.Request(&pdu.Fetch{PMIDs: ids})).Sets {
		if set.Code != 0 {
			fmt.Fprint(&text, set.Code, ";")
			continue
		}
		for _, v := range set.Values {
			fmt.Fprintf(&text, "%d:%d ", v.Inst, v.Bits)
		}
		fmt.Fprint(&text, ";")
	}
	return text.String()
}

func TestValuesFollowTheClock(t *testing.T) {
	for _, row := range []struct {
		name  string
		after time.Duration
		want  string // faces; throws; uptime
	}{
		{"at the start", 0, "0:0 1:0 2:0 ;0:0 1:0 2:0 ;-1:0 ;"},
		{"after one throw", 1500 * time.Millisecond, "0:5 1:0 2:0 ;0:1 1:0 2:0 ;-1:1 ;"},
		{"after all have been thrown", 7 * time.Second, "0:5 1:5 2:5 ;0:7 1:3 2:2 ;-1:7 ;"},
		{"clock set back", -time.Hour, "0:0 1:0 2:0 ;0:0 1:0 2:0 ;-1:0 ;"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := start(t)
			b.next = 4
			b.now = b.now.Add(row.after)
			assert.Equal(t, row.want, b.fetch(itemFace, itemThrows, itemUptime))
		})
	}
}

func TestDieLiesStillBetweenThrows(t *testing.T) {
	b := start(t)
	b.now, b.next = b.now.Add(time.Second), 1
	require.Equal(t, "0:2 1:0 2:0 ;", b.fetch(itemFace))
	b.now, b.next = b.now.Add(time.Second/2), 3
	assert.Equal(t, "0:2 1:0 2:0 ;", b.fetch(itemFace))
}

func TestProfileSelectsDice(t *testing.T) {
	b := start(t)
	b.now = b.now.Add(6 * time.Second)
	b.Send(&pdu.Profile{Default: pdu.Exclude, InDoms: []pdu.ProfileInDom{{
		InDom: pdu.NewInDom(defaultDomain, dieInDom), State: pdu.Exclude, Insts: []pdu.Inst{blue},
	}}}, 0)
	assert.Equal(t, "2:2 ;", b.fetch(itemThrows))
}

func TestStore(t *testing.T) {
	for _, row := range []struct {
		name string
		set  pdu.ValueSet
		want pdu.Code
	}{
		{"twenty sides", pdu.ValueSet{PMID: pmid(itemSides), Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 20)}}, 0},
		{
			"a thing with one side",
			pdu.ValueSet{PMID: pmid(itemSides), Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 1)}},
			pdu.ErrBadStore,
		},
		{
			"too many sides",
			pdu.ValueSet{PMID: pmid(itemSides), Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 1001)}},
			pdu.ErrBadStore,
		},
		{"no value", pdu.ValueSet{PMID: pmid(itemSides)}, pdu.ErrBadStore},
		{
			"a metric that is measured",
			pdu.ValueSet{PMID: pmid(itemFace), Values: []pdu.Value{pdu.Uint32Value(red, 6)}},
			pdu.ErrPermission,
		},
		{
			"a metric that there is not",
			pdu.ValueSet{PMID: pmid(99), Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 6)}},
			pdu.ErrPMID,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := start(t)
			assert.Equal(t, row.want, b.Refused(&pdu.Result{Sets: []pdu.ValueSet{row.set}}))
			want := "-1:6 ;"
			if row.want == 0 {
				want = "-1:20 ;"
			}
			assert.Equal(t, want, b.fetch(itemSides))
		})
	}
	t.Run("all or nothing", func(t *testing.T) {
		b := start(t)
		assert.Equal(t, pdu.ErrPermission, b.Refused(&pdu.Result{Sets: []pdu.ValueSet{
			{PMID: pmid(itemSides), Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 20)}},
			{PMID: pmid(itemUptime), Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 0)}},
		}}))
		assert.Equal(t, "-1:6 ;", b.fetch(itemSides))
	})
}

func TestMetadata(t *testing.T) {
	b := start(t)
	indom := pdu.NewInDom(defaultDomain, dieInDom)
	for item, m := range metricTable() {
		name := root + "." + m.name
		ids := pmdatest.As[*pdu.PMNSIDs](b.PMCD, b.Request(&pdu.PMNSNames{Names: []string{name}}))
		require.Equal(t, []pdu.PMID{pmid(item)}, ids.PMIDs, name)
		desc := pmdatest.As[*pdu.DescReply](b.PMCD, b.Request(&pdu.DescReq{PMID: pmid(item)})).Desc
		assert.Equal(t, m.desc.Type, desc.Type, name)
		want := pdu.NoInDom
		if m.perDie {
			want = indom
		}
		assert.Equal(t, want, desc.InDom, name)
		for _, kind := range []pdu.TextType{pdu.TextOneLine, pdu.TextHelp} {
			text := pmdatest.As[*pdu.Text](b.PMCD, b.Request(&pdu.TextReq{Ident: uint32(pmid(item)), Type: kind | pdu.TextPMID}))
			assert.NotEmpty(t, text.Text, name)
		}
	}
	assert.Equal(t, pdu.ErrPMID, b.Refused(&pdu.DescReq{PMID: pmid(len(metricTable()))}))
	assert.Equal(t, pdu.ErrPMID, b.Refused(&pdu.DescReq{PMID: pdu.NewPMID(defaultDomain, 1, 0)}))

	dice := pmdatest.As[*pdu.InstanceReply](b.PMCD, b.Request(&pdu.InstanceReq{InDom: indom, Inst: pdu.NoInst}))
	assert.Equal(
		t, []pdu.Instance{{ID: red, Name: "red"}, {ID: green, Name: "green"}, {ID: blue, Name: "blue"}}, dice.Instances,
	)
	assert.Equal(t, pdu.ErrInDom, b.Refused(&pdu.InstanceReq{InDom: indom + 1, Inst: pdu.NoInst}))

	line := pmdatest.As[*pdu.Text](
		b.PMCD, b.Request(&pdu.TextReq{Ident: uint32(indom), Type: pdu.TextOneLine | pdu.TextInDom}),
	)
	assert.Equal(t, dieText, line.Text)
	labels := pmdatest.As[*pdu.Labels](b.PMCD, b.Request(&pdu.LabelReq{Ident: defaultDomain, Type: pdu.LabelDomain}))
	require.Len(t, labels.Sets, 1)
	assert.JSONEq(t, `{"agent":"dice"}`, labels.Sets[0].JSON)
}

func TestCommandLine(t *testing.T) {
	for _, row := range []struct {
		name   string
		args   []string
		exit   int
		stdout string
		stderr string
	}{
		{"help", []string{"--help"}, exitOK, "Usage: pmdadice", ""},
		{"no such option", []string{"-Z"}, exitUsage, "", "pmdadice: "},
		{"domain out of range", []string{"-d", "511"}, exitUsage, "", "use 1 to 510"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, row.exit, run(t.Context(), row.args, &stdout, &stderr))
			assert.Contains(t, stdout.String(), row.stdout)
			assert.Contains(t, stderr.String(), row.stderr)
		})
	}
}
