package archive

import (
	"context"
	"fmt"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// Fetch gives the values of metrics at the time of the context: one set for each metric, in the order of ids. A set has no values if the
// archive has none for that time, and the code [pdu.ErrPMIDLog] if it does not have the metric.
//
// A counter is interpolated between the record before and the one after; an instant value or a string is that of the record before, if
// there is one after; a discrete one is that of the record before. There is nothing before a mark for what is after it, and the other way
// round. After a mark a counter has no value once if it had one in the fetch before: what a fetch gives depends on those before it.
//
// [pdu.ErrEOL] beyond the window. The lists of instances must not be changed.
//
// Source: pmFetch(3), docs/archives.md.
func (c *Context) Fetch(ctx context.Context, ids []pdu.PMID) (*pmapi.Result, error) {
	res, err := c.FetchColumns(ctx, ids)
	return res.Result(), err
}

// FetchColumns is [Context.Fetch] for receivers of many numbers.
func (c *Context) FetchColumns(ctx context.Context, ids []pdu.PMID) (*pmapi.Columns, error) {
	if c.now.Before(c.start) || c.now.After(c.end) {
		return nil, fmt.Errorf("fetch at %s: %w", stamp(c.now), pdu.ErrEOL)
	}
	if c.interp == nil {
		c.interp = newInterp(c.Archive)
	}
	asked, err := c.interp.fetch(ctx, ids, c.now)
	if err != nil {
		return nil, err
	}
	res := &pmapi.Columns{Time: c.now, Sets: make([]pdu.Column, len(ids))}
	for i, id := range ids {
		if s := asked[i]; s != nil {
			res.Sets[i] = s.value
		} else {
			res.Sets[i] = pdu.Column{PMID: id, Code: pdu.ErrPMIDLog, Type: pdu.TypeUnknown}
		}
	}
	return res, nil
}
