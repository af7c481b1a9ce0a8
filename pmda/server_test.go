package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmdatest"
)

// Every request is answered with what the agent said.
func TestRequestsAreAnsweredByTheAgent(t *testing.T) {
	tests := []struct {
		name    string
		request pdu.Message
		reply   pdu.Message
	}{
		{"descriptor", &pdu.DescReq{PMID: idSpeed}, &pdu.DescReply{Desc: pdu.Desc{
			PMID: idSpeed, Type: pdu.TypeDouble, InDom: lanes, Sem: pdu.SemInstant,
		}}},
		{"descriptor of nothing", &pdu.DescReq{PMID: idNone}, &pdu.Error{Code: pdu.ErrPMID}},

		{
			"instances", &pdu.InstanceReq{InDom: lanes, Inst: pdu.NoInst},
			&pdu.InstanceReply{InDom: lanes, Instances: laneList},
		},
		{"instance by number", &pdu.InstanceReq{InDom: lanes, Inst: 20}, &pdu.InstanceReply{
			InDom: lanes, Instances: []pdu.Instance{{ID: pdu.NoInst, Name: "fast lane"}},
		}},
		{"instance by full name", &pdu.InstanceReq{InDom: lanes, Inst: pdu.NoInst, Name: "fast lane"}, &pdu.InstanceReply{
			InDom: lanes, Instances: []pdu.Instance{{ID: 20}},
		}},
		{"instance by name up to the blank", &pdu.InstanceReq{InDom: lanes, Inst: pdu.NoInst, Name: "fast"}, &pdu.InstanceReply{
			InDom: lanes, Instances: []pdu.Instance{{ID: 20}},
		}},
		{"a full name wins over a beginning", &pdu.InstanceReq{InDom: lanes, Inst: pdu.NoInst, Name: "5"}, &pdu.InstanceReply{
			InDom: lanes, Instances: []pdu.Instance{{ID: 10}},
		}},
		{
			"a beginning that does not end at a blank", &pdu.InstanceReq{InDom: lanes, Inst: pdu.NoInst, Name: "fas"},
			&pdu.Error{Code: pdu.ErrInst},
		},
		{
			"a name with its blank only", &pdu.InstanceReq{InDom: lanes, Inst: pdu.NoInst, Name: "fast "},
			&pdu.Error{Code: pdu.ErrInst},
		},
		{"unknown number", &pdu.InstanceReq{InDom: lanes, Inst: 3}, &pdu.Error{Code: pdu.ErrInst}},
		{"odd number", &pdu.InstanceReq{InDom: lanes, Inst: -7}, &pdu.Error{Code: pdu.ErrInst}},
		{"number and name at once", &pdu.InstanceReq{InDom: lanes, Inst: 10, Name: "5"}, &pdu.Error{Code: pdu.ErrInst}},
		{"foreign domain", &pdu.InstanceReq{InDom: nowhere, Inst: pdu.NoInst}, &pdu.Error{Code: pdu.ErrInDom}},
		{"number in a foreign domain", &pdu.InstanceReq{InDom: nowhere, Inst: 1}, &pdu.Error{Code: pdu.ErrInDom}},

		{
			"text", &pdu.TextReq{Ident: uint32(idLoad), Type: pdu.TextHelp | pdu.TextPMID},
			&pdu.Text{Ident: uint32(idLoad), Text: "how busy it is"},
		},
		{"no text", &pdu.TextReq{Ident: uint32(lanes), Type: pdu.TextHelp | pdu.TextInDom}, &pdu.Error{Code: pdu.ErrText}},

		{
			"no labels", &pdu.LabelReq{Ident: uint32(idLoad), Type: pdu.LabelItem},
			&pdu.Labels{Ident: uint32(idLoad), Type: pdu.LabelItem},
		},
		{
			"labels of a domain that dbpmda does not know", &pdu.LabelReq{Ident: 0xffffffff, Type: pdu.LabelDomain},
			&pdu.Labels{Ident: 0xffffffff, Type: pdu.LabelDomain},
		},
		{"labels of no level", &pdu.LabelReq{Ident: 1}, &pdu.Error{Code: pdu.ErrType}},
		{
			"labels of two levels", &pdu.LabelReq{Ident: 1, Type: pdu.LabelItem | pdu.LabelCluster},
			&pdu.Error{Code: pdu.ErrType},
		},
		{"labels of an unknown level", &pdu.LabelReq{Ident: 1, Type: 64}, &pdu.Error{Code: pdu.ErrType}},

		{"metric of a name", &pdu.PMNSNames{Names: []string{"toy.deep.name"}}, &pdu.PMNSIDs{PMIDs: []pdu.PMID{idName}}},
		{"metric of an inner node", &pdu.PMNSNames{Names: []string{"toy.deep"}}, &pdu.Error{Code: pdu.ErrNonLeaf}},
		{"metric of the root", &pdu.PMNSNames{Names: []string{"toy"}}, &pdu.Error{Code: pdu.ErrNonLeaf}},
		{"metric of no name", &pdu.PMNSNames{Names: []string{"toy.train"}}, &pdu.Error{Code: pdu.ErrName}},
		{
			"names of a metric", &pdu.PMNSIDs{PMIDs: []pdu.PMID{idSpeed}},
			&pdu.PMNSNames{Names: []string{"toy.speed", "toy.velocity"}},
		},
		{"names of no metric", &pdu.PMNSIDs{PMIDs: []pdu.PMID{idNone}}, &pdu.Error{Code: pdu.ErrPMID}},
		{"children", &pdu.PMNSChild{Name: "toy"}, &pdu.PMNSNames{Names: []string{"deep", "load", "speed", "velocity"}}},
		{"children with status", &pdu.PMNSChild{Name: "toy", WithStatus: true}, &pdu.PMNSNames{
			Names:  []string{"deep", "load", "speed", "velocity"},
			Status: []int32{pdu.StatusNonLeaf, pdu.StatusLeaf, pdu.StatusLeaf, pdu.StatusLeaf},
		}},
		{"children of a leaf", &pdu.PMNSChild{Name: "toy.load", WithStatus: true}, &pdu.PMNSNames{}},
		{"children of nothing", &pdu.PMNSChild{Name: "toy.train"}, &pdu.Error{Code: pdu.ErrName}},
		{"traverse the root", &pdu.PMNSTraverse{Name: "toy"}, &pdu.PMNSNames{
			Names: []string{"toy.deep.name", "toy.load", "toy.speed", "toy.velocity"},
		}},
		{"traverse a branch", &pdu.PMNSTraverse{Name: "toy.deep"}, &pdu.PMNSNames{Names: []string{"toy.deep.name"}}},
		{"traverse a leaf", &pdu.PMNSTraverse{Name: "toy.load"}, &pdu.PMNSNames{Names: []string{"toy.load"}}},
		{"traverse nothing", &pdu.PMNSTraverse{Name: "toy.train"}, &pdu.Error{Code: pdu.ErrName}},

		{"store", store(idLoad, 7), &pdu.Error{}},
	}
	p := start(t, newFull())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, frameOf(tt.reply), frameOf(p.Request(tt.request)))
		})
	}
	p.ExpectSilence()
	require.NoError(t, p.Close())
}

