package logfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"pmdaderived/pdu"
)

// indexEntry is an entry of the temporal index. All records after t are at or after off in the volume, or in later
// volumes.
type indexEntry struct {
	t      time.Time
	volume int   // its number
	off    int64 // in bytes
}

// readIndex reads a temporal index. With an error it returns the entries before the fault, which are good.
func readIndex(path string, of Label) (entries []indexEntry, err error) {
	f, err := openFile(path, maxMetadata)
	if err != nil {
		return nil, err
	}
	defer f.close()
	s := framesOf(f)
	label, err := readLabel(s)
	if err == nil {
		err = label.expect(path, of)
	}
	if err != nil {
		return nil, err
	}
	size := 20
	if of.Version == 3 {
		size = 32
	}
	r, entry, off := bufio.NewReader(s.r), make([]byte, size), s.off
	damage := func(reason string) error {
		return &DamageError{File: path, Offset: off, Reason: reason, Code: pdu.ErrLogRec}
	}
	for {
		_, err := io.ReadFull(r, entry)
		if errors.Is(err, io.EOF) && f.broken == nil {
			return entries, nil
		}
		if err != nil {
			return entries, damage("the index entry is truncated")
		}
		e := Fields{b: entry}
		p := indexEntry{t: e.Time(of.Version), volume: int(e.I32())}
		if of.Version == 2 {
			e.U32()
			p.off = int64(e.U32())
		} else {
			e.Bytes(8)
			p.off = int64(binary.BigEndian.Uint64(e.Bytes(8)))
		}
		n := len(entries)
		unordered := n > 0 && (p.t.Before(entries[n-1].t) || p.volume < entries[n-1].volume)
		if p.volume < 0 || p.off < 0 || unordered {
			return entries, damage("the index entry is before the previous one")
		}
		entries = append(entries, p)
		off += int64(size)
	}
}
