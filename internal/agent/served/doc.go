// Package served is what the agent shows of its definitions at one time: names, PMIDs, descriptors, texts, labels, and
// what of pmcd's metrics each definition is computed from. A Snapshot is a pure function of what is configured, what a
// pmcd has said of the operands, and the identities; it has no goroutine, and asks nobody.
//
//	Config ───────┐
//	Catalog ──────┤
//	Registry ─────┼─► Build ─► Snapshot ─► swapped in as a whole, read by everybody
//	Snapshot ─────┘              │
//	(the one before)             ├─ Entries  by name; ByID          descriptor, text, state
//	                             ├─ Namespace the name space
//	                             ├─ OperandSets distinct ones; each entry points to its own
//	                             ├─ Retired  descriptors of PMIDs that a change of metadata has ended
//	                             └─ Files    what became of each file
//
// A Snapshot is immutable. What changes beside it (samples, when a metric was fetched) is kept by others, by its
// metric or operand set: an operand set that the snapshot before had, too, is the same pointer.
//
// # States of a definition
//
//	state    why                                       name shown      descriptor      a fetch answers
//	bound    its operands exist and fit together       yes             yes             values
//	kept     the new text is wrong, or its file        yes             yes             values of the last good text
//	         cannot be read
//	unbound  an operand is missing                     no              the last one    try again, or PM_ERR_BADDERIVE
//	                                                                   of this text    if it never had a descriptor
//	failed   it is wrong, or its name is taken         no              none            PM_ERR_BADDERIVE
//	waiting  the operands have not been looked up yet  if it had one   the last one    try again
//	                                                                   of this text
//
// A name that is not shown in traversals can still be looked up, but for one that could never be read: that has a
// state only (Unreadable).
//
// A definition that was served goes on as it was when its new text turns out to be wrong: Build binds the new texts, puts
// the old ones in place of those that are wrong, and binds again, until nothing changes, since an old one may mend
// others, or break them.
package served
