// Package agents is what is known of the agents of a pmcd, by their domains: which of them have been started and have ended, and what
// became of what they were asked for. It has no goroutine and no lock; who has it guards it.
//
//	Look     what pmcd says of its agents at one time: pmcd.agent.status and pmcd.seqnum (docs/pmcd.md o)
//	Pace     how soon to do something about what is announced
//	Told     what of that a connection brings that another has brought already
//	Table    for each agent what it was asked for, what was wrong and what it cost
//
// pmcd tells its clients that some agent was started or has ended, not which, and any agent can make it say so. What two looks show:
//
//	pmcd.seqnum    an agent          then
//	the same       is as it was      nothing was restarted, whoever says so
//	               has ended         it: what it counts begins anew
//	another one    any               some agent was restarted. If that was at once it shows nowhere else but in the
//	                                 values of its counters (operand.Evidence)
package agents
