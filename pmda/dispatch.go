package pmda

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"syscall"
	"time"

	"pmdaderived/pdu"
)

// answer handles a PDU and returns the frame of the reply, nil for a PDU that gets none. If the agent panics or its
// reply is too large, the frame is an error.
func (s *session) answer(c Client, f pdu.Frame, arrived time.Time) (frame []byte) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(f.Kind, p)
			frame = s.fallbackReply(f.Kind)
		}
	}()
	frame = s.dispatch(c, f, arrived)
	if len(frame) > s.maxReply {
		return s.replyError(f.Kind, fmt.Errorf("reply of %d bytes: %w", len(frame), pdu.ErrTooBig))
	}
	return frame
}

func (s *session) dispatch(c Client, f pdu.Frame, arrived time.Time) []byte {
	if handle, ok := s.requests[f.Kind]; ok {
		return handle(c, f, arrived)
	}
	switch f.Kind {
	case pdu.KindProfile:
		s.onProfile(f.Body)
	case pdu.KindAttr:
		s.onAttr(c, f.Body)
	case pdu.KindError:
		s.onError(c, f.Body)
	default:
		s.complain(f.Kind, "pdu ignored", errNotForAgents)
	}
	return nil
}

// handler makes the reply to a request.
type handler func(c Client, f pdu.Frame, arrived time.Time) []byte

// handlers returns the handlers of the kinds that get a reply.
func (s *session) handlers() map[pdu.Kind]handler {
	return map[pdu.Kind]handler{
		pdu.KindFetch:        s.onFetch,
		pdu.KindDescReq:      respond(s, s.onDescReq),
		pdu.KindInstanceReq:  respond(s, s.onInstanceReq),
		pdu.KindTextReq:      respond(s, s.onTextReq),
		pdu.KindLabelReq:     respond(s, s.onLabelReq),
		pdu.KindPMNSNames:    respond(s, s.onNames),
		pdu.KindPMNSIDs:      respond(s, s.onIDs),
		pdu.KindPMNSChild:    respond(s, s.onChild),
		pdu.KindPMNSTraverse: respond(s, s.onTraverse),
		pdu.KindResult:       respond(s, s.onStore),
	}
}

// respond returns a handler that decodes a request, calls handle and encodes its answer. The handler allocates each
// request, so that the memory of a large one does not stay.
func respond[M any, P interface {
	*M
	pdu.Message
}](s *session, handle func(Client, *M) (pdu.Message, error)) handler {
	return func(c Client, f pdu.Frame, _ time.Time) []byte {
		req := new(M)
		if err := P(req).Decode(f.Body); err != nil {
			return s.replyUndecodable(f.Kind, err)
		}
		reply, err := handle(c, req)
		if err != nil {
			return s.replyError(f.Kind, err)
		}
		return s.out.Encode(reply, 0)
	}
}

// errNotForAgents is logged with a PDU that pmcd does not send to agents.
var errNotForAgents = errors.New("not a request to an agent")

// fallbackReply returns the reply to a PDU of kind k that could not be handled: an error, an empty list for a TRAVERSE
// (see [Namer.Traverse]), nil for a PDU that gets no reply.
func (s *session) fallbackReply(k pdu.Kind) []byte {
	if k == pdu.KindPMNSTraverse {
		return s.out.Encode(&pdu.PMNSNames{}, 0)
	}
	if _, ok := s.requests[k]; ok {
		return s.out.Encode(&pdu.Error{Code: pdu.ErrGeneric}, 0)
	}
	return nil
}

// replyUndecodable logs err and returns the reply to a PDU whose body cannot be decoded.
func (s *session) replyUndecodable(k pdu.Kind, err error) []byte {
	s.complain(k, "cannot decode pdu", err)
	return s.fallbackReply(k)
}

// decode decodes a PDU that gets no reply. It logs an error, and reports whether there was none.
func (s *session) decode(m pdu.Message, body []byte) bool {
	err := m.Decode(body)
	if err != nil {
		s.complain(m.Kind(), "cannot decode pdu", err)
	}
	return err == nil
}

