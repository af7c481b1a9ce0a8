package logfile

import (
	"bufio"
	"errors"
	"io"
	"time"

	"pmdaderived/pdu"
)

// indexEntry is an entry of the temporal index: no record later than t is before off in a volume.
type indexEntry struct {
	t      time.Time
	volume int // its number
	off    int64
}

// readIndex reads a temporal index. An error ends it: what follows is read without.
func readIndex(path string, version int) (entries []indexEntry, err error) {
	f, err := openFile(path, maxMetadata)
	if err != nil {
		return nil, err
	}
	defer f.close()
	s := framesAt(f, 0)
	label, err := readLabel(s)
	if err == nil {
		err = label.expect(path, version)
	}
	if err != nil {
		return nil, err
	}
	size := 20
	if version == 3 {
		size = 32
	}
	r, entry, off := bufio.NewReader(s.r), make([]byte, size), s.off
	for {
		_, err := io.ReadFull(r, entry)
		if errors.Is(err, io.EOF) && f.broken == nil {
			return entries, nil
		}
		if err != nil {
			return entries, &DamageError{File: path, Offset: off, Reason: "the index entry is truncated", Code: pdu.ErrLogRec}
		}
		e := Fields{b: entry}
		p := indexEntry{t: e.Time(version), volume: int(e.I32())}
		if version == 2 {
			e.U32()
			p.off = int64(e.U32())
		} else {
			e.i64()
			p.off = e.i64()
		}
		if n := len(entries); p.volume < 0 || p.off < 0 || n > 0 && (p.t.Before(entries[n-1].t) || p.volume < entries[n-1].volume) {
			return entries, &DamageError{File: path, Offset: off, Reason: "the index entry is before the previous one", Code: pdu.ErrLogRec}
		}
		entries = append(entries, p)
		off += int64(size)
	}
}
