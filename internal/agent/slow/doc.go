// Package slow knows the agents of pmcd that answer slowly, so that they are asked seldom. It is pure, and guarded by who has it.
//
// A request is charged to accounts: that of each agent whose operands it asks for. Operands of several agents that one
// sample needs have one time stamp and so one fetch, hence one account more, for these agents together. Instances, descriptors and
// names are looked up at the cost of other accounts, by kind: who is slow with one may be quick with another. Names do not tell their
// agent, so these are charged to their first component.
//
//	state of an account  it is asked              becomes
//	not slow             with all others          suspected by a request of 100 ms or more, with whomever
//	suspected            in quarantine: apart     backing off by another long one that it had alone and that ends a second or more
//	                                              after the first; not slow by a quick one that has values of it
//	                     looked up: one by one
//	 of several agents   in quarantine: each of   likewise, by one fetch for all of them when each was quick; if one was
//	                     them alone, in a probe   not, that is the suspect
//	backing off          in quarantine, after     not slow by a quick answer that has values of it
//	                     a rest
//
// An account that backs off takes what needs it along: a series rests while one of its accounts does, and what its fetch takes is
// charged to those that back off, since the others have proved to be quick alone.
//
// A rest is 9 times what long requests took that no rest has followed, times the number of accounts that are backing off. An account
// whose long requests took more than 3 s so, with quick ones in between, backs off at the next one. Long fetches for several
// series are charged to nobody; while these took more than 3 s so, no suspect is cleared by a quick one, so that the next one is
// somebody's.
//
// What people read calls an account that backs off a slow agent.
//
// Not every long request is its agents' fault: Busy tells how much of it pmcd can have spent on it.
package slow