// replyError returns the reply for err: an ERROR with its code, as replyCode has it. A TRAVERSE gets an ERROR for an
// unknown name only, see [Namer.Traverse]. Errors without a code are logged.
func (s *session) replyError(k pdu.Kind, err error) []byte {
	code := replyCode(err)
	switch {
	case k == pdu.KindPMNSTraverse && code != pdu.ErrName:
		s.complain(k, "request failed", err)
		return s.fallbackReply(k)
	case code == pdu.ErrGeneric:
		s.complain(k, "request failed", err)
	case debugEnabled(s.log):
		s.log.WithField("pdu", k).WithError(err).Debug("request refused")
	}
	return s.out.Encode(&pdu.Error{Code: code}, 0)
}

func (s *session) onFetch(c Client, f pdu.Frame, arrived time.Time) []byte {
	if err := s.fetch.Decode(f.Body); err != nil {
		return s.replyUndecodable(pdu.KindFetch, err)
	}
	ids := s.fetch.PMIDs
	s.request = FetchRequest{
		Client:  c,
		Context: s.fetch.Context,
		PMIDs:   ids,
		Profile: s.profile,
		Arrived: arrived,
	}
	s.result.Reset()
	if err := s.agent.Fetch(&s.request, &s.result); err != nil {
		return s.replyError(pdu.KindFetch, err)
	}
	if n := s.result.Len(); n != len(ids) {
		s.complain(pdu.KindFetch, "wrong number of value sets",
			fmt.Errorf("%d sets for %d metrics", n, len(ids)))
		if n > len(ids) { // which of them belong to ids cannot be known
			s.result.Reset()
			n = 0
		}
		for _, id := range ids[n:] {
			s.result.Fail(id, pdu.ErrGeneric)
		}
	}
	var changes pdu.Change
	if s.notifier != nil && s.result.Size() <= s.maxReply { // a reply that is too large is not sent, nor its changes
		changes = s.notifier.Changes() & (pdu.ChangeLabels | pdu.ChangeNames)
	}
	return s.result.Frame(0, changes)
}

func (s *session) onProfile(body []byte) {
	if s.decode(s.spareProfile, body) {
		s.spareProfile.Sort()
		s.profile, s.spareProfile = s.spareProfile, s.profile
	}
}

func (s *session) onDescReq(c Client, req *pdu.DescReq) (pdu.Message, error) {
	desc, err := s.agent.Desc(c, req.PMID)
	desc.PMID = req.PMID
	return &pdu.DescReply{Desc: desc}, err
}

func (s *session) onInstanceReq(c Client, req *pdu.InstanceReq) (pdu.Message, error) {
	if s.finder != nil && (req.Inst == pdu.NoInst) != (req.Name == "") {
		found, err := s.finder.Instance(c, req.InDom, req.Inst, req.Name)
		if !errors.Is(err, pdu.ErrInDom) {
			if req.Name != "" {
				found.Name = ""
			} else {
				found.ID = pdu.NoInst
			}
			return &pdu.InstanceReply{InDom: req.InDom, Instances: []pdu.Instance{found}}, err
		}
	}
	instances, err := s.agent.Instances(c, req.InDom)
	if err != nil {
		return nil, err
	}
	// Stock readers understand a single empty name as "no names here".
	if i := slices.IndexFunc(instances, nameless); i >= 0 {
		s.complain(pdu.KindInstanceReq, "instances left out",
			fmt.Errorf("instance %d of %s has no name", instances[i].ID, req.InDom))
		instances = slices.DeleteFunc(slices.Clone(instances), nameless)
	}
	reply := pdu.InstanceReply{InDom: req.InDom}
	switch {
	case req.Inst == pdu.NoInst && req.Name == "":
		reply.Instances = instances
	case req.Name == "":
		i := slices.IndexFunc(instances, func(in pdu.Instance) bool { return in.ID == req.Inst })
		if i < 0 {
			return nil, pdu.ErrInst
		}
		reply.Instances = []pdu.Instance{{ID: pdu.NoInst, Name: instances[i].Name}}
	case req.Inst == pdu.NoInst:
		i := indexOfName(instances, req.Name)
		if i < 0 {
			return nil, pdu.ErrInst
		}
		reply.Instances = []pdu.Instance{{ID: instances[i].ID}}
	default:
		return nil, pdu.ErrInst
	}
	return &reply, nil
}

