package logfile

import (
	"fmt"
	"time"

	"pmdaderived/pdu"
)

// Label is what an archive says of itself (pmLogLabel).
type Label struct {
	Path     string    // the base name of its files
	Version  int       // 2 or 3
	PID      int       // of the pmlogger that wrote it
	Start    time.Time // of the first record
	Host     string    // that the values are of
	TimeZone string    // of that host, as $TZ has it: "AEST-10"
	ZoneInfo string    // of that host, ":Australia/Melbourne"; only from version 3 on
}

// magic is the first word of a label, but for the version in its last byte.
const magic = 0x50052600

// Sizes of what the labels of the versions have for texts, in bytes.
const (
	hostV2, zoneV2 = 64, 40
	textV3         = 256
)

// readLabel reads the label that each file of an archive begins with.
func readLabel(s *frames) (Label, error) {
	bad := func(format string, args ...any) (Label, error) {
		return Label{}, &DamageError{File: s.file.path, Reason: fmt.Sprintf(format, args...), Code: pdu.ErrLabel}
	}
	body, err := s.next()
	if err != nil {
		return bad("the file has no label")
	}
	f := Fields{b: body}
	word := f.U32()
	l := Label{Version: int(word & 0xff)}
	switch {
	case word&^0xff != magic:
		return bad("not a file of an archive")
	case l.Version != 2 && l.Version != 3:
		return bad("version %d of the format is not supported", l.Version)
	}
	l.PID = int(f.I32())
	l.Start = f.Time(l.Version)
	f.U32() // the number of the volume
	if l.Version == 2 {
		l.Host, l.TimeZone = f.Text(hostV2), f.Text(zoneV2)
	} else {
		if features := f.U32(); features != 0 {
			return bad("the archive has unknown features: %#x", features)
		}
		f.U32() // reserved
		l.Host, l.TimeZone, l.ZoneInfo = f.Text(textV3), f.Text(textV3), f.Text(textV3)
	}
	if f.failed {
		return bad("the label is too short")
	}
	return l, nil
}

// expect reports whether a file has the version of its archive.
func (l Label) expect(path string, version int) error {
	if l.Version == version {
		return nil
	}
	return &DamageError{File: path, Reason: fmt.Sprintf("the file has version %d, but the archive has version %d", l.Version, version), Code: pdu.ErrLabel}
}
