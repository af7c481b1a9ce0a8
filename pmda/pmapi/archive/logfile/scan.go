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
	if label, err := readLabel(s); err != nil || label.Version != v.version {
		return
	}
	ordered := true
	for h := range f.heads(s.off, v.version) {
		if h.t.Before(v.end) {
			ordered = false
			break
		}
		v.end = h.t
	}
	if !ordered {
		v.findLeftOut(f, s.off)
	}
}

// head is the place and the time of a record.
type head struct {
	off, end int64 // in bytes
	t        time.Time
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

// findLeftOut finds the records to leave out: the fewest without which time does not go back.
func (v *volume) findLeftOut(f *file, first int64) {
	all := slices.Collect(f.heads(first, v.version))
	kept := longestAscending(all)
	v.end = all[kept[len(kept)-1]].t
	next := 0 // index of the first record after the last one that was kept
	for _, i := range append(kept, len(all)) {
		if next < i {
			l := leftOut{off: all[next].off, end: all[i-1].end, n: i - next}
			if next > 0 && all[next].t.Before(all[next-1].t) {
				l.from, l.to = all[next-1].t, all[next].t
			} else {
				l.from, l.to = all[i-1].t, all[i].t
			}
			v.leftOut = append(v.leftOut, l)
		}
		next = i + 1
	}
}

// longestAscending returns the indexes of a longest part of a list in which no time is before the previous one.
func longestAscending(all []head) []int {
	var ends []int // by length: the index at which the part of that length with the earliest end ends
	previous := make([]int, len(all))
	for i := range all {
		at := sort.Search(len(ends), func(k int) bool { return all[ends[k]].t.After(all[i].t) })
		if at == len(ends) {
			ends = append(ends, 0)
		}
		ends[at], previous[i] = i, -1
		if at > 0 {
			previous[i] = ends[at-1]
		}
	}
	var kept []int
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
	text := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	reason := fmt.Sprintf("time goes back from %s to %s; records left out: %d", text(from), text(to), n)
	return &DamageError{File: path, Offset: off, Reason: reason, Code: pdu.ErrLogRec}
}
