// Package reload keeps what is served up to date: it reads the configuration, looks operands up, builds snapshots, keeps identities and
// announces changes.
//
// It has one goroutine, Reloader.Run, which owns all that it knows. It may wait for pmcd and for the disk; nobody waits for it. What
// others ask of it are signals. It publishes a Snapshot, which is immutable, and what is to be announced, by atomic pointers of who
// serves.
//
//	it is woken by               and
//	Reload, ReloadAll            reads the configuration and binds what is new, or all                reread
//	upstream's Events            a session has begun: names the agents, binds all                     handle
//	                             agents or names are said to be others: binds all                     lookUpAll
//	                             instances are others: looks those domains up                         lookUpDue
//	Missed, its poll             binds what is not there                                              lookUpMissing
//	MetadataCache.NextDue        asks again for what is refused                                       lookUpDue
//
// Every way but the last ends in rebind, which looks up, builds, publishes and announces (bind.go).
package reload
