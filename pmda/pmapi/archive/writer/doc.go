// Package writer writes PCP archives, as pmlogger(1) does, of version 2 or 3.
//
//	w, err := writer.Create("/tmp/mine", writer.Label{Version: 3, Start: start, Host: "myhost"})
//	w.Metric(desc, "my.metric")
//	w.InDom(start, desc.InDom, instances)                // again when they change, before the values
//	w.Values().Numbers(desc.PMID, desc.Type, insts, numbers)
//	err = w.Put(start)                                   // writes a record of the Values
//	err = w.Close()
//
//	.meta     metrics, instance domains, labels, texts: layouts in package metadata
//	.0, .1 …  volumes with values; a new one begins when one has MaxVolume bytes: layouts in package logfile
//	.index    for some times the offsets of their records in the other files
//
// # Errors
//
// After the first error nothing more is written, and every call returns that error. So a caller may check only the
// error of Close.
//
// Sources: LOGARCHIVE(5), docs/archives.md 1 to 4.
package writer
