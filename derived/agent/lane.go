package agent

import (
	"time"

	"pmdaderived/pdu"
)

// lane is one connection and what is on its way over it. The sampler's lock guards all of it.
type lane struct {
	link
	made time.Time

	busy    bool
	leaving bool // to be ended as soon as it is not busy
	probe   bool // it is asked whether the answer for one operand is too long
	dead    bool // closed, and not among the sampler's lanes any more
	feeds   []*feed
	asked   *operandList // what the fetch is for
	agents  []int        // domains of slow agents that the fetch is for; nil: of none that is known to be slow
	values  int          // of a fetch for more than a few
	sent    time.Time
	echo    pdu.Change // changes that we have announced and that pmcd has yet to repeat here
	told    pdu.Change // changes of agents that another lane has been told first
}
