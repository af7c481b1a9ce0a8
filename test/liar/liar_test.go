package liar

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

func frame(t *testing.T, m pdu.Message) pdu.Frame {
	t.Helper()
	f, err := pdu.NewReader(bytes.NewReader(m.Append(nil, 3)), pdu.MaxPDU).Next()
	require.NoError(t, err)
	return f
}

// truths returns requests, each with its true answer, the values last.
func truths(t *testing.T, value uint64) [][2]pdu.Frame {
	t.Helper()
	id := pdu.NewPMID(400, 0, 1)
	var all [][2]pdu.Frame
	add := func(asked, truth pdu.Message) { all = append(all, [2]pdu.Frame{frame(t, asked), frame(t, truth)}) }
	add(&pdu.PMNSNames{Names: []string{"evil.dyn.a"}}, &pdu.PMNSIDs{PMIDs: []pdu.PMID{id}})
	add(&pdu.PMNSTraverse{Name: "evil.dyn"}, &pdu.PMNSNames{Names: []string{"evil.dyn.a"}})
	add(&pdu.DescReq{PMID: id}, &pdu.DescReply{Desc: pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NewInDom(400, 1)}})
	add(&pdu.InstanceReq{InDom: pdu.NewInDom(400, 1), Inst: pdu.NoInst},
		&pdu.InstanceReply{InDom: pdu.NewInDom(400, 1), Instances: []pdu.Instance{{ID: 0, Name: "m0"}, {ID: 1, Name: "m1"}}})
	kind, err := pdu.NewLabelSet(1, pdu.LabelInstances, map[string]any{"kind": "disk"})
	require.NoError(t, err)
	indom := uint32(pdu.NewInDom(400, 1))
	add(&pdu.LabelReq{Ident: indom, Type: pdu.LabelInstances},
		&pdu.Labels{Ident: indom, Type: pdu.LabelInstances, Sets: []pdu.LabelSet{kind}})
	add(&pdu.Fetch{PMIDs: []pdu.PMID{id, id + 1, id + 2}}, &pdu.Result{Sets: []pdu.ValueSet{
		{PMID: id, Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, value)}},
		{PMID: id + 1, Values: []pdu.Value{pdu.Uint64Value(1, 8), pdu.Uint64Value(0, 9)}},
		{PMID: id + 2, Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 10)}},
	}})
	return all
}

// Each lie says something else, and that arrives at pmcd as one message.
func TestLies(t *testing.T) {
	seen := map[string]bool{}
	for _, order := range Lies() {
		t.Run(order, func(t *testing.T) {
			require.False(t, seen[order], "told twice")
			seen[order] = true
			lieIs(t, order)
		})
	}
}

func lieIs(t *testing.T, order string) {
	t.Helper()
	var r teller
	lied := false
	for n := range uint64(5) {
		all := truths(t, n)
		for i, pair := range all {
			said, err := r.tell(order, pair[0], pair[1])
			require.NoError(t, err)
			honest := encoded(pair[1])
			if i == len(all)-1 && len(said) > pdu.HeaderSize && get(said, pdu.HeaderSize) == uint32(pdu.ChangeNames) {
				put(honest, pdu.HeaderSize, uint32(pdu.ChangeNames)) // it is announced
			}
			if bytes.Equal(said, honest) {
				continue
			}
			lied = true
			arrived := pdu.NewReader(bytes.NewReader(said), pdu.MaxPDU)
			f, err := arrived.Next()
			require.NoError(t, err)
			require.Zero(t, arrived.Pending(), "one message")
			require.Contains(t, []pdu.Kind{pair[1].Kind, pdu.KindError}, f.Kind)
		}
	}
	assert.True(t, lied, "it is the truth")
}

func TestNoSuchLie(t *testing.T) {
	var r teller
	pair := truths(t, 0)[0]
	_, err := r.tell("white", pair[0], pair[1])
	assert.ErrorContains(t, err, "no such lie")
	said, err := r.tell("", pair[0], pair[1])
	require.NoError(t, err)
	assert.Equal(t, encoded(pair[1]), said)
}

// The same seed tells the same lies.
func TestRandomIsSeeded(t *testing.T) {
	told := func(seed uint64) (all []byte) {
		var r teller
		for range 20 {
			for _, pair := range truths(t, 0) {
				said, err := r.tell(Random(seed), pair[0], pair[1])
				require.NoError(t, err)
				all = append(all, said...)
			}
		}
		return all
	}
	assert.Equal(t, told(1), told(1))
	assert.NotEqual(t, told(1), told(2))
}

// A random error is one.
func TestRandomErrors(t *testing.T) {
	var r teller
	asked := frame(t, &pdu.InstanceReq{InDom: pdu.NewInDom(400, 1), Inst: 7})
	truth := frame(t, &pdu.Error{Code: pdu.ErrInst})
	told := map[pdu.Code]bool{}
	for range 200 {
		said, err := r.tell(Random(1), asked, truth)
		require.NoError(t, err)
		code := pdu.Code(int32(get(said, pdu.HeaderSize)))
		require.Negative(t, code)
		told[code] = true
	}
	assert.Greater(t, len(told), 2)
}

// Requests of pmcd reach the agent. Its replies reach pmcd, or lies in their place if there is an order.
func TestBetween(t *testing.T) {
	orders := filepath.Join(t.TempDir(), "orders")
	in, toLiar, err := os.Pipe()
	require.NoError(t, err)
	fromLiar, out, err := os.Pipe()
	require.NoError(t, err)
	agent := func(in, out *os.File) error {
		w, r := pdu.NewWriter(out), pdu.NewReader(in, pdu.AgentLimit)
		if err := w.Write(&pdu.Creds{Version: 2}, 0); err != nil {
			return err
		}
		for {
			f, err := r.Next()
			if err != nil {
				return nil
			}
			if f.Kind == pdu.KindDescReq {
				if err := w.Write(&pdu.DescReply{Desc: pdu.Desc{PMID: 5}}, f.From); err != nil {
					return err
				}
			}
		}
	}
	done := make(chan error, 1)
	go func() { done <- Between(in, out, agent, orders) }()
	w, r := pdu.NewWriter(toLiar), pdu.NewReader(fromLiar, pdu.ClientLimit)
	next := func() pdu.Message {
		t.Helper()
		f, err := r.Next()
		require.NoError(t, err)
		m, err := pdu.Decode(f)
		require.NoError(t, err)
		return m
	}
	require.IsType(t, &pdu.Creds{}, next())
	require.NoError(t, w.Write(&pdu.Creds{Version: 2}, 0))
	asked := func() pdu.Message {
		t.Helper()
		require.NoError(t, w.Write(&pdu.DescReq{PMID: 5}, 7))
		return next()
	}
	assert.Equal(t, &pdu.DescReply{Desc: pdu.Desc{PMID: 5}}, asked())
	order := func(text string) { require.NoError(t, os.WriteFile(orders, []byte(text), 0o644)) }
	order("desc-error -12389\n")
	assert.Equal(t, &pdu.Error{Code: pdu.ErrAgain}, asked())
	order("")
	assert.IsType(t, &pdu.DescReply{}, asked())
	require.NoError(t, toLiar.Close())
	assert.NoError(t, <-done)
}

// Arguments are numbers, as the table has them.
func TestArguments(t *testing.T) {
	for _, order := range Lies() {
		if _, argument, ok := strings.Cut(order, " "); ok {
			_, err := strconv.Atoi(argument)
			assert.NoError(t, err, order)
		}
	}
}