func frameOf(m pdu.Message) []byte { return m.Append(nil, 0) }

// A request for which an agent has no method is answered as stock agents of the lower levels do.
func TestOptionalInterfacesAreOptional(t *testing.T) {
	want := map[pdu.Kind]pdu.Message{
		pdu.KindTextReq:      &pdu.Error{Code: pdu.ErrText},
		pdu.KindLabelReq:     &pdu.Labels{Ident: uint32(lanes), Type: pdu.LabelInDom},
		pdu.KindPMNSNames:    &pdu.Error{Code: pdu.ErrName},
		pdu.KindPMNSIDs:      &pdu.Error{Code: pdu.ErrPMID},
		pdu.KindPMNSChild:    &pdu.Error{Code: pdu.ErrName},
		pdu.KindPMNSTraverse: &pdu.Error{Code: pdu.ErrName},
		pdu.KindResult:       &pdu.Error{Code: pdu.ErrPermission},
	}
	p := start(t, bare{})
	for _, m := range unanswered() {
		p.Send(m, 0)
	}
	p.ExpectSilence()
	for _, request := range requests() {
		reply := p.Request(request)
		if m, ok := want[request.Kind()]; ok {
			assert.Equal(t, frameOf(m), frameOf(reply), "reply to %s", request.Kind())
			delete(want, request.Kind())
		} else {
			assert.NotEqual(t, pdu.KindError, reply.Kind(), "reply to %s", request.Kind())
		}
	}
	assert.Empty(t, want, "kinds that were not asked for")
}

