package logfile

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"pmdaderived/pdu"
)

// Record is a record of a volume.
type Record struct {
	Time time.Time
	Mark bool // nothing was recorded between the previous record and the next

	version int
	body    []byte // the contents without the lengths; valid until the reader's next record
}

// recordTime returns the time of a record; ok is false if it is too short.
func recordTime(body []byte, version int) (t time.Time, ok bool) {
	f := Fields{b: body}
	t = f.Time(version)
	f.U32() // number of metrics
	return t, !f.failed
}

// Reader reads the records of all volumes of all archives one after the other. Between two archives, and where a volume
// is missing, it returns a mark. It is for one goroutine.
type Reader struct {
	log    *Log
	part   int       // index in log.parts; len(log.parts): the end
	volume int       // index in the volumes of the part
	open   *volume   // the volume that is open, nil if none is
	frames *frames   // of the open volume
	last   time.Time // of the previous record in this part
	newest time.Time // of the records since the last move; zero: none
	mark   bool      // the next record is the mark between two parts
	at     Position  // of the record that was read last
}

// NewReader returns a reader at the begin. The caller calls Close to release its file.
func (l *Log) NewReader() *Reader { return &Reader{log: l} }

// Position is a position of a reader. The reader can move back to it.
type Position struct {
	part, volume int
	off          int64     // 0: the begin of the volume
	mark         bool      // as in Reader
	last         time.Time // as in Reader
}

// Before reports whether p is before q.
func (p Position) Before(q Position) bool {
	return cmp.Or(cmp.Compare(p.part, q.part), cmp.Compare(p.volume, q.volume), cmp.Compare(p.off, q.off)) < 0
}

// Position returns the position of the next record.
func (r *Reader) Position() Position {
	p := Position{part: r.part, volume: r.volume, mark: r.mark, last: r.last}
	if r.open != nil {
		p.off = r.frames.off
	}
	return p
}

// Last returns the position of the record that was read last.
func (r *Reader) Last() Position { return r.at }

// Move moves the reader to a position, which a reader of the same Log has returned.
func (r *Reader) Move(p Position) error {
	r.mark, r.last, r.newest = p.mark, p.last, time.Time{}
	if r.open == nil || r.part != p.part || r.volume != p.volume {
		r.Close()
		r.part, r.volume = p.part, p.volume
		if p.off == 0 || p.part == len(r.log.parts) {
			return nil // Next opens it
		}
		if err := r.openVolume(); err != nil {
			return err
		}
	}
	if p.off == 0 {
		r.Close()
	} else {
		r.frames.seek(p.off)
	}
	return nil
}

// Close releases the file of the reader, which can still be used.
func (r *Reader) Close() {
	if r.open != nil {
		r.log.pool.release(r.open)
		r.open = nil
	}
}

// openVolume opens the volume of the reader's position and reads its label.
func (r *Reader) openVolume() error {
	v := r.log.parts[r.part].volumes[r.volume]
	f, err := r.log.pool.acquire(v)
	if err != nil {
		return err
	}
	r.open = v
	r.frames = framesOf(f)
	label, err := readLabel(r.frames)
	if err == nil {
		err = label.expect(v.path, v.archive)
	}
	if err != nil {
		r.Close()
	}
	return err
}

// Next returns the next record, which is valid until the next call. The error is io.EOF at the end. Any other error
// means that a record, or the rest of a volume, is not read: the next call continues after it.
func (r *Reader) Next() (Record, error) {
	for {
		if r.part == len(r.log.parts) {
			return Record{}, io.EOF
		}
		if r.mark {
			r.at, r.mark = r.Position(), false
			return Record{Time: r.last.Add(time.Millisecond), Mark: true}, nil
		}
		if r.open == nil {
			if err := r.openVolume(); err != nil {
				r.nextVolume()
				return Record{}, err
			}
		}
		if out := r.open.leftOutAt(r.frames.off); out != nil {
			r.frames.seek(out.end)
			return Record{}, out.damage(r.open.path)
		}
		r.at = r.Position()
		body, err := r.frames.next()
		if n := len(r.open.indexed); errors.Is(err, io.EOF) && n > 0 && r.open.indexed[n-1] > r.frames.off {
			err = r.frames.damage("the volume ends here, but the index has a record at byte %d", r.open.indexed[n-1])
		}
		if err != nil {
			if next, ok := r.open.resume(r.frames.file, r.frames.off); ok {
				r.frames.seek(next)
				r.mark = true
				return Record{}, err
			}
			r.nextVolume()
			if errors.Is(err, io.EOF) {
				continue
			}
			return Record{}, err
		}
		record := Record{version: r.open.archive.Version, body: body}
		if reason := record.readHead(); reason != "" {
			return Record{}, &DamageError{File: r.open.path, Offset: r.at.off, Reason: reason, Code: pdu.ErrLogRec}
		}
		if record.Time.Before(r.newest) { // than the last record of an earlier volume
			return Record{}, outOfOrder(r.open.path, r.at.off, r.newest, record.Time, 1)
		}
		r.last, r.newest = record.Time, record.Time
		return record, nil
	}
}

