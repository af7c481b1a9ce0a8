package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/column"
	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/derived/pattern"
	"pmdaderived/pdu"
)

// texts is a sample of bin and bin.string, of instances with names and strings.
type texts struct {
	cat   derivedtest.Catalog
	insts *column.InstSet
	names *column.NameTable
	of    []string
}

func (t *texts) Time() time.Time                   { return time.Time{} }
func (t *texts) Names(pdu.InDom) *column.NameTable { return t.names }
func (t *texts) Members(pdu.InDom) *column.InstSet { return t.insts }
func (t *texts) Values(id pdu.PMID, _ *int32) *column.Vector {
	if bin := t.cat.Metrics["bin"]; id == bin.PMID {
		return &column.Vector{Type: bin.Type, Insts: t.insts, Bits: make([]uint64, t.insts.Len())}
	}
	v := &column.Vector{Type: pdu.TypeString, Insts: t.insts}
	for _, text := range t.of {
		v.Blobs = append(v.Blobs, []byte(text))
	}
	return v
}

// A pattern is compared again only with the names and keys that changed.
func TestMatchComparesWhatChanged(t *testing.T) {
	cat := derivedtest.NewCatalog(t)
	for expr, then := range map[string][]pdu.Inst{
		"matchinst(/^a/, bin)":               {3, 5},
		"matchinst(/^a/, bin, bin.string)":   {3, 5},
		"matchinst(!/^b/, bin, label(kind))": {3, 4},
	} {
		set := windowSet(t, cat, "m = "+expr)
		e := set.NewEvaluation()
		kept := func(ids []pdu.Inst, of ...string) []pdu.Inst {
			named := map[pdu.Inst]string{}
			for i, id := range ids {
				named[id] = of[i]
			}
			names := column.NewNameTable(named, nil).WithLabels(map[string]map[pdu.Inst]string{"kind": named})
			e.Reset(&texts{cat, column.NewInstSet(ids), names, of})
			return e.Value(set.Metrics()[0]).Insts.IDs()
		}
		assert.Equal(t, []pdu.Inst{1, 3}, kept([]pdu.Inst{1, 2, 3}, "a1", "b1", "a2"), expr)
		other, err := pattern.Compile("^b2")
		require.NoError(t, err)
		set.program.patterns[0] = other // it shows which texts are compared now
		assert.Equal(t, then, kept([]pdu.Inst{2, 3, 4, 5}, "b1", "a2", "b3", "b2"), expr)
	}
}
