package pdu

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// Events is the body of a value of type EVENT or HIGHRES_EVENT: an array of event records. It is
// in Value.Bytes; decoding a RESULT does not look into it.
//
//	Body    n, n × (seconds, micro- or nanoseconds, flags, m, m × parameter)
//	        parameter  PMID, type, length (3 bytes), value, pad
//	Errors  counts or lengths that cannot be; the pad of the very last parameter may be missing
//	Source  docs/protocol.md 2.4.4
//
// After Decode, the parameters share an array of the Events, which the next Decode reuses.
type Events struct {
	Records []EventRecord

	params []EventParam // backs the parameters after Decode
}

// EventRecord is one event.
type EventRecord struct {
	Sec, Nsec int64 // Nsec is a multiple of 1000 in an EVENT
	Flags     EventFlags

	// Missed is the number of lost records, with EventMissed only. Stock senders of HIGHRES_EVENT
	// leave it 0.
	Missed int32

	Params []EventParam // none with EventMissed
}

// EventParam is one parameter of an event: the value of a metric.
type EventParam struct {
	PMID  PMID
	Type  Type
	Bits  uint64 // a numeric value, as in Value.Bits
	Bytes []byte // any other value, a string without NUL; borrowed from what was decoded
}

// EventFlags say what a record stands for.
type EventFlags uint32

// The flags; EventMissed excludes the others.
const (
	EventPoint  EventFlags = 1
	EventStart  EventFlags = 2
	EventEnd    EventFlags = 4
	EventID     EventFlags = 8  // the first parameter identifies the event
	EventParent EventFlags = 16 // the second parameter identifies its parent
	EventMissed EventFlags = 0x80000000
)

// String gives the names, joined by "|".
func (f EventFlags) String() string {
	s := bitNames(uint32(f&^EventMissed), "POINT", "START", "END", "ID", "PARENT")
	switch {
	case f == EventMissed:
		return "MISSED"
	case f&EventMissed != 0:
		return s + "|MISSED"
	}
	return s
}

// Sizes of the parts of an event array, in bytes.
const (
	eventHead        = 16 // record of an EVENT without its parameters
	highResEventHead = 24
	paramHead        = 8 // PMID, type and length
)

// Decode reads the body of a value of type t, TypeEvent or TypeHighResEvent. The error is a
// *DecodeError whose offset counts from the start of the value block.
func (e *Events) Decode(t Type, body []byte) error {
	c := cursor{kind: KindResult, body: body}
	e.Records, e.params = e.Records[:0], e.params[:0]
	head := eventHead
	switch t {
	case TypeEvent:
	case TypeHighResEvent:
		head = highResEventHead
	default:
		c.fail(0, "vtype", t.String()+" is not a type of events")
	}
	n := c.count("nrecords", 0, head)
	total, err := c.scanParams(t, n)
	if err != nil {
		return blockError(err)
	}
	e.Records, e.params = resized(e.Records, n), resized(e.params, total)
	rest := e.params
	for i := range e.Records {
		r, m := c.eventHead(t)
		if m > 0 {
			r.Params, rest = rest[:m:m], rest[m:]
		}
		for j := range r.Params {
			r.Params[j] = c.param()
		}
		e.Records[i] = r
	}
	return blockError(c.done())
}

// blockError makes the offset of a DecodeError count from the start of a value block.
func blockError(err error) error {
	if err == nil { // the steady state; errors.As would allocate
		return nil
	}
	var d *DecodeError
	if errors.As(err, &d) {
		d.Offset += blockHead - HeaderSize
	}
	return err
}

// scanParams returns the number of parameters in n records. It works on a copy of the cursor.
func (c cursor) scanParams(t Type, n int) (total int, err error) {
	for i := range n {
		c.item = i
		r, m := c.eventHead(t)
		if r.Flags&EventMissed != 0 {
			continue
		}
		for range m {
			c.param()
		}
		total += m
		if c.err != nil {
			break
		}
	}
	return total, c.done()
}

// eventHead reads a record up to its parameters; m is their number.
func (c *cursor) eventHead(t Type) (r EventRecord, m int) {
	if t == TypeHighResEvent {
		r.Sec, r.Nsec = c.i64("record[].sec"), c.i64("record[].nsec")
	} else {
		r.Sec, r.Nsec = int64(c.i32("record[].sec")), int64(c.i32("record[].usec"))*1000
	}
	r.Flags = EventFlags(c.u32("record[].flags"))
	if r.Flags&EventMissed != 0 {
		r.Missed = c.i32("record[].nparams")
		return r, 0
	}
	return r, c.count("record[].nparams", 0, paramHead)
}

// param reads one parameter.
func (c *cursor) param() (p EventParam) {
	p.PMID = PMID(c.u32("record[].param.pmid"))
	at := c.off
	word := c.u32("record[].param.len")
	length := int(word & 0xffffff)
	p.Type = Type(word >> 24)
	if c.err != nil {
		return p
	}
	if length < blockHead || p.Type.Numeric() && length != blockHead+p.Type.size() {
		c.fail(at, "record[].param.len", strconv.Itoa(length)+" bytes for a value of type "+p.Type.String())
		return p
	}
	data := c.text(length-blockHead, "record[].param.value")
	switch {
	case c.err != nil:
	case p.Type.size() == 4:
		p.Bits = uint64(binary.BigEndian.Uint32(data))
	case p.Type.size() == 8:
		p.Bits = binary.BigEndian.Uint64(data)
	default:
		p.Bytes = data[:len(data):len(data)]
	}
	return p
}

// Append appends the body of a value of type t, TypeEvent or TypeHighResEvent, for
// ResultWriter.Strings or Value.Bytes. A parameter's Bytes must not exceed MaxBlockBody.
func (e *Events) Append(dst []byte, t Type) []byte {
	dst = appendI32(dst, int32(len(e.Records)))
	for i := range e.Records {
		r := &e.Records[i]
		if t == TypeHighResEvent {
			dst = appendU64(appendU64(dst, uint64(r.Sec)), uint64(r.Nsec))
		} else {
			dst = appendI32(appendI32(dst, int32(r.Sec)), int32(r.Nsec/1000))
		}
		dst = appendU32(dst, uint32(r.Flags))
		if r.Flags&EventMissed != 0 {
			dst = appendI32(dst, r.Missed)
			continue
		}
		dst = appendI32(dst, int32(len(r.Params)))
		for j := range r.Params {
			dst = appendParam(dst, &r.Params[j])
		}
	}
	return dst
}

func appendParam(dst []byte, p *EventParam) []byte {
	size := p.Type.size()
	if size == 0 {
		size = len(p.Bytes)
	}
	dst = appendU32(dst, uint32(p.PMID))
	dst = appendU32(dst, uint32(p.Type)<<24|uint32(blockHead+size))
	switch p.Type.size() {
	case 4:
		return appendU32(dst, uint32(p.Bits))
	case 8:
		return appendU64(dst, p.Bits)
	}
	dst = append(dst, p.Bytes...)
	return append(dst, padding[:pad4(size)-size]...)
}
