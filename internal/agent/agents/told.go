package agents

import "pmdaderived/pdu"

// Told is what one of several connections to a pmcd will bring that is no news: pmcd tells each of its clients of a change once, with
// its next answer. The zero value: nothing.
type Told struct {
	echo  pdu.Change // what we have announced and it has yet to repeat
	known pdu.Change // changes that another connection has brought first
}

// Announced notes what is being announced to all clients of pmcd, of which the connection is one.
func (t *Told) Announced(change pdu.Change) { t.echo |= change }

// News returns which of the changes that an answer tells no other connection has told before, and that are not our own. One of others
// may be hidden behind ours.
func (t *Told) News(change pdu.Change) (news pdu.Change, hidden bool) {
	hidden = change&t.echo != 0
	news = change &^ t.echo &^ t.known
	t.echo &^= change
	t.known &^= change
	return news, hidden
}

// Elsewhere notes what another connection has brought.
func (t *Told) Elsewhere(news pdu.Change) { t.known |= news }

// Ended notes that another connection has ended: what it would have told next, this one tells.
func (t *Told) Ended() { t.known = 0 }
