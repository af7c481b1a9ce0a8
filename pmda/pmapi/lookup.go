package pmapi

import (
	"context"
	"strings"

	"pmdaderived/pdu"
)

// maxLookup is the length in bytes of the longest request for names or descriptors in bulk. It is far below pmcd's
// usual limit, which an administrator may have lowered (pmcd -L). Short requests are hardly slower in all, and pmcd
// serves other clients between them.
const maxLookup = 4000

// Bytes of a PMNS_NAMES PDU of a lookup.
const (
	namesHead = pdu.HeaderSize + 12
	nameHead  = 4 // before each name

	// maxName is the length of the longest name that can be asked for.
	maxName = 32<<10 - namesHead - nameHead
)

// NameResult is the metric of a name, or the reason why there is none.
type NameResult struct {
	PMID pdu.PMID // NoPMID if Code is set
	Code pdu.Code // < 0: the reason why there is no PMID
}

// LookupNames returns the metrics of names, one result per name, in the order of the names. The error is that of the
// connection, which is closed then.
//
// pmcd reports the reason of a failure only in a request for one name: [pdu.ErrName], [pdu.ErrNonLeaf] or the code of
// the agent, such as [pdu.ErrNoAgent]. In a request for several names the code of a name is ErrName. A caller that
// needs the reason looks the name up again alone.
//
// If an agent answers for one name with another code (AGAIN, PERMISSION, …), pmcd refuses the whole request with
// it. LookupNames then sends smaller requests, until only that name has the code. It needs fewer requests if the
// names of one agent are beside each other.
//
// Source: pmLookupName(3).
func (c *Conn) LookupNames(ctx context.Context, names []string) ([]NameResult, error) {
	results := make([]NameResult, len(names))
	asked := make([]int, 0, len(names)) // indexes of the names that pmcd can be asked for
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
			size += nameHead + (len(name)+3)&^3 // padded to words
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

// canBeAsked reports whether a name can be sent to pmcd. It is false for names that no metric can have or that pmcd
// would misread.
func canBeAsked(name string) bool {
	return name != "" && len(name) <= maxName && !strings.Contains(name, "\x00")
}

// lookupBatch asks for names in one PDU. It returns one PMID for each, or a code below zero and none.
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

// NameAll returns all names of a metric. The code of the error is [pdu.ErrPMID] if it has none.
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
	Leaf bool   // it is a metric; otherwise it has nodes below it
}

// Children returns the nodes directly below name, in no special order. The root is "". A metric has
// none. The code of the error is [pdu.ErrName] if there is no such node.
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
	if len(reply.Status) != len(reply.Names) { // a fault of an agent, whose answer pmcd passes on
		return nil, c.opError(op, protocolErrorf("children without their status"))
	}
	children := make([]Child, len(reply.Names))
	for i, child := range reply.Names {
		children[i] = Child{Name: child, Leaf: reply.Status[i] == pdu.StatusLeaf}
	}
	return children, nil
}

// Traverse returns the full names of all metrics at or below name, in no special order. The root is
// "". The code of the error is [pdu.ErrName] if there is no such node.
//
// If an agent has no names below the root of its subtree, pmcd lists that root although it is no metric.
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

// names makes a request that is answered with a PMNS_NAMES. A code in place of the names is an error. The reply is
// empty after an error.
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
