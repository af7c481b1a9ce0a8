package pmapi

import (
	"context"
	"fmt"
	"time"

	"pmdaderived/pdu"
)

// MaxFetch is the largest number of metrics in one fetch: more do not fit into a PDU that pmcd
// accepts by default. A caller with many metrics should fetch them in parts of some 4,000, because
// pmcd serves no other client during a fetch.
const MaxFetch = (pdu.MaxClientPDU - pdu.HeaderSize - 16) / 4

// Columns has the values of one fetch: for each metric, in the order of the request, its instances and their values
// as columns. It belongs to its connection. It is valid until the next call that reads from the connection: these are
// all calls except StartFetch, WaitReadable and calls that send nothing. The receiver may store the Bits and Insts of
// the sets longer, see [pdu.Column].
type Columns struct {
	// Time is the time when pmcd began to collect the values, in nanoseconds, or in microseconds from a pmcd
	// before 6.0 ([pdu.FeatureHighRes]).
	Time time.Time

	// Sets has one set for each metric of the request. Codes are from the agents; ErrNoAgent, ErrAgain,
	// ErrPMDAFenced and ErrTimeout may be from pmcd. Two codes may be from this package: ErrIPC for a set that cannot
	// be read or is for another metric, and ErrConv for numbers that are not as long as their type.
	Sets []pdu.Column

	Changes pdu.Change // the changes that pmcd has announced with this answer

	answer *pdu.Columns
}

// Result has the same as [Columns] with a Value for each instance. It is valid as long as the Columns.
type Result struct {
	Time    time.Time
	Sets    []pdu.ValueSet
	Changes pdu.Change
}

// Result returns the values in another form. It returns nil if c is nil.
func (c *Columns) Result() *Result {
	if c == nil {
		return nil
	}
	answer := c.answer
	if answer == nil { // the Columns are from an archive
		answer = &pdu.Columns{Sets: c.Sets}
	}
	return &Result{Time: c.Time, Sets: answer.ValueSets(), Changes: c.Changes}
}

// fetchState is the part of a Conn that a fetch uses. The next fetch reuses its memory.
type fetchState struct {
	changes pdu.Change // announced before this answer
	req     pdu.HighResFetch
	oldReq  pdu.Fetch // the same for a pmcd without the high-resolution PDUs
	expect  pdu.Kind  // of the answer
	answer  pdu.Columns
	res     Columns
}

// Fetch waits for the values of up to [MaxFetch] metrics, of the instances that the profile selects. A metric that
// fails has its code in the result. An error means that there is no result.
//
// Source: pmFetch(3).
func (c *Conn) Fetch(ctx context.Context, ids []pdu.PMID) (*Result, error) {
	res, err := c.FetchColumns(ctx, ids)
	return res.Result(), err
}

// FetchColumns does the same as [Conn.Fetch]. Its result is faster to read if there are many values.
func (c *Conn) FetchColumns(ctx context.Context, ids []pdu.PMID) (*Columns, error) {
	const op = "fetch"
	release, err := c.startExchange(ctx, op)
	if err != nil {
		return nil, err
	}
	defer release()
	req, err := c.fetchRequest(op, ids)
	if err != nil {
		return nil, err
	}
	if err := c.send(ctx, op, req, 0); err != nil {
		return nil, err
	}
	for {
		f, err := c.receive()
		if err != nil {
			return nil, c.fail(op, transportError(ctx, err, c.longest))
		}
		if res, done, err := c.handleFetchReply(op, f); done {
			return res, err
		}
	}
}

// fetchRequest returns the request for a fetch, and prepares c.fetch for its answer.
func (c *Conn) fetchRequest(op string, ids []pdu.PMID) (pdu.Message, error) {
	switch {
	case len(ids) == 0:
		return nil, c.opError(op, fmt.Errorf("no metrics: %w", pdu.ErrTooSmall))
	case len(ids) > MaxFetch:
		return nil, c.opError(op, fmt.Errorf("%d metrics, at most %d: %w", len(ids), MaxFetch, pdu.ErrTooBig))
	}
	s := &c.fetch
	s.changes = 0
	s.req.PMIDs = append(s.req.PMIDs[:0], ids...)
	if c.features&pdu.FeatureHighRes != 0 {
		s.expect = pdu.KindHighResResult
		return &s.req, nil
	}
	s.expect = pdu.KindResult
	s.oldReq.PMIDs = s.req.PMIDs
	return &s.oldReq, nil
}

