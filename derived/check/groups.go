package check

import (
	"slices"
	"strings"

	"pmdaderived/derived/group"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// setGroups makes the aggregate n compute one value for each group of its operand's instances.
func (c *checker) setGroups(n *Node, e *syntax.Call) *Error {
	x := n.Kids[0]
	if x.InDom == pdu.NoInDom {
		return c.errorAt(e, RuleGroupSingular, callText(e))
	}
	for _, key := range e.By.Keys {
		if pdu.ReservedLabel(key.LabelName()) {
			return c.errorAt(key, RuleReservedLabel, callText(e))
		}
	}
	made := &GroupKey{By: e.By, Over: x}
	var err *Error
	if made.Keys, err = c.keys(n, x, e); err != nil {
		return err
	}
	n.Key, n.groupCounter = made, n.Sem == pdu.SemCounter
	if n.InDom = c.set.groupInDom(group.Domain{Of: x.InDom, Label: e.By.LabelName()}); n.InDom == pdu.NoInDom {
		return c.errorAt(e, RuleGroupInDoms, callText(e))
	}
	return nil
}

// keys returns the keys of x's instances, by which n groups or selects them. Metrics become operands of n.
func (c *checker) keys(n, x *Node, e *syntax.Call) ([]Key, *Error) {
	var all []Key
	for _, key := range e.Keys() {
		if x.InDom == pdu.NoInDom {
			return nil, c.errorAt(key, RuleKeyInDom, callText(e))
		}
		made := Key{Key: key}
		var err *Error
		if made.From, err = c.source(n, x, key.Source); err != nil {
			return nil, err
		}
		if to := key.Lookup; to != nil {
			if made.Metric, err = c.keyMetric(n, to.Metric); err != nil {
				return nil, err
			}
			switch {
			case made.Metric.Empty:
			case made.Metric.InDom == pdu.NoInDom:
				err = c.errorAt(to.Metric, RuleLookupSingular, "operand "+to.Metric.Name)
			case to.By != nil:
				made.By, err = c.source(n, made.Metric, to.By)
			}
			if err != nil {
				return nil, err
			}
		}
		all = append(all, made)
	}
	return all, nil
}

// source returns where keys of x's instances are from.
func (c *checker) source(n, x *Node, e syntax.Expr) (made Source, err *Error) {
	made.Expr = e
	switch e := e.(type) {
	case *syntax.Name:
		if made.Metric, err = c.keyMetric(n, e); err == nil && !made.Metric.Empty && !c.equivalent(x, made.Metric) {
			err = c.errorAt(e, RuleKeyInDom, "operand "+e.Name)
			if x == n.Kids[0] && made.Metric.InDom != pdu.NoInDom {
				err.Detail = "KEY -> " + e.Name + " looks its values up"
			}
		}
	case *syntax.Literal:
		groups, ok := c.set.groupDomains[x.InDom]
		if e.Kind != syntax.LabelName || !ok {
			break
		}
		labels := groups.Labels()
		if made.Of = (Label{slices.Index(labels, e.Text), len(labels)}); made.Of.At < 0 {
			err = c.errorAt(e, RuleGroupLabel, e.String())
			err.Detail = "they have " + strings.Join(labels, ", ")
		}
	}
	return made, err
}

// keyMetric returns the node of a metric whose values are keys, and makes it an operand of n.
func (c *checker) keyMetric(n *Node, e *syntax.Name) (*Node, *Error) {
	metric, err := c.name(e)
	if err != nil {
		return nil, err
	}
	n.Kids = append(n.Kids, metric)
	if t := metric.Type; t != pdu.TypeString && (!t.Numeric() || t == pdu.TypeFloat || t == pdu.TypeDouble) {
		return nil, c.errorAt(e, RuleKeyType, "operand "+e.Name)
	}
	return metric, nil
}

// Pairing says which values of two operands belong together.
type Pairing uint8

// The pairings.
const (
	PairByInstance      Pairing = iota // values of the same instance; a single value with all values of a set
	PairByName                         // values of groups with the same name, in domains with as many keys
	PairWithLeftGroups                 // the value of each instance on the right with that of its group on the left
	PairWithRightGroups                // the value of each instance on the left with that of its group on the right
	NoPairs                            // none: the operands break a rule
	NoMeeting                          // likewise: they are groups by other keys, which never have the same names
)

// Pairing returns how the values of two operands are paired.
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
	case leftIs && rightIs && !left.Meets(right):
		return NoMeeting
	case leftIs && rightIs:
		return PairByName
	}
	return NoPairs
}

// pairingRule returns the rule that two operands break whose instances are not paired, 0 if they are.
func (c *checker) pairingRule(x, y *Node) Rule {
	switch c.set.Pairing(x, y) {
	case NoPairs:
		return RuleInDom
	case NoMeeting:
		return RuleGroupKeys
	default:
		return 0
	}
}

// Domain and first serial of the instance domains of groups, if Language.GroupInDom is nil.
const (
	groupsOf         = 510
	firstGroupSerial = 64
)

// groupInDom returns the instance domain of some groups, pdu.NoInDom if no number is left. GroupDomains is complete
// when all definitions are checked.
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
