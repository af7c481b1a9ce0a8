package pmapi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// Columns are the values of a fetch, whichever way it was asked for.
func TestColumns(t *testing.T) {
	ids := []pdu.PMID{longOne, longTen}
	answer := &pdu.HighResResult{Sec: 5, Nsec: 7, Sets: []pdu.ValueSet{
		{PMID: longOne, Values: []pdu.Value{pdu.Int32Value(pdu.NoInst, 1)}}, {PMID: longTen, Code: pdu.ErrAgain},
	}}
	serving := func(t *testing.T) *pmapi.Conn {
		return serve(t, func(p *pmapitest.Peer) {
			p.Expect(pdu.KindHighResFetch)
			p.Send(&pdu.Error{Code: pdu.Code(pdu.ChangeAddAgent)})
			p.Send(answer)
			p.Expect(pdu.KindHighResFetch)
			p.Send(answer)
			p.WaitClosed()
		})
	}
	check := func(t *testing.T, c *pmapi.Conn, res *pmapi.Columns) {
		t.Helper()
		assert.Equal(t, time.Unix(5, 7), res.Time)
		assert.Equal(t, pdu.ChangeAddAgent, res.Changes)
		require.Len(t, res.Sets, 2)
		assert.Equal(t, []uint64{1}, res.Sets[0].Bits)
		assert.Equal(t, []pdu.Inst{pdu.NoInst}, res.Sets[0].Insts)
		assert.Equal(t, pdu.ErrAgain, res.Sets[1].Code)
		values, err := c.Fetch(t.Context(), ids)
		require.NoError(t, err, "the next fetch may be of the other kind")
		assert.Len(t, values.Sets[0].Values, 1)
		assert.Zero(t, values.Changes)
	}
	t.Run("waiting", func(t *testing.T) {
		c := serving(t)
		res, err := c.FetchColumns(t.Context(), ids)
		require.NoError(t, err)
		check(t, c, res)
	})
	t.Run("polling", func(t *testing.T) {
		c := serving(t)
		require.NoError(t, c.StartFetch(ids))
		for {
			res, done, err := c.PollColumns()
			require.NoError(t, err)
			if done {
				check(t, c, res)
				return
			}
			require.Nil(t, res)
			require.NoError(t, c.WaitReadable(t.Context()))
		}
	})
}
