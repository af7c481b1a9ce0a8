package writer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pmdaderived/pdu"
)

// Label is the label of an archive, which each of its files begins with.
type Label struct {
	Version  int       // 2 or 3
	PID      int       // of the process that writes it
	Start    time.Time // of the first record
	Host     string    // on which the values were recorded
	TimeZone string    // of that host, in the form of $TZ: "AEST-10"
	ZoneInfo string    // of that host: ":Australia/Melbourne"; only in version 3
}

// Sizes of an archive.
const (
	// MaxVolume is the default of the field MaxVolume of a [Writer].
	MaxVolume = 1 << 30

	maxVersion2 = math.MaxInt32 // largest size of a file of version 2
	indexEvery  = 1 << 17       // bytes of values between two entries of the index
)

// Numbers in the labels of the files that are no volumes.
const (
	volumeMeta  = -1
	volumeIndex = -2
)

// Writer writes an archive. It is for one goroutine. The caller ends it with Close or Discard. Until Close the files are in
// a hidden folder beside their place, so that a process that is killed leaves no archive that lacks its end.
type Writer struct {
	// MaxVolume is the size in bytes of a volume. A record that would make it larger goes to a new volume. Create
	// sets the constant of that name.
	MaxVolume int64

	base              string // path without the endings of the files
	folder            string // of the files until Close
	label             Label
	volume            int // number of the current volume
	meta, index, data *file
	values            pdu.ResultWriter
	lastTime          time.Time // of the last record
	metaSize          int64     // size of meta when the last record was written
	indexedOffset     int64     // offset of the last entry of the index in the volume
	entries           int       // number of entries of the index
	body              []byte    // memory for writeRecord
	err               error     // the first one
}

// Create begins an archive with the files base.meta, base.index and base.0. It fails if the archive has a file of any
// number or compression.
func Create(base string, label Label) (*Writer, error) {
	if label.Version != 2 && label.Version != 3 {
		return nil, fmt.Errorf("archives have version 2 or 3, not %d", label.Version)
	}
	name := filepath.Base(base)
	if name == "." || name == ".." || strings.HasSuffix(base, "/") || strings.ContainsAny(name, ",*?[") {
		return nil, fmt.Errorf("%q is not a valid name of an archive", base)
	}
	if err := absent(base); err != nil {
		return nil, err
	}
	w := &Writer{MaxVolume: MaxVolume, base: base, label: label}
	w.label.Start = w.truncate(label.Start)
	if w.folder, w.err = os.MkdirTemp(filepath.Dir(base), "."+name+".*"); w.err != nil {
		return nil, w.err
	}
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

// endings matches the endings of the names of an archive's files, with those of all compressed files that PCP reads.
var endings = regexp.MustCompile(`^(meta|index|[0-9]+)(\.(xz|lzma|bz2?|gz|[Zz]|zst))?$`)

// absent returns an error if a file of an archive exists.
func absent(base string) error {
	folder, name := filepath.Dir(base), filepath.Base(base)
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if ending, ok := strings.CutPrefix(e.Name(), name+"."); ok && endings.MatchString(ending) {
			return &fs.PathError{Op: "create", Path: filepath.Join(folder, e.Name()), Err: fs.ErrExist}
		}
	}
	return err
}

// create creates a file and writes its label. On an error it sets w.err and returns nil.
func (w *Writer) create(ending string, volume int) *file {
	if w.err != nil {
		return nil
	}
	f, err := newFile(filepath.Join(w.folder, filepath.Base(w.base)+ending))
	if w.err = err; err != nil {
		return nil
	}
	f.write(framed(w.labelBody(volume)))
	return f
}

// labelBody returns the label of a file, without the lengths of a record.
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

// appendText appends a text as a field of n bytes. It cuts a longer text, since the last byte is NUL.
func appendText(b []byte, text string, n int) []byte {
	field := make([]byte, n)
	copy(field[:n-1], text)
	return append(b, field...)
}

