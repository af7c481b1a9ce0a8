package pmapitest

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"pmdaderived/pdu"
)

// Metric is a metric of a [Collector].
type Metric struct {
	Name    string
	Desc    pdu.Desc
	Values  []pdu.Value // of all instances; a client gets those that its profile selects
	Code    pdu.Code    // < 0: the reason why there are no values
	OneLine string      // help text on one line; "": none
	Help    string      // likewise

	ReadOnly bool     // a store is refused with ErrPermission
	Refused  pdu.Code // < 0: the answer of the metric's agent to a look-up of the name
}

// InDom is an instance domain of a [Collector].
type InDom struct {
	Instances  []pdu.Instance
	Code       pdu.Code // < 0: the reason why there are none
	Unnamed    pdu.Code // < 0: the answer of the domain's agent to a request for the number of a name
	Unlabelled pdu.Code // < 0: the answer of the domain's agent to a request for the labels of its instances
	OneLine    string
	Help       string
}

// LabelKey identifies the labels of one thing: the Type and Ident of a [pdu.LabelReq].
type LabelKey struct {
	Type  pdu.LabelType
	Ident uint32
}

// Collector serves metrics from memory, as a pmcd and its agents do. Its method Serve is a
// script for [Listen]. Set the fields before the first client; change them afterwards inside Update.
type Collector struct {
	Features pdu.Features // announced to clients, usually AllFeatures
	Metrics  []Metric
	InDoms   map[pdu.InDom]InDom
	Labels   map[LabelKey][]pdu.LabelSet
	Time     time.Time // the time stamp of every fetch; zero: the time of the answer

	// OnFetch is called before each fetch is answered, as by Update: it may set the fields above. nil: nothing changes.
	OnFetch func()

	mu    sync.Mutex
	peers map[*session]bool
}

// Update runs change while no request is handled. change may set the fields of c.
func (c *Collector) Update(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// Announce sends a change to every client that is connected, before the answer to its next fetch.
func (c *Collector) Announce(change pdu.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.peers {
		s.changes |= change
	}
}

// session is the state of one client.
type session struct {
	*Collector
	profile *pdu.Profile
	changes pdu.Change
}

// Serve serves one client until the client closes the connection. The client may be silent for any time.
// [Peer.Received] does not list its requests.
func (c *Collector) Serve(p *Peer) {
	p.Challenge(0, c.Features)
	p.Expect(pdu.KindCreds)
	p.lasting = true
	s := &session{Collector: c}
	c.mu.Lock()
	if c.peers == nil {
		c.peers = make(map[*session]bool)
	}
	c.peers[s] = true
	c.mu.Unlock()
	defer c.Update(func() { delete(c.peers, s) })
	for {
		req, ok := p.Next()
		if !ok {
			return
		}
		for _, reply := range s.answer(req) {
			p.Send(reply)
		}
	}
}

func errorReply(code pdu.Code) []pdu.Message { return []pdu.Message{&pdu.Error{Code: code}} }

func (s *session) answer(req pdu.Message) []pdu.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := func(m pdu.Message) []pdu.Message { return []pdu.Message{m} }
	switch req.(type) {
	case *pdu.Fetch, *pdu.HighResFetch:
		if s.OnFetch != nil {
			s.OnFetch()
		}
	}
	at := s.Time
	if at.IsZero() {
		at = time.Now()
	}
	switch req := req.(type) {
	case *pdu.Profile:
		s.profile = req
		return nil
	case *pdu.Fetch:
		return s.fetch(req.PMIDs, func(sets []pdu.ValueSet) pdu.Message {
			return &pdu.Result{Sec: int32(at.Unix()), Usec: int32(at.Nanosecond() / 1000), Sets: sets}
		})
	case *pdu.HighResFetch:
		return s.fetch(req.PMIDs, func(sets []pdu.ValueSet) pdu.Message {
			return &pdu.HighResResult{Sec: at.Unix(), Nsec: int64(at.Nanosecond()), Sets: sets}
		})
	case *pdu.DescReq:
		m := s.metric(req.PMID)
		if m == nil {
			return errorReply(pdu.ErrPMID)
		}
		return one(&pdu.DescReply{Desc: m.Desc})
	case *pdu.DescIDs:
		return one(s.descs(req.PMIDs))
	case *pdu.InstanceReq:
		return one(s.instances(req))
	case *pdu.TextReq:
		return one(s.text(req))
	case *pdu.LabelReq:
		if code := s.InDoms[pdu.InDom(req.Ident)].Unlabelled; code < 0 && req.Type == pdu.LabelInstances {
			return errorReply(code)
		}
		return one(&pdu.Labels{Ident: req.Ident, Type: req.Type, Sets: s.Labels[LabelKey{req.Type, req.Ident}]})
	case *pdu.PMNSNames:
		return one(s.lookup(req.Names))
	case *pdu.PMNSIDs:
		return one(s.namesOf(req.PMIDs[0]))
	case *pdu.PMNSTraverse:
		return one(s.traverse(req.Name))
	case *pdu.PMNSChild:
		return one(s.children(req))
	case *pdu.Result:
		return errorReply(s.store(req.Sets))
	}
	return errorReply(pdu.ErrIPC)
}

