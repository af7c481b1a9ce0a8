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
	Size    int // of the answer, in bytes
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
		err = match(s.cols.Sets, s.req.PMIDs, columnMetric, failColumn)
	}
	if err != nil {
		return nil, true, c.fail(op, err)
	}
	c.profileSent = false
	c.settle(op)
	if !s.cols.Borrows() {
		c.input.frames.Release()
	}
	s.colsRes = Columns{Time: s.cols.Time, Sets: s.cols.Sets, Changes: s.changes, Size: pdu.HeaderSize + len(f.Body)}
	s.res = Result{}
	return &s.res, true, nil
}

func columnMetric(c *pdu.Column) pdu.PMID { return c.PMID }

func failColumn(c *pdu.Column, id pdu.PMID) {
	*c = pdu.Column{PMID: id, Code: pdu.ErrIPC, Type: pdu.TypeUnknown}
}
