package logfile

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"
	"time"

	"pmdaderived/pdu"
)

// scan finds the end of a volume and the records that are out of order. It reads the heads of all records.
func (v *volume) scan(f *file) {
	v.scanned = true
	s := framesOf(f)
	label, err := readLabel(s)
	if err == nil {
		err = label.expect(v.path, v.archive)
	}
	if v.foreign = err; err != nil {
		return
	}
	newest := label.Start
	for h := range v.heads(f, s.off) {
		if h.t.Before(newest) {
			v.findLeftOut(label.Start, slices.Collect(v.heads(f, s.off)))
			return
		}
		newest, v.end = h.t, h.t
	}
}

// head is the place and the time of a record.
type head struct {
	off, end int64 // in bytes
	t        time.Time
}

// heads yields the heads of the records that can be read, from an offset on.
func (v *volume) heads(f *file, off int64) iter.Seq[head] {
	return func(yield func(head) bool) {
		for ok := true; ok; off, ok = v.resume(f, off) {
			for h := range f.heads(off, v.archive.Version) {
				if !yield(h) {
					return
				}
				off = h.end
			}
		}
	}
}

// heads yields the heads of records from an offset on, up to the first record that is not whole.
func (f *file) heads(off int64, version int) iter.Seq[head] {
	const buffer = 64 << 10
	from := func(off int64) io.Reader { return io.NewSectionReader(f.os, off, max(0, f.size-off)) }
	return func(yield func(head) bool) {
		r := bufio.NewReaderSize(from(off), buffer)
		for {
			b, err := r.Peek(4 + headSize(version))
			if err != nil {
				return
			}
			n := int64(binary.BigEndian.Uint32(b))
			t, _ := recordTime(b[4:], version)
			if n < lengths || n > maxRecord || n > f.size-off {
				return
			}
			if n < buffer {
				_, _ = r.Discard(int(n) - 4) // on an error Peek fails, too
			} else {
				r.Reset(from(off + n - 4))
			}
			if tail, err := r.Peek(4); err != nil || int64(binary.BigEndian.Uint32(tail)) != n {
				return
			}
			_, _ = r.Discard(4)
			if !yield(head{off, off + n, t}) {
				return
			}
			off += n
		}
	}
}

// leftOut are neighbouring records that are not read, because their times are out of order.
type leftOut struct {
	off, end int64     // in bytes
	n        int       // number of records
	from, to time.Time // the times of two neighbours between which time goes back
}

// findLeftOut finds the records to leave out: the fewest without which no time is before the start or the previous one.
func (v *volume) findLeftOut(start time.Time, all []head) {
	kept := longestAscending(start, all)
	v.end = time.Time{}
	if len(kept) > 0 {
		v.end = all[kept[len(kept)-1]].t
	}
	next, previous := 0, start // index of the first record after the last one that was kept, and the time of that
	for _, i := range append(kept, len(all)) {
		if next < i {
			l := leftOut{off: all[next].off, end: all[i-1].end, n: i - next, from: previous, to: all[next].t}
			if !l.to.Before(l.from) {
				l.from, l.to = all[i-1].t, all[i].t
			}
			v.leftOut = append(v.leftOut, l)
		}
		if i < len(all) {
			next, previous = i+1, all[i].t
		}
	}
}

// longestAscending returns the indexes of a longest part of a list in which no time is before start or the previous one.
func longestAscending(start time.Time, all []head) (kept []int) {
	var ends []int // by length: the index at which the part of that length with the earliest end ends
	previous := make([]int, len(all))
	for i := range all {
		if all[i].t.Before(start) {
			continue
		}
		at := sort.Search(len(ends), func(k int) bool { return all[ends[k]].t.After(all[i].t) })
		if at == len(ends) {
			ends = append(ends, 0)
		}
		ends[at], previous[i] = i, -1
		if at > 0 {
			previous[i] = ends[at-1]
		}
	}
	if len(ends) == 0 {
		return nil
	}
	for i := ends[len(ends)-1]; i >= 0; i = previous[i] {
		kept = append(kept, i)
	}
	slices.Reverse(kept)
	return kept
}

// leftOutAt returns the records to leave out of which one begins at an offset, nil if that record is to be read.
func (v *volume) leftOutAt(off int64) *leftOut {
	i := sort.Search(len(v.leftOut), func(i int) bool { return v.leftOut[i].end > off })
	if i == len(v.leftOut) || v.leftOut[i].off > off {
		return nil
	}
	return &v.leftOut[i]
}

// damage returns the fault of records that are left out.
func (l *leftOut) damage(path string) *DamageError {
	return outOfOrder(path, l.off, l.from, l.to, l.n)
}

// outOfOrder returns the fault of n records at an offset that are left out because time goes back.
func outOfOrder(path string, off int64, from, to time.Time, n int) *DamageError {
	reason := fmt.Sprintf("time goes back from %s to %s; records left out: %d", TimeText(from), TimeText(to), n)
	return &DamageError{File: path, Offset: off, Reason: reason, Code: pdu.ErrLogRec}
}

// TimeText returns a time in messages about an archive.
func TimeText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
