package check

import (
	"pmdaderived/derived/group"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// setGroups makes n, an aggregate, one for each group of its operand's instances.
func (c *checker) setGroups(n *Node, e *syntax.Call) *Error {
	x := n.Kids[0]
	if x.InDom == pdu.NoInDom {
		return c.errorAt(e, RuleGroupSingular, callText(e))
	}
	made := &GroupKey{By: e.By}
	if key := e.By.Metric(); key != nil {
		var err *Error
		if made.Metric, err = c.name(key); err != nil {
			return err
		}
		n.Kids = append(n.Kids, made.Metric)
		switch t := made.Metric.Type; {
		case t != pdu.TypeString && (!t.Numeric() || t == pdu.TypeFloat || t == pdu.TypeDouble):
			return c.errorAt(key, RuleKeyType, "operand "+key.Name)
		case made.Metric.InDom == pdu.NoInDom || !c.equivalent(x, made.Metric):
			return c.errorAt(key, RuleKeyInDom, "operand "+key.Name)
		}
	}
	n.Key, n.groupCounter = made, n.Sem == pdu.SemCounter
	if n.InDom = c.set.groupInDom(group.Domain{Of: x.InDom, Label: e.By.LabelName()}); n.InDom == pdu.NoInDom {
		return c.errorAt(e, RuleGroupInDoms, callText(e))
	}
	return nil
}

// Pairing is how the values of two operands meet.
type Pairing uint8

const (
	PairByInstance      Pairing = iota // those of one instance, or a single one with all
	PairByName                         // those of groups that have one name, in different domains
	PairWithLeftGroups                 // those of each instance of the right operand with that of its group, which is on the left
	PairWithRightGroups                // the other way round
	NoPairs                            // not at all
)

// Pairing says how the values of two operands meet.
func (s *Set) Pairing(x, y *Node) Pairing {
	left, leftIs := s.groupDomains[x.InDom]
	right, rightIs := s.groupDomains[y.InDom]
	same := s.language.InDoms.Equivalent
	switch {
	case x.InDom == pdu.NoInDom || y.InDom == pdu.NoInDom || same(x.InDom, y.InDom):
		return PairByInstance
	case y.Key != nil && same(x.InDom, right.Of):
		return PairWithRightGroups
	case x.Key != nil && same(y.InDom, left.Of):
		return PairWithLeftGroups
	case leftIs && rightIs:
		return PairByName
	}
	return NoPairs
}

// Of an instance domain of ours whose number nobody else gives: see Language.GroupInDom.
const (
	groupsOf         = 510
	firstGroupSerial = 64
)

// groupInDom is the instance domain of some groups, NoInDom if there is none for them. Those of a set are known once all of it is checked.
func (s *Set) groupInDom(g group.Domain) pdu.InDom {
	if d, ok := s.groupInDoms[g]; ok {
		return d
	}
	if s.groupInDoms == nil {
		s.groupInDoms, s.groupDomains = make(map[group.Domain]pdu.InDom), make(map[pdu.InDom]group.Domain)
	}
	d := pdu.NewInDom(groupsOf, firstGroupSerial+len(s.groupInDoms))
	if number := s.language.GroupInDom; number != nil {
		if d = number(g); d == pdu.NoInDom {
			return d
		}
	}
	s.groupInDoms[g], s.groupDomains[d] = d, g
	return d
}
