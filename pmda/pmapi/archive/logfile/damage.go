package logfile

import (
	"fmt"

	"pmdaderived/pdu"
)

// DamageError says where a file of an archive is not what it should be, or cannot be read.
type DamageError struct {
	File   string
	Offset int64 // in bytes, decompressed
	Reason string
	Code   pdu.Code // PM_ERR_LOGREC (a record), PM_ERR_LABEL, PM_ERR_LOGFILE, …
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s at byte %d: %s", e.File, e.Offset, e.Reason)
}

// Unwrap gives the code.
func (e *DamageError) Unwrap() error { return e.Code }
