// Package identity gives out PMIDs for derived metrics and numbers for the agent's own instances and instance domains,
// and keeps them in the state file, because archives and running tools remember them.
//
//	Load ──► Registry ◄── PMID, Bind, GroupInDom       one owner: package reload; no lock, no goroutine
//	             │
//	            Save ──► state file ◄── LoadReadOnly      any program, while the agent runs
//
// # What is promised
//
//   - A PMID stands for one name with one type, semantics, units and instance domain, for ever. A name whose
//     metadata changes gets another PMID. If it gets its former metadata again, it gets the former PMID back, if that is
//     one of the last 16.
//   - PMIDs are given out in the order in which names first appear, from cluster 1 on (cluster 0 has the metrics
//     about the agent), and never twice, not even when the state file was damaged, as far as it can be read.
//     The position in this order is also the definition's number in the domain of definitions.
//   - An instance domain of groups stands for one domain of operands and one label, for ever. The numbers of groups are
//     hashes of their names, and not kept.
//   - The number of a file is a hash of its path, as that of a group is of its name, and not kept.
//
// # When it must be saved
//
//	change of the state                                                      Save must be called
//	none                                                                     never: it would do nothing
//	a PMID, its metadata, or a domain of groups                              before a client sees it
//
// # How it is written
//
// A new file is written beside the old one and takes its name, so that a whole one exists at every instant:
//
//	step                                  the folder has, if the machine stops then
//	create .NAME.DIGITS                   the old state, and a leftover
//	write, sync                           the old state, and a leftover
//	rename to NAME                        the old or the new state
//	sync the folder                       the new state
//
// Load removes leftovers. It moves a state file that cannot be used to NAME.damaged. A file that
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
//				"descriptor": {"type": 5, "semantics": 3, "indom": "60.1", "units": "00000000"},  when it was bound last
//				"former": [{"pmid": "510.1.0", "descriptor": …}]
//			}
//		},
//		"groups": {
//			"510.64": {"of": "60.1", "label": "kind"}
//		},
//		"nextGroups": 65
//	}
package identity
