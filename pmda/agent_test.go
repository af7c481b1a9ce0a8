package pmda_test

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmdatest"
)

// The metrics and the instance domain of the agents in these tests.
var (
	idLoad  = pdu.NewPMID(250, 0, 1) // toy.load: U32, singular, always 42
	idSpeed = pdu.NewPMID(250, 1, 0) // toy.speed: DOUBLE over lanes, 1.5 times the instance number
	idName  = pdu.NewPMID(250, 1, 1) // toy.deep.name: STRING, singular
	idNone  = pdu.NewPMID(250, 9, 9)
	lanes   = pdu.NewInDom(250, 3)
	nowhere = pdu.NewInDom(250, 4)

	laneList = []pdu.Instance{{ID: 0, Name: "5 minute"}, {ID: 10, Name: "5"}, {ID: 20, Name: "fast lane"}}
)

// bare has the mandatory methods only.
type bare struct{}

func (bare) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	switch id {
	case idLoad:
		return pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, nil
	case idSpeed:
		return pdu.Desc{Type: pdu.TypeDouble, InDom: lanes, Sem: pdu.SemInstant}, nil
	case idName:
		return pdu.Desc{Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}, nil
	}
	return pdu.Desc{}, pdu.ErrPMID
}

func (bare) Instances(_ pmda.Client, d pdu.InDom) ([]pdu.Instance, error) {
	if d != lanes {
		return nil, pdu.ErrInDom
	}
	return laneList, nil
}

func (bare) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	for _, id := range req.PMIDs {
		switch id {
		case idLoad:
			w.Numbers(id, pdu.TypeU32, nil, []uint64{42})
		case idSpeed:
			var insts []pdu.Inst
			var bits []uint64
			for _, lane := range laneList {
				if req.Profile.Includes(lanes, lane.ID) {
					insts = append(insts, lane.ID)
					bits = append(bits, math.Float64bits(1.5*float64(lane.ID)))
				}
			}
			w.Numbers(id, pdu.TypeDouble, insts, bits)
		case idName:
			w.Strings(id, pdu.TypeString, nil, [][]byte{[]byte("Zuse")})
		default:
			w.Fail(id, pdu.ErrPMID)
		}
	}
	return nil
}

// full has every method. It notes the calls and fails as it is told to.
type full struct {
	bare
	*pmda.Namespace

	err    error        // what every method returns, if not nil
	panics func(string) // called by every method with its name
	change pdu.Change   // what Changes returns once

	mu    sync.Mutex
	calls []string // guarded by mu
}

func newFull() *full {
	ns, err := pmda.NewNamespace("toy", []pmda.Entry{
		{Name: "toy.load", PMID: idLoad},
		{Name: "toy.speed", PMID: idSpeed},
		{Name: "toy.velocity", PMID: idSpeed},
		{Name: "toy.deep.name", PMID: idName},
	})
	if err != nil {
		panic(err)
	}
	return &full{Namespace: ns}
}

func (a *full) enter(method, format string, args ...any) error {
	a.mu.Lock()
	a.calls = append(a.calls, method+fmt.Sprintf(format, args...))
	a.mu.Unlock()
	if a.panics != nil {
		a.panics(method)
	}
	return a.err
}

// start runs an agent up to the end of the handshake.
func start(t *testing.T, agent pmda.Agent) *pmdatest.PMCD {
	t.Helper()
	p := pmdatest.Start(t, agent)
	p.Handshake()
	return p
}

// called returns the calls so far and forgets them.
func (a *full) called() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := a.calls
	a.calls = nil
	return calls
}

func (a *full) Desc(c pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	if err := a.enter("Desc", " %d %v", c, id); err != nil {
		return pdu.Desc{}, err
	}
	return a.bare.Desc(c, id)
}

func (a *full) Instances(c pmda.Client, d pdu.InDom) ([]pdu.Instance, error) {
	if err := a.enter("Instances", " %d %v", c, d); err != nil {
		return nil, err
	}
	return a.bare.Instances(c, d)
}

func (a *full) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	if err := a.bare.Fetch(req, w); err != nil {
		return err
	}
	return a.enter("Fetch", " %d/%d %v", req.Client, req.Context, req.PMIDs)
}

func (a *full) Store(c pmda.Client, sets []pdu.ValueSet) error {
	return a.enter("Store", " %d %v=%d", c, sets[0].PMID, sets[0].Values[0].Bits)
}

func (a *full) Text(c pmda.Client, ident uint32, t pdu.TextType) (string, error) {
	if err := a.enter("Text", " %d %#x %d", c, ident, t); err != nil {
		return "", err
	}
	if ident != uint32(idLoad) {
		return "", pdu.ErrText
	}
	return "how busy it is", nil
}