// One silent PDU of every kind: nothing comes back.
func TestOtherPDUsGetNoReply(t *testing.T) {
	streams := make(map[pdu.Kind][]byte)
	for _, m := range unanswered() {
		streams[m.Kind()] = frameOf(m)
	}
	for _, kind := range []pdu.Kind{pdu.KindControlReq, 0x700b, 0x7018, 0x70ff} {
		streams[kind] = rawFrame(kind, []byte{0, 0, 0, 1})
	}
	for kind, stream := range streams {
		stream = append(frameOf(&pdu.Creds{Version: pdu.ProtocolVersion}), stream...)
		out, err := pmdatest.Play(t, &pmda.Server{Agent: newFull(), Greeted: true}, stream)
		require.NoError(t, err, "%v", kind)
		assert.Empty(t, out, "%v", kind)
	}
}

// rawFrame makes a frame of any kind.
func rawFrame(k pdu.Kind, body []byte) []byte {
	n := pdu.HeaderSize + len(body)
	head := []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n), byte(k >> 24), byte(k >> 16), byte(k >> 8), byte(k), 0, 0, 0, 0}
	return append(head, body...)
}

// A body that makes no sense costs one request. PM_ERR_IPC would cost the agent.
func TestUndecodableBodies(t *testing.T) {
	agent := newFull()
	p := start(t, agent)
	bodies := map[string][]byte{"no body": nil, "a byte": {1}, "all ones": bytes.Repeat([]byte{0xff}, 40)}
	for name, body := range bodies {
		for _, request := range requests() {
			agent.called()
			p.SendBytes(rawFrame(request.Kind(), body))
			what := fmt.Sprintf("%s with %s", request.Kind(), name)
			if request.Kind() == pdu.KindPMNSTraverse {
				assert.Empty(t, pmdatest.As[*pdu.PMNSNames](p, p.Expect(pdu.KindPMNSNames)).Names, what)
			} else {
				assert.Equal(t, pdu.ErrGeneric, pmdatest.As[*pdu.Error](p, p.Expect(pdu.KindError)).Code, what)
			}
			assert.Empty(t, agent.called(), what)
		}
		for _, m := range unanswered() {
			p.SendBytes(rawFrame(m.Kind(), body))
			p.ExpectSilence()
		}
	}
}

// Counts that the protocol allows but an agent is never sent.
func TestSeveralNamesOrMetricsAtOnce(t *testing.T) {
	p := start(t, newFull())
	for _, request := range []pdu.Message{
		&pdu.PMNSNames{Names: []string{"toy.load", "toy.speed"}},
		&pdu.PMNSNames{},
		&pdu.PMNSNames{Code: pdu.ErrAgain},
		&pdu.PMNSIDs{PMIDs: []pdu.PMID{idLoad, idSpeed}},
	} {
		assert.Equal(t, pdu.ErrGeneric, p.Refused(request), "%v", request)
	}
}

func TestErrorsBecomeCodes(t *testing.T) {
	tests := []struct {
		name string
		err  error
		code pdu.Code
	}{
		{"a code", pdu.ErrAgain, pdu.ErrAgain},
		{"a wrapped code", fmt.Errorf("operand x: %w", pdu.ErrPermission), pdu.ErrPermission},
		{"an errno", &os.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, -2},
		{"no code", errors.New("oops"), pdu.ErrGeneric},
		{"drops the agent: IPC", pdu.ErrIPC, pdu.ErrGeneric},
		{"drops the agent: timeout", fmt.Errorf("ask: %w", pdu.ErrTimeout), pdu.ErrGeneric},
		{"drops the agent: EPIPE", syscall.EPIPE, pdu.ErrGeneric},
		{"switches the agent off", pdu.ErrPMDANotReady, pdu.ErrAgain},
		{"switches the agent on", pdu.ErrPMDAReady, pdu.ErrGeneric},
		{"success", pdu.Code(0), pdu.ErrGeneric},
		{"a state change", pdu.Code(pdu.ChangeNames), pdu.ErrGeneric},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			agent := newFull()
			agent.err = tt.err
			p := start(t, agent)
			for _, request := range requests() {
				if request.Kind() == pdu.KindPMNSTraverse {
					names := pmdatest.As[*pdu.PMNSNames](p, p.Request(request))
					assert.Empty(t, names.Names, "an error to TRAVERSE would cost the whole name space")
					continue
				}
				assert.Equal(t, tt.code, p.Refused(request), "reply to %s", request.Kind())
			}
			p.ExpectSilence()
		})
	}
}

