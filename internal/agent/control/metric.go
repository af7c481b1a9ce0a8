package control

import (
	"iter"
	"math"
	"sync/atomic"
	"time"

	"pmdaderived/internal/printable"
	"pmdaderived/pdu"
)

// Metric is a row of [Table].
type Metric struct {
	Item int    // item of the PMID; never used for another metric
	Name string // without derived.control
	Shape
	Short string // one line
	Long  string // lines of at most 100 characters; "": Short says everything

	// Stored says what storing a value does, and follows Short in help texts. "": no value can be stored.
	Stored string

	// Exported: package mmv exports the metric, too. Such a metric is singular and a number, and any goroutine may call
	// its Fill. Fill of the other metrics is called by the goroutine of the request loop only.
	Exported bool

	Content
}

// Shape has the metadata that several metrics have in common.
type Shape struct {
	Type  pdu.Type
	Sem   pdu.Semantics
	Units pdu.Units
}

// Content says how to read the values of a metric.
type Content struct {
	Serial int           // of its instance domain, or Singular
	Fill   func(*Values) // appends the values after a Reset
}

// Values has the values of one metric at one time: a number or a text for each instance.
type Values struct {
	Now     time.Time
	Insts   []pdu.Inst // pdu.NoInst for a singular metric
	Numbers []uint64   // as in derived.Vector.Bits
	Texts   [][]byte

	bytes    []byte // memory of Texts
	selected pdu.Selection
}

// Reset removes all values, keeps their memory, and selects all instances.
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
		v.bytes = printable.Append(v.bytes, s, "\n\t")
		v.Insts, v.Texts = append(v.Insts, inst), append(v.Texts, v.bytes[start:])
	}
}

// since appends the time since t in milliseconds. It appends nothing if t is zero.
func (v *Values) since(inst pdu.Inst, t time.Time) {
	if !t.IsZero() {
		v.number(inst, millisec(v.Now.Sub(t)))
	}
}

// millisec returns a duration in milliseconds, as the bits of a DOUBLE.
func millisec(d time.Duration) uint64 { return math.Float64bits(float64(d) / 1e6) }

// count returns the content of a singular metric with the value of an atomic counter.
func count[N int64 | uint64](n interface{ Load() N }) Content {
	return Number(func() uint64 { return uint64(n.Load()) })
}

// boolean returns the content of a singular metric that is 1 or 0.
func boolean(is *atomic.Bool) Content {
	return Number(func() uint64 {
		if is.Load() {
			return 1
		}
		return 0
	})
}

// Number returns the content of a singular metric with the value of n.
func Number(n func() uint64) Content {
	return Content{Singular, func(v *Values) { v.number(pdu.NoInst, n()) }}
}

// duration returns the content of a singular metric in milliseconds.
func duration(d func() time.Duration) Content {
	return Number(func() uint64 { return millisec(d()) })
}

// nanoseconds returns the content of a singular metric in milliseconds, from a counter of nanoseconds.
func nanoseconds(d *atomic.Int64) Content {
	return duration(func() time.Duration { return time.Duration(d.Load()) })
}

// histogram returns the content of a metric with a value for each bucket.
func histogram(h *Histogram) Content {
	return Content{bucketSerial, func(v *Values) {
		var counts Buckets
		h.AddTo(&counts)
		for i, n := range counts {
			v.number(pdu.Inst(i), n)
		}
	}}
}

// perInstance returns the content of a metric to which add appends at most one value for each element of all.
func perInstance[T any](serial int, all iter.Seq[T], add func(*Values, T)) Content {
	return Content{serial, func(v *Values) {
		for one := range all {
			add(v, one)
		}
	}}
}
