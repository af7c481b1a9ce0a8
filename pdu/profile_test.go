package pdu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProfileSelects(t *testing.T) {
	d := NewInDom(60, 1)
	other := NewInDom(60, 2)
	for _, tt := range []struct {
		name  string
		p     Profile
		indom InDom
		want  map[Inst]bool
		all   bool
	}{
		{"zero value", Profile{}, d, map[Inst]bool{0: true, 5: true}, true},
		{"exclude all", Profile{Default: Exclude}, d, map[Inst]bool{0: false, 5: false}, false},
		{"unknown state excludes", Profile{Default: 7}, d, map[Inst]bool{0: false}, false},
		{"singular metric", Profile{Default: Exclude}, NoInDom, map[Inst]bool{NoInst: true}, true},
		{
			"singular metric listed",
			Profile{InDoms: []ProfileInDom{{NoInDom, Exclude, nil}}},
			NoInDom,
			map[Inst]bool{NoInst: true},
			true,
		},
		{
			"all but a list",
			Profile{InDoms: []ProfileInDom{{d, Include, []Inst{1, 3}}}},
			d,
			map[Inst]bool{0: true, 1: false, 2: true, 3: false},
			false,
		},
		{
			"only a list",
			Profile{InDoms: []ProfileInDom{{d, Exclude, []Inst{1, 3}}}},
			d,
			map[Inst]bool{0: false, 1: true, 2: false, 3: true},
			false,
		},
		{
			"list in any order",
			Profile{InDoms: []ProfileInDom{{d, Exclude, []Inst{9, 1, -4, 3}}}},
			d,
			map[Inst]bool{0: false, 1: true, 3: true, 9: true, -4: true, 4: false},
			false,
		},
		{"domain excluded", Profile{InDoms: []ProfileInDom{{d, Exclude, nil}}}, d, map[Inst]bool{0: false}, false},
		{
			"domain included against the default",
			Profile{Default: Exclude, InDoms: []ProfileInDom{{d, Include, nil}}},
			d,
			map[Inst]bool{0: true},
			true,
		},
		{
			"another domain",
			Profile{InDoms: []ProfileInDom{{d, Exclude, nil}}},
			other,
			map[Inst]bool{0: true},
			true,
		},
		{
			"the first entry counts",
			Profile{InDoms: []ProfileInDom{{d, Exclude, []Inst{1}}, {d, Include, nil}}},
			d,
			map[Inst]bool{0: false, 1: true},
			false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sel := tt.p.Selects(tt.indom)
			for inst, want := range tt.want {
				assert.Equal(t, want, tt.p.Includes(tt.indom, inst), "instance %d", inst)
				assert.Equal(t, want, sel.Includes(inst), "instance %d", inst)
			}
			assert.Equal(t, tt.all, sel.All())
		})
	}
}

func TestSelectionAgreesWithProfile(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		p := Profile{Default: ProfileState(rnd.IntN(2))}
		for range rnd.IntN(4) {
			e := ProfileInDom{InDom: InDom(rnd.IntN(3)), State: ProfileState(rnd.IntN(2))}
			for range rnd.IntN(6) {
				e.Insts = append(e.Insts, Inst(rnd.IntN(10)))
			}
			p.InDoms = append(p.InDoms, e)
		}
		before := p.Append(nil, 0)
		for d := range InDom(3) {
			sel := p.Selects(d)
			for i := range Inst(10) {
				require.Equal(t, p.Includes(d, i), sel.Includes(i))
			}
		}
		require.Equal(t, before, p.Append(nil, 0), "asking changes nothing")

		insts := make([]Inst, rnd.IntN(20))
		for i := range insts {
			insts[i] = Inst(rnd.IntN(12) - 1)
		}
		if rnd.IntN(2) == 0 {
			slices.Sort(insts)
		}
		var sorted Profile
		require.NoError(t, sorted.Decode(before[HeaderSize:]))
		sorted.Sort()
		for d := range InDom(3) {
			list := []int{-7}
			for i, inst := range insts {
				if p.Includes(d, inst) {
					list = append(list, i)
				}
			}
			require.Equal(t, list, p.Selects(d).AppendSelected([]int{-7}, insts), "%v of %v", &p, insts)
			require.Equal(t, list, sorted.Selects(d).AppendSelected([]int{-7}, insts), "%v of %v", &sorted, insts)
		}
	}
}

// A profile that was sorted can be decoded again, and Selects sorts the new lists.
func TestProfileSortedTwice(t *testing.T) {
	var p Profile
	for _, insts := range [][]Inst{{5, 3, 9}, {8, 2, 1}} {
		frame := (&Profile{InDoms: []ProfileInDom{{1, Exclude, insts}}}).Append(nil, 0)
		require.NoError(t, p.Decode(frame[HeaderSize:]))
		for range 2 {
			for _, inst := range insts {
				require.True(t, p.Selects(1).Includes(inst))
			}
			require.False(t, p.Selects(1).Includes(4))
			p.Sort()
		}
	}
}

func TestProfileListsAreApart(t *testing.T) {
	p := Profile{InDoms: []ProfileInDom{{1, Include, []Inst{1, 2}}, {2, Exclude, nil}, {3, Include, []Inst{3}}}}
	var got Profile
	require.NoError(t, got.Decode(p.Append(nil, 0)[HeaderSize:]))
	assert.Equal(t, p.InDoms, got.InDoms)
	_ = append(got.InDoms[0].Insts, 99)
	assert.Equal(t, p.InDoms, got.InDoms, "appending to one list leaves the next")
}
