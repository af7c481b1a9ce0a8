package soak

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"pmdaderived/test/liar"
	"pmdaderived/test/rig"
)

// liarOf is the name of an agent that lies.
func liarOf(i int) string { return [...]string{"evil", "vile"}[i] }

// mostLying is how long an agent tells one lie, and how long it is honest after that, at the most.
const mostLying = 5 * time.Second

// lie has an agent tell lies in any order until ctx ends, of those that pmcd passes on. Every other one is random. It ends with the truth.
func (r *run) lie(ctx context.Context, agent string) {
	random := r.random()
	say := func(order string) {
		if _, err := r.folder.Write("lie-"+agent, order); err != nil {
			r.tally.problem(failedCall, "%v", err)
		}
	}
	defer say("")
	moment := func() time.Duration { return time.Duration(random.Int64N(int64(mostLying))) }
	for rig.Sleep(ctx, moment()) {
		order := anyLie(random)
		honest := r.tally.lies(agent + ": " + order)
		say(order)
		rig.Sleep(ctx, moment())
		say("")
		honest()
	}
}

func anyLie(random *rand.Rand) string {
	if random.IntN(2) == 0 {
		return "random " + strconv.FormatUint(random.Uint64(), 10)
	}
	for all := liar.Lies(true); ; {
		if l := all[random.IntN(len(all))]; l.Cost == liar.Nothing && !strings.HasPrefix(l.Order, "random") {
			return l.Order
		}
	}
}
