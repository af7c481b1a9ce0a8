// Package logfile reads the files of archives: which there are, compressed or not, and the records in them. What a record says is for others,
// but for the values in those of volumes.
//
//	log, err := logfile.Open(paths, metadata)   // metadata gets each record of NAME.meta
//	r := log.NewReader()
//	r.Seek(log.PlaceBefore(t))
//	record, err := r.Next()                     // io.EOF at the end
//	record.Decode(&columns, descs, nil)
//
//	NAME.meta   NAME.0   NAME.1   NAME.index       another archive
//	    |          \_______|__________|               |
//	metadata            Reader, by time:  records, a mark, records
//
// A Log may be used by several goroutines at a time, a Reader by one.
//
// Sources: LOGARCHIVE(5), docs/archives.md 1 to 4 and 7.
package logfile
