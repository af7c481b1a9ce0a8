// Package slow knows the agents of pmcd that answer slowly, so that they are asked seldom. It is pure, and guarded by who has it.
//
//	state of an agent   it is fetched            becomes
//	not slow            with all others          suspected by a fetch of 100 ms or more
//	suspected           in quarantine: apart     backing off by another long one that ends a second or more after the first;
//	                                             not slow by a quick one (10 s later, if it had several long ones in a row)
//	backing off         in quarantine, after     not slow by a quick answer that has values of it
//	                    a rest
//
// A rest is 9 times what its long fetches took since the last rest, times the number of agents that are backing off. What
// people read calls such an agent slow.
//
// Not every long fetch is its agents' fault: Busy tells how much of it pmcd can have spent on it.
package slow