func (s *session) metric(id pdu.PMID) *Metric {
	for i := range s.Metrics {
		if s.Metrics[i].Desc.PMID == id {
			return &s.Metrics[i]
		}
	}
	return nil
}

// unknown returns the code for a metric that does not exist: ErrPMID if its domain has other metrics, as from their
// agent, otherwise ErrNoAgent, as from pmcd.
func (s *session) unknown(id pdu.PMID) pdu.Code {
	for i := range s.Metrics {
		if s.Metrics[i].Desc.PMID.Domain() == id.Domain() {
			return pdu.ErrPMID
		}
	}
	return pdu.ErrNoAgent
}

func (s *session) fetch(ids []pdu.PMID, reply func([]pdu.ValueSet) pdu.Message) []pdu.Message {
	if s.profile == nil {
		return errorReply(pdu.ErrNoProfile)
	}
	var replies []pdu.Message
	if s.changes != 0 {
		replies = errorReply(pdu.Code(s.changes))
		s.changes = 0
	}
	sets := make([]pdu.ValueSet, len(ids))
	for i, id := range ids {
		sets[i] = s.values(id)
	}
	return append(replies, reply(sets))
}

func (s *session) values(id pdu.PMID) pdu.ValueSet {
	m := s.metric(id)
	switch {
	case m == nil:
		return pdu.ValueSet{PMID: id, Code: s.unknown(id)}
	case m.Code < 0:
		return pdu.ValueSet{PMID: id, Code: m.Code}
	}
	set := pdu.ValueSet{PMID: id, Format: pdu.Block}
	if m.Desc.Type == pdu.Type32 || m.Desc.Type == pdu.TypeU32 {
		set.Format = pdu.InSitu
	}
	for _, v := range m.Values {
		if s.profile.Includes(m.Desc.InDom, v.Inst) {
			set.Values = append(set.Values, v)
		}
	}
	return set
}

func (s *session) descs(ids []pdu.PMID) pdu.Message {
	descs := make([]pdu.Desc, len(ids))
	for i, id := range ids {
		if m := s.metric(id); m != nil {
			descs[i] = m.Desc
		} else if descs[i].PMID = pdu.NoPMID; len(ids) == 1 {
			return &pdu.Error{Code: pdu.ErrPMID}
		}
	}
	return &pdu.Descs{Descs: descs}
}

func (s *session) instances(req *pdu.InstanceReq) pdu.Message {
	indom, ok := s.InDoms[req.InDom]
	switch {
	case !ok:
		return &pdu.Error{Code: pdu.ErrInDom}
	case indom.Code < 0:
		return &pdu.Error{Code: indom.Code}
	case indom.Unnamed < 0 && req.Name != "":
		return &pdu.Error{Code: indom.Unnamed}
	}
	reply := &pdu.InstanceReply{InDom: req.InDom}
	if req.Name == "" && req.Inst == pdu.NoInst {
		reply.Instances = indom.Instances
		return reply
	}
	for _, i := range indom.Instances {
		switch {
		case req.Name == "" && i.ID == req.Inst:
			reply.Instances = []pdu.Instance{{ID: pdu.NoInst, Name: i.Name}}
			return reply
		case req.Name != "" && i.Name == req.Name:
			reply.Instances = []pdu.Instance{{ID: i.ID}}
			return reply
		}
	}
	return &pdu.Error{Code: pdu.ErrInst}
}

