package agents

import "pmdaderived/pdu"

// SeenChanges is what one of several connections to a pmcd will bring that is no news: pmcd tells each of its clients of a change once, with
// its next answer. The zero value: nothing.
type SeenChanges struct {
	own  pdu.Change // what we have announced and it has yet to repeat
	seen pdu.Change // changes that another connection has brought first
}

// AddOwn notes what is being announced to all clients of pmcd, of which the connection is one.
func (s *SeenChanges) AddOwn(change pdu.Change) { s.own |= change }

// Unseen returns which of the changes that an answer tells no other connection has told before, and that are not our own. One of others
// may be hidden behind ours.
func (s *SeenChanges) Unseen(change pdu.Change) (unseen pdu.Change, hidden bool) {
	hidden = change&s.own != 0
	unseen = change &^ s.own &^ s.seen
	s.own &^= change
	s.seen &^= change
	return unseen, hidden
}

// AddSeen notes what another connection has brought.
func (s *SeenChanges) AddSeen(change pdu.Change) { s.seen |= change }

// ForgetSeen notes that another connection has ended: what it would have told next, this one tells.
func (s *SeenChanges) ForgetSeen() { s.seen = 0 }