// readHead sets the time and the mark of a record. It returns the fault of a record whose value sets do not fit its
// length, otherwise "".
func (r *Record) readHead() (wrong string) {
	f := Fields{b: r.body}
	r.Time = f.Time(r.version)
	sets := int(f.I32())
	r.Mark = sets == 0
	if f.failed || sets < 0 {
		return "the record has no valid head"
	}
	for set := range sets {
		f.U32() // PMID
		if count := int(f.I32()); count > 0 {
			inSitu := pdu.ValueFormat(f.I32()) == pdu.InSitu
			for n := range count {
				f.U32() // instance
				if value := f.U32(); f.failed || !inSitu && !hasBlock(r.body, value) {
					return fmt.Sprintf("value %d of value set %d is not in the record", n+1, set+1)
				}
			}
		}
		if f.failed {
			return fmt.Sprintf("the record has no value set %d", set+1)
		}
	}
	return ""
}

// hasBlock reports whether a value block is in a record. The index counts words from the begin of the PDU.
func hasBlock(body []byte, index uint32) bool {
	const blockHead = 4 // type and length
	at := int64(index)*4 - pdu.HeaderSize
	if at < 0 || at > int64(len(body)-blockHead) {
		return false
	}
	size := int64(binary.BigEndian.Uint32(body[at:]) & 0xffffff)
	return size >= blockHead && at+size <= int64(len(body))
}

// headSize returns the size in bytes of the two fields before the value sets of a record: its time and a count.
func headSize(version int) int {
	if version == 2 {
		return 12
	}
	return 16
}

// nextVolume moves to the begin of the next volume.
func (r *Reader) nextVolume() {
	r.Close()
	volumes := r.log.parts[r.part].volumes
	r.volume++
	if r.volume < len(volumes) {
		r.mark = volumes[r.volume].number > volumes[r.volume-1].number+1 // volumes are missing
		return
	}
	r.part, r.volume, r.newest = r.part+1, 0, time.Time{}
	r.mark = r.part < len(r.log.parts)
}

// timedPosition is a position with a time: all records after t are at or after the position.
type timedPosition struct {
	t time.Time
	Position
}

// findPositions sets l.positions: the begin of each archive and the entries of its index.
func (l *Log) findPositions() {
	for i, p := range l.parts {
		l.positions = append(l.positions, timedPosition{p.Start, Position{part: i, last: p.Start}})
		for _, e := range p.index {
			v := slices.IndexFunc(p.volumes, func(v *volume) bool { return v.number == e.volume })
			if v < 0 || e.off == 0 || e.t.Before(l.positions[len(l.positions)-1].t) {
				continue
			}
			l.positions = append(l.positions, timedPosition{e.t, Position{part: i, volume: v, off: e.off, last: e.t}})
		}
	}
}

// PositionBefore returns the number of the last indexed position before all records from t on, for Seek.
func (l *Log) PositionBefore(t time.Time) int {
	i, _ := slices.BinarySearchFunc(l.positions, t, func(p timedPosition, t time.Time) int { return p.t.Compare(t) })
	return max(0, i-1)
}

// Seek moves to the indexed position with that number and returns the number. If no record begins there, because the
// index is wrong, it moves to an earlier one. Position 0 is the begin.
func (r *Reader) Seek(number int) (at int) {
	for ; number > 0; number-- {
		if err := r.Move(r.log.positions[number].Position); err == nil && (r.open == nil || r.frames.atRecord()) {
			return number
		}
	}
	_ = r.Move(Position{})
	return 0
}