func TestPanicsAreContained(t *testing.T) {
	silentMethods := []string{"Attribute", "EndContext", "Before", "Replied"}
	methods := map[string]pdu.Message{
		"Desc":       &pdu.DescReq{PMID: idLoad},
		"Instances":  &pdu.InstanceReq{InDom: lanes, Inst: pdu.NoInst},
		"Fetch":      &pdu.Fetch{PMIDs: []pdu.PMID{idLoad}},
		"Changes":    &pdu.Fetch{PMIDs: []pdu.PMID{idLoad}},
		"Text":       &pdu.TextReq{Ident: uint32(idLoad), Type: pdu.TextOneLine | pdu.TextPMID},
		"Labels":     &pdu.LabelReq{Type: pdu.LabelDomain},
		"Lookup":     &pdu.PMNSNames{Names: []string{"toy"}},
		"Names":      &pdu.PMNSIDs{PMIDs: []pdu.PMID{idLoad}},
		"Children":   &pdu.PMNSChild{Name: "toy"},
		"Traverse":   &pdu.PMNSTraverse{Name: "toy"},
		"Store":      store(idLoad, 1),
		"Attribute":  &pdu.Attr{Attr: pdu.AttrUserID, Value: "0"},
		"EndContext": &pdu.Error{Code: pdu.ErrNotConn},
		"Before":     &pdu.DescReq{PMID: idLoad},
		"Replied":    &pdu.DescReq{PMID: idLoad},
	}
	for method, request := range methods {
		t.Run(method, func(t *testing.T) {
			log, hook := logtest.NewNullLogger()
			agent := newFull()
			agent.panics = func(m string) {
				if m == method {
					panic("the agent's fault")
				}
			}
			p := pmdatest.StartServer(t, &pmda.Server{Agent: watched{agent}, Log: log})
			p.Handshake()
			switch {
			case slices.Contains(silentMethods, method) && request.Kind() != pdu.KindDescReq:
				p.Send(request, 0)
			case slices.Contains(silentMethods, method):
				assert.Equal(t, pdu.KindDesc, p.Request(request).Kind(), "the request does not suffer")
			case method == "Traverse":
				assert.Empty(t, pmdatest.As[*pdu.PMNSNames](p, p.Request(request)).Names)
			default:
				assert.Equal(t, pdu.ErrGeneric, p.Refused(request))
			}
			if method != "Labels" {
				p.ExpectSilence()
			}
			require.NoError(t, p.Close(), "service goes on")

			entry := hook.AllEntries()[0]
			assert.Equal(t, logrus.ErrorLevel, entry.Level)
			assert.Equal(t, "agent has panicked", entry.Message)
			assert.Equal(t, "the agent's fault", entry.Data["panic"])
			assert.Contains(t, entry.Data["stack"], "(*full).enter", "the stack leads to the place")
			assert.Equal(t, request.Kind(), entry.Data["pdu"])
		})
	}
}

func TestFetchAnswersEveryMetricOnce(t *testing.T) {
	all := []pdu.PMID{idLoad, idNone, idLoad, idName}
	set := func(w *pdu.ResultWriter, list []pdu.PMID) {
		for _, id := range list {
			w.Numbers(id, pdu.TypeU32, nil, []uint64{1})
		}
	}
	tests := []struct {
		name  string
		sets  []pdu.PMID // what the agent writes
		codes []pdu.Code
	}{
		{"as many as asked", all, []pdu.Code{0, 0, 0, 0}},
		{"too few", all[:1], []pdu.Code{0, pdu.ErrGeneric, pdu.ErrGeneric, pdu.ErrGeneric}},
		{"none", nil, []pdu.Code{pdu.ErrGeneric, pdu.ErrGeneric, pdu.ErrGeneric, pdu.ErrGeneric}},
		{
			"too many", append(slices.Clone(all), idSpeed, idSpeed),
			[]pdu.Code{pdu.ErrGeneric, pdu.ErrGeneric, pdu.ErrGeneric, pdu.ErrGeneric},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, fetcher{fetch: func(_ *pmda.FetchRequest, w *pdu.ResultWriter) error {
				set(w, tt.sets)
				return nil
			}})
			for range 2 {
				result := pmdatest.As[*pdu.Result](p, p.Request(&pdu.Fetch{PMIDs: all}))
				assert.Equal(t, all, ids(result))
				assert.Equal(t, tt.codes, codes(result))
			}
		})
	}
}

// fetcher is an agent whose Fetch is a function.
type fetcher struct {
	bare
	fetch func(*pmda.FetchRequest, *pdu.ResultWriter) error
}

