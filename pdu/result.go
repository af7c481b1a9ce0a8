package pdu

import "fmt"

// Result has values: it is the answer to a fetch, or the request to store them.
//
//	Sent    agent → pmcd → client: answer to FETCH, one set for each PMID, in its order;
//	        client → pmcd → agent: a store, answered by ERROR
//	Body    seconds, microseconds, n; n × value set; value blocks
//	        value set    PMID, number of values or code[, format, n × (instance, word)]
//	        word         the value (format InSitu) or the index of its block
//	        value block  type, length (3 bytes), body, pad
//	Errors  counts or indexes beyond the end, unknown formats; numbers of another size than their type's; values
//	        whose blocks have more or fewer bytes in all than were sent
//	Source  docs/protocol.md 2.3, 2.4
//
// Decode works as [Columns.Decode]: after an error, the sets without a fault are good. The values share an array of
// the Result, which the next Decode overwrites. The Bytes of values are borrowed from the frame.
type Result struct {
	// Sec and Usec are the time of the fetch since 1970, from pmcd to a client. From an agent, Sec is a
	// [Change] and Usec is 0. In a store they have no meaning.
	Sec, Usec int32
	Sets      []ValueSet // in the order of the FETCH

	columns Columns // of the last Decode
}

// HighResResult is a Result with a time stamp in nanoseconds.
//
//	Sent    pmcd → client: answer to HIGHRES_FETCH
//	Body    n, seconds (8 bytes), nanoseconds (8 bytes); the rest as in RESULT
//	Errors  as in RESULT; nanoseconds outside 0..999999999
//	Source  docs/protocol.md 2.3, 2.4
type HighResResult struct {
	Sec, Nsec int64 // time of the fetch since 1970
	Sets      []ValueSet

	columns Columns // of the last Decode
}

// Sizes of the parts of a RESULT, in bytes.
const (
	emptySetHead = 8  // PMID and count
	setHead      = 12 // and format
	valueSize    = 8  // instance and value
	blockHead    = 4  // type and length of a value block; the length includes it
)

// Kind returns KindResult.
func (m *Result) Kind() Kind { return KindResult }

// Decode reads the body of a RESULT. The error is that of [Columns.Decode].
func (m *Result) Decode(body []byte) (err error) {
	err = m.columns.Decode(Frame{Kind: KindResult, Body: body})
	m.Sec, m.Usec = int32(m.columns.sec), int32(m.columns.fraction)
	m.Sets = m.columns.ValueSets()
	return err
}

// Append appends the PDU. A set with a value larger than MaxBlockBody is sent with ErrTooBig and no values.
func (m *Result) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindResult, from)
	e.i32(m.Sec)
	e.i32(m.Usec)
	e.i32(int32(len(m.Sets)))
	e.sets(m.Sets)
	return e.withLength()
}

func (m *Result) String() string {
	return items("time", fmt.Sprintf("%d.%06d", m.Sec, m.Usec), "sets", list(m.Sets, traceSet))
}

// Kind returns KindHighResResult.
func (m *HighResResult) Kind() Kind { return KindHighResResult }

// Decode reads the body of a HIGHRES_RESULT. The error is that of [Columns.Decode].
func (m *HighResResult) Decode(body []byte) (err error) {
	err = m.columns.Decode(Frame{Kind: KindHighResResult, Body: body})
	m.Sec, m.Nsec = m.columns.sec, m.columns.fraction
	m.Sets = m.columns.ValueSets()
	return err
}

// Append appends the PDU. A set with a value larger than MaxBlockBody is sent with ErrTooBig and no values.
func (m *HighResResult) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindHighResResult, from)
	e.i32(int32(len(m.Sets)))
	e.u64(uint64(m.Sec))
	e.u64(uint64(m.Nsec))
	e.sets(m.Sets)
	return e.withLength()
}

func (m *HighResResult) String() string {
	return items("time", fmt.Sprintf("%d.%09d", m.Sec, m.Nsec), "sets", list(m.Sets, traceSet))
}

// sets writes value sets, then their blocks.
func (e *encoder) sets(sets []ValueSet) {
	var w ResultWriter
	w.ResetAt(len(e.frame) - e.start)
	for i := range sets {
		w.Set(&sets[i])
	}
	e.frame = append(e.frame, w.Sets()...)
}

func traceSet(set ValueSet) string { return set.String() }
