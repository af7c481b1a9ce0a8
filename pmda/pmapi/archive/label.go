package archive

import (
	"fmt"
	"time"

	"pmdaderived/pdu"
)

// LogLabel is what an archive says of itself (pmLogLabel).
type LogLabel struct {
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
func readLabel(s *frames) (LogLabel, error) {
	bad := func(format string, args ...any) (LogLabel, error) {
		return LogLabel{}, &DamageError{File: s.file.path, Reason: fmt.Sprintf(format, args...), Code: pdu.ErrLabel}
	}
	body, err := s.next()
	if err != nil {
		return bad("there is no label")
	}
	f := fields{b: body}
	word := f.u32()
	l := LogLabel{Version: int(word & 0xff)}
	switch {
	case word&^0xff != magic:
		return bad("this is not a file of an archive")
	case l.Version != 2 && l.Version != 3:
		return bad("archives of version %d are not read", l.Version)
	}
	l.PID = int(f.i32())
	l.Start = f.time(l.Version)
	f.u32() // the number of the volume
	if l.Version == 2 {
		l.Host, l.TimeZone = f.text(hostV2), f.text(zoneV2)
	} else {
		if features := f.u32(); features != 0 {
			return bad("the archive has features that are not known: %#x", features)
		}
		f.u32() // reserved
		l.Host, l.TimeZone, l.ZoneInfo = f.text(textV3), f.text(textV3), f.text(textV3)
	}
	if f.failed {
		return bad("the label is too short")
	}
	return l, nil
}
