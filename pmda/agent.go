package pmda

import (
	"time"

	"pmdaderived/pdu"
)

// Client is the number that pmcd gives to one of its clients (the "from" of a PDU, the "context"
// of libpcp_pmda). Numbers start at 0 and pmcd uses them again as soon as a client has gone: an agent
// must delete its data of a number in [ContextEnder.EndContext]. A client is a connection, not a user.
// Requests may come from a client for which no attribute was sent. Source: docs/protocol.md 4.4.
type Client int32

// Agent is the part that the author of a PMDA writes. A [Server] calls its methods one at a time, from the
// goroutine of [Server.Serve], in the order of pmcd's requests. So an agent without goroutines of its own
// needs no locks.
//
// No method may wait: pmcd serves no client until the reply has come, and drops an agent that needs
// longer than 5 s. A method must never wait for anything that needs pmcd: a request of its own to pmcd, or a
// lock that a goroutine holds during such a request.
//
// An error becomes the reply. [pdu.CodeOf] finds the code in it; an error without one is logged, and the client
// gets [pdu.ErrGeneric]. A method that panics is answered with ErrGeneric too, and the server goes on.
// Arguments belong to the server and are valid until the method returns, except strings, which the agent
// may store. The server reads returned slices before it calls the next method, and does not store them.
//
// The other interfaces of this file are optional: an agent implements one by having its methods.
type Agent interface {
	// Desc returns the descriptor of a metric, or [pdu.ErrPMID] if there is no such metric. The server
	// sets its PMID.
	Desc(c Client, id pdu.PMID) (pdu.Desc, error)

	// Instances lists a whole instance domain, or returns [pdu.ErrInDom] if the domain is unknown or belongs to
	// another agent. Numbers must be unique and names must not be empty. An empty domain is an empty list. The
	// server also answers requests for one name or one number from this list.
	Instances(c Client, d pdu.InDom) ([]pdu.Instance, error)

	// Fetch adds one value set to w for each of req.PMIDs, in that order. For one metric that fails it calls
	// [pdu.ResultWriter.Fail]. If it returns an error, the whole FETCH is answered with that. Sets that are
	// missing are sent as ErrGeneric. If there are too many, every metric gets ErrGeneric.
	Fetch(req *FetchRequest, w *pdu.ResultWriter) error
}

// FetchRequest is one FETCH. The server uses it again: nothing in it is valid after
// [Agent.Fetch] has returned.
type FetchRequest struct {
	Client  Client
	Context pdu.ContextID // unique only together with Client
	PMIDs   []pdu.PMID    // at least one; the same one may occur several times

	// Profile says which instances are wanted. It is never nil. It is the last PROFILE that pmcd sent: pmcd
	// makes sure that it belongs to this Client and Context. Before the first PROFILE it includes all
	// instances. It may have instance domains of other agents.
	Profile *pdu.Profile

	Arrived time.Time // the time when the request had been read, of Server.Now
}

// InstanceFinder finds single instances, for agents that know more than Instances lists, such as instances that have
// gone. Without it the server searches the list of Instances.
type InstanceFinder interface {
	// Instance finds an instance by its name or, if name is "", by its number. It returns [pdu.ErrInst] if there is
	// none, and [pdu.ErrInDom] to make the server search the list of Instances.
	Instance(c Client, d pdu.InDom, id pdu.Inst, name string) (pdu.Instance, error)
}

// Storer accepts new values (pmstore). Without it every store is answered with [pdu.ErrPermission].
type Storer interface {
	// Store stores the values of all sets, or of none and returns the reason: [pdu.ErrPermission],
	// [pdu.ErrBadStore], [pdu.ErrType], … The sets are valid until it returns.
	Store(c Client, sets []pdu.ValueSet) error
}

// Texter has help texts. Without it every request for one is answered with [pdu.ErrText].
type Texter interface {
	// Text returns a text without a newline at its end, or [pdu.ErrText] if there is none. t has
	// exactly one of TextOneLine and TextHelp, and exactly one of TextPMID and TextInDom. ident is a
	// PMID with TextPMID and an InDom with TextInDom.
	Text(c Client, ident uint32, t pdu.TextType) (string, error)
}

// Labeler has labels. Without it every request is answered with no labels, which is not an error.
type Labeler interface {
	// Labels returns the label sets of one level, the only bit of t. ident is a domain number, an InDom or a
	// PMID, as [pdu.LabelReq] has it; dbpmda sends the domain number 0xffffffff. With LabelInstances there is a set
	// for each instance in the profile, also for one without labels. At other levels there is one set at most, with
	// NoInst. To have no labels, return an empty list: tools show [pdu.ErrNoLabels] as an error.
	Labels(c Client, ident uint32, t pdu.LabelType, p *pdu.Profile) ([]pdu.LabelSet, error)
}

// Namer serves a dynamic subtree of the PMNS (a line "root D:*:*" in a PMNS file). Names are full
// names that begin with the root's. Without it every name and every PMID is answered as unknown. A [Namespace]
// implements it. Source: docs/protocol.md 6.5, docs/pmcd.md e.
type Namer interface {
	// Lookup returns the metric of a leaf. It returns [pdu.ErrNonLeaf] for an inner node, the root included,
	// and [pdu.ErrName] for any other name.
	Lookup(c Client, name string) (pdu.PMID, error)

	// Names returns all names of a metric, or [pdu.ErrPMID] if it has none.
	Names(c Client, id pdu.PMID) ([]string, error)

	// Children appends to dst the nodes directly below name, none for a leaf. It returns [pdu.ErrName] if
	// there is no such node. dst is memory of the server, for this call only.
	Children(c Client, name string, dst []Child) ([]Child, error)

	// Traverse returns all leaves at or below name, or [pdu.ErrName] if there is no such node. The
	// root always exists: if an agent answers it with an error, a pmcd since 6.2.0 fails every client's
	// traversal of the whole name space. So the server answers any error other than ErrName with an
	// empty list, and logs it.
	Traverse(c Client, name string) ([]string, error)
}

// Child is a node of the PMNS in the list of its parent's children.
type Child struct {
	Name    string // one component, without dots
	NonLeaf bool   // there are names below it
}

// AttributeWatcher receives the attributes of clients. If the agent is one, the handshake of Serve asks pmcd
// for attributes. With [Server.Greeted] the argument of [Greet] decides.
type AttributeWatcher interface {
	// Attribute is called for each attribute of a client. A client on the unix socket has the ids of
	// its user, group and process, as decimal text. Any client may have a container. An attribute may come again
	// with another value. Clients on TCP without authentication have none.
	Attribute(c Client, a pdu.Attribute, value string)
}

// ContextEnder receives the ends of clients.
type ContextEnder interface {
	// EndContext is called once for each client that has gone, even if it never sent a request to this
	// agent. It is called before any PDU of a new client with the same number.
	EndContext(c Client)
}

// Notifier has changes to announce to the clients of pmcd.
type Notifier interface {
	// Changes returns the changes since its previous call. They are sent in the RESULT of the
	// current FETCH, so each change is announced once. Only ChangeLabels and ChangeNames are sent: pmcd
	// accepts no others from an agent.
	Changes() pdu.Change
}

// Observer is called by the request loop, for statistics and to start work before a request is handled.
type Observer interface {
	// Before is called for every PDU after the handshake, of any kind, before the PDU is decoded and
	// handled.
	Before(c Client, k pdu.Kind, arrived time.Time)

	// Replied is called after the reply to a PDU of kind k has been written. took is the time
	// since its arrival, the writing included.
	Replied(c Client, k pdu.Kind, took time.Duration)
}
