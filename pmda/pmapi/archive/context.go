package archive

import (
	"context"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// Context is a time in an archive and a window of it. It answers what a [pmapi.Conn] answers, as of that time.
type Context struct {
	*Archive
}

// NewContext makes a context whose window is from start to end, both included. Zero times stand for those of the archive.
// Its time is the start of the window. There is nothing to close.
func (a *Archive) NewContext(start, end time.Time) *Context { return nil }

// Window is the window of the context.
func (c *Context) Window() (start, end time.Time) { return time.Time{}, time.Time{} }

// Time is the time of the context.
func (c *Context) Time() time.Time { return time.Time{} }

// SetTime changes the time of the context. Fetches are quick at times that ascend.
//
// Source: pmSetMode(3), PM_MODE_INTERP.
func (c *Context) SetTime(t time.Time) {}

// Fetch gives the values of metrics at the time of the context: one set for each metric, in the order of ids. A set has no values if the
// archive has none for that time, and the code [pdu.ErrPMID] if it does not have the metric.
//
// A counter is interpolated between the record before and the one after; an instant value or a string is that of the record before, if
// there is one after; a discrete one is that of the record before. There is nothing before a mark for what is after it, and the other way round. After a
// mark a counter has no value once if it had one in the fetch before: what a fetch gives depends on those before it.
//
// [pdu.ErrEOL] beyond the window. The memory of the result is the context's until its next call.
//
// Source: pmFetch(3), docs/archives.md.
func (c *Context) Fetch(ctx context.Context, ids []pdu.PMID) (*pmapi.Result, error) { return nil, nil }

// FetchColumns is [Context.Fetch] for receivers of many numbers.
func (c *Context) FetchColumns(ctx context.Context, ids []pdu.PMID) (*pmapi.Columns, error) {
	return nil, nil
}

// Record is what was recorded at one time: the answer to one fetch of pmlogger's.
type Record struct {
	Time time.Time

	// Mark says that nothing was recorded between the record before and the next. There are no Sets.
	Mark bool

	Sets []pdu.Column // the memory is the context's until the next call of Next, as that of pmapi.Columns is a connection's
}

// Next gives the next record of the window that has one of the metrics, with the sets of these only, and every mark; without ids, every
// record with all its sets. It ends with [io.EOF]. A [DamageError] says that records are missing here: those of the next archive follow, if there is one.
//
// Source: pmFetchArchive(3).
func (c *Context) Next(ctx context.Context, ids ...pdu.PMID) (*Record, error) { return nil, nil }

// Rewind makes Next begin at the first record of the window that is not before t.
func (c *Context) Rewind(t time.Time) {}

// Instances lists an instance domain as of the time of the context, or as it was first recorded, if that is later.
// [pdu.ErrInDom] if the archive does not have it.
//
// Source: pmGetInDom(3).
func (c *Context) Instances(_ context.Context, indom pdu.InDom) ([]pdu.Instance, error) {
	return nil, nil
}

// InstanceName gives the name of an instance at the time of the context, or else at any; [pdu.ErrInst] if there is none.
//
// Source: pmNameInDom(3).
func (c *Context) InstanceName(_ context.Context, indom pdu.InDom, inst pdu.Inst) (string, error) {
	return "", nil
}

// InstanceID gives the number of an instance at the time of the context, or else at any: of the whole name, or of the part in front of its first space.
// [pdu.ErrInst] if there is none.
//
// Source: pmLookupInDom(3).
func (c *Context) InstanceID(_ context.Context, indom pdu.InDom, name string) (pdu.Inst, error) {
	return pdu.NoInst, nil
}

// Labels gives the labels of one level as of the time of the context, as [pmapi.Conn.Labels] does.
//
// Source: pmLookupLabels(3).
func (c *Context) Labels(_ context.Context, ident uint32, t pdu.LabelType) ([]pdu.LabelSet, error) {
	return nil, nil
}

// HostName gives the name of the host that the values at the time of the context are of.
//
// Source: pmGetContextHostName(3).
func (c *Context) HostName(_ context.Context) (string, error) { return "", nil }
