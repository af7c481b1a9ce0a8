package operand

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// The numbers of a metric stay known for a day after nobody wants its increase any more: a definition comes back, or its
// operand, and no old instance is new because of that.
func TestNumbersOutliveDefinitions(t *testing.T) {
	desc := pdu.Desc{PMID: pdu.NewPMID(60, 1, 1), Type: pdu.TypeU64, InDom: pdu.NewInDom(60, 1), Sem: pdu.SemCounter}
	asked, began := NewList(desc), time.Unix(1_000_000, 0)
	for _, row := range []struct {
		away time.Duration
		born bool
	}{{time.Minute, false}, {25 * time.Hour, true}} {
		m, now := NewMaker(&InstanceCache{}, began), began
		take := func(insts ...pdu.Inst) *derived.Vector {
			now = now.Add(time.Second)
			columns := result(t, valuesOf(desc.PMID, insts...))
			columns.Time = now
			s, _ := m.Make(columns, now, now, asked)
			return s.Values(desc.PMID, new(int32))
		}
		m.FindBirths([]pdu.PMID{desc.PMID}, now)
		take(1, 2)
		take(1)
		now = now.Add(row.away)
		m.FindBirths(nil, now)
		m.FindBirths([]pdu.PMID{desc.PMID}, now)
		take(1)
		before := take(1)
		_, born := take(1, 2).Lives.Began(2, 1, before.Lives)
		assert.Equal(t, row.born, born, "%v", row.away)
	}
}
