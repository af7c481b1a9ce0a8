package pmapi

import (
	"context"
	"fmt"
	"time"

	"pmdaderived/pdu"
)

// MaxFetch is the largest number of metrics in one fetch: more do not fit into a PDU that pmcd
// accepts by default. Sampling many metrics is better split much earlier (at some 4,000), because
// pmcd serves nobody else meanwhile.
const MaxFetch = (pdu.MaxClientPDU - pdu.HeaderSize - 16) / 4

// Columns holds the values of one moment: for each metric, in the order of the request, its instances and their values
// as columns. It belongs to its connection: it is valid until the next call that reads from that connection,
// which is every one except StartFetch, WaitReadable and those that send nothing. The Bits and Insts of the sets the receiver may
// keep; see [pdu.Column].
type Columns struct {
	// Time is when pmcd began to collect the values, in nanoseconds, or in microseconds from a pmcd
	// before 6.0 ([pdu.FeatureHighRes]).
	Time time.Time

	// Sets holds one set for each metric asked for. The codes are those of the agents; ErrNoAgent, ErrAgain,
	// ErrPMDAFenced and ErrTimeout may come from pmcd. ErrIPC is also that of a set for another metric, and of what cannot
	// be read; ErrConv that of numbers that are not as long as their type.
	Sets []pdu.Column

	Changes pdu.Change // what pmcd has announced with this answer

	answer *pdu.Columns
}

// Result is [Columns] with a value for each instance. Bytes of values are borrowed as the whole is.
type Result struct {
	Time    time.Time
	Sets    []pdu.ValueSet
	Changes pdu.Change
}

// Result gives the same as values. It is nil for nil.
func (c *Columns) Result() *Result {
	if c == nil {
		return nil
	}
	answer := c.answer
	if answer == nil { // not a connection's, but an archive's
		answer = &pdu.Columns{Sets: c.Sets}
	}
	return &Result{Time: c.Time, Sets: answer.ValueSets(), Changes: c.Changes}
}

// fetchState is the part of a Conn that a fetch uses, kept for the next one.
type fetchState struct {
	changes pdu.Change // announced in front of this answer
	req     pdu.HighResFetch
	oldReq  pdu.Fetch // the same for a pmcd without the high-resolution PDUs
	expect  pdu.Kind  // of the answer
	answer  pdu.Columns
	res     Columns
}

// Fetch gives the values of up to [MaxFetch] metrics at one moment, of the instances that the
// profile selects. An error means that there is no result at all.
//
// Source: pmFetch(3).
func (c *Conn) Fetch(ctx context.Context, ids []pdu.PMID) (*Result, error) {
	res, err := c.FetchColumns(ctx, ids)
	return res.Result(), err
}

// FetchColumns is [Conn.Fetch] for receivers of many numbers.
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

// fetchRequest prepares a fetch.
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

// handleFetchReply takes a frame that arrived after a fetch. done is false after an announcement of changes,
// in front of the answer; otherwise the answer or why there is none is returned.
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

// handleFetchError is fetched for a frame that holds no values.
func (c *Conn) handleFetchError(op string, f pdu.Frame) (done bool, err error) {
	code, err := c.errorCode(f)
	switch {
	case err != nil:
		return true, c.fail(op, err)
	case code > 0 && c.fetch.changes == 0:
		c.fetch.changes = pdu.Change(code)
		c.changes |= c.fetch.changes
		return false, nil
	case code > 0: // for ever, perhaps
		return true, c.fail(op, protocolErrorf("ERROR %d in place of values", int32(code)))
	case code == 0:
		code = pdu.ErrIPC
	}
	c.endExchange(op)
	return true, c.opError(op, code)
}

// failMismatched fails the sets for other metrics than were asked for in their place: pmcd pairs what agents send by position and does
// not look, so it is the fault of one agent, and what it says of its other metrics may be its answer to another request as well.
// It is no reason to end the connection, even if no set fits: all may be of that agent (decision 27).
func failMismatched(sets []pdu.Column, ids []pdu.PMID) {
	for i := range sets {
		if sets[i].PMID != ids[i] {
			sets[i] = pdu.Column{PMID: ids[i], Code: pdu.ErrIPC, Type: pdu.TypeUnknown}
		}
	}
}

// HostName gives the name by which the host of the pmcd knows itself. It is a fetch: it ends the
// life of a [Result].
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

// SetProfile selects the instances that later fetches report; it replaces the profile before, at
// first that of all instances. The context number of p is not used.
//
// pmcd does not answer. If it refuses the profile, which it does only to a client that may not
// fetch at all, the next call fails with its code and the connection with it.
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