func (s *session) text(req *pdu.TextReq) pdu.Message {
	var oneLine, help string
	if req.Type&pdu.TextInDom != 0 {
		indom := s.InDoms[pdu.InDom(req.Ident)]
		oneLine, help = indom.OneLine, indom.Help
	} else if m := s.metric(pdu.PMID(req.Ident)); m != nil {
		oneLine, help = m.OneLine, m.Help
	} else {
		return &pdu.Error{Code: pdu.ErrPMID}
	}
	text := help
	if req.Type&pdu.TextOneLine != 0 {
		text = oneLine
	}
	if text == "" {
		return &pdu.Error{Code: pdu.ErrText}
	}
	return &pdu.Text{Ident: req.Ident, Text: text}
}

// below returns the metric of a name, nil if there is none, and the names of the metrics below it. "" is the root.
func (s *session) below(name string) (leaf *Metric, names []string) {
	for i := range s.Metrics {
		switch m := &s.Metrics[i]; {
		case m.Name == name:
			leaf = m
		case name == "", pdu.AtOrBelow(m.Name, name):
			names = append(names, m.Name)
		}
	}
	return leaf, names
}

func (s *session) lookup(names []string) pdu.Message {
	reply := &pdu.PMNSIDs{PMIDs: make([]pdu.PMID, len(names))}
	leaves := make(map[string]*Metric)
	if len(names) > 1 {
		for i := range s.Metrics {
			leaves[s.Metrics[i].Name] = &s.Metrics[i]
		}
	}
	for i, name := range names {
		leaf, below := leaves[name], []string(nil)
		if len(names) == 1 {
			leaf, below = s.below(name)
		}
		switch {
		case leaf != nil && leaf.Refused < 0: // pmcd refuses them all
			return &pdu.Error{Code: leaf.Refused}
		case leaf != nil:
			reply.PMIDs[i] = leaf.Desc.PMID
			reply.Status++
		case len(names) > 1:
			reply.PMIDs[i] = pdu.NoPMID
		case len(below) > 0:
			return &pdu.Error{Code: pdu.ErrNonLeaf}
		default:
			return &pdu.Error{Code: pdu.ErrName}
		}
	}
	return reply
}

func (s *session) namesOf(id pdu.PMID) pdu.Message {
	reply := &pdu.PMNSNames{}
	for _, m := range s.Metrics {
		if m.Desc.PMID == id {
			reply.Names = append(reply.Names, m.Name)
		}
	}
	if len(reply.Names) == 0 {
		return &pdu.Error{Code: s.unknown(id)}
	}
	return reply
}

func (s *session) traverse(name string) pdu.Message {
	leaf, names := s.below(name)
	switch {
	case leaf != nil:
		return &pdu.PMNSNames{Names: []string{name}}
	case len(names) == 0:
		return &pdu.Error{Code: pdu.ErrName}
	}
	return &pdu.PMNSNames{Names: names}
}

func (s *session) children(req *pdu.PMNSChild) pdu.Message {
	leaf, names := s.below(req.Name)
	if leaf == nil && len(names) == 0 {
		return &pdu.Error{Code: pdu.ErrName}
	}
	status := make(map[string]int32)
	for _, name := range names {
		child, _, more := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(name, req.Name), "."), ".")
		status[child] = pdu.StatusLeaf
		if more {
			status[child] = pdu.StatusNonLeaf
		}
	}
	reply := &pdu.PMNSNames{Names: slices.Sorted(maps.Keys(status))}
	if req.WithStatus {
		for _, child := range reply.Names {
			reply.Status = append(reply.Status, status[child])
		}
	}
	return reply
}

// store replaces the values of metrics. It stops at the first metric that is unknown or read-only.
func (s *session) store(sets []pdu.ValueSet) pdu.Code {
	for _, set := range sets {
		m := s.metric(set.PMID)
		switch {
		case m == nil:
			return s.unknown(set.PMID)
		case m.ReadOnly:
			return pdu.ErrPermission
		}
		m.Values = nil
		for _, v := range set.Values {
			v.Bytes = append([]byte(nil), v.Bytes...)
			m.Values = append(m.Values, v)
		}
	}
	return 0
}
