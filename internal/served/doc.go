// Package served builds the snapshot that the agent serves: names, PMIDs, descriptors, texts, labels, and the operands
// of each definition. A Snapshot is a function of the configuration, of the descriptors of operands, of the identities,
// and of the snapshot before. The package has no goroutine, and asks nobody.
//
//	Config ───────┐
//	Catalog ──────┤
//	Registry ─────┼─► Build ─► Snapshot ─► package reload swaps it in as a whole
//	Snapshot ─────┘              │
//	(the one before)             ├─ Served       sorted by name; ByID    descriptor, text, state
//	                             ├─ Namespace    the PMNS
//	                             ├─ OperandSets  each once; definitions point to theirs
//	                             ├─ Retired      descriptors of PMIDs that a change of metadata has ended
//	                             └─ Files        the outcome for each file
//
// A Snapshot is immutable. Build gives out PMIDs in the Registry, which belongs to the goroutine of package reload.
// Changing state, such as samples, is in reload.Snapshot, by definition or operand set: an operand set that the snapshot
// before had, too, is the same pointer.
//
// # States of a definition
//
//	state    why                                       traversals      descriptor      a fetch gets
//	bound    its operands exist and fit together       show the name   yes             values
//	kept     the new text is wrong, or its file        show the name   yes             values of the last good text,
//	         cannot be read                                                            or of that in an earlier file
//	unbound  an operand does not exist                 hide it         the last one    PM_ERR_AGAIN, or PM_ERR_BADDERIVE
//	                                                                                   if it never had a descriptor
//	failed   it is wrong                               hide it         the last one    PM_ERR_BADDERIVE
//	failed   its name is taken                         hide it         none            PM_ERR_BADDERIVE
//	waiting  the operands have not been looked up yet  show the name   the last one    PM_ERR_AGAIN
//
// A definition without a descriptor has a PMID but no name: a look-up returns PM_ERR_NAME. A hidden name can still be
// looked up.
//
// A definition that was served goes on as it was if its new text is wrong: Build binds the new texts, replaces wrong
// ones by those served before, and binds again, until nothing changes, since a former text may mend others, or break
// them. A definition of an earlier file does not take the place of one whose file cannot be read or has a syntax error.
package served
