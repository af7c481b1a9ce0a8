// Package agents is what is known of the agents of a pmcd, by their domains. It has no goroutine and no lock; who has it guards it.
//
//	Names    what pmcd calls them
//	Told     what a connection tells of them that another has told already
//	Table    for each agent what it was asked for, what was wrong and what it cost
package agents
