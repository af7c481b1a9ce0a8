package slow

import (
	"maps"
	"slices"
	"strings"
	"time"

	"pmdaderived/pdu"
)

// quickTime is for how long who has answered quickly is believed to be quick.
const quickTime = time.Second

// Tracker is who was slow, and what pmcd was busy with. Beside fetches it knows the requests by which something is looked up:
// one at a time.
type Tracker struct {
	States
	BlockedTimes
	quickReplies map[Budget]quickReply // the last quick ones
}

// quickReply is one to a request that looked something up.
type quickReply struct {
	items int
	at    time.Time
}

// AdmitLookup decides on a request that is to look something up: a code below zero if it may not be sent now. Who is left alone is not
// asked. Others are asked for one item at first, and then for twice as many as they have just answered quickly; a suspect for one,
// which has a request of its own. So no request takes much longer than one item does.
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

// RecordReply notes that it is answered now, perhaps by a code below zero. It returns what there is to tell; see Agents.Note.
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

// What pmcd answers by itself is put down to nobody: it is busy with somebody else when that takes long.
const (
	pmcd      = 2
	pmcdNames = "pmcd"
)

// budgetsOf are the accounts that what is looked up is charged to, and how many items of each it is.
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
