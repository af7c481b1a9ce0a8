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

// Context has a time in an archive and a window of it. Its methods answer as those of a [pmapi.Conn] would have
// answered at that time. It is for one goroutine.
type Context struct {
	*Archive
	start, end time.Time // the window
	now        time.Time

	records *logfile.Reader   // of Next; nil: the next call begins at from
	from    time.Time         // the first time that Next returns
	ids     []pdu.PMID        // the arguments of the last Next, nil: none
	wanted  map[pdu.PMID]bool // the same as a set
	columns pdu.Columns
	record  Record

	values *interp.Reader // of fetches; nil: there was none
}

// NewContext returns a context whose window is from start to end, both included. A zero time means the start or the end
// of the archive. The time of the context is the start of the window. The caller calls Close to release files.
func (a *Archive) NewContext(start, end time.Time) *Context {
	if start.IsZero() {
		start = a.Start()
	}
	if end.IsZero() {
		end = a.End()
	}
	return &Context{Archive: a, start: start, end: end, now: start, from: start}
}

// Window returns the window of the context.
func (c *Context) Window() (start, end time.Time) { return c.start, c.end }

// Time returns the time of the context.
func (c *Context) Time() time.Time { return c.now }

// SetTime changes the time of the context. Fetches are fast at ascending times: a fetch at an earlier time than the
// previous one reads from the index again.
//
// Source: pmSetMode(3), PM_MODE_INTERP.
func (c *Context) SetTime(t time.Time) { c.now = t }

// Close releases the files of the context. The archive stays open. The context can still be used, as a new one.
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

// Record is one record of an archive: the answer to one fetch of pmlogger.
type Record struct {
	Time time.Time

	// Mark says that nothing was recorded between the previous record and the next. A mark has no Sets.
	Mark bool

	// Sets belong to the context and are valid until the next call of Next, see [pmapi.Columns].
	Sets []pdu.Column
}

// Next returns the next record of the window. With ids it returns only records with one of these metrics, only their
// sets, and every mark. Without ids it returns every record with all its sets. Event records are left out. The result
// is valid until the next call.
//
// The error is [io.EOF] at the end. A [DamageError] means that records are missing at this point: the next call
// continues with the next volume or archive, if there is one.
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

// setWanted makes a set of the metrics of Next. It keeps the last one, because usually each call has the same metrics.
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

// Fetch returns the values of metrics at the time of the context, one set for each metric, in the order of ids. A set
// has no values if the archive has none for that time, and the code [pdu.ErrPMIDLog] if the archive does not have the
// metric. The code of the error is [pdu.ErrEOL] if the time is not in the window.
//
// A counter is interpolated between the previous and the next record. An instant value or a string is that of the
// previous record, if there is a next one. A discrete value is that of the previous record. Records on the other side
// of a mark are not used. After a mark a counter has no value once, if it had one in the previous fetch: so values
// depend on the previous fetches.
//
// The caller must not change the lists of instances.
//
// Source: pmFetch(3), docs/archives.md.
func (c *Context) Fetch(ctx context.Context, ids []pdu.PMID) (*pmapi.Result, error) {
	res, err := c.FetchColumns(ctx, ids)
	return res.Result(), err
}

// FetchColumns does the same as [Context.Fetch]. Its result is faster to read if there are many values. Nothing in it
// is used again: it is valid for any time.
func (c *Context) FetchColumns(ctx context.Context, ids []pdu.PMID) (*pmapi.Columns, error) {
	if c.now.Before(c.start) || c.now.After(c.end) {
		return nil, fmt.Errorf("fetch at %s: %w", logfile.TimeText(c.now), pdu.ErrEOL)
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

// HostName returns the name of the host on which the values at the time of the context were recorded.
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
