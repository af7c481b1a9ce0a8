package slow

import (
	"slices"
	"strings"
	"time"

	"pmdaderived/pdu"
)

// Ledger is who was slow, and what pmcd was busy with. Beside fetches it knows the requests by which something is looked up:
// one at a time.
type Ledger struct {
	Agents
	Busy
}

// Ask decides on a request that is to look something up: a code below zero if it may not be sent now. Who is left alone is
// not asked, and suspects are asked for one item at a time: what that takes is theirs, and no more than anybody has to wait for.
func (l *Ledger) Ask(req pdu.Message, now time.Time) pdu.Code {
	if len(l.Agents) > 0 {
		if of, items := asked(req); l.Resting(now, of...) || items > 1 && l.Suspected(of...) {
			return pdu.ErrAgain
		}
	}
	l.LookUp(now)
	return 0
}

// Reply notes that it is answered now, perhaps by a code below zero. It returns what there is to tell; see Agents.Note.
func (l *Ledger) Reply(req pdu.Message, code pdu.Code, now time.Time) (r Request, slowed, recovered []Account) {
	r.Took, r.Ended = l.LookedUp(now), now
	found := code >= 0 || code == pdu.ErrName || code == pdu.ErrNonLeaf
	if r.Took >= Long || found && len(l.Agents) > 0 {
		r.Of, _ = asked(req)
		r.Mixed = len(r.Of) > 1
		slowed, recovered = l.Note(r)
	}
	return r, slowed, recovered
}

// What pmcd answers by itself is put down to nobody: it is busy with somebody else when that takes long.
const (
	pmcd      = 2
	pmcdNames = "pmcd"
)

// asked are the accounts that what is looked up is charged to, and how many items it is.
func asked(req pdu.Message) (of []Account, items int) {
	add := func(a Account) {
		if items++; a.Domain == pmcd || a.Agents == pmcdNames {
			return
		}
		if !slices.Contains(of, a) {
			of = append(of, a)
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
