package archive

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/archive/interp"
	"pmdaderived/pmda/pmapi/archive/logfile"
)

// Context is a time in an archive and a window of it. It answers what a [pmapi.Conn] answers, as of that time.
type Context struct {
	*Archive
	start, end time.Time
	now        time.Time

	records *logfile.Reader // of Next; nil: it begins at from
	from    time.Time
	ids     []pdu.PMID        // that Next was called with, nil: none
	wanted  map[pdu.PMID]bool // these
	columns pdu.Columns
	record  Record

	values *interp.Reader // of fetches; nil: there was none yet
}

// NewContext makes a context whose window is from start to end, both included. Zero times stand for those of the archive.
// Its time is the start of the window. Close gives back the files that it has open.
func (a *Archive) NewContext(start, end time.Time) *Context {
	if start.IsZero() {
		start = a.Start()
	}
	if end.IsZero() {
		end = a.End()
	}
	return &Context{Archive: a, start: start, end: end, now: start, from: start}
}

// Window is the window of the context.
func (c *Context) Window() (start, end time.Time) { return c.start, c.end }

// Time is the time of the context.
func (c *Context) Time() time.Time { return c.now }

// SetTime changes the time of the context. Fetches are quick at times that ascend.
//
// Source: pmSetMode(3), PM_MODE_INTERP.
func (c *Context) SetTime(t time.Time) { c.now = t }

// Close gives back what the context has open; the archive stays open. The context can be used on, as a new one.
func (c *Context) Close() {
	if c.records != nil {
		c.records.Close()
		c.records = nil
	}
	if c.values != nil {
		c.values.Close()
		c.values = nil
	}
}

// Record is what was recorded at one time: the answer to one fetch of pmlogger's.
type Record struct {
	Time time.Time

	// Mark says that nothing was recorded between the record before and the next. There are no Sets.
	Mark bool

	Sets []pdu.Column // the memory is the context's until the next call of Next, as that of pmapi.Columns is a connection's
}

// Next gives the next record of the window that has one of the metrics, with the sets of these only, and every mark; without ids, every
// record with all its sets. Event records are left out. It ends with [io.EOF]. A [DamageError] says that records are missing here: those
// of the next volume or archive follow, if there is one.
//
// Source: pmFetchArchive(3).
func (c *Context) Next(ctx context.Context, ids ...pdu.PMID) (*Record, error) {
	if c.records == nil {
		c.records = c.log.NewReader()
		c.records.Seek(c.log.PositionBefore(c.from))
	}
	var wanted func(pdu.PMID) bool
	if len(ids) > 0 {
		c.setWanted(ids)
		wanted = func(id pdu.PMID) bool { return c.wanted[id] }
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, err := c.records.Next()
		switch {
		case err != nil:
			return nil, err
		case r.Time.Before(c.from):
			continue
		case r.Time.After(c.end):
			return nil, io.EOF
		case r.Mark:
			c.record = Record{Time: r.Time, Mark: true}
			return &c.record, nil
		}
		r.Decode(&c.columns, c.meta.Descs, wanted)
		if len(c.columns.Sets) > 0 {
			c.record = Record{Time: r.Time, Sets: c.columns.Sets}
			return &c.record, nil
		}
	}
}

// setWanted makes a set of the metrics that Next is asked for, which are the same most times.
func (c *Context) setWanted(ids []pdu.PMID) {
	if slices.Equal(ids, c.ids) {
		return
	}
	c.ids, c.wanted = slices.Clone(ids), make(map[pdu.PMID]bool, len(ids))
	for _, id := range ids {
		c.wanted[id] = true
	}
}

// Rewind makes Next begin at the first record of the window that is not before t.
func (c *Context) Rewind(t time.Time) {
	c.from = t
	if t.Before(c.start) {
		c.from = c.start
	}
	if c.records != nil {
		c.records.Close()
		c.records = nil
	}
}

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
		return nil, fmt.Errorf("fetch at %s: %w", c.now.UTC().Format(time.RFC3339Nano), pdu.ErrEOL)
	}
	if c.values == nil {
		c.values = interp.NewReader(c.log, c.meta)
	}
	sets, err := c.values.Fetch(ctx, ids, c.now)
	if err != nil {
		return nil, err
	}
	return &pmapi.Columns{Time: c.now, Sets: sets}, nil
}

// HostName gives the name of the host that the values at the time of the context are of.
//
// Source: pmGetContextHostName(3).
func (c *Context) HostName(_ context.Context) (string, error) {
	host := c.log.Labels[0].Host
	for _, l := range c.log.Labels[1:] {
		if !l.Start.After(c.now) {
			host = l.Host
		}
	}
	return host, nil
}
