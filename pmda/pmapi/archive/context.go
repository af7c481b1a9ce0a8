package archive

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"pmdaderived/pdu"
)

// Context is a time in an archive and a window of it. It answers what a [pmapi.Conn] answers, as of that time.
type Context struct {
	*Archive
	start, end time.Time
	now        time.Time

	walk    *cursor // of Next; nil: it begins at from
	from    time.Time
	columns pdu.Columns
	record  Record

	interp *interp // of fetches; nil: there was none yet
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
	if c.walk != nil {
		c.walk.close()
		c.walk = nil
	}
	if c.interp != nil {
		c.interp.close()
		c.interp = nil
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
	if c.walk == nil {
		c.walk = &cursor{a: c.Archive}
		c.walk.seek(c.placeBefore(c.from))
	}
	var wanted func(pdu.PMID) bool
	if len(ids) > 0 {
		wanted = func(id pdu.PMID) bool { return slices.Contains(ids, id) }
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, err := c.walk.next()
		switch {
		case err != nil:
			return nil, err
		case r.time.Before(c.from):
			continue
		case r.time.After(c.end):
			return nil, io.EOF
		case r.mark:
			c.record = Record{Time: r.time, Mark: true}
			return &c.record, nil
		}
		decode(&c.columns, r, c.descs, wanted)
		if len(c.columns.Sets) > 0 {
			c.record = Record{Time: r.time, Sets: c.columns.Sets}
			return &c.record, nil
		}
	}
}

// placeBefore is the number of the last place that all records from t on are behind.
func (a *Archive) placeBefore(t time.Time) int {
	i, _ := slices.BinarySearchFunc(a.places, t, func(p place, t time.Time) int { return p.t.Compare(t) })
	return max(0, i-1)
}

// Rewind makes Next begin at the first record of the window that is not before t.
func (c *Context) Rewind(t time.Time) {
	c.from = t
	if t.Before(c.start) {
		c.from = c.start
	}
	if c.walk != nil {
		c.walk.close()
		c.walk = nil
	}
}

// Instances lists an instance domain as of the time of the context, or as it was first recorded, if that is later.
// [pdu.ErrInDom] if the archive does not have it.
//
// Source: pmGetInDom(3).
func (c *Context) Instances(_ context.Context, indom pdu.InDom) ([]pdu.Instance, error) {
	if d := c.indoms[indom]; d != nil {
		return d.at(d.state(c.now)), nil
	}
	return nil, fmt.Errorf("instances of domain %v: %w", indom, pdu.ErrInDom)
}

// InstanceName gives the name of an instance at the time of the context, or else at any; [pdu.ErrInst] if there is none.
//
// Source: pmNameInDom(3).
func (c *Context) InstanceName(_ context.Context, indom pdu.InDom, inst pdu.Inst) (string, error) {
	in, err := c.find(indom, func(in pdu.Instance) bool { return in.ID == inst })
	return in.Name, err
}

// InstanceID gives the number of an instance at the time of the context, or else at any: of the whole name, or of the part in front of its
// first space. [pdu.ErrInst] if there is none.
//
// Source: pmLookupInDom(3).
func (c *Context) InstanceID(_ context.Context, indom pdu.InDom, name string) (pdu.Inst, error) {
	in, err := c.find(indom, called(name))
	return in.ID, err
}

func (c *Context) find(indom pdu.InDom, wanted func(pdu.Instance) bool) (pdu.Instance, error) {
	d := c.indoms[indom]
	if d == nil {
		return pdu.Instance{ID: pdu.NoInst}, fmt.Errorf("instances of domain %v: %w", indom, pdu.ErrInDom)
	}
	if in, ok := d.find(c.now, wanted); ok {
		return in, nil
	}
	return pdu.Instance{ID: pdu.NoInst}, fmt.Errorf("instance of domain %v: %w", indom, pdu.ErrInst)
}

// Labels gives the labels of one level as of the time of the context, as [pmapi.Conn.Labels] does: none, one set, or for
// [pdu.LabelInstances] one for each instance. Of labels that were first recorded later, those.
//
// Source: pmLookupLabels(3).
func (c *Context) Labels(_ context.Context, ident uint32, t pdu.LabelType) ([]pdu.LabelSet, error) {
	switch t {
	case pdu.LabelContext:
		ident = 0
	case pdu.LabelCluster:
		ident &^= pdu.MaxItem
	}
	history := c.labels[labelKey{ident, t}]
	if len(history) == 0 {
		return nil, nil
	}
	i := len(history) - 1
	for i > 0 && history[i].t.After(c.now) {
		i--
	}
	return slices.Clone(history[i].sets), nil
}

// HostName gives the name of the host that the values at the time of the context are of.
//
// Source: pmGetContextHostName(3).
func (c *Context) HostName(_ context.Context) (string, error) {
	host := c.parts[0].Host
	for _, p := range c.parts[1:] {
		if !p.Start.After(c.now) {
			host = p.Host
		}
	}
	return host, nil
}
