// Package slow knows the agents of pmcd that answer slowly, so that they are asked seldom. It is pure, and guarded by who has it.
//
//	state of an agent   it is fetched            becomes
//	unknown             with all others          suspected by a fetch of 100 ms or more
//	suspected           apart, in quarantine     backing off by another long one, a second or more after the first;
//	                                             unknown by a quick one (10 s later, if it had several long ones in a row)
//	backing off         apart, after a rest of   unknown by a quick answer that has something of it
//	                    9 times what it took
//
// Not every long fetch is its agents' fault: Busy tells how much of it pmcd can have spent on it.
package slow
