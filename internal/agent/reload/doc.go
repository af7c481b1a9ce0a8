// Package reload keeps what the agent serves up to date: it reads the configuration, looks up operands, builds
// snapshots, saves identities and announces changes.
//
// # From a changed file to new names
//
// bind.go has these steps from top to bottom:
//
//	Reload ──► reloadConfig            reads the configuration (Options.Load)
//	             rebind
//	               lookUpOperands      asks pmcd for new names and their descriptors
//	               buildSnapshot       binds the definitions (served.Build), gives PMIDs (identity)
//	               lookUpInstances     asks pmcd for instances that expressions need
//	               awaitFirstSamples   waits up to 50 ms for samples of new operands
//	               saveIdentities      so that a PMID is on disk before a client sees it
//	               switchTo            swaps the snapshot: requests see the old one or the new one
//	               announceChanges     sets Options.Changes ──► Run: announce ──► a reply tells pmcd;
//	                                   names are announced again after repeatNamesAfter
//
// # Causes of lookups
//
//	cause                                          lookup                               function
//	Reload, ReloadAll                              missing operands; all operands       reloadConfig
//	Events: a new session with pmcd                names of agents, all operands        startSession
//	Events: names or agents have changed           all operands, after a delay          lookUpAll
//	Events: instances have changed                 these instance domains               lookUpDue
//	RequestLookup, Options.Poll                    missing operands                     lookUpMissing
//	Events: values do not fit                      their operands, as refused ones      lookUpDue
//	MetadataCache.NextDue                          refused operands, queued domains     lookUpDue
//	each refreshGap                                domains, descriptors by turns        refresh
//	a lookup has failed                            all operands, after a delay          lookUpAll
//
// # State
//
// The package has one goroutine, [Reloader.Run], which owns the fields of [Reloader]. It may wait for pmcd and for the
// disk. Other goroutines only send it signals, and never wait for it. It publishes two things for the request loop, by
// atomics: the [Snapshot], which is immutable except for the fields that say otherwise, and the change to announce.
package reload
