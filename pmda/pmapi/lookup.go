package pmapi

import (
	"context"
	"strings"

	"pmdaderived/pdu"
)

// maxLookup is the length in bytes of a request for names or descriptors. It is far below pmcd's usual limit, which an
// administrator may have lowered (pmcd -L): nobody waits longer for that, and pmcd serves others in between.
const maxLookup = 4000

// Bytes of a PMNS_NAMES PDU of a lookup.
const (
	namesHead = pdu.HeaderSize + 12
	nameHead  = 4 // in front of each name

	// maxName is the length of the longest name that is asked for, alone.
	maxName = 32<<10 - namesHead - nameHead
)

// NameResult is what a name stands for.
type NameResult struct {
	PMID pdu.PMID // NoPMID: see Code
	Code pdu.Code // < 0: why there is no PMID
}

// LookupNames finds the metrics of the names: one result per name, in the order of the names.
//
// pmcd tells the reason of a failure only when one name is asked alone: [pdu.ErrName],
// [pdu.ErrNonLeaf] or the agent's, such as [pdu.ErrNoAgent]. Among several the code is ErrName. If an agent's reason is another
// one (AGAIN, PERMISSION, …) pmcd refuses all names of the request with it: they are asked for in smaller requests until
// the name has it alone. Names of one agent beside each other take fewest requests.
//
// Source: pmLookupName(3).
func (c *Conn) LookupNames(ctx context.Context, names []string) ([]NameResult, error) {
	results := make([]NameResult, len(names))
	asked := make([]int, 0, len(names)) // the names that pmcd can be asked for
	for i, name := range names {
		if canBeAsked(name) {
			asked = append(asked, i)
		} else {
			results[i] = NameResult{pdu.NoPMID, pdu.ErrName}
		}
	}
	var batch []string
	err := askInBatches(len(asked), func(lo, most int) (hi int, code pdu.Code, err error) {
		batch = batch[:0]
		for size := namesHead; len(batch) < min(most, len(asked)-lo); {
			name := names[asked[lo+len(batch)]]
			size += nameHead + (len(name)+3)&^3 // whole words
			if size > maxLookup && len(batch) > 0 {
				break
			}
			batch = append(batch, name)
		}
		ids, code, err := c.lookupBatch(ctx, batch)
		for i, id := range ids {
			r := &results[asked[lo+i]]
			if r.PMID = id; id == pdu.NoPMID {
				r.Code = pdu.ErrName
			}
		}
		return lo + len(batch), code, err
	}, func(i int, code pdu.Code) { results[asked[i]] = NameResult{pdu.NoPMID, code} })
	if err != nil {
		return nil, err
	}
	return results, nil
}

// canBeAsked refuses what no metric is called and what pmcd would misread.
func canBeAsked(name string) bool {
	return name != "" && len(name) <= maxName && !strings.Contains(name, "\x00")
}

// lookupBatch asks for names that one PDU holds. There is one PMID for each, or a code below zero.
func (c *Conn) lookupBatch(ctx context.Context, names []string) ([]pdu.PMID, pdu.Code, error) {
	var reply pdu.PMNSIDs
	code, err := c.request(ctx, "look up names", &pdu.PMNSNames{Names: names}, &reply)
	switch {
	case err != nil || code < 0:
		return nil, code, err
	case reply.Status < 0:
		return nil, pdu.Code(reply.Status), nil
	case len(reply.PMIDs) != len(names):
		return nil, pdu.ErrIPC, nil
	}
	return reply.PMIDs, 0, nil
}

// NameAll gives all names of a metric; [pdu.ErrPMID] if it has none.
//
// Source: pmNameAll(3).
func (c *Conn) NameAll(ctx context.Context, id pdu.PMID) ([]string, error) {
	const op = "names of a metric"
	reply, err := c.names(ctx, op, &pdu.PMNSIDs{PMIDs: []pdu.PMID{id}})
	return reply.Names, err
}

// Child is a node directly below another in the name space.
type Child struct {
	Name string // the last component only
	Leaf bool   // a metric, not a subtree
}

// Children lists the nodes directly below name, in no special order; the root is "". A metric has
// none. [pdu.ErrName] if there is no such node.
//
// Source: pmGetChildrenStatus(3).
func (c *Conn) Children(ctx context.Context, name string) ([]Child, error) {
	const op = "children of a name"
	if name != "" && !canBeAsked(name) {
		return nil, c.opError(op, pdu.ErrName)
	}
	reply, err := c.names(ctx, op, &pdu.PMNSChild{WithStatus: true, Name: name})
	if err != nil {
		return nil, err
	}
	if len(reply.Status) != len(reply.Names) { // an agent's fault, pmcd relays what it says
		return nil, c.opError(op, protocolErrorf("children without their status"))
	}
	children := make([]Child, len(reply.Names))
	for i, child := range reply.Names {
		children[i] = Child{Name: child, Leaf: reply.Status[i] == pdu.StatusLeaf}
	}
	return children, nil
}

// Traverse lists the full names of all metrics at or below name, in no special order; the root is
// "". [pdu.ErrName] if there is no such node.
//
// The root of an agent's subtree is itself in the list when the agent gives no names.
//
// Source: pmTraversePMNS(3).
func (c *Conn) Traverse(ctx context.Context, name string) ([]string, error) {
	const op = "traverse names"
	if name != "" && !canBeAsked(name) {
		return nil, c.opError(op, pdu.ErrName)
	}
	reply, err := c.names(ctx, op, &pdu.PMNSTraverse{Name: name})
	return reply.Names, err
}

// names makes a request that PMNS_NAMES answers, perhaps with a code in place of the names. The reply is empty after an
// error.
func (c *Conn) names(ctx context.Context, op string, req pdu.Message) (pdu.PMNSNames, error) {
	var reply pdu.PMNSNames
	err := c.call(ctx, op, req, &reply)
	if err == nil && reply.Code < 0 {
		err = c.opError(op, reply.Code)
	}
	if err != nil {
		return pdu.PMNSNames{}, err
	}
	return reply, nil
}
