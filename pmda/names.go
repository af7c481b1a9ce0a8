package pmda

import (
	"fmt"

	"pmdaderived/pdu"
)

func (s *session) onNames(c Client, body []byte) []byte {
	var req pdu.PMNSNames
	if err := req.Decode(body); err != nil {
		return s.undecodable(pdu.KindPMNSNames, err)
	}
	if len(req.Names) != 1 {
		return s.undecodable(pdu.KindPMNSNames, fmt.Errorf("%d names instead of one", len(req.Names)))
	}
	if s.namer == nil {
		return s.refuse(pdu.KindPMNSNames, pdu.ErrName)
	}
	id, err := s.namer.Lookup(c, req.Names[0])
	if err != nil {
		return s.refuse(pdu.KindPMNSNames, err)
	}
	return s.send(&pdu.PMNSIDs{PMIDs: []pdu.PMID{id}})
}

func (s *session) onIDs(c Client, body []byte) []byte {
	var req pdu.PMNSIDs
	if err := req.Decode(body); err != nil {
		return s.undecodable(pdu.KindPMNSIDs, err)
	}
	if len(req.PMIDs) != 1 {
		return s.undecodable(pdu.KindPMNSIDs, fmt.Errorf("%d metrics instead of one", len(req.PMIDs)))
	}
	if s.namer == nil {
		return s.refuse(pdu.KindPMNSIDs, pdu.ErrPMID)
	}
	names, err := s.namer.Names(c, req.PMIDs[0])
	if err == nil && len(names) == 0 {
		err = pdu.ErrPMID
	}
	if err != nil {
		return s.refuse(pdu.KindPMNSIDs, err)
	}
	return s.send(&pdu.PMNSNames{Names: names})
}

func (s *session) onChild(c Client, body []byte) []byte {
	var req pdu.PMNSChild
	if err := req.Decode(body); err != nil {
		return s.undecodable(pdu.KindPMNSChild, err)
	}
	if s.namer == nil {
		return s.refuse(pdu.KindPMNSChild, pdu.ErrName)
	}
	children, err := s.namer.Children(c, req.Name, s.children[:0])
	if err != nil {
		return s.refuse(pdu.KindPMNSChild, err)
	}
	s.children = children
	var reply pdu.PMNSNames
	for _, child := range children {
		reply.Names = append(reply.Names, child.Name)
		if req.WithStatus {
			status := pdu.StatusLeaf
			if child.NonLeaf {
				status = pdu.StatusNonLeaf
			}
			reply.Status = append(reply.Status, status)
		}
	}
	return s.send(&reply)
}

func (s *session) onTraverse(c Client, body []byte) []byte {
	var req pdu.PMNSTraverse
	if err := req.Decode(body); err != nil {
		return s.undecodable(pdu.KindPMNSTraverse, err)
	}
	if s.namer == nil {
		return s.refuse(pdu.KindPMNSTraverse, pdu.ErrName)
	}
	names, err := s.namer.Traverse(c, req.Name)
	if err != nil {
		return s.refuse(pdu.KindPMNSTraverse, err)
	}
	return s.send(&pdu.PMNSNames{Names: names})
}
