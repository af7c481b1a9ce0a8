// Package collector connects sub-commands to a collector, which is a pmcd or an archive in its place. It has no
// goroutine.
//
//	Connect ─────────────────► Collector ──► Metrics: look up, fetch
//	Selection.Open ─► Archive ─┘   │ ├─────► Sample: definitions, evaluated once
//	                 FromArchive   │ └─────► Similar: names that may be meant
//	                               └───────► AgentView: what the agent of this pmcd says of its definitions
//
// Errors of Connect say what a person can do about them.
package collector
