package pmdatest

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// Each reply is one that pmcd or a client would choke on; "" marks those that are good.
func TestCheckReply(t *testing.T) {
	const id, other = pdu.PMID(1), pdu.PMID(2)
	sets := []pdu.ValueSet{{PMID: id, Code: pdu.ErrAgain}}
	fetch := &pdu.Fetch{PMIDs: []pdu.PMID{id}}
	instances := &pdu.InstanceReq{InDom: 7, Inst: pdu.NoInst}
	oneInstance := &pdu.InstanceReq{InDom: 7, Inst: 3}
	label := &pdu.LabelReq{Ident: 5, Type: pdu.LabelItem}
	tests := []struct {
		name           string
		request, reply pdu.Message
		reason         string
	}{
		{"error", fetch, &pdu.Error{Code: pdu.ErrAgain}, ""},
		{"success of a store", &pdu.Result{}, &pdu.Error{}, ""},
		{"failure of a store", &pdu.Result{}, &pdu.Error{Code: pdu.ErrPermission}, ""},
		{"result of a store", &pdu.Result{}, &pdu.Result{}, "is no reply to RESULT"},
		{"success of anything else", fetch, &pdu.Error{}, "code 0"},
		{"state change", fetch, &pdu.Error{Code: 16}, "code 16"},
		{"challenge", fetch, &pdu.Error{Code: pdu.ErrAgain, Extended: true}, "extended"},
		{"IPC", fetch, &pdu.Error{Code: pdu.ErrIPC}, "drop"},
		{"timeout", fetch, &pdu.Error{Code: pdu.ErrTimeout}, "drop"},
		{"EPIPE", fetch, &pdu.Error{Code: -pdu.Code(syscall.EPIPE)}, "drop"},
		{"not ready", fetch, &pdu.Error{Code: pdu.ErrPMDANotReady}, "switches"},
		{"ready", fetch, &pdu.Error{Code: pdu.ErrPMDAReady}, "switches"},

		{"result", fetch, &pdu.Result{Sets: sets}, ""},
		{"result with a change", fetch, &pdu.Result{Sec: 24, Sets: sets}, ""},
		{"result with too few sets", fetch, &pdu.Result{}, "number of value sets is 0, want 1"},
		{"result of another metric", &pdu.Fetch{PMIDs: []pdu.PMID{other}}, &pdu.Result{Sets: sets}, "metric of value set 0"},
		{"result with a time", fetch, &pdu.Result{Sec: 1e9, Sets: sets}, "time words"},
		{"result with microseconds", fetch, &pdu.Result{Usec: 1, Sets: sets}, "time words"},
		{"high resolution", fetch, &pdu.HighResResult{Sets: sets}, "is no reply to FETCH"},

		{"descriptor", &pdu.DescReq{PMID: id}, &pdu.DescReply{Desc: pdu.Desc{PMID: id}}, ""},
		{"another descriptor", &pdu.DescReq{PMID: id}, &pdu.DescReply{Desc: pdu.Desc{PMID: other}}, "metric is"},

		{"instances", instances, &pdu.InstanceReply{InDom: 7}, ""},
		{"instances of another domain", instances, &pdu.InstanceReply{InDom: 8}, "instance domain is"},
		{
			"instance without name", instances, &pdu.InstanceReply{InDom: 7, Instances: []pdu.Instance{{ID: 4}}},
			"instance 4 of 0.7 has no name",
		},
		{"one instance", oneInstance, &pdu.InstanceReply{InDom: 7, Instances: make([]pdu.Instance, 1)}, ""},
		{"no instance", oneInstance, &pdu.InstanceReply{InDom: 7}, "number of instances is 0"},

		{"text", &pdu.TextReq{Ident: 5}, &pdu.Text{Ident: 5}, ""},
		{"text of another", &pdu.TextReq{Ident: 5}, &pdu.Text{Ident: 6}, "ident is 6"},

		{"labels", label, &pdu.Labels{Ident: 5, Type: pdu.LabelItem}, ""},
		{"labels of another", label, &pdu.Labels{Ident: 6, Type: pdu.LabelItem}, "ident is 6"},
		{"labels of another level", label, &pdu.Labels{Ident: 5, Type: pdu.LabelCluster}, "type is CLUSTER"},
		{
			"two sets of labels", label, &pdu.Labels{Ident: 5, Type: pdu.LabelItem, Sets: make([]pdu.LabelSet, 2)},
			"2 label sets",
		},
		{
			"labels of two instances", &pdu.LabelReq{Type: pdu.LabelInstances},
			&pdu.Labels{Type: pdu.LabelInstances, Sets: make([]pdu.LabelSet, 2)}, "",
		},

		{"metric", &pdu.PMNSNames{Names: []string{"a"}}, &pdu.PMNSIDs{PMIDs: []pdu.PMID{id}}, ""},
		{
			"two metrics", &pdu.PMNSNames{Names: []string{"a"}}, &pdu.PMNSIDs{PMIDs: []pdu.PMID{id, id}},
			"number of metrics is 2",
		},
		{"names", &pdu.PMNSIDs{}, &pdu.PMNSNames{Names: []string{"a", "b"}}, ""},
		{"empty name", &pdu.PMNSIDs{}, &pdu.PMNSNames{Names: []string{"a", ""}}, "empty name"},
		{"code instead of names", &pdu.PMNSTraverse{}, &pdu.PMNSNames{Code: pdu.ErrAgain}, "in place of the number of names"},
		{"nothing to traverse", &pdu.PMNSTraverse{}, &pdu.PMNSNames{}, ""},
		{"children", &pdu.PMNSChild{}, &pdu.PMNSNames{Names: []string{"a"}}, ""},
		{
			"children with status", &pdu.PMNSChild{WithStatus: true}, &pdu.PMNSNames{Names: []string{"a"}, Status: []int32{1}},
			"",
		},
		{"no children with status", &pdu.PMNSChild{WithStatus: true}, &pdu.PMNSNames{}, ""},
		{
			"status missing", &pdu.PMNSChild{WithStatus: true}, &pdu.PMNSNames{Names: []string{"a"}},
			"number of states is 0, want 1",
		},
		{
			"status that nobody wanted", &pdu.PMNSChild{}, &pdu.PMNSNames{Names: []string{"a"}, Status: []int32{1}},
			"number of states is 1, want 0",
		},

		{"reply to what has none", &pdu.Profile{}, &pdu.Result{}, "is no reply to PROFILE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := checkReply(tt.request, tt.reply)
			if tt.reason == "" {
				require.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, tt.reason)
			}
		})
	}
}