// handleFetchReply handles a frame that arrived after a fetch. done is false if it is an announcement of changes,
// which comes before the answer. Otherwise the result or the error of the fetch is returned.
func (c *Conn) handleFetchReply(op string, f pdu.Frame) (res *Columns, done bool, err error) {
	s := &c.fetch
	if f.Kind != s.expect {
		done, err = c.handleFetchError(op, f)
		return nil, done, err
	}
	wrong := s.answer.Decode(f)
	c.profileSent = false
	c.endExchange(op)
	if have, want := len(s.answer.Sets), len(s.req.PMIDs); have != want {
		if wrong == nil {
			wrong = protocolErrorf("values of %d metrics, asked for %d", have, want)
		}
		return nil, true, c.opError(op, wrong)
	}
	failMismatched(s.answer.Sets, s.req.PMIDs)
	if !s.answer.Borrows() {
		c.frames.Release()
	}
	s.res = Columns{
		Time: s.answer.Time, Sets: s.answer.Sets, Changes: s.changes, answer: &s.answer,
	}
	return &s.res, true, nil
}

// handleFetchError handles a frame that has no values: an announcement of changes or an error.
func (c *Conn) handleFetchError(op string, f pdu.Frame) (done bool, err error) {
	code, err := c.errorCode(f)
	switch {
	case err != nil:
		return true, c.fail(op, err)
	case code > 0 && c.fetch.changes == 0:
		c.fetch.changes = pdu.Change(code)
		c.changes |= c.fetch.changes
		return false, nil
	case code > 0: // a second announcement: without an end to them the fetch would not end
		return true, c.fail(op, protocolErrorf("ERROR %d in place of values", int32(code)))
	case code == 0:
		code = pdu.ErrIPC
	}
	c.endExchange(op)
	return true, c.opError(op, code)
}

// failMismatched sets ErrIPC for each set whose metric is not the one that was asked for at its position. pmcd copies
// the sets of an agent by position and does not compare the PMIDs. So such a set is the fault of one agent, whose
// other sets may be wrong, too. The connection is good, even if no set is right: all may be of that agent
// (decision 27).
func failMismatched(sets []pdu.Column, ids []pdu.PMID) {
	for i := range sets {
		if sets[i].PMID != ids[i] {
			sets[i] = pdu.Column{PMID: ids[i], Code: pdu.ErrIPC, Type: pdu.TypeUnknown}
		}
	}
}

// HostName returns the name that the host of the pmcd has for itself. It does a fetch, so an earlier [Result] is not
// valid any more.
//
// Source: pmGetContextHostName(3).
func (c *Conn) HostName(ctx context.Context) (string, error) {
	res, err := c.Fetch(ctx, []pdu.PMID{hostNameID})
	if err != nil {
		return "", err
	}
	set := res.Sets[0]
	switch {
	case set.Code < 0:
		return "", c.opError("host name", set.Code)
	case len(set.Values) != 1 || set.Values[0].Type != pdu.TypeString:
		return "", c.opError("host name", pdu.ErrValue)
	}
	return string(set.Values[0].Bytes), nil
}

// SetProfile selects the instances that later fetches report. It replaces the previous profile, which
// after Dial selects all instances. p.Context is not used, and p is not stored.
//
// pmcd does not answer. It refuses a profile only if the client may not fetch at all. The next call then
// returns pmcd's code, and the connection is closed.
//
// Source: pmAddProfile(3), docs/protocol.md 2.5, 5.9.
func (c *Conn) SetProfile(ctx context.Context, p *pdu.Profile) error {
	const op = "profile"
	release, err := c.startExchange(ctx, op)
	if err != nil {
		return err
	}
	defer release()
	own := *p
	own.Context = 0
	if err := c.send(ctx, op, &own, 0); err != nil {
		return err
	}
	c.profileSent = true
	return nil
}
