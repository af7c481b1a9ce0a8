package operand

import (
	"maps"
	"slices"
	"syscall"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Epochs says how often the agents of domains have begun to count anew. Immutable; nil: none has.
type Epochs struct {
	all int         // times that any of them may have
	of  map[int]int // times that the one of a domain has besides
}

// Begin returns what holds when the agents of some domains count anew. Without a domain it may be any agent.
func (e *Epochs) Begin(domains ...int) *Epochs {
	next := &Epochs{of: make(map[int]int)}
	if e != nil {
		next.all = e.all
		maps.Copy(next.of, e.of)
	}
	if len(domains) == 0 {
		next.all++
	}
	for _, d := range domains {
		next.of[d]++
	}
	return next
}

// at counts the epochs of a domain. Both numbers only grow, so that their sum is the same if both are.
func (e *Epochs) at(domain int) int {
	if e == nil {
		return 0
	}
	return e.all + e.of[domain]
}

// Same reports whether no agent of some domains has begun anew between the two.
func (e *Epochs) Same(other *Epochs, domains []int) bool {
	return e == other || !slices.ContainsFunc(domains, func(d int) bool { return e.at(d) != other.at(d) })
}

// Evidence is what values say about restarts: an agent that was restarted counts from zero, as a rule. One counter that goes
// back is no restart: it has to be most counters of a domain. Nor is it one to have no values, unless pmcd says of the agent
// that it is not there: agents fail, and recover.
type Evidence map[int]*votes

// votes are what the operands of one domain say.
type votes struct{ back, forth, gone, there int }

// Compare adds what two samples say that have the same operands. Where an epoch has begun between them it is known already: to
// count it again would cost those a second value that have been sampled since.
func (e Evidence) Compare(before, after *Sample, operands []pdu.Desc) {
	var hints [2]int32
	for _, d := range operands {
		was, is := before.Values(d.PMID, &hints[0]), after.Values(d.PMID, &hints[1])
		domain := d.PMID.Domain()
		if was.Len() == 0 || before.epochs.at(domain) != after.epochs.at(domain) {
			continue
		}
		v := e[domain]
		if v == nil {
			v = &votes{}
			e[domain] = v
		}
		switch {
		case absent(is.Code):
			v.gone++
			continue
		case is.Code >= 0:
			v.there++
		}
		if d.Sem != pdu.SemCounter || !d.Type.Numeric() {
			continue
		}
		switch back, forth := moves(was, is); {
		case back > 0 && back >= forth:
			v.back++
		case forth > 0:
			v.forth++
		}
	}
}

// absent reports whether a code is what pmcd says itself of an agent that is not there, or is lost just then. Source:
// docs/protocol.md 5.10.
func absent(code pdu.Code) bool {
	return slices.Contains([]pdu.Code{pdu.ErrNoAgent, pdu.ErrIPC, pdu.ErrTimeout, -pdu.Code(syscall.EPIPE)}, code)
}

// moves counts the instances of a counter that have gone back, and those that have not. What was zero says nothing.
func moves(was, is *derived.Vector) (back, forth int) {
	for i, old := range was.Bits {
		at := i
		if was.Insts != is.Insts && is.Insts != nil {
			at = is.Insts.Index(was.At(i))
		}
		switch {
		case at < 0 || at >= len(is.Bits) || old == 0:
		case derived.Backwards(was.Type, is.Bits[at], old):
			back++
		default:
			forth++
		}
	}
	return back, forth
}

// Restarted lists the domains whose agents have been restarted, in order.
func (e Evidence) Restarted() []int {
	var domains []int
	for d, v := range e {
		if v.back > 0 && v.back >= v.forth || v.gone > 0 && v.there == 0 {
			domains = append(domains, d)
		}
	}
	slices.Sort(domains)
	return domains
}
