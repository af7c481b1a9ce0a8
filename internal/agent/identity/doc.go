// Package identity gives derived metrics their PMIDs, and the instances of the agent's own domains their
// numbers, and keeps both in a file: archives and running tools remember them.
//
//	Load ──► Registry ◄── PMID, Bind, FileNumbers      one owner, no lock, no goroutine
//	             │
//	            Save ──► state file ◄── Read      any program, while the agent runs
//
// # What is promised
//
//   - A PMID stands for one name with one type, semantics, units and instance domain, for ever. A name whose
//     metadata changes gets another PMID; with its former metadata it gets the former one back, if that is one of the last 16.
//   - PMIDs are given out in the order in which names first appear, from cluster 1 on (cluster 0 has the metrics
//     about the agent), and never twice, not even when the state file was damaged, as far as it can be read.
//     The place in this order is also the definition's number in the domain of definitions.
//   - An instance domain of groups stands for one domain of operands and one label, for ever. The numbers of groups are
//     hashes of their names, and not kept.
//   - The number of a file is never that of another one. Files that are gone are forgotten if they are many.
//
// # When it must be saved
//
//	nothing is new    Save does nothing
//	changed           an expression, or files that are forgotten: saved at some time
//	promised          a PMID, its metadata, a domain of groups, the number of a file: saved before anybody is told (MustSave)
//
// # How it is written
//
// A new file is written beside the old one and takes its name, so that there is a whole one at every instant:
//
//	step                                  found if the machine stops then
//	create .NAME.DIGITS, locked           the old state, and a leftover
//	write, sync                           the old state, and a leftover
//	rename to NAME                        the old or the new state
//	sync the folder                       the new state
//
// Load removes leftovers that nobody has locked. A state file that cannot be used is set aside as NAME.damaged, one that
// cannot be read or moved stays, and is never written over.
//
// # The state file
//
// JSON, which jq(1) shows with lines:
//
//	{
//		"version": 1,
//		"domain": 510,
//		"next": 2,                                            PMIDs given out
//		"metrics": {
//			"disk.busy": {
//				"pmid": "510.1.1",
//				"expression": "rate(disk.dev.avactive)",      when it was bound last, like the descriptor
//				"descriptor": {"type": 5, "semantics": 3, "indom": "60.1", "units": "00000000"},
//				"former": [{"pmid": "510.1.0", "descriptor": …}]
//			}
//		},
//		"files": {"/etc/pcp/derived/site.conf": 0},           numbers in the domain of files
//		"nextFile": 1,
//		"groups": {
//			"510.64": {"of": "60.1", "label": "kind"}
//		},
//		"nextGroups": 65
//	}
package identity
