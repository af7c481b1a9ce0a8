package window

import (
	"math"

	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// function is one over time. Of the parts that values come to it makes the result.
type function syntax.Func

const (
	maximum = function(syntax.MaxSample)
	minimum = function(syntax.MinSample)
	sum     = function(syntax.SumSample)
	average = function(syntax.AvgSample)
	count   = function(syntax.CountSample)
	stdev   = function(syntax.StdevSample) // of all values, not of a sample of more of them
	first   = function(syntax.FirstSample)
	last    = function(syntax.LastSample)

	percentile = function(syntax.PercentileSample)
	slope      = function(syntax.SlopeSample)
)

// whole reports whether a result takes all values: parts of some come to how many they are, and no more.
func (f function) whole() bool { return f == percentile || f == slope }

// part is what some values of an instance come to.
type part struct {
	a uint64 // a word, see function.words; of an average the sum, of a standard deviation the mean
	b uint64 // of a standard deviation the sum of the squares of what each is off the mean, as a DOUBLE
	n uint32 // how many values; 0: the rest does not count
}

// join is what older and newer values come to together.
func (f function) join(older, newer part) part {
	switch {
	case older.n == 0:
		return newer
	case newer.n == 0:
		return older
	}
	switch f {
	case maximum, minimum:
		older.a = max(older.a, newer.a)
	case sum, average:
		older.a = bits(double(older.a) + double(newer.a))
	case stdev:
		return spread(older, newer)
	case last:
		older.a = newer.a
	case first, count, percentile, slope:
	}
	older.n += newer.n
	return older
}

// spread is join for a standard deviation.
func spread(x, y part) part {
	n := float64(x.n) + float64(y.n)
	apart, share := double(y.a)-double(x.a), float64(y.n)/n
	return part{
		a: bits(double(x.a) + apart*share),
		b: bits(double(x.b) + double(y.b) + apart*apart*share*float64(x.n)),
		n: x.n + y.n,
	}
}

// words makes the numbers of a column of type t words: such that the larger word is the larger number, for a minimum the
// smaller one; for sums a DOUBLE; else the number itself.
func (f function) words(t pdu.Type, dst, numbers []uint64) {
	switch f {
	case maximum, minimum, percentile:
		for i, v := range numbers {
			dst[i] = ordered(t, v)
		}
		if f == minimum {
			for i := range dst {
				dst[i] = ^dst[i]
			}
		}
	case sum, average, stdev, slope:
		for i, v := range numbers {
			dst[i] = bits(t.Float64(v))
		}
	case first, last, count:
		copy(dst, numbers)
	}
}

// result is the number, of the function's type, that a part with values stands for. The values are of type t.
func (f function) result(t pdu.Type, p part) uint64 {
	switch f {
	case maximum:
		return numbered(t, p.a)
	case minimum:
		return numbered(t, ^p.a)
	case average:
		return bits(double(p.a) / float64(p.n))
	case stdev:
		return bits(math.Sqrt(double(p.b) / float64(p.n)))
	case count:
		return uint64(p.n)
	case sum, first, last, percentile, slope:
	}
	return p.a
}

// ordered gives numbers of type t, none of which is NaN, the order of unsigned ones.
func ordered(t pdu.Type, v uint64) uint64 {
	const sign = 1 << 63
	switch t {
	case pdu.Type32:
		return v ^ 1<<31
	case pdu.Type64:
		return v ^ sign
	case pdu.TypeFloat:
		v = bits(float64(math.Float32frombits(uint32(v))))
	case pdu.TypeDouble:
	default:
		return v
	}
	if v&sign != 0 {
		return ^v
	}
	return v | sign
}

// numbered is the number of type t that ordered was given.
func numbered(t pdu.Type, v uint64) uint64 {
	const sign = 1 << 63
	switch t {
	case pdu.Type32:
		return v ^ 1<<31
	case pdu.Type64:
		return v ^ sign
	case pdu.TypeFloat, pdu.TypeDouble:
	default:
		return v
	}
	if v&sign != 0 {
		v &^= sign
	} else {
		v = ^v
	}
	if t == pdu.TypeFloat {
		return uint64(math.Float32bits(float32(double(v))))
	}
	return v
}

func double(b uint64) float64 { return math.Float64frombits(b) }

func bits(v float64) uint64 { return math.Float64bits(v) }
