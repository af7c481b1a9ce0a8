package agents

import (
	"context"
	"errors"
	"maps"
	"slices"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// Look is what pmcd says about its agents at one time. Immutable.
type Look struct {
	names  map[int]string // of the agents, by domain
	ids    []pdu.PMID     // of what is fetched
	indom  pdu.InDom
	number uint64       // pmcd.seqnum, which another start of an agent makes another one
	down   map[int]bool // domains of agents that have ended
}

// The places of what is fetched.
const (
	status = iota
	seqnum
)

// notReady is the status of an agent that runs and has yet to say that it can be asked.
const notReady = 1

// LookAt asks pmcd about its agents. before is what it said last on this connection; nil: nothing. An error that is not one of the connection
// says that pmcd does not tell now; see Silent.
func LookAt(ctx context.Context, conn *pmapi.Conn, before *Look) (*Look, error) {
	now := &Look{down: make(map[int]bool)}
	if before != nil {
		now.names, now.ids, now.indom = before.names, before.ids, before.indom
	} else if err := now.find(ctx, conn); err != nil {
		return nil, err
	}
	res, err := conn.FetchColumns(ctx, now.ids)
	if err != nil {
		return nil, err
	}
	for i := range res.Sets {
		if set := &res.Sets[i]; set.Code < 0 {
			return nil, set.Code
		}
	}
	of, number := &res.Sets[status], &res.Sets[seqnum]
	if len(number.Bits) != 1 || len(of.Bits) != len(of.Insts) {
		return nil, errNoAnswer
	}
	now.number = number.Bits[0]
	known := true
	for i, inst := range of.Insts {
		domain := int(inst)
		_, ok := now.names[domain]
		known = known && ok
		if of.Bits[i]&^notReady != 0 {
			now.down[domain] = true
		}
	}
	if !known { // it has got another agent
		if err := now.name(ctx, conn); err != nil && conn.Err() != nil {
			return nil, err // else it has no name, which only who reads of it misses
		}
	}
	return now, nil
}

// Silent reports whether an error of LookAt says that pmcd will not tell later either.
func Silent(err error) bool {
	switch pdu.CodeOf(err) {
	case pdu.ErrName, pdu.ErrPMID, pdu.ErrInDom, pdu.ErrPermission, pdu.ErrNoAgent:
		return true
	}
	return errors.Is(err, errNoAnswer)
}

// errNoAnswer says that pmcd answers something else.
var errNoAnswer = errors.New("no status of agents")

// find looks up what is to be fetched.
func (l *Look) find(ctx context.Context, conn *pmapi.Conn) error {
	found, err := conn.LookupNames(ctx, []string{status: "pmcd.agent.status", seqnum: "pmcd.seqnum"})
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.Code < 0 {
			return f.Code
		}
		l.ids = append(l.ids, f.PMID)
	}
	desc, err := conn.Desc(ctx, l.ids[status])
	if err != nil {
		return err
	}
	l.indom = desc.InDom
	return l.name(ctx, conn)
}

// name looks up the names of all agents.
func (l *Look) name(ctx context.Context, conn *pmapi.Conn) error {
	instances, err := conn.Instances(ctx, l.indom)
	if err != nil {
		return err
	}
	l.names = make(map[int]string, len(instances))
	for _, i := range instances {
		l.names[int(i.ID)] = i.Name
	}
	return nil
}

// Name is that of an agent; "": it has none.
func (l *Look) Name(domain int) string {
	if l == nil {
		return ""
	}
	return l.names[domain]
}

// Since compares with what pmcd has said before: ended are the domains of agents that have ended since, changed reports whether
// anything has, and restarted whether any agent has been started since.
func (l *Look) Since(before *Look) (ended []int, restarted, changed bool) {
	for d := range l.down {
		if !before.down[d] {
			ended = append(ended, d)
		}
	}
	slices.Sort(ended)
	restarted = l.number != before.number
	return ended, restarted, restarted || !maps.Equal(l.down, before.down)
}
