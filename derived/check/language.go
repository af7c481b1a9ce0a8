package check

import (
	"fmt"
	"slices"
	"strings"

	"pmdaderived/derived/group"
	"pmdaderived/pdu"
)

// Language has the options of a site for the meaning of definitions. The zero value is PCP's defaults.
type Language struct {
	// NoValue makes an operand that is not in the name space stand for novalue(). Source: pmSetDerivedControl(3),
	// PCP_DERIVED_OPTION_NOVALUE.
	NoValue bool

	InDoms *InDomMaps // instance domains that are equivalent; nil: none are

	// GroupInDom returns the instance domain of some groups, always the same for the same groups, or pdu.NoInDom if no
	// number is left. It is called while a Set is made. Nil: the domains are numbered as those of domain 510, in the
	// order of the definitions.
	GroupInDom func(group.Domain) pdu.InDom

	// Protects reports whether the name of an operand or of a definition is protected: see [Metric]. It is called while a
	// Set is made. Nil: no name is.
	Protects func(name string) bool

	// Masked has the positions of masks by the names of the definitions that they remove.
	Masked map[string]string
}

func (l *Language) protects(name string) bool { return l.Protects != nil && l.Protects(name) }

// InDomMaps says which instance domains have the same instances, though they belong to different agents. The
// zero value knows none. Immutable. Source: __pmEquivInDom(3).
type InDomMaps struct {
	maps [][]inDomPattern
}

// inDomPattern is an instance domain, or all those of its agent.
type inDomPattern struct {
	pdu.InDom
	all bool
}

// ParseInDomMaps reads an instance domain configuration file: each line is a list of instance domains that are
// equivalent, "29.2 30.2", where "29.*" stands for all of domain 29. Lines that begin with a "#" are
// comments. One mistake makes the file useless, as for PCP; the error has its line.
func ParseInDomMaps(text string) (*InDomMaps, error) {
	m := &InDomMaps{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		var same []inDomPattern
		for _, field := range fields {
			p, err := parseInDomPattern(field)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			same = append(same, p)
		}
		m.maps = append(m.maps, same)
	}
	return m, nil
}

func parseInDomPattern(text string) (inDomPattern, error) {
	domain, all := strings.CutSuffix(text, ".*")
	if all {
		text = domain + ".0"
	}
	d, err := pdu.ParseInDom(text)
	return inDomPattern{d, all}, err
}

func (p inDomPattern) matches(d pdu.InDom) bool {
	return p.InDom == d || p.all && p.Domain() == d.Domain()
}

// Equivalent reports whether a and b are the same instance domain, or one indom line of the configuration
// names both.
func (m *InDomMaps) Equivalent(a, b pdu.InDom) bool {
	if a == b || m == nil {
		return a == b
	}
	return slices.ContainsFunc(m.maps, func(same []inDomPattern) bool {
		holds := func(d pdu.InDom) bool {
			return slices.ContainsFunc(same, func(p inDomPattern) bool { return p.matches(d) })
		}
		return holds(a) && holds(b)
	})
}
