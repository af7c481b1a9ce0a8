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

// Result holds the values of one moment. It belongs to its connection: it is valid until the next
// call that reads from that connection, which is every one except StartFetch, WaitReadable and
// those that send nothing.
type Result struct {
	// Time is when pmcd began to collect the values, in nanoseconds, or in microseconds from a pmcd
	// before 6.0 ([pdu.FeatureHighRes]).
	Time time.Time

	// Sets holds one set for each metric asked for, in the order of the request. The codes are
	// those of the agents; ErrNoAgent, ErrAgain, ErrPMDAFenced and ErrTimeout may come from pmcd.
	// Bytes of values are borrowed as the whole is.
	Sets []pdu.ValueSet

	// Changes are what pmcd has announced with this answer.
	Changes pdu.Change
}

// fetchState is the part of a Conn that a fetch uses, kept for the next one.
type fetchState struct {
	changes pdu.Change // announced in front of this answer
	columns bool       // the answer is to be made columns

	req   pdu.HighResFetch
	reply pdu.HighResResult
	res   Result

	// The same for a pmcd without the high-resolution PDUs.
	oldReq   pdu.Fetch
	oldReply pdu.Result

	cols    pdu.Columns
	colsRes Columns
}

// Fetch gives the values of up to [MaxFetch] metrics at one moment, of the instances that the
// profile selects. An error means that there is no result at all.
//
// Source: pmFetch(3).
func (c *Conn) Fetch(ctx context.Context, ids []pdu.PMID) (*Result, error) {
	const op = "fetch"
	req, err := c.fetchRequest(op, ids)
	if err != nil {
		return nil, err
	}
	if err := interrupted(ctx); err != nil {
		return nil, c.opError(op, err)
	}
	disarm := c.arm(ctx)
	defer disarm()
	if err := c.out.Write(req, 0); err != nil {
		return nil, c.fail(op, c.lastWords(explain(ctx, err, c.output.longest)))
	}
	for {
		f, err := c.input.receive()
		if err != nil {
			return nil, c.fail(op, explain(ctx, err, c.output.longest))
		}
		if res, done, err := c.fetched(op, f); done {
			return res, err
		}
	}
}

// fetchRequest checks whether a fetch can be sent and prepares it.
func (c *Conn) fetchRequest(op string, ids []pdu.PMID) (pdu.Message, error) {
	if err := c.ready(op); err != nil {
		return nil, err
	}
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
		return &s.req, nil
	}
	s.oldReq.PMIDs = s.req.PMIDs
	return &s.oldReq, nil
}

// fetched takes a frame that arrived after a fetch. done is false after an announcement of changes,
// in front of the answer; otherwise the answer or why there is none is returned.
func (c *Conn) fetched(op string, f pdu.Frame) (res *Result, done bool, err error) {
	s := &c.fetch
	if s.columns {
		return c.fetchedColumns(op, f)
	}
	var moment time.Time
	var sets []pdu.ValueSet
	switch {
	case f.Kind == pdu.KindHighResResult && c.features&pdu.FeatureHighRes != 0:
		err = s.reply.Decode(f.Body)
		moment, sets = time.Unix(s.reply.Sec, s.reply.Nsec), s.reply.Sets
	case f.Kind == pdu.KindResult && c.features&pdu.FeatureHighRes == 0:
		err = s.oldReply.Decode(f.Body)
		moment = time.Unix(int64(s.oldReply.Sec), int64(s.oldReply.Usec)*int64(time.Microsecond))
		sets = s.oldReply.Sets
	default:
		return c.notFetched(op, f)
	}
	if err == nil {
		err = match(sets, s.req.PMIDs, setMetric, failSet)
	}
	if err != nil {
		return nil, true, c.fail(op, err)
	}
	c.profileSent = false
	c.settle(op)
	s.res = Result{Time: moment, Sets: sets, Changes: s.changes}
	return &s.res, true, nil
}

// notFetched is fetched for a frame that holds no values.
func (c *Conn) notFetched(op string, f pdu.Frame) (res *Result, done bool, err error) {
	code, err := c.errorCode(f)
	switch {
	case err != nil:
	case code < 0:
		c.settle(op)
		return nil, true, c.opError(op, code)
	case code > 0 && c.fetch.changes == 0:
		c.fetch.changes = pdu.Change(code)
		c.changes |= c.fetch.changes
		return nil, false, nil
	default:
		err = protocolErrorf("ERROR %d in place of values", int32(code))
	}
	return nil, true, c.fail(op, err)
}

// match pairs value sets, in whatever form, with the metrics asked for. pmcd pairs what agents send by
// position and does not look, so a set for another metric is the fault of one agent and fails that metric
// alone; but if no set fits, the answer is not ours.
func match[S any](sets []S, ids []pdu.PMID, metric func(*S) pdu.PMID, fail func(*S, pdu.PMID)) error {
	if len(sets) != len(ids) {
		return protocolErrorf("values of %d metrics, asked for %d", len(sets), len(ids))
	}
	fits := 0
	for i := range sets {
		if metric(&sets[i]) == ids[i] {
			fits++
		}
	}
	if fits == 0 {
		return protocolErrorf("values of %v, asked for %v", metric(&sets[0]), ids[0])
	}
	for i := range sets {
		if fits < len(ids) && metric(&sets[i]) != ids[i] {
			fail(&sets[i], ids[i])
		}
	}
	return nil
}

func setMetric(s *pdu.ValueSet) pdu.PMID { return s.PMID }

func failSet(s *pdu.ValueSet, id pdu.PMID) {
	*s = pdu.ValueSet{PMID: id, Code: pdu.ErrIPC, Values: s.Values[:0]}
}