func (f fetcher) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error { return f.fetch(req, w) }

// Values written before an error are not sent.
func TestFetchErrorTakesThePlaceOfAllValues(t *testing.T) {
	fail := true
	p := start(t, fetcher{fetch: func(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
		for _, id := range req.PMIDs {
			w.Numbers(id, pdu.TypeU32, nil, []uint64{1})
		}
		if fail {
			fail = false
			return pdu.ErrPermission
		}
		return nil
	}})
	request := &pdu.Fetch{PMIDs: []pdu.PMID{idLoad, idName}}
	assert.Equal(t, pdu.ErrPermission, p.Refused(request))
	assert.Equal(t, []pdu.Code{0, 0}, codes(pmdatest.As[*pdu.Result](p, p.Request(request))))
}

func TestFetchRequestSaysWhoAsksAndWhen(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	var got pmda.FetchRequest
	p := pmdatest.StartServer(t, &pmda.Server{
		Now: func() time.Time { return now },
		Agent: fetcher{fetch: func(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
			got = *req
			got.PMIDs = slices.Clone(req.PMIDs)
			return nil
		}},
	})
	p.Handshake()
	p.Client = 7
	p.Request(&pdu.Fetch{Context: 3, PMIDs: []pdu.PMID{idLoad, idLoad}})
	assert.Equal(t, pmda.Client(7), got.Client)
	assert.Equal(t, pdu.ContextID(3), got.Context)
	assert.Equal(t, []pdu.PMID{idLoad, idLoad}, got.PMIDs)
	assert.Equal(t, now, got.Arrived)
}

// One PROFILE is in force, the last one; before the first, all instances are.
func TestProfile(t *testing.T) {
	p := start(t, newFull())
	fetch := func() []pdu.Inst {
		return insts(pmdatest.As[*pdu.Result](p, p.Request(&pdu.Fetch{PMIDs: []pdu.PMID{idSpeed}})))
	}
	labels := func() []pdu.Inst {
		var list []pdu.Inst
		reply := p.Request(&pdu.LabelReq{Ident: uint32(lanes), Type: pdu.LabelInstances})
		for _, set := range pmdatest.As[*pdu.Labels](p, reply).Sets {
			list = append(list, set.Inst)
		}
		return list
	}
	only := func(list ...pdu.Inst) *pdu.Profile {
		return &pdu.Profile{InDoms: []pdu.ProfileInDom{{InDom: lanes, State: pdu.Exclude, Insts: list}}}
	}

	assert.Equal(t, []pdu.Inst{0, 10, 20}, fetch(), "before the first profile")
	p.Send(only(10), 0)
	assert.Equal(t, []pdu.Inst{10}, fetch())
	assert.Equal(t, []pdu.Inst{10}, labels(), "labels of instances follow it as well")
	p.Send(only(0, 20), 5)
	assert.Equal(t, []pdu.Inst{0, 20}, fetch(), "whoever it was for")
	broken := frameOf(&pdu.Profile{InDoms: []pdu.ProfileInDom{
		{InDom: lanes, State: pdu.Exclude, Insts: []pdu.Inst{10}},
		{InDom: nowhere, State: pdu.Exclude, Insts: []pdu.Inst{1}},
	}})[pdu.HeaderSize:]
	for range 2 {
		p.SendBytes(rawFrame(pdu.KindProfile, broken[:len(broken)-1])) // good up to the last instance
		assert.Equal(t, []pdu.Inst{0, 20}, fetch(), "a broken one changes nothing")
	}
	p.EndContext(5)
	assert.Equal(t, []pdu.Inst{0, 20}, fetch(), "nor does the end of a client")
	p.Send(&pdu.Profile{Default: pdu.Exclude}, 0)
	assert.Nil(t, fetch())
	p.Send(&pdu.Profile{}, 0)
	assert.Equal(t, []pdu.Inst{0, 10, 20}, fetch())
}

// Changes are announced in the next RESULT, once, and only those that are an agent's to announce.
func TestChangesTravelInOneResult(t *testing.T) {
	agent := newFull()
	agent.change = pdu.ChangeNames | pdu.ChangeLabels | pdu.ChangeAddAgent | 0x100
	p := start(t, agent)
	fetch := &pdu.Fetch{PMIDs: []pdu.PMID{idLoad}}

	p.Request(&pdu.DescReq{PMID: idLoad})
	agent.err = pdu.ErrAgain
	p.Refused(fetch) // an ERROR cannot carry them
	agent.err = nil
	result := pmdatest.As[*pdu.Result](p, p.Request(fetch))
	assert.Equal(t, pdu.ChangeNames|pdu.ChangeLabels, pdu.Change(result.Sec))
	result = pmdatest.As[*pdu.Result](p, p.Request(fetch))
	assert.Zero(t, result.Sec)
	assert.Zero(t, result.Usec)
}

