package slow

import (
	"maps"
	"slices"
	"strings"
	"time"

	"pmdaderived/pdu"
)

// quickTime is how long an agent counts as quick after a quick answer.
const quickTime = time.Second

// Tracker has the states of all budgets, and the times in which pmcd was blocked. Beside fetches it knows lookups: one
// at a time.
type Tracker struct {
	States
	BlockedTimes
	quickReplies map[Budget]quickReply // to the last lookups
}

// quickReply is a quick answer to a lookup.
type quickReply struct {
	items int
	at    time.Time
}

// AdmitLookup returns a code below zero if a lookup may not be sent now: PM_ERR_AGAIN. A resting agent gets no
// request. Others are asked for one item at first, and then for up to twice as many as they have just answered quickly;
// a suspect for one, in a request of its own. So no request takes much longer than one item does.
func (l *Tracker) AdmitLookup(req pdu.Message, now time.Time) pdu.Code {
	of, items := budgetsOf(req)
	if l.Resting(now, of...) || len(of) > 1 && l.Suspected(of...) {
		return pdu.ErrAgain
	}
	for i, one := range of {
		most := 1
		if last := l.quickReplies[one]; now.Sub(last.at) < quickTime && !l.Suspected(one) {
			most = 2 * last.items
		}
		if items[i] > most {
			return pdu.ErrAgain
		}
	}
	l.StartLookup(now)
	return 0
}

// RecordReply charges a lookup that is answered now, perhaps with a code below zero. It returns the charged request,
// and what States.Charge returns.
func (l *Tracker) RecordReply(req pdu.Message, code pdu.Code, now time.Time) (r Request, slowed, recovered []Budget) {
	r.AgentTime, r.Ended = l.EndLookup(now), now
	of, items := budgetsOf(req)
	maps.DeleteFunc(l.quickReplies, func(_ Budget, a quickReply) bool { return now.Sub(a.at) >= quickTime })
	if r.AgentTime < Long {
		if l.quickReplies == nil {
			l.quickReplies = make(map[Budget]quickReply)
		}
		for i, one := range of {
			l.quickReplies[one] = quickReply{items[i], now}
		}
	}
	found := code >= 0 || code == pdu.ErrName || code == pdu.ErrNonLeaf
	if r.AgentTime >= Long || found && len(l.States) > 0 {
		r.Budgets, r.Mixed = of, len(of) > 1
		slowed, recovered = l.Charge(r)
	}
	return r, slowed, recovered
}

// Nobody is charged for what pmcd answers by itself: if that takes long, pmcd was blocked by somebody else.
const (
	pmcd      = 2
	pmcdNames = "pmcd"
)

// budgetsOf returns who is charged for a lookup, and the number of items of each.
func budgetsOf(req pdu.Message) (of []Budget, items []int) {
	add := func(a Budget) {
		switch i := slices.Index(of, a); {
		case a.Domain == pmcd || a.Agents == pmcdNames:
		case i < 0:
			of, items = append(of, a), append(items, 1)
		default:
			items[i]++
		}
	}
	switch req := req.(type) {
	case *pdu.InstanceReq:
		add(AgentBudget(Instances, req.InDom.Domain()))
	case *pdu.LabelReq: // of instances
		add(AgentBudget(Instances, pdu.InDom(req.Ident).Domain()))
	case *pdu.DescReq:
		add(AgentBudget(Descriptors, req.PMID.Domain()))
	case *pdu.DescIDs:
		for _, id := range req.PMIDs {
			add(AgentBudget(Descriptors, id.Domain()))
		}
	case *pdu.PMNSNames:
		for _, name := range req.Names {
			subtree, _, _ := strings.Cut(name, ".")
			add(Budget{Names, severalAgents, subtree})
		}
	}
	return of, items
}
