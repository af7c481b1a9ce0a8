package slow

import (
	"maps"
	"slices"
	"strings"
	"time"

	"pmdaderived/pdu"
)

// trust is for how long who has answered quickly is believed to be quick.
const trust = time.Second

// Ledger is who was slow, and what pmcd was busy with. Beside fetches it knows the requests by which something is looked up:
// one at a time.
type Ledger struct {
	Agents
	Busy
	quick map[Account]answer // the last quick ones
}

// answer is one to a request that looked something up.
type answer struct {
	items int
	at    time.Time
}

// Ask decides on a request that is to look something up: a code below zero if it may not be sent now. Who is left alone is not
// asked. Others are asked for one item at first, and then for twice as many as they have just answered quickly; a suspect for one,
// which has a request of its own. So no request takes much longer than one item does.
func (l *Ledger) Ask(req pdu.Message, now time.Time) pdu.Code {
	of, items := asked(req)
	if l.Resting(now, of...) || len(of) > 1 && l.Suspected(of...) {
		return pdu.ErrAgain
	}
	for i, one := range of {
		most := 1
		if last := l.quick[one]; now.Sub(last.at) < trust && !l.Suspected(one) {
			most = 2 * last.items
		}
		if items[i] > most {
			return pdu.ErrAgain
		}
	}
	l.LookUp(now)
	return 0
}

// Reply notes that it is answered now, perhaps by a code below zero. It returns what there is to tell; see Agents.Note.
func (l *Ledger) Reply(req pdu.Message, code pdu.Code, now time.Time) (r Request, slowed, recovered []Account) {
	r.Took, r.Ended = l.LookedUp(now), now
	of, items := asked(req)
	maps.DeleteFunc(l.quick, func(_ Account, a answer) bool { return now.Sub(a.at) >= trust })
	if r.Took < Long {
		if l.quick == nil {
			l.quick = make(map[Account]answer)
		}
		for i, one := range of {
			l.quick[one] = answer{items[i], now}
		}
	}
	found := code >= 0 || code == pdu.ErrName || code == pdu.ErrNonLeaf
	if r.Took >= Long || found && len(l.Agents) > 0 {
		r.Of, r.Mixed = of, len(of) > 1
		slowed, recovered = l.Note(r)
	}
	return r, slowed, recovered
}

// What pmcd answers by itself is put down to nobody: it is busy with somebody else when that takes long.
const (
	pmcd      = 2
	pmcdNames = "pmcd"
)

// asked are the accounts that what is looked up is charged to, and how many items of each it is.
func asked(req pdu.Message) (of []Account, items []int) {
	add := func(a Account) {
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
		add(Of(Instances, req.InDom.Domain()))
	case *pdu.DescReq:
		add(Of(Descriptors, req.PMID.Domain()))
	case *pdu.DescIDs:
		for _, id := range req.PMIDs {
			add(Of(Descriptors, id.Domain()))
		}
	case *pdu.PMNSNames:
		for _, name := range req.Names {
			subtree, _, _ := strings.Cut(name, ".")
			add(Account{Names, several, subtree})
		}
	}
	return of, items
}