// The agent is told everything about its clients, in order, and the observer sees every PDU first.
func TestCallsOfTheAgent(t *testing.T) {
	agent := newFull()
	clock := time.Unix(0, 0)
	p := pmdatest.StartServer(t, &pmda.Server{Agent: watched{agent}, Now: func() time.Time {
		clock = clock.Add(time.Millisecond)
		return clock
	}})
	p.Handshake()
	assert.Empty(t, agent.called(), "the handshake is not the agent's business")

	p.Send(&pdu.Attr{Attr: pdu.AttrProcessID, Value: "4711", NUL: true}, 2)
	p.Send(&pdu.Attr{Attr: pdu.AttrContainer, Value: "box"}, 2)
	p.Client = 2
	p.Request(&pdu.DescReq{PMID: idLoad})
	p.Request(&pdu.InstanceReq{InDom: lanes, Inst: 10})
	p.Send(&pdu.Profile{Context: 1}, 2)
	p.Request(&pdu.Fetch{Context: 1, PMIDs: []pdu.PMID{idLoad, idNone}})
	p.Request(&pdu.TextReq{Ident: uint32(idLoad), Type: pdu.TextOneLine | pdu.TextPMID})
	p.Request(&pdu.LabelReq{Ident: 250, Type: pdu.LabelDomain})
	p.Request(&pdu.PMNSNames{Names: []string{"toy.load"}})
	p.Request(&pdu.PMNSIDs{PMIDs: []pdu.PMID{idLoad}})
	p.Request(&pdu.PMNSChild{Name: "toy"})
	p.Request(&pdu.PMNSTraverse{Name: "toy"})
	p.Request(store(idLoad, 7))
	p.EndContext(2)
	p.EndContext(9)
	require.NoError(t, p.Close())

	assert.Equal(t, []string{
		"Before 2 ATTR", `Attribute 2 14 "4711"`,
		"Before 2 ATTR", `Attribute 2 15 "box"`,
		"Before 2 DESC_REQ", "Desc 2 250.0.1", "Replied 2 DESC_REQ 2ms",
		"Before 2 INSTANCE_REQ", "Instances 2 250.3", "Replied 2 INSTANCE_REQ 2ms",
		"Before 2 PROFILE",
		"Before 2 FETCH", "Fetch 2/1 [250.0.1 250.9.9]", "Changes", "Replied 2 FETCH 2ms",
		"Before 2 TEXT_REQ", "Text 2 0x3e800001 5", "Replied 2 TEXT_REQ 2ms",
		"Before 2 LABEL_REQ", "Labels 2 0xfa 2", "Replied 2 LABEL_REQ 2ms",
		"Before 2 PMNS_NAMES", "Lookup 2 toy.load", "Replied 2 PMNS_NAMES 2ms",
		"Before 2 PMNS_IDS", "Names 2 250.0.1", "Replied 2 PMNS_IDS 2ms",
		"Before 2 PMNS_CHILD", "Children 2 toy", "Replied 2 PMNS_CHILD 2ms",
		"Before 2 PMNS_TRAVERSE", "Traverse 2 toy", "Replied 2 PMNS_TRAVERSE 2ms",
		"Before 2 RESULT", "Store 2 250.0.1=7", "Replied 2 RESULT 2ms",
		"Before 2 ERROR", "EndContext 2",
		"Before 9 ERROR", "EndContext 9",
	}, agent.called())
}

// The bits of a TEXT_REQ that an agent sees are two, whatever a client sent.
func TestTextTypes(t *testing.T) {
	tests := []struct {
		sent, seen pdu.TextType
	}{
		{pdu.TextOneLine | pdu.TextPMID, pdu.TextOneLine | pdu.TextPMID},
		{pdu.TextHelp | pdu.TextInDom, pdu.TextHelp | pdu.TextInDom},
		{pdu.TextOneLine | pdu.TextHelp | pdu.TextPMID, pdu.TextOneLine | pdu.TextPMID},
		{pdu.TextPMID, pdu.TextHelp | pdu.TextPMID},
		{16 | pdu.TextOneLine, pdu.TextOneLine | pdu.TextInDom},
		{pdu.TextHelp | pdu.TextPMID | pdu.TextInDom, pdu.TextHelp | pdu.TextPMID},
	}
	agent := newFull()
	p := start(t, agent)
	for _, tt := range tests {
		p.Request(&pdu.TextReq{Ident: 1, Type: tt.sent})
		assert.Equal(t, []string{fmt.Sprintf("Text 0 0x1 %d", tt.seen)}, agent.called(), "sent %d", tt.sent)
	}
}

