package pmapi

import (
	"context"

	"pmdaderived/pdu"
)

// maxDescBatch is the largest number of descriptors in one request. pmcd asks the agents for each of
// them, and serves no other client meanwhile.
const maxDescBatch = (maxLookup - pdu.HeaderSize - 8) / 4

// DescResult is the descriptor of a metric, or the reason why there is none.
type DescResult struct {
	Desc pdu.Desc // only its PMID if Code is set
	Code pdu.Code // < 0: the reason why there is no descriptor
}

// Desc returns the descriptor of a metric. The code of the error is [pdu.ErrPMID] if the agent does not know it.
//
// Source: pmLookupDesc(3).
func (c *Conn) Desc(ctx context.Context, id pdu.PMID) (pdu.Desc, error) {
	const op = "descriptor"
	desc, code, err := c.desc(ctx, op, id)
	if err == nil && code < 0 {
		err = c.opError(op, code)
	}
	return desc, err
}

func (c *Conn) desc(ctx context.Context, op string, id pdu.PMID) (pdu.Desc, pdu.Code, error) {
	none := pdu.Desc{PMID: id}
	var reply pdu.DescReply
	code, err := c.request(ctx, op, &pdu.DescReq{PMID: id}, &reply)
	if err != nil || code < 0 {
		return none, code, err
	}
	if reply.Desc.PMID != id {
		return none, pdu.ErrIPC, nil // a fault of the metric's agent, whose answer pmcd passes on
	}
	return reply.Desc, 0, nil
}

// Descs returns the descriptors of metrics, one result per metric, in the order of ids. It asks in
// bulk if pmcd can do that ([pdu.FeatureDescs]); if pmcd refuses such a request, it sends smaller ones. The answer in
// bulk has no reason for a missing descriptor. So Descs asks for that again alone, to return the reason: [pdu.ErrPMID],
// [pdu.ErrNoAgent], [pdu.ErrAgain], … The error is that of the connection, which is closed then.
//
// Source: pmLookupDescs(3).
func (c *Conn) Descs(ctx context.Context, ids []pdu.PMID) ([]DescResult, error) {
	const op = "descriptors"
	results := make([]DescResult, len(ids))
	for i, id := range ids {
		results[i] = DescResult{Desc: pdu.Desc{PMID: id}, Code: unknownReason}
	}
	if c.features&pdu.FeatureDescs != 0 {
		err := askInBatches(len(results), func(lo, most int) (hi int, code pdu.Code, err error) {
			hi = lo + min(most, maxDescBatch, len(results)-lo)
			code, err = c.descBatch(ctx, op, results[lo:hi])
			return hi, code, err
		}, func(i int, code pdu.Code) { results[i].Code = code })
		if err != nil {
			return nil, err
		}
	}
	absent := make(map[int]pdu.Code) // the codes of domains that have no agent now
	for i := range results {
		r := &results[i]
		if r.Code != unknownReason {
			continue
		}
		domain := r.Desc.PMID.Domain()
		if code, ok := absent[domain]; ok {
			r.Code = code
			continue
		}
		var err error
		if r.Desc, r.Code, err = c.desc(ctx, op, r.Desc.PMID); err != nil {
			return nil, err
		}
		if r.Code == pdu.ErrNoAgent || r.Code == pdu.ErrPMDAFenced {
			absent[domain] = r.Code
		}
	}
	return results, nil
}

// unknownReason marks a descriptor that has to be asked for alone. No answer has this code.
const unknownReason pdu.Code = 1

// descBatch asks for the descriptors of the metrics in results, and stores these there. A descriptor that is missing in
// the answer keeps its code unknownReason. If pmcd refuses the request, the code is below zero and nothing is stored.
func (c *Conn) descBatch(ctx context.Context, op string, results []DescResult) (pdu.Code, error) {
	req := pdu.DescIDs{PMIDs: make([]pdu.PMID, len(results))}
	for i, r := range results {
		req.PMIDs[i] = r.Desc.PMID
	}
	var reply pdu.Descs
	code, err := c.request(ctx, op, &req, &reply)
	switch {
	case err != nil || code < 0:
		return code, err
	case len(reply.Descs) != len(results):
		return pdu.ErrIPC, nil
	}
	for i, desc := range reply.Descs {
		switch desc.PMID {
		case pdu.NoPMID:
		case results[i].Desc.PMID:
			results[i] = DescResult{Desc: desc}
		default: // a fault of the metric's agent, whose answer pmcd passes on
			results[i].Code = pdu.ErrIPC
		}
	}
	return 0, nil
}
