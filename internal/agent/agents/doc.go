// Package agents holds the facts about the agents of one pmcd, by their domains. It has no goroutine and no lock: the
// owner of a value guards it. Package upstream owns all of them, under its lock.
//
//	LookUpNames   the names that pmcd gives its agents
//	SeenChanges   for each connection, the changes that pmcd repeats there although another connection has reported them
//	Table         for each agent, the number of errors, and the last one
package agents
