// Package slow knows which agents of pmcd answer slowly, so that they get few requests. It is pure; the lock of the
// pool guards it.
//
// Each request is charged to budgets: to that of each agent whose operands it asks for. Operands of several agents that
// one sample needs have one time stamp and so come from one fetch: these agents have one budget more, for all of them
// together. Lookups of instances, descriptors and names are charged to budgets of their own, by kind, because an agent
// may be slow with one kind only. A name does not tell its agent, so its first component stands for it.
//
// A request is long if its agents can have taken 100 ms or more. BlockedTimes computes that: not all of the time in
// which pmcd was blocked is the fault of agents.
//
//	state of a budget  its requests                     what moves it
//	not slow           with all others                  any long request: suspected
//	suspected          in quarantine: a fetch of its    a quick answer with values of it: not slow
//	                   own; lookups one by one         another long request that was charged to it alone, and ends
//	                                                    a second or more after the first: slow
//	  of several       in quarantine: each of the       likewise, by a fetch for all of them, which is sent once each
//	  agents           agents alone, in a probe         probe was quick; a long probe is charged to its agent
//	slow               in quarantine, after a rest      a quick answer with values of it: not slow
//
// A series rests while one of its budgets does. Its fetches are charged to those of its budgets that are slow, since
// the others have proved to be quick alone.
//
// # Rest and overrun
//
// The overrun of a budget is what its long requests have taken and no rest has followed. Only time reduces it, no quick
// answer does: 9 s of rest, times the number of budgets that are slow or have an overrun, make up for 1 s. A slow budget
// rests until its overrun is 0, so all slow agents together get a tenth of pmcd's time.
//
// The overrun also finds agents that are quick now and slow then, which a quick answer clears as suspects: with an
// overrun of more than 3 s the next long request makes a budget slow, whether it is a suspect or not.
//
// A long fetch for several series is charged to a budget of its own, which stands for all of these fetches.
// While its overrun is more than 3 s, a quick answer clears no suspect, so that the next long fetch is charged to
// somebody. A budget that becomes slow takes over this overrun.
//
// Users read of "slow agents": these are agents with a slow budget.
package slow
