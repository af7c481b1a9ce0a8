package pmdatest

import (
	"fmt"
	"syscall"

	"pmdaderived/pdu"
)

// checkReply returns an error if pmcd or its clients would not accept a reply. It checks its kind, the fields that
// have to repeat the request, and that an ERROR does not make pmcd drop the agent. Source: docs/protocol.md 6.1, 6.2.
func checkReply(request, reply pdu.Message) error {
	if e, ok := reply.(*pdu.Error); ok {
		return checkError(request, e)
	}
	if reply.Kind() != Answer(request.Kind()) {
		return fmt.Errorf("%v is no reply to %s", reply, request.Kind())
	}
	switch q := request.(type) {
	case *pdu.Fetch:
		return checkResult(q, reply.(*pdu.Result))
	case *pdu.DescReq:
		return same("metric", reply.(*pdu.DescReply).Desc.PMID, q.PMID)
	case *pdu.InstanceReq:
		return checkInstances(q, reply.(*pdu.InstanceReply))
	case *pdu.TextReq:
		return same("ident", reply.(*pdu.Text).Ident, q.Ident)
	case *pdu.LabelReq:
		return checkLabels(q, reply.(*pdu.Labels))
	case *pdu.PMNSNames:
		return same("number of metrics", len(reply.(*pdu.PMNSIDs).PMIDs), len(q.Names))
	case *pdu.PMNSIDs, *pdu.PMNSTraverse:
		return checkNames(reply.(*pdu.PMNSNames), false)
	case *pdu.PMNSChild:
		r := reply.(*pdu.PMNSNames)
		return checkNames(r, q.WithStatus && len(r.Names) > 0)
	}
	return nil
}

func checkError(request pdu.Message, e *pdu.Error) error {
	_, store := request.(*pdu.Result)
	switch {
	case e.Extended:
		return fmt.Errorf("extended ERROR in reply to %s", request.Kind())
	case e.Code == 0 && store:
		return nil
	case e.Code >= 0:
		return fmt.Errorf("code %d in reply to %s", int32(e.Code), request.Kind())
	case e.Code == pdu.ErrIPC, e.Code == pdu.ErrTimeout, e.Code == -pdu.Code(syscall.EPIPE):
		return fmt.Errorf("reply to %s makes pmcd drop the agent: %w", request.Kind(), e.Code)
	case e.Code == pdu.ErrPMDAReady, e.Code == pdu.ErrPMDANotReady:
		return fmt.Errorf("reply to %s switches the agent's state: %w", request.Kind(), e.Code)
	}
	return nil
}

func checkResult(q *pdu.Fetch, r *pdu.Result) error {
	if err := same("number of value sets", len(r.Sets), len(q.PMIDs)); err != nil {
		return err
	}
	for i, set := range r.Sets {
		if err := same(fmt.Sprintf("metric of value set %d", i), set.PMID, q.PMIDs[i]); err != nil {
			return err
		}
	}
	if change := pdu.Change(r.Sec); change&^(pdu.ChangeLabels|pdu.ChangeNames) != 0 || r.Usec != 0 {
		return fmt.Errorf("time words %d and %d instead of a change of labels or names", r.Sec, r.Usec)
	}
	return nil
}

func checkInstances(q *pdu.InstanceReq, r *pdu.InstanceReply) error {
	if err := same("instance domain", r.InDom, q.InDom); err != nil {
		return err
	}
	if q.Inst == pdu.NoInst && q.Name == "" {
		for _, in := range r.Instances {
			if in.Name == "" {
				return fmt.Errorf("instance %d of %s has no name", in.ID, r.InDom)
			}
		}
		return nil
	}
	return same("number of instances", len(r.Instances), 1)
}

func checkLabels(q *pdu.LabelReq, r *pdu.Labels) error {
	if err := same("ident", r.Ident, q.Ident); err != nil {
		return err
	}
	if err := same("type", r.Type, q.Type); err != nil {
		return err
	}
	if q.Type != pdu.LabelInstances && len(r.Sets) > 1 {
		return fmt.Errorf("%d label sets instead of one", len(r.Sets))
	}
	return nil
}

func checkNames(r *pdu.PMNSNames, status bool) error {
	if r.Code != 0 {
		return fmt.Errorf("code %w in place of the number of names", r.Code)
	}
	for _, name := range r.Names {
		if name == "" {
			return fmt.Errorf("empty name among %q", r.Names)
		}
	}
	if status {
		return same("number of states", len(r.Status), len(r.Names))
	}
	return same("number of states", len(r.Status), 0)
}

func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}
