package pmda

import (
	"time"

	"pmdaderived/pdu"
)

// Client is the number that pmcd gives to one of its clients (the "from" of a PDU, the "context"
// of libpcp_pmda). Numbers start at 0 and are used again as soon as a client has gone: whatever is
// kept for a number must die in [ContextEnder.EndContext]. A connection is not a user, and requests
// may come from a client that no attribute ever described. Source: docs/protocol.md 4.4.
type Client int32

// Agent is what the author of a PMDA writes. A [Server] calls its methods one at a time, from the
// goroutine of [Server.Serve], in the order in which pmcd asked.
//
// No method may wait: pmcd serves nobody until the reply is there and drops an agent that needs
// longer than 5 s. A method must never ask pmcd for anything, not even through a lock.
//
// An error becomes the reply: [pdu.CodeOf] picks the code, an error without one is reported to the
// client as [pdu.ErrGeneric] and logged. A method that panics is answered with ErrGeneric too.
// Arguments belong to the server and are valid until the method returns, strings excepted: those
// may be kept. Returned slices are read before the next call and not kept.
//
// The interfaces below are optional; an agent has them by having their methods.
type Agent interface {
	// Desc describes a metric; [pdu.ErrPMID] when there is none. The server fills in the PMID.
	Desc(c Client, id pdu.PMID) (pdu.Desc, error)

	// Instances lists a whole instance domain, with unique numbers and without empty names;
	// [pdu.ErrInDom] when the domain is unknown or owned by another agent. An empty domain is an
	// empty list. The server answers from it also those who ask for one name or one number.
	Instances(c Client, d pdu.InDom) ([]pdu.Instance, error)

	// Fetch writes one value set to w for each of req.PMIDs, in that order. An error takes the
	// place of all of them; a metric that fails alone gets its code by [pdu.ResultWriter.Fail].
	// Sets that are missing become ErrGeneric, sets in excess are cut.
	Fetch(req *FetchRequest, w *pdu.ResultWriter) error
}

// FetchRequest is one FETCH. The server uses it again: nothing in it is valid after
// [Agent.Fetch] has returned.
type FetchRequest struct {
	Client  Client
	Context pdu.ContextID // unique only together with Client
	PMIDs   []pdu.PMID    // at least one; the same one may occur several times

	// Profile says which instances are wanted. It is never nil: it is the last PROFILE that
	// pmcd sent, whoever it was for, and includes everything before the first one. It may name
	// instance domains of other agents.
	Profile *pdu.Profile

	Arrived time.Time // when the request had been read, by Server.Now
}

// InstanceFinder finds single instances, also such as Instances does not list any more. Without it they are those of the list.
type InstanceFinder interface {
	// Instance finds an instance by its name or, if that is empty, by its number; [pdu.ErrInst] when there is none,
	// [pdu.ErrInDom] when the list of the domain tells.
	Instance(c Client, d pdu.InDom, id pdu.Inst, name string) (pdu.Instance, error)
}

// Storer accepts new values (pmstore). Without it every store is answered [pdu.ErrPermission].
type Storer interface {
	// Store takes all value sets or names the reason why not: [pdu.ErrPermission],
	// [pdu.ErrBadStore], [pdu.ErrType], … The sets are valid until it returns.
	Store(c Client, sets []pdu.ValueSet) error
}

// Texter has help texts. Without it there are none.
type Texter interface {
	// Text returns a text without a newline at its end; [pdu.ErrText] when there is none. t has
	// exactly one of TextOneLine and TextHelp, and exactly one of TextPMID and TextInDom, which
	// says what ident is.
	Text(c Client, ident uint32, t pdu.TextType) (string, error)
}

// Labeler has labels. Without it there are none, which is not an error.
type Labeler interface {
	// Labels returns the label sets of one level. ident is a domain number, an InDom or a PMID
	// as t, always a single level, demands; dbpmda asks for the domain 0xffffffff. Levels other
	// than LabelInstances have one set at most, with NoInst; LabelInstances has a set for
	// each instance in the profile, also for those without labels. An empty list is a good
	// answer, and better than [pdu.ErrNoLabels], which tools show as an error.
	Labels(c Client, ident uint32, t pdu.LabelType, p *pdu.Profile) ([]pdu.LabelSet, error)
}

// Namer serves a dynamic subtree of the PMNS (a line "root D:*:*" in a PMNS file). Names are full
// names, beginning with the root's. Without it no name and no PMID is known. A [Namespace] is a
// ready-made one. Source: docs/protocol.md 6.5, docs/pmcd.md e.
type Namer interface {
	// Lookup finds the metric of a leaf; [pdu.ErrNonLeaf] for an inner node, the root included;
	// [pdu.ErrName] for anything else.
	Lookup(c Client, name string) (pdu.PMID, error)

	// Names returns all names of a metric; [pdu.ErrPMID] when it has none.
	Names(c Client, id pdu.PMID) ([]string, error)

	// Children appends to dst the nodes directly below name: none for a leaf, [pdu.ErrName] when
	// there is no such node. dst is scratch space of the server.
	Children(c Client, name string, dst []Child) ([]Child, error)

	// Traverse returns all leaves at or below name; [pdu.ErrName] when there is no such node. The
	// root always exists: an error for it costs every client of a pmcd since 6.2.0 the
	// traversal of the whole name space. For that reason any other error than ErrName is
	// answered with an empty list, and logged.
	Traverse(c Client, name string) ([]string, error)
}

// Child is a node of the PMNS as its parent sees it.
type Child struct {
	Name    string // one component, without dots
	NonLeaf bool
}

// AttributeWatcher learns who a client is. Its presence makes the handshake ask for attributes
// (see [Server.Greeted] for the other way).
type AttributeWatcher interface {
	// Attribute tells an attribute of a client: for one on the unix socket its process, group and
	// user identifier as decimal text, for any the container it asked for. It may come again
	// with another value. Clients on TCP without authentication have none.
	Attribute(c Client, a pdu.Attribute, value string)
}

// ContextEnder is told when a client has gone.
type ContextEnder interface {
	// EndContext is called once for each client that goes, also for those that never asked this
	// agent for anything, and before any PDU of a successor with the same number.
	EndContext(c Client)
}

// Notifier has changes to announce to the clients of pmcd.
type Notifier interface {
	// Changes returns the bits to put into the RESULT that is about to be written and forgets
	// them: each change is announced once. Only ChangeLabels and ChangeNames are an agent's to
	// tell, others are dropped.
	Changes() pdu.Change
}

// Observer watches the request loop, for statistics and to start work ahead of a request.
type Observer interface {
	// Before is called for every PDU after the handshake, before it is decoded and handled, of
	// whatever kind and whether or not it gets a reply.
	Before(c Client, k pdu.Kind, arrived time.Time)

	// Replied is called after the reply to a PDU of kind k has been written; took is the time
	// since its arrival, the writing included.
	Replied(c Client, k pdu.Kind, took time.Duration)
}
