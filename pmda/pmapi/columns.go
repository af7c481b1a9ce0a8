package pmapi

import (
	"context"
	"time"

	"pmdaderived/pdu"
)

// Columns is a [Result] for receivers of many numbers: they are decoded into columns, with no Value for each.
// It belongs to its connection as a Result does, but for the Bits and Insts of the sets, which the
// receiver may keep; see [pdu.Column].
type Columns struct {
	Time    time.Time
	Sets    []pdu.Column
	Changes pdu.Change
}

// FetchColumns is [Conn.Fetch] with the values in columns.
func (c *Conn) FetchColumns(ctx context.Context, ids []pdu.PMID) (*Columns, error) {
	c.fetch.columns = true
	_, err := c.Fetch(ctx, ids)
	c.fetch.columns = false
	if err != nil {
		return nil, err
	}
	return &c.fetch.colsRes, nil
}

// PollColumns is [Conn.PollFetch] with the values in columns.
func (c *Conn) PollColumns() (res *Columns, done bool, err error) {
	c.fetch.columns = true
	_, done, err = c.PollFetch()
	c.fetch.columns = false
	if !done || err != nil {
		return nil, done, err
	}
	return &c.fetch.colsRes, true, nil
}

// fetchedColumns is fetched for an answer that is made columns; the Result is empty.
func (c *Conn) fetchedColumns(op string, f pdu.Frame) (res *Result, done bool, err error) {
	s := &c.fetch
	expected := pdu.KindResult
	if c.features&pdu.FeatureHighRes != 0 {
		expected = pdu.KindHighResResult
	}
	if f.Kind != expected {
		return c.notFetched(op, f)
	}
	if err = s.cols.Decode(f); err == nil {
		err = matchColumns(s.cols.Sets, s.req.PMIDs)
	}
	if err != nil {
		return nil, true, c.fail(op, err)
	}
	c.profileSent = false
	c.settle(op)
	s.colsRes = Columns{Time: s.cols.Time, Sets: s.cols.Sets, Changes: s.changes}
	s.res = Result{}
	return &s.res, true, nil
}

// matchColumns is match for columns.
func matchColumns(sets []pdu.Column, ids []pdu.PMID) error {
	if len(sets) != len(ids) {
		return protocolErrorf("values of %d metrics, asked for %d", len(sets), len(ids))
	}
	fits := 0
	for i := range sets {
		if sets[i].PMID == ids[i] {
			fits++
		}
	}
	if fits == 0 {
		return protocolErrorf("values of %v, asked for %v", sets[0].PMID, ids[0])
	}
	if fits == len(ids) {
		return nil
	}
	for i := range sets {
		if sets[i].PMID != ids[i] {
			sets[i] = pdu.Column{PMID: ids[i], Code: pdu.ErrIPC, Type: pdu.TypeUnknown}
		}
	}
	return nil
}