// An instance without a name would make readers believe that no instance has one.
func TestInstancesWithoutNamesAreLeftOut(t *testing.T) {
	p := start(t, namelessAgent{})
	reply := pmdatest.As[*pdu.InstanceReply](p, p.Request(&pdu.InstanceReq{InDom: lanes, Inst: pdu.NoInst}))
	assert.Equal(t, []pdu.Instance{{ID: 2, Name: "two"}}, reply.Instances)
	assert.Equal(t, pdu.ErrInst, p.Refused(&pdu.InstanceReq{InDom: lanes, Inst: 1}))
}

type namelessAgent struct{ bare }

func (namelessAgent) Instances(pmda.Client, pdu.InDom) ([]pdu.Instance, error) {
	return []pdu.Instance{{ID: 1}, {ID: 2, Name: "two"}, {ID: 3}}, nil
}

// A request for one instance is answered even if the list does not have it any more, if the agent finds it.
func TestInstanceThatIsNotListed(t *testing.T) {
	p := start(t, remembering{newFull()})
	one := func(req *pdu.InstanceReq) pdu.Message { return p.Request(req) }
	assert.Equal(
		t, &pdu.InstanceReply{InDom: lanes, Instances: []pdu.Instance{{ID: pdu.NoInst, Name: "closed"}}},
		one(&pdu.InstanceReq{InDom: lanes, Inst: 99}),
	)
	assert.Equal(
		t, &pdu.InstanceReply{InDom: lanes, Instances: []pdu.Instance{{ID: 99}}},
		one(&pdu.InstanceReq{InDom: lanes, Inst: pdu.NoInst, Name: "closed"}),
	)
	assert.Equal(t, pdu.ErrInst, p.Refused(&pdu.InstanceReq{InDom: lanes, Inst: 98}))
	assert.Equal(t, pdu.ErrInst, p.Refused(&pdu.InstanceReq{InDom: lanes, Inst: 99, Name: "closed"}))
	assert.Equal(
		t, &pdu.InstanceReply{InDom: lanes, Instances: laneList}, one(&pdu.InstanceReq{InDom: lanes, Inst: pdu.NoInst}),
	)
	assert.Equal(t, pdu.ErrInDom, p.Refused(&pdu.InstanceReq{InDom: nowhere, Inst: 99}))
}

// remembering is an agent with an instance that it does not list.
type remembering struct{ *full }

func (remembering) Instance(_ pmda.Client, d pdu.InDom, id pdu.Inst, name string) (pdu.Instance, error) {
	switch {
	case d != lanes:
		return pdu.Instance{}, pdu.ErrInDom
	case id == 99 || name == "closed":
		return pdu.Instance{ID: 99, Name: "closed"}, nil
	}
	return pdu.Instance{}, pdu.ErrInst
}

// A metric without names is unknown: a list without names would be an answer that nobody can use.
func TestMetricWithoutNames(t *testing.T) {
	p := start(t, nameless{newFull()})
	assert.Equal(t, pdu.ErrPMID, p.Refused(&pdu.PMNSIDs{PMIDs: []pdu.PMID{idLoad}}))
}

type nameless struct{ *full }

func (nameless) Names(pmda.Client, pdu.PMID) ([]string, error) { return nil, nil }

func TestServerWithoutAgent(t *testing.T) {
	require.EqualError(t, new(pmda.Server).Serve(context.Background(), nil, nil), "server has no agent")
}

