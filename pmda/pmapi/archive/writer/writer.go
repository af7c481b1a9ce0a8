package writer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"pmdaderived/pdu"
)

// Label is what an archive says of itself.
type Label struct {
	Version  int // 2 or 3
	PID      int // of the process that writes it
	Start    time.Time
	Host     string // that the values are of
	TimeZone string // of that host, as in the variable TZ: "AEST-10"
	ZoneInfo string // of that host: ":Australia/Melbourne"; only from version 3 on
}

// Sizes of an archive.
const (
	// MaxVolume is from how many bytes on a volume is followed by another one, unless [Writer].MaxVolume says otherwise.
	MaxVolume = 1 << 30

	maxVersion2 = math.MaxInt32 // bytes of a file
	indexEvery  = 1 << 17       // bytes of values between two entries of the index
)

// What takes the place of a volume's number in the label of the other files.
const (
	volumeMeta  = -1
	volumeIndex = -2
)

// Writer is an archive that is being written. It belongs to one goroutine.
type Writer struct {
	MaxVolume int64

	base              string
	label             Label
	volume            int
	meta, index, data *file
	values            pdu.ResultWriter
	lastTime          time.Time // of a record
	metaSize          int64     // bytes of meta when the last record was written
	indexedOffset     int64     // where in the volume the last entry of the index points to
	entries           int
	body              []byte // scratch space
	err               error
}

// Create makes the files of an archive: of those that are to be there none must be.
func Create(base string, label Label) (*Writer, error) {
	if label.Version != 2 && label.Version != 3 {
		return nil, fmt.Errorf("archives have version 2 or 3, not %d", label.Version)
	}
	w := &Writer{MaxVolume: MaxVolume, base: base, label: label}
	w.label.Start = w.truncate(label.Start)
	w.meta = w.create(".meta", volumeMeta)
	w.index = w.create(".index", volumeIndex)
	w.data = w.create(".0", 0)
	if w.err != nil {
		return nil, errors.Join(w.err, w.Discard())
	}
	w.metaSize = w.meta.size
	w.resetValues()
	w.writeIndexEntry(w.label.Start)
	return w, nil
}

// create makes a file with its label; nil if that cannot be.
func (w *Writer) create(ending string, volume int) *file {
	if w.err != nil {
		return nil
	}
	f, err := newFile(w.base + ending)
	if w.err = err; err != nil {
		return nil
	}
	f.write(framed(w.labelBody(volume)))
	return f
}

// labelBody is the label of a file.
func (w *Writer) labelBody(volume int) []byte {
	const magic, host2, zone2, text3 = 0x50052600, 64, 40, 256
	l := &w.label
	b := binary.BigEndian.AppendUint32(nil, uint32(magic|l.Version))
	b = binary.BigEndian.AppendUint32(b, uint32(l.PID))
	b = w.appendTime(b, l.Start)
	b = binary.BigEndian.AppendUint32(b, uint32(int32(volume)))
	if l.Version == 2 {
		return appendText(appendText(b, l.Host, host2), l.TimeZone, zone2)
	}
	b = binary.BigEndian.AppendUint64(b, 0) // features, reserved
	return appendText(appendText(appendText(b, l.Host, text3), l.TimeZone, text3), l.ZoneInfo, text3)
}

// appendText appends a text in a field of n bytes, of which the last one is NUL.
func appendText(b []byte, text string, n int) []byte {
	field := make([]byte, n)
	copy(field[:n-1], text)
	return append(b, field...)
}

// appendTime appends a time: of version 3 the seconds as two halves, the lower one first, and nanoseconds.
func (w *Writer) appendTime(b []byte, t time.Time) []byte {
	seconds := uint64(t.Unix())
	b = binary.BigEndian.AppendUint32(b, uint32(seconds))
	if w.label.Version == 2 {
		return binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond()/int(time.Microsecond)))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(seconds>>32))
	return binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond()))
}

// truncate is a time as the archive can have it.
func (w *Writer) truncate(t time.Time) time.Time {
	if w.label.Version == 2 {
		return t.Truncate(time.Microsecond)
	}
	return t
}

// framed puts the length in front of a record and behind it.
func framed(body []byte) []byte {
	const frame = 8
	n := uint32(len(body) + frame)
	b := binary.BigEndian.AppendUint32(make([]byte, 0, n), n)
	return binary.BigEndian.AppendUint32(append(b, body...), n)
}