func nameless(in pdu.Instance) bool { return in.Name == "" }

// indexOfName returns the position of an instance with the whole name, or else of the first whose part before the
// first blank is the name. By PCP's rules that part is unique. It returns -1 if there is none.
func indexOfName(instances []pdu.Instance, name string) int {
	first := -1
	for i, in := range instances {
		if in.Name == name {
			return i
		}
		if head, _, blank := strings.Cut(in.Name, " "); first < 0 && blank && head == name {
			first = i
		}
	}
	return first
}

func (s *session) onTextReq(c Client, req *pdu.TextReq) (pdu.Message, error) {
	if s.texter == nil {
		return nil, pdu.ErrText
	}
	text, err := s.texter.Text(c, req.Ident, plainTextType(req.Type))
	return &pdu.Text{Ident: req.Ident, Text: text}, err
}

// plainTextType reduces t to one bit of each pair as stock agents do: TextOneLine if it is set, else TextHelp; TextPMID
// if it is set, else TextInDom.
func plainTextType(t pdu.TextType) pdu.TextType {
	size, what := pdu.TextHelp, pdu.TextInDom
	if t&pdu.TextOneLine != 0 {
		size = pdu.TextOneLine
	}
	if t&pdu.TextPMID != 0 {
		what = pdu.TextPMID
	}
	return size | what
}

func (s *session) onLabelReq(c Client, req *pdu.LabelReq) (pdu.Message, error) {
	if bits.OnesCount32(uint32(req.Type)) != 1 || req.Type > pdu.LabelInstances { // not one level
		return nil, pdu.ErrType
	}
	reply := pdu.Labels{Ident: req.Ident, Type: req.Type}
	if s.labeler != nil {
		sets, err := s.labeler.Labels(c, req.Ident, req.Type, s.profile)
		if err != nil {
			return nil, err
		}
		reply.Sets = sets
	}
	return &reply, nil
}

func (s *session) onStore(c Client, req *pdu.Result) (pdu.Message, error) {
	if s.storer == nil {
		return nil, pdu.ErrPermission
	}
	return &pdu.Error{}, s.storer.Store(c, req.Sets)
}

func (s *session) onAttr(c Client, body []byte) {
	var attr pdu.Attr
	if s.decode(&attr, body) && s.attribute != nil {
		s.attribute.Attribute(c, attr.Attr, attr.Value)
	}
}

func (s *session) onError(c Client, body []byte) {
	var e pdu.Error
	switch {
	case !s.decode(&e, body):
	case e.Code != pdu.ErrNotConn:
		s.complain(pdu.KindError, "pdu ignored", e.Code)
	case s.ender != nil:
		s.ender.EndContext(c)
	}
}

// replyCode returns the code for the ERROR that answers a request. Some codes must never be sent:
// PM_ERR_IPC, PM_ERR_TIMEOUT and -EPIPE make pmcd drop the agent; PM_ERR_PMDAREADY and PM_ERR_PMDANOTREADY
// change the state that pmcd has for the agent; a code ≥ 0 is a state change or a success. An agent may have them in an
// error all the same, from the source of its values. Source: docs/protocol.md 6.1, 6.2, 4.7.
func replyCode(err error) pdu.Code {
	switch code := pdu.CodeOf(err); {
	case code == pdu.ErrPMDANotReady:
		return pdu.ErrAgain
	case code >= 0, code == pdu.ErrIPC, code == pdu.ErrTimeout, code == -pdu.Code(syscall.EPIPE),
		code == pdu.ErrPMDAReady:
		return pdu.ErrGeneric
	default:
		return code
	}
}
