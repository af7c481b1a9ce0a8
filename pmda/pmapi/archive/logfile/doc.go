// Package logfile reads the files of archives: it finds them, decompresses them, and returns their records. It decodes the records of volumes;
// those of metadata are decoded by package metadata.
//
//	log, err := logfile.Open(paths, metadata)   // calls metadata with each record of NAME.meta
//	r := log.NewReader()
//	r.Seek(log.PositionBefore(t))
//	record, err := r.Next()                     // io.EOF at the end
//	record.Decode(&columns, descs, nil)
//
//	NAME.meta   NAME.0   NAME.1   NAME.index       another archive
//	    |          \_______|__________|               |
//	metadata            Reader, by time:  records, a mark record, records
//
// Several goroutines may use one Log. Only one may use a Reader.
//
// Sources: LOGARCHIVE(5), docs/archives.md 1 to 4 and 7.
package logfile
