package pmda

import (
	"fmt"

	"pmdaderived/pdu"
)

func (s *session) onNames(c Client, req *pdu.PMNSNames) (pdu.Message, error) {
	if len(req.Names) != 1 {
		return nil, fmt.Errorf("%d names instead of one", len(req.Names))
	}
	if s.namer == nil {
		return nil, pdu.ErrName
	}
	id, err := s.namer.Lookup(c, req.Names[0])
	return &pdu.PMNSIDs{PMIDs: []pdu.PMID{id}}, err
}

func (s *session) onIDs(c Client, req *pdu.PMNSIDs) (pdu.Message, error) {
	if len(req.PMIDs) != 1 {
		return nil, fmt.Errorf("%d metrics instead of one", len(req.PMIDs))
	}
	if s.namer == nil {
		return nil, pdu.ErrPMID
	}
	names, err := s.namer.Names(c, req.PMIDs[0])
	if err == nil && len(names) == 0 {
		err = pdu.ErrPMID
	}
	return &pdu.PMNSNames{Names: names}, err
}

func (s *session) onChild(c Client, req *pdu.PMNSChild) (pdu.Message, error) {
	if s.namer == nil {
		return nil, pdu.ErrName
	}
	children, err := s.namer.Children(c, req.Name, s.children[:0])
	if err != nil {
		return nil, err
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
	return &reply, nil
}

func (s *session) onTraverse(c Client, req *pdu.PMNSTraverse) (pdu.Message, error) {
	if s.namer == nil {
		return nil, pdu.ErrName
	}
	names, err := s.namer.Traverse(c, req.Name)
	return &pdu.PMNSNames{Names: names}, err
}
