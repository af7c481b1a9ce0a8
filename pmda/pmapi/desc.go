package pmapi

import (
	"context"

	"pmdaderived/pdu"
)

// maxDescBatch is the number of descriptors asked for in one PDU. pmcd asks the agents for each of
// them and serves nobody else meanwhile.
const maxDescBatch = (maxLookup - pdu.HeaderSize - 8) / 4

// DescResult is the descriptor of a metric, or why there is none.
type DescResult struct {
	Desc pdu.Desc // only its PMID if Code is set
	Code pdu.Code // < 0: why there is no descriptor
}

// Desc gives the descriptor of a metric; [pdu.ErrPMID] if its agent does not know it.
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
		return none, pdu.ErrIPC, nil // the fault of the metric's agent: pmcd relays what that says
	}
	return reply.Desc, 0, nil
}

// Descs gives the descriptors of metrics: one result per metric, in the order of ids. It asks in
// bulk where pmcd can ([pdu.FeatureDescs]), and singly for what is missing, to learn the reason:
// [pdu.ErrPMID], [pdu.ErrNoAgent], [pdu.ErrAgain], … What pmcd refuses in bulk is asked for in smaller requests.
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
	absent := make(map[int]pdu.Code) // domains without an agent at the moment
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

// unknownReason marks a descriptor to ask for singly. No answer has this code.
const unknownReason pdu.Code = 1

// descBatch fills results, which hold the metrics to ask for, as far as one PDU can tell. A code below zero fills none.
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
		default: // the fault of its agent: pmcd relays what that says
			results[i].Code = pdu.ErrIPC
		}
	}
	return 0, nil
}
