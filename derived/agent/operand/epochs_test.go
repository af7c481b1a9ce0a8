package operand

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

func TestEpochs(t *testing.T) {
	var none *Epochs
	one, all := none.Begin(60), none.Begin()
	for _, row := range []struct {
		name    string
		a, b    *Epochs
		domains []int
		want    bool
	}{
		{"the same", one, one, []int{60}, true},
		{"nothing has happened", none, nil, []int{60}, true},
		{"its agent was restarted", one, none, []int{60}, false},
		{"one of its agents was", one, none, []int{3, 60}, false},
		{"another agent was", one, none, []int{3}, true},
		{"any agent was", all, none, []int{3}, false},
		{"any, and then another one", all.Begin(60), all, []int{3}, true},
		{"any, and then its own", all.Begin(60), all, []int{60}, false},
		{"its own, and any", one, all, []int{3}, false},
		{"again", one.Begin(60), one, []int{60}, false},
		{"two agents", none.Begin(3, 4), none, []int{4}, false},
		{"no operands", all, none, nil, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, row.a.Same(row.b, row.domains))
			assert.Equal(t, row.want, row.b.Same(row.a, row.domains))
		})
	}
}

// A sample says for each domain whether it continues another one.
func TestSamplesContinueByDomain(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	m := NewMaker(&Names{}, at)
	take := func() *Sample { at = at.Add(time.Second); return m.Without(nil, 0, at) }
	before := take()
	m.BeginEpoch(60)
	after := take()
	assert.True(t, after.Continues(before, []int{3}))
	assert.False(t, after.Continues(before, []int{3, 60}))
	kept := Kept{after, before}
	assert.Equal(t, 2, kept.In(m.Epochs(), []int{3}))
	assert.Equal(t, 1, kept.In(m.Epochs(), []int{60}))
	before.Begin(m.Epochs())
	assert.True(t, after.Continues(before, []int{60}))
}

// An agent was restarted if most of its counters went back, or all its operands have lost their values.
func TestEvidence(t *testing.T) {
	const agent, other = 60, 3
	operands := []pdu.Desc{
		{PMID: pdu.NewPMID(agent, 0, 0), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter},
		{PMID: pdu.NewPMID(agent, 0, 1), Type: pdu.TypeU64, InDom: pdu.NewInDom(agent, 0), Sem: pdu.SemCounter},
		{PMID: pdu.NewPMID(agent, 0, 2), Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
		{PMID: pdu.NewPMID(other, 0, 0), Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemCounter},
	}
	sets := map[int]*derived.InstSet{}
	// vector makes values of operand i; nil: it has none.
	vector := func(i int, values []uint64) derived.Vector {
		v := derived.Vector{Type: operands[i].Type, Bits: values}
		switch n := len(values); {
		case values == nil:
			return derived.Vector{Type: operands[i].Type, Code: pdu.ErrNoAgent}
		case operands[i].InDom != pdu.NoInDom:
			if sets[n] == nil {
				ids := make([]pdu.Inst, n)
				for k := range ids {
					ids[k] = pdu.Inst(k)
				}
				sets[n] = derived.NewInstSet(ids)
			}
			v.Insts = sets[n]
		}
		return v
	}
	type values [4][]uint64
	sample := func(all values) *Sample {
		s := &Sample{list: NewList(operands...)}
		for i, some := range all {
			s.vectors = append(s.vectors, vector(i, some))
		}
		return s
	}
	is := func(n ...uint64) []uint64 { return n }
	none := []uint64{}
	for _, row := range []struct {
		name          string
		before, after values
		want          []int
	}{
		{"all went on", values{is(5), is(1, 2), is(9), is(1)}, values{is(6), is(1, 3), is(3), is(1)}, nil},
		{"all went back", values{is(5), is(1, 2), is(9), is(1)}, values{is(1), is(0, 1), is(9), is(1)}, []int{agent}},
		{"half of them", values{is(5), is(5, 5), nil, nil}, values{is(1), is(9, 9), nil, nil}, []int{agent}},
		{"half of the instances", values{nil, is(5, 5), nil, nil}, values{nil, is(9, 1), nil, nil}, []int{agent}},
		{"one of three instances", values{nil, is(5, 5, 5), nil, nil}, values{nil, is(9, 1, 9), nil, nil}, nil},
		{"instances that have gone and come", values{nil, is(5, 5), nil, nil}, values{nil, is(6), nil, nil}, nil},
		{"all instances have gone", values{nil, is(5, 5), nil, nil}, values{nil, none, nil, nil}, nil},
		{"the value has gone", values{is(5), nil, nil, nil}, values{none, nil, nil, nil}, nil},
		{"nothing was counted", values{is(0), is(0, 0), nil, nil}, values{is(0), is(7, 0), nil, nil}, nil},
		{"an instant value goes where it wants", values{nil, nil, is(9), nil}, values{nil, nil, is(1), nil}, nil},
		{"one lost its values", values{is(5), is(5), nil, nil}, values{nil, is(5), nil, nil}, nil},
		{"all lost theirs", values{is(5), is(5), is(1), is(5)}, values{nil, nil, nil, is(5)}, []int{agent}},
		{"they never had any", values{nil, nil, nil, is(5)}, values{nil, nil, nil, is(5)}, nil},
		{"they have values again", values{nil, nil, nil, is(5)}, values{is(1), nil, nil, is(5)}, nil},
		{"both", values{is(5), nil, nil, is(5)}, values{nil, nil, nil, is(4)}, []int{other, agent}},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := make(Evidence)
			e.Compare(sample(row.before), sample(row.after), operands)
			assert.Equal(t, row.want, e.Restarted())
		})
	}
}
