package control

import (
	"iter"
	"time"

	"pmdaderived/pdu"
)

// Source is what the metrics are read from. The sequences are for the goroutine of the request loop.
type Source struct {
	Version string
	Figures *Figures
	LeftOut func() uint64 // messages that are missing in the log

	Definitions iter.Seq[Definition]
	Files       iter.Seq[File]
	Limits      iter.Seq[Limit]
}

// Definition is what is shown of a definition.
type Definition struct {
	pdu.Instance
	State   string // see the long text of definition.state
	Problem string // why it is not served as it is written; "": it is
	Text    string // its expression
	PMID    pdu.PMID
	Sampled time.Time // the newest sample of its operands; zero: there is none
	Fetched time.Time // when it was computed for a client last; zero: never
	Values  int       // that it had then
}

// File is what is shown of a file of definitions.
type File struct {
	pdu.Instance           // its name is the path
	Error        string    // why it was not read, or not to its end; "": it was
	Definitions  int       // that could be read
	Failed       int       // that could not
	Modified     time.Time // zero: not known
	Read         time.Time // when
}

// state is what became of the file.
func (f *File) state() string {
	switch {
	case f.Error != "":
		return "unread"
	case f.Failed > 0:
		return "failed"
	}
	return "read"
}

// Limit is what is shown of a limit.
type Limit struct {
	pdu.Instance
	Max  int64 // 0: there is none, or it is not known
	Used int64 // -1: not known
}
