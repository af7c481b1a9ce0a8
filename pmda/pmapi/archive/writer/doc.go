// Package writer writes PCP archives, as pmlogger(1) does, of version 2 or 3.
//
//	w, err := writer.Create("/tmp/mine", writer.Label{Version: 3, Start: start, Host: "myhost"})
//	w.Metric(desc, "my.metric")
//	w.InDom(start, desc.InDom, instances)                // whenever these change, before the values
//	w.Values().Numbers(desc.PMID, desc.Type, insts, numbers)
//	err = w.Put(start)                                   // what Values has
//	err = w.Close()
//
//	file      what is in it
//	.meta     metrics, instance domains, labels, texts
//	.0, .1 …  values; another volume begins when one has MaxVolume bytes
//	.index    where what was recorded at a time is in the others
//
// # Errors
//
// Errors of writing are kept: after one nothing more is written, and every call returns it.
//
// Sources: LOGARCHIVE(5), docs/archives.md 1 to 4.
package writer
