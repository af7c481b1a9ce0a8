// Package archive reads PCP archives: what pmlogger(1) has recorded. It answers the questions that a pmcd answers through
// [pmapi.Conn], with the same methods, for any time that the archive has.
//
//	a, err := archive.Open("/var/log/pcp/pmlogger/myhost") // a folder, an archive, several
//	defer a.Close()
//	found, err := a.LookupNames(ctx, []string{"kernel.all.load"})
//	c := a.NewContext(time.Time{}, time.Time{})            // all of it
//	defer c.Close()
//	c.SetTime(a.Start().Add(time.Minute))
//	res, err := c.Fetch(ctx, []pdu.PMID{found[0].PMID})    // what the load was then
//
// # Two ways to read
//
// [Context.Fetch] gives the values at a time, between two records, too (PM_MODE_INTERP).
// [Context.Next] walks over the records as they are (PM_MODE_FORW). Both may be used with one context: neither moves the other.
//
// # What is broken
//
// What is whole is read. What is not is told as a [DamageError], by [Archive.Damage] for labels, metadata and index, and by
// [Context.Next] where a volume ends too soon. An archive whose records stop in the middle ends there.
//
// # Memory
//
// Metadata is held: names, descriptors, instances, labels, texts. Values are not: a context holds those that it needs for the metrics that
// it was asked for, whatever the length of the archive. Compressed volumes are decompressed to temporary files: those
// that contexts read, and two more at most. Counts and lengths in a file never choose how much memory is taken: buffers grow with the bytes that have been read.
//
// # Who may call what
//
// An Archive may be used by several goroutines at a time, a Context by one.
//
// Sources: LOGARCHIVE(5), PMAPI(3), pmSetMode(3), docs/archives.md.
package archive