// head is the length of what a record has in front of its value sets.
func (w *Writer) head() int {
	if w.label.Version == 2 {
		return 12
	}
	return 16
}

// resetValues empties Values. Blocks are counted from where the PDU would begin that the record is like.
func (w *Writer) resetValues() { w.values.ResetAt(pdu.HeaderSize + w.head()) }

// Values are those of the next record, to be filled before [Writer.Put].
func (w *Writer) Values() *pdu.ResultWriter { return &w.values }

// Put writes a record of what Values has, and empties that. The time must be after that of the record before.
func (w *Writer) Put(at time.Time) error {
	n, sets := w.values.Len(), w.values.Sets()
	if n == 0 { // it would be a mark
		return w.err
	}
	w.writeRecord(at, n, sets)
	w.resetValues()
	return w.err
}

// Mark writes that nothing is known of the time between the record before and the next.
func (w *Writer) Mark(at time.Time) error {
	w.writeRecord(at, 0, nil)
	return w.err
}

func (w *Writer) writeRecord(at time.Time, n int, sets []byte) {
	if at = w.truncate(at); w.err == nil && !at.After(w.lastTime) {
		w.err = fmt.Errorf("record of %s after that of %s", at.UTC(), w.lastTime.UTC())
	}
	if w.err != nil {
		return
	}
	w.body = w.appendTime(w.body[:0], at)
	w.body = binary.BigEndian.AppendUint32(w.body, uint32(n))
	w.body = append(w.body, sets...)
	record := framed(w.body)
	if w.data.size+int64(len(record)) > w.MaxVolume && w.entries > 1 {
		w.startVolume()
	}
	if w.err != nil {
		return
	}
	if w.meta.size > w.metaSize || w.data.size-w.indexedOffset >= indexEvery || w.entries < 2 {
		w.writeIndexEntry(at)
	}
	w.data.write(record)
	w.lastTime, w.metaSize = at, w.meta.size
	w.keepFirstError()
}

// startVolume begins another volume.
func (w *Writer) startVolume() {
	w.writeIndexEntry(w.lastTime)
	w.err = w.data.close()
	w.volume++
	if next := w.create("."+strconv.Itoa(w.volume), w.volume); next != nil {
		w.data, w.indexedOffset = next, math.MinInt64/2
	}
}

// writeIndexEntry writes an entry of the index: what is of that time, or later, begins here.
func (w *Writer) writeIndexEntry(at time.Time) {
	b := w.appendTime(nil, at)
	b = binary.BigEndian.AppendUint32(b, uint32(w.volume))
	if w.label.Version == 2 {
		b = binary.BigEndian.AppendUint32(b, uint32(w.metaSize))
		b = binary.BigEndian.AppendUint32(b, uint32(w.data.size))
	} else {
		b = binary.BigEndian.AppendUint64(b, uint64(w.metaSize))
		b = binary.BigEndian.AppendUint64(b, uint64(w.data.size))
	}
	w.index.write(b)
	w.indexedOffset = w.data.size
	w.entries++
}

// keepFirstError keeps the first error.
func (w *Writer) keepFirstError() {
	for _, f := range []*file{w.meta, w.index, w.data} {
		switch {
		case w.err != nil:
			return
		case f.err != nil:
			w.err = f.err
		case w.label.Version == 2 && f.size > maxVersion2:
			w.err = fmt.Errorf("%s: an archive of version 2 cannot have more than 2 GiB in a file", f.Name())
		}
	}
}

// Close ends the archive.
func (w *Writer) Close() error {
	if w.err == nil && !w.lastTime.IsZero() {
		w.writeIndexEntry(w.lastTime)
	}
	w.keepFirstError()
	for _, f := range []*file{w.meta, w.index, w.data} {
		w.err = errors.Join(w.err, f.close())
	}
	return w.err
}

// Discard removes the files of an archive that is not to be.
func (w *Writer) Discard() error {
	var errs []error
	for _, f := range []*file{w.meta, w.index, w.data} {
		if f != nil {
			_ = f.close()
			errs = append(errs, os.Remove(f.Name()))
		}
	}
	for volume := range w.volume {
		errs = append(errs, os.Remove(w.base+"."+strconv.Itoa(volume)))
	}
	return errors.Join(errs...)
}
