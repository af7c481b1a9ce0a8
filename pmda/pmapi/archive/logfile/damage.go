package logfile

import (
	"fmt"

	"pmdaderived/pdu"
)

// DamageError is a fault of a file of an archive, with its position.
type DamageError struct {
	File   string // path
	Offset int64  // of the record or entry, in bytes of the decompressed file
	Reason string
	Code   pdu.Code // ErrLogRec for a record or an index entry, ErrLabel for a label
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s at byte %d: %s", e.File, e.Offset, e.Reason)
}

// Unwrap returns the code.
func (e *DamageError) Unwrap() error { return e.Code }