func (a *full) Labels(c pmda.Client, ident uint32, t pdu.LabelType, p *pdu.Profile) ([]pdu.LabelSet, error) {
	if err := a.enter("Labels", " %d %#x %d", c, ident, t); err != nil {
		return nil, err
	}
	if t != pdu.LabelInstances || pdu.InDom(ident) != lanes {
		return nil, nil
	}
	var sets []pdu.LabelSet
	for _, lane := range laneList {
		if p.Includes(lanes, lane.ID) {
			sets = append(sets, pdu.LabelSet{Inst: lane.ID})
		}
	}
	return sets, nil
}

func (a *full) Lookup(c pmda.Client, name string) (pdu.PMID, error) {
	if err := a.enter("Lookup", " %d %s", c, name); err != nil {
		return 0, err
	}
	return a.Namespace.Lookup(c, name)
}

func (a *full) Names(c pmda.Client, id pdu.PMID) ([]string, error) {
	if err := a.enter("Names", " %d %v", c, id); err != nil {
		return nil, err
	}
	return a.Namespace.Names(c, id)
}

func (a *full) Children(c pmda.Client, name string, dst []pmda.Child) ([]pmda.Child, error) {
	if err := a.enter("Children", " %d %s", c, name); err != nil {
		return nil, err
	}
	return a.Namespace.Children(c, name, dst)
}

func (a *full) Traverse(c pmda.Client, name string) ([]string, error) {
	if err := a.enter("Traverse", " %d %s", c, name); err != nil {
		return nil, err
	}
	return a.Namespace.Traverse(c, name)
}

func (a *full) Attribute(c pmda.Client, attr pdu.Attribute, value string) {
	_ = a.enter("Attribute", " %d %d %q", c, attr, value)
}

func (a *full) EndContext(c pmda.Client) { _ = a.enter("EndContext", " %d", c) }

func (a *full) Changes() pdu.Change {
	_ = a.enter("Changes", "")
	change := a.change
	a.change = 0
	return change
}

// watched is an agent with an Observer.
type watched struct{ *full }

func (a watched) Before(c pmda.Client, k pdu.Kind, _ time.Time) {
	_ = a.enter("Before", " %d %s", c, k)
}

func (a watched) Replied(c pmda.Client, k pdu.Kind, took time.Duration) {
	_ = a.enter("Replied", " %d %s %v", c, k, took)
}

// requests is one well-formed request of each kind that gets a reply.
func requests() []pdu.Message {
	return []pdu.Message{
		&pdu.Fetch{PMIDs: []pdu.PMID{idLoad, idSpeed}},
		&pdu.DescReq{PMID: idLoad},
		&pdu.InstanceReq{InDom: lanes, Inst: pdu.NoInst},
		&pdu.TextReq{Ident: uint32(idLoad), Type: pdu.TextOneLine | pdu.TextPMID},
		&pdu.LabelReq{Ident: uint32(lanes), Type: pdu.LabelInDom},
		&pdu.PMNSNames{Names: []string{"toy.load"}},
		&pdu.PMNSIDs{PMIDs: []pdu.PMID{idLoad}},
		&pdu.PMNSChild{Name: "toy", WithStatus: true},
		&pdu.PMNSTraverse{Name: "toy"},
		store(idLoad, 7),
	}
}

func store(id pdu.PMID, value uint64) *pdu.Result {
	return &pdu.Result{Sets: []pdu.ValueSet{{
		PMID:   id,
		Format: pdu.InSitu,
		Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeU32, Bits: value}},
	}}}
}

// unanswered is one PDU of each kind that gets no reply, well-formed where that means anything.
func unanswered() []pdu.Message {
	return []pdu.Message{
		&pdu.Profile{Context: 1},
		&pdu.Attr{Attr: pdu.AttrUserID, Value: "1000", NUL: true},
		&pdu.Error{Code: pdu.ErrNotConn},
		&pdu.Error{Code: pdu.ErrPMDAReady},
		&pdu.Error{},
		&pdu.Creds{Version: pdu.ProtocolVersion},
		&pdu.HighResFetch{PMIDs: []pdu.PMID{idLoad}},
		&pdu.HighResResult{},
		&pdu.DescIDs{PMIDs: []pdu.PMID{idLoad}},
		&pdu.Descs{Descs: []pdu.Desc{{PMID: idLoad}}},
		&pdu.DescReply{Desc: pdu.Desc{PMID: idLoad}},
		&pdu.InstanceReply{InDom: lanes},
		&pdu.Text{Text: "?"},
		&pdu.Labels{Type: pdu.LabelDomain},
	}
}

// ids are the PMIDs of the value sets of a result.
func ids(r *pdu.Result) []pdu.PMID {
	var list []pdu.PMID
	for _, set := range r.Sets {
		list = append(list, set.PMID)
	}
	return list
}

// codes are the codes of the value sets of a result.
func codes(r *pdu.Result) []pdu.Code {
	var list []pdu.Code
	for _, set := range r.Sets {
		list = append(list, set.Code)
	}
	return list
}

// insts are the instances in the first value set of a result.
func insts(r *pdu.Result) []pdu.Inst {
	var list []pdu.Inst
	for _, v := range r.Sets[0].Values {
		list = append(list, v.Inst)
	}
	return slices.Clip(list)
}
