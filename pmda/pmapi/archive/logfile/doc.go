// Package logfile reads the files of archives. It finds them, decompresses them, and returns their records. It
// decodes the records of volumes; package metadata decodes those of metadata.
//
//	log, err := logfile.Open(paths, metadata)   // calls metadata with each record of NAME.meta
//	r := log.NewReader()
//	r.Seek(log.PositionBefore(t))               // from the index
//	record, err := r.Next()                     // io.EOF at the end
//	record.Decode(&columns, descs, nil)
//
//	NAME.meta   NAME.0   NAME.1   NAME.index       another archive
//	    |          \_______|__________|               |
//	metadata            Reader, by time:  records, a mark record, records
//
// # Layouts
//
// Numbers are big-endian. Volumes and metadata are sequences of records; the first one is the label. The index has a
// label as its first record, and entries without lengths after it.
//
//	record       | length N | N-8 bytes ...          | length N |
//	             0          4                       N-4         N
//
//	label        magic and version, process id, time, volume (-1: metadata, -2: index), then
//	  version 2  host (64 bytes), time zone (40)
//	  version 3  features (0), reserved, host (256), time zone (256), zone info (256)
//
//	values       time, number of sets; sets; value blocks       as in a RESULT; no sets: a mark record
//
//	index entry  time, volume, offset in metadata, offset in volume
//
//	time         version 2: seconds (4), microseconds (4)
//	             version 3: seconds (8, the low word first), nanoseconds (4)
//
// Offsets of the index have 4 bytes in version 2, and 8 in version 3. The index of a value block
// counts words from 8 bytes before the record, in both versions: there the PDU would begin that the record was made
// from.
//
// # Concurrency
//
// Several goroutines may use one Log. Only one may use a Reader.
//
// Sources: LOGARCHIVE(5), docs/archives.md 1 to 4 and 7.
package logfile