// appendTime appends a time. In version 3 the seconds have two words, the low word first.
func (w *Writer) appendTime(b []byte, t time.Time) []byte {
	seconds := uint64(t.Unix())
	b = binary.BigEndian.AppendUint32(b, uint32(seconds))
	if w.label.Version == 2 {
		return binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond()/int(time.Microsecond)))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(seconds>>32))
	return binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond()))
}

// truncate returns a time in the precision of the archive: microseconds in version 2.
func (w *Writer) truncate(t time.Time) time.Time {
	if w.label.Version == 2 {
		return t.Truncate(time.Microsecond)
	}
	return t
}

// framed returns a record: its length, body and its length again.
func framed(body []byte) []byte {
	const frame = 8
	n := uint32(len(body) + frame)
	b := binary.BigEndian.AppendUint32(make([]byte, 0, n), n)
	return binary.BigEndian.AppendUint32(append(b, body...), n)
}

// head returns the size in bytes of the two fields before the value sets of a record: its time and a count.
func (w *Writer) head() int {
	if w.label.Version == 2 {
		return 12
	}
	return 16
}

// resetValues empties Values. Indexes of blocks count from the begin of a PDU with the same head as the record.
func (w *Writer) resetValues() { w.values.ResetAt(pdu.HeaderSize + w.head()) }

// Values returns the writer for the value sets of the next record. The caller adds sets to it, then calls [Writer.Put].
func (w *Writer) Values() *pdu.ResultWriter { return &w.values }

// Put writes a record with the sets of Values, and empties these. at must be after the time of the previous record.
// Without sets it writes nothing.
func (w *Writer) Put(at time.Time) error {
	n, sets := w.values.Len(), w.values.Sets()
	if n == 0 { // the record would be a mark
		return w.err
	}
	w.writeRecord(at, n, sets)
	w.resetValues()
	return w.err
}

// Mark writes a mark record: nothing was recorded between the previous record and the next.
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

// startVolume closes the volume and creates the next one.
func (w *Writer) startVolume() {
	w.writeIndexEntry(w.lastTime)
	w.err = w.data.close()
	w.volume++
	if next := w.create("."+strconv.Itoa(w.volume), w.volume); next != nil {
		w.data, w.indexedOffset = next, math.MinInt64/2
	}
}

// writeIndexEntry writes an entry of the index: records of that time or later begin at the present end of the volume.
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

// keepFirstError sets w.err to the error of a file, if there was none before.
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

// Close writes the last entry of the index, closes the files and moves them to their place, the index last. It returns
// the first error of all calls.
func (w *Writer) Close() error {
	if w.err == nil && !w.lastTime.IsZero() {
		w.writeIndexEntry(w.lastTime)
	}
	w.keepFirstError()
	for _, f := range []*file{w.meta, w.index, w.data} {
		w.err = errors.Join(w.err, f.close())
	}
	if w.err == nil {
		w.err = w.publish()
	}
	return w.err
}

// publish moves the files to their place.
func (w *Writer) publish() error {
	if err := absent(w.base); err != nil {
		return err
	}
	files := []string{".meta", ".index"}
	for volume := range w.volume + 1 {
		files = slices.Insert(files, 1, "."+strconv.Itoa(volume))
	}
	for i, ending := range files {
		if err := os.Rename(filepath.Join(w.folder, filepath.Base(w.base)+ending), w.base+ending); err != nil {
			for _, moved := range files[:i] {
				err = errors.Join(err, os.Remove(w.base+moved))
			}
			return err
		}
	}
	return os.Remove(w.folder)
}

// Discard closes and removes the files, when an archive is not wanted after all, or Close has failed.
func (w *Writer) Discard() error {
	for _, f := range []*file{w.meta, w.index, w.data} {
		if f != nil {
			_ = f.close()
		}
	}
	return os.RemoveAll(w.folder)
}
