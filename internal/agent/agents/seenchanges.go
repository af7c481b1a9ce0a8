package agents

import "pmdaderived/pdu"

// SeenChanges has, for one of several connections to a pmcd, the changes that pmcd will report there although the
// agent knows them: pmcd reports a change once to each of its clients, with the next answer. The zero value has none.
type SeenChanges struct {
	own  pdu.Change // announced by this agent, and not reported here yet
	seen pdu.Change // reported on another connection, and not here yet
}

// AddOwn adds a change that this agent is announcing to all clients of pmcd.
func (s *SeenChanges) AddOwn(change pdu.Change) { s.own |= change }

// Unseen returns the changes of an answer that are new, and removes the others. hidden: a change of another agent may
// be hidden behind our own.
func (s *SeenChanges) Unseen(change pdu.Change) (unseen pdu.Change, hidden bool) {
	hidden = change&s.own != 0
	unseen = change &^ s.own &^ s.seen
	s.own &^= change
	s.seen &^= change
	return unseen, hidden
}

// AddSeen adds a change that another connection has reported.
func (s *SeenChanges) AddSeen(change pdu.Change) { s.seen |= change }

// ForgetSeen removes the changes of other connections, when one of them ends: it may have ended before pmcd reported
// a change there, so the report on this connection counts.
func (s *SeenChanges) ForgetSeen() { s.seen = 0 }