// Serve returns nil when pmcd goes in an orderly way and says what happened in all other cases.
func TestEndOfServe(t *testing.T) {
	t.Run("end of the pipe", func(t *testing.T) {
		p := start(t, newFull())
		p.Request(&pdu.DescReq{PMID: idLoad})
		require.NoError(t, p.Close())
	})
	t.Run("end of the pipe inside a pdu", func(t *testing.T) {
		p := start(t, newFull())
		p.SendBytes([]byte{0, 0, 0, 16, 0, 0, 0x70, 4, 0, 0})
		err := p.Close()
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.ErrorContains(t, err, "pipe from pmcd")
	})
	for name, head := range map[string][]byte{
		"length too small": {0, 0, 0, 11, 0, 0, 0x70, 4, 0, 0, 0, 0},
		"length too large": {0x7f, 0, 0, 0, 0, 0, 0x70, 4, 0, 0, 0, 0},
		"not a pdu":        []byte("GET / HTTP/1.1\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, newFull())
			p.SendBytes(head)
			p.ExpectEnd()
			var frame *pdu.FrameError
			err := p.Close()
			require.ErrorAs(t, err, &frame)
			assert.ErrorContains(t, err, "pipe from pmcd")
		})
	}
	t.Run("nobody reads replies", func(t *testing.T) {
		in, pmcd := pipe(t)
		gone, out := pipe(t)
		done := serve(t, context.Background(), &pmda.Server{Agent: newFull(), Greeted: true}, in, out)
		write(t, pmcd, &pdu.Creds{Version: pdu.ProtocolVersion})
		require.NoError(t, gone.Close())
		write(t, pmcd, &pdu.DescReq{PMID: idLoad})
		err := wait(t, done)
		require.ErrorIs(t, err, syscall.EPIPE)
		assert.ErrorContains(t, err, "reply to DESC_REQ of client 4")
	})
}

// The context ends Serve wherever it waits, with its own cause.
func TestContextEndsServe(t *testing.T) {
	reason := errors.New("told to stop")
	request := func(t *testing.T, pmcd *os.File) { write(t, pmcd, &pdu.DescReq{PMID: idLoad}) }
	tests := []struct {
		name string
		wait func(t *testing.T, pmcd *os.File) // brings Serve to the place where it waits
	}{
		{"for a request", func(*testing.T, *os.File) {}},
		{"for the rest of a request", func(t *testing.T, pmcd *os.File) {
			_, err := pmcd.Write([]byte{0, 0, 0, 16, 0})
			require.NoError(t, err)
		}},
		{"for somebody who reads its reply", func(t *testing.T, pmcd *os.File) {
			write(t, pmcd, &pdu.Fetch{PMIDs: slices.Repeat([]pdu.PMID{idLoad}, 16_000)})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in, pmcd := pipe(t)
			replies, out := pipe(t)
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			done := serve(t, ctx, &pmda.Server{Agent: newFull(), Greeted: true}, in, out)
			write(t, pmcd, &pdu.Creds{Version: pdu.ProtocolVersion})
			request(t, pmcd)
			_, err := pdu.NewReader(replies, pdu.ClientLimit).Next()
			require.NoError(t, err)
			tt.wait(t, pmcd)
			cancel(reason)
			assert.Equal(t, reason, wait(t, done))
		})
	}
	t.Run("before it begins", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(reason)
		in, pmcd := pipe(t)
		_, out := pipe(t)
		write(t, pmcd, &pdu.Creds{Version: pdu.ProtocolVersion})
		assert.Equal(t, reason, (&pmda.Server{Agent: bare{}}).Serve(ctx, in, out))
	})
}

// A reply that is due when the context ends still gets out: pmcd waits for it. The files stay open.
func TestContextLetsTheReplyOut(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in, pmcd := pipe(t)
	replies, out := pipe(t)
	agent := fetcher{fetch: func(*pmda.FetchRequest, *pdu.ResultWriter) error {
		cancel()
		return pdu.ErrAgain
	}}
	done := serve(t, ctx, &pmda.Server{Agent: agent, Greeted: true}, in, out)
	write(t, pmcd, &pdu.Creds{Version: pdu.ProtocolVersion})
	write(t, pmcd, &pdu.Fetch{PMIDs: []pdu.PMID{idLoad}})
	require.ErrorIs(t, wait(t, done), context.Canceled)
	require.NoError(t, out.Close(), "still open")
	require.NoError(t, in.Close(), "still open")
	f, err := pdu.NewReader(replies, pdu.AgentLimit).Next()
	require.NoError(t, err)
	assert.Equal(t, pdu.KindError, f.Kind)
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func serve(t *testing.T, ctx context.Context, s *pmda.Server, in, out *os.File) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, in, out) }()
	return done
}

func write(t *testing.T, w io.Writer, m pdu.Message) {
	t.Helper()
	_, err := w.Write(m.Append(nil, 4))
	require.NoError(t, err)
}

func wait(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(await.Limit):
		require.FailNow(t, "Serve does not return")
		return nil
	}
}
