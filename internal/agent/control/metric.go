package control

import (
	"iter"
	"math"
	"strconv"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"pmdaderived/pdu"
)

// Metric is a row of the [Table].
type Metric struct {
	Item int    // of the PMID; never given to another metric
	Name string // below derived.control
	Shape
	Short string // one line
	Long  string // lines of 100 characters at most; "": there is no more to say than Short

	// Stored is said after Short, since it holds here only: what storing a value does. "": none can be stored.
	Stored string

	// Exported says that the MMV file has this metric too, which see package mmv. It is singular and a number, and may be read
	// on any goroutine. The others belong to the goroutine of the request loop.
	Exported bool

	Content
}

// Shape is what metrics of a kind have in common.
type Shape struct {
	Type  pdu.Type
	Sem   pdu.Semantics
	Units pdu.Units
}

// Content is where the values of a metric come from.
type Content struct {
	Serial int           // of our own instance domain; Singular: it has none
	Fill   func(*Values) // after Reset
}

// Values are the values of one metric at one time: a number or a text for each instance.
type Values struct {
	Now     time.Time
	Insts   []pdu.Inst // pdu.NoInst for that of a singular metric
	Numbers []uint64   // as in derived.Vector.Bits
	Texts   [][]byte

	bytes    []byte // of the texts
	selected pdu.Selection
}

// Reset forgets the values but not the memory for them, and selects all instances.
func (v *Values) Reset() {
	v.Insts, v.Numbers, v.Texts, v.bytes = v.Insts[:0], v.Numbers[:0], v.Texts[:0], v.bytes[:0]
	v.selected = pdu.Selection{}
}

func (v *Values) number(inst pdu.Inst, n uint64) {
	if v.selected.Includes(inst) {
		v.Insts, v.Numbers = append(v.Insts, inst), append(v.Numbers, n)
	}
}

func (v *Values) text(inst pdu.Inst, s string) {
	if v.selected.Includes(inst) {
		start := len(v.bytes)
		v.bytes = appendPrintable(v.bytes, s)
		v.Insts, v.Texts = append(v.Insts, inst), append(v.Texts, v.bytes[start:])
	}
}

// appendPrintable appends a text without what moves a terminal's cursor elsewhere or hides itself, nor what is no UTF-8: that
// is written as Go writes it, such as \x1b. Ends of lines and tabs stay.
func appendPrintable(b []byte, s string) []byte {
	plain := 0 // bytes that can be appended as they are
	for plain < len(s) && (s[plain] >= ' ' && s[plain] < 0x7f || s[plain] == '\n' || s[plain] == '\t') {
		plain++
	}
	b = append(b, s[:plain]...)
	for s = s[plain:]; s != ""; {
		r, size := utf8.DecodeRuneInString(s)
		if r == '\n' || r == '\t' || unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b = append(b, s[:size]...)
		} else {
			start := len(b)
			b = strconv.AppendQuote(b, s[:size])
			b = append(b[:start], b[start+1:len(b)-1]...)
		}
		s = s[size:]
	}
	return b
}

// since is how long ago something was, in milliseconds; nothing if it never was.
func (v *Values) since(inst pdu.Inst, t time.Time) {
	if !t.IsZero() {
		v.number(inst, millisec(v.Now.Sub(t)))
	}
}

// millisec is a duration as a number of type DOUBLE in milliseconds.
func millisec(d time.Duration) uint64 { return math.Float64bits(float64(d) / 1e6) }

// count is the value of a singular metric that is counted.
func count[N int64 | uint64](n interface{ Load() N }) Content {
	return Number(func() uint64 { return uint64(n.Load()) })
}

// boolean is 1 or 0.
func boolean(is *atomic.Bool) Content {
	return Number(func() uint64 {
		if is.Load() {
			return 1
		}
		return 0
	})
}

// Number is the content of a singular metric.
func Number(n func() uint64) Content {
	return Content{Singular, func(v *Values) { v.number(pdu.NoInst, n()) }}
}

// duration is shown in milliseconds.
func duration(d func() time.Duration) Content {
	return Number(func() uint64 { return millisec(d()) })
}

// nanoseconds is a duration in ns that is shown in milliseconds.
func nanoseconds(d *atomic.Int64) Content {
	return duration(func() time.Duration { return time.Duration(d.Load()) })
}

// histogram is a number for each bucket of a histogram.
func histogram(h *Histogram) Content {
	return Content{bucketSerial, func(v *Values) {
		var counts Buckets
		h.AddTo(&counts)
		for i, n := range counts {
			v.number(pdu.Inst(i), n)
		}
	}}
}

// perInstance has a value for each that add adds one for.
func perInstance[T any](serial int, all iter.Seq[T], add func(*Values, T)) Content {
	return Content{serial, func(v *Values) {
		for one := range all {
			add(v, one)
		}
	}}
}
