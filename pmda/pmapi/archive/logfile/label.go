package logfile

import (
	"fmt"
	"time"

	"pmdaderived/pdu"
)

// Label is the label of an archive (pmLogLabel), which each of its files begins with.
type Label struct {
	Path     string    // the base name of its files
	Version  int       // 2 or 3
	PID      int       // of the pmlogger that wrote it
	Start    time.Time // of the first record
	Host     string    // on which the values were recorded
	TimeZone string    // of that host, in the form of $TZ: "AEST-10"
	ZoneInfo string    // of that host, ":Australia/Melbourne"; only in version 3
}

// magic is the first word of a label; its last byte is the version.
const magic = 0x50052600

// Sizes of the texts in the labels of the two versions, in bytes.
const (
	hostV2, zoneV2 = 64, 40
	textV3         = 256
)

// readLabel reads the first record of a file, its label. The error is a *DamageError.
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

// expect returns an error if the file at path does not belong to the archive of another label.
func (l Label) expect(path string, of Label) error {
	reason := ""
	switch {
	case l.Version != of.Version:
		reason = fmt.Sprintf("the file has version %d, but the archive has version %d", l.Version, of.Version)
	case l.PID != of.PID || l.Host != of.Host:
		reason = fmt.Sprintf("the file is of process %d on %s, but the archive is of process %d on %s", l.PID, l.Host, of.PID,
			of.Host)
	default:
		return nil
	}
	return &DamageError{File: path, Reason: reason, Code: pdu.ErrLabel}
}
