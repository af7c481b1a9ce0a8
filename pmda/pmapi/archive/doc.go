// Package archive reads PCP archives, which pmlogger(1) writes. It has the methods of [pmapi.Conn], with the same
// types, and answers for any time in the archive.
//
//	a, err := archive.Open("/var/log/pcp/pmlogger/myhost") // an archive, a folder, several
//	defer a.Close()
//	found, err := a.LookupNames(ctx, []string{"kernel.all.load"})
//	c := a.NewContext(time.Time{}, time.Time{})            // all of it
//	defer c.Close()
//	c.SetTime(a.Start().Add(time.Minute))
//	res, err := c.Fetch(ctx, []pdu.PMID{found[0].PMID})    // the load at that time
//
// # Two ways to read
//
// [Context.Fetch] returns the values at a time, which may be between two records (PM_MODE_INTERP).
// [Context.Next] returns one record after the other (PM_MODE_FORW). You can use both with one context: they do not
// affect each other.
//
// # Packages
//
//	archive ─► interp ─► metadata ─► logfile ─► files
//	   │       values    metrics,    records
//	   │       between   instances,
//	   │       records   labels, texts
//	   └─► metadata, logfile
//
// # Damaged archives
//
// All intact parts are read. A [DamageError] describes a part that cannot be read. [Archive.Damage] returns the
// errors of labels, metadata and the index, and [Context.Next] returns one where a volume ends early. An archive
// whose last volume is truncated ends there.
//
// # Memory
//
// The metadata is in memory: names, descriptors, instances, labels, texts. A context stores values only for the metrics
// that were requested, and for each a number that does not depend on the length of the archive. Compressed volumes are
// decompressed to temporary files: the volumes that contexts read, and at most two more. No count or length in a file
// determines how much memory is allocated: buffers grow with the bytes that were read.
//
// # Concurrency
//
// Several goroutines may use one Archive. Only one may use a Context.
//
// Sources: LOGARCHIVE(5), PMAPI(3), pmSetMode(3), docs/archives.md.
package archive
