package window

import (
	"math"
	"slices"

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

// part is what some values of an instance come to. That of none is 0 in all, and changes nothing where it is joined: no word is smaller, and as a DOUBLE
// it adds nothing.
type part struct {
	a uint64 // a word, see function.words; of an average the sum, of a standard deviation the mean
	n uint32 // how many values
}

// parts are those of all slots.
type parts struct {
	of      []part
	squares []float64 // of a standard deviation the sum of the squares of what each value is off the mean; of others nothing
}

// grow makes room for another slot.
func (p *parts) grow(f function) {
	p.of = append(p.of, part{})
	if f == stdev {
		p.squares = append(p.squares, 0)
	}
}

// reset makes all of them those of no values, and leaves so many.
func (p *parts) reset(slots int) {
	clear(p.of)
	clear(p.squares)
	p.of, p.squares = p.of[:slots], p.squares[:min(slots, len(p.squares))]
}

// newer joins the words of a tick to the parts of their slots, which are of older values. The loops here are apart, and without calls, for their speed.
func (f function) newer(p *parts, at []int32, words []uint64) {
	of, all, words := p.of, p.squares, words[:len(at)]
	var inverse inverse
	switch f {
	case maximum, minimum:
		for i, s := range at {
			x := &of[s]
			x.a = max(x.a, words[i])
			x.n++
		}
	case sum, average:
		for i, s := range at {
			x := &of[s]
			x.a = bits(double(x.a) + double(words[i]))
			x.n++
		}
	case stdev:
		for i, s := range at {
			x := &of[s]
			x.n++
			x.spread(&all[s], double(words[i]), inverse.of(x.n))
		}
	case first:
		for i, s := range at {
			x := &of[s]
			if x.n == 0 {
				x.a = words[i]
			}
			x.n++
		}
	case last:
		for i, s := range at {
			x := &of[s]
			x.a = words[i]
			x.n++
		}
	case count, percentile, slope:
		for _, s := range at {
			of[s].n++
		}
	}
}

// older joins the words of a tick to the parts of their slots, which are of newer values, and has in the place of each word, and in squares, what the part was
// before. An instance that is there twice is joined in the opposite order of that in which it leaves.
func (f function) older(p *parts, at []int32, words []uint64, squares []float64) {
	of, all, words := p.of, p.squares, words[:len(at)]
	var inverse inverse
	switch f {
	case maximum, minimum:
		for i, s := range slices.Backward(at) {
			x, word := &of[s], words[i]
			words[i] = x.a
			x.a = max(x.a, word)
			x.n++
		}
	case sum, average:
		for i, s := range slices.Backward(at) {
			x, word := &of[s], words[i]
			words[i] = x.a
			x.a = bits(double(x.a) + double(word))
			x.n++
		}
	case stdev:
		for i, s := range slices.Backward(at) {
			x, word := &of[s], words[i]
			words[i], squares[i] = x.a, all[s]
			x.n++
			x.spread(&all[s], double(word), inverse.of(x.n))
		}
	case first:
		for i, s := range slices.Backward(at) {
			x := &of[s]
			words[i], x.a = x.a, words[i]
			x.n++
		}
	case last:
		for i, s := range slices.Backward(at) {
			x, word := &of[s], words[i]
			words[i] = x.a
			if x.n == 0 {
				x.a = word
			}
			x.n++
		}
	case count, percentile, slope: // their words stay
		for _, s := range at {
			of[s].n++
		}
	}
}

// inverse is one by a number: a division takes longer than all else, and most instances have as many values as the one before.
type inverse struct {
	n  uint32
	is float64
}

func (v *inverse) of(n uint32) float64 {
	if n != v.n {
		v.n, v.is = n, 1/float64(n)
	}
	return v.is
}

// spread joins a value to the part of a standard deviation, one of so many that each has this weight.
func (p *part) spread(squares *float64, value, weight float64) {
	off := value - double(p.a)
	mean := double(p.a) + off*weight
	p.a = bits(mean)
	*squares += off * (value - mean)
}

// words makes the numbers of a column of type t words: such that the larger word is the larger number, for a minimum the
// smaller one; for sums a DOUBLE; else the number itself.
func (f function) words(t pdu.Type, dst, numbers []uint64) {
	switch f {
	case maximum, percentile:
		order(t, dst, numbers, 0)
	case minimum:
		order(t, dst, numbers, math.MaxUint64)
	case sum, average, stdev, slope:
		if t == pdu.TypeDouble {
			copy(dst, numbers)
			return
		}
		for i, v := range numbers {
			dst[i] = bits(t.Float64(v))
		}
	case first, last, count:
		copy(dst, numbers)
	}
}

// results makes the numbers, of the function's type, that older and newer values of slots come to together. The values are of type t.
func (f function) results(t pdu.Type, dst []uint64, at []int32, older, newer *parts) {
	dst = dst[:len(at)]
	for i, s := range at {
		x, y := &older.of[s], &newer.of[s]
		switch f {
		case maximum:
			dst[i] = numbered(t, max(x.a, y.a))
		case minimum:
			dst[i] = numbered(t, ^max(x.a, y.a))
		case sum:
			dst[i] = bits(double(x.a) + double(y.a))
		case average:
			dst[i] = bits((double(x.a) + double(y.a)) / float64(x.n+y.n))
		case stdev:
			squares, n := older.squares[s]+newer.squares[s], float64(x.n+y.n)
			if x.n > 0 && y.n > 0 {
				apart := double(y.a) - double(x.a)
				squares += apart * apart * float64(x.n) * float64(y.n) / n
			}
			dst[i] = bits(math.Sqrt(squares / n))
		case count:
			dst[i] = uint64(x.n + y.n)
		case first:
			if dst[i] = x.a; x.n == 0 {
				dst[i] = y.a
			}
		case last:
			if dst[i] = y.a; y.n == 0 {
				dst[i] = x.a
			}
		case percentile, slope:
		}
	}
}

const sign = 1 << 63

// order gives numbers of type t, none of which is NaN, the order of unsigned ones, or the opposite one if flip has all bits.
func order(t pdu.Type, dst, numbers []uint64, flip uint64) {
	dst = dst[:len(numbers)]
	switch t {
	case pdu.TypeFloat:
		for i, v := range numbers {
			dst[i] = ordered(bits(float64(math.Float32frombits(uint32(v))))) ^ flip
		}
	case pdu.TypeDouble:
		for i, v := range numbers {
			dst[i] = ordered(v) ^ flip
		}
	default:
		flip ^= signOf(t)
		for i, v := range numbers {
			dst[i] = v ^ flip
		}
	}
}

// ordered gives numbers of type DOUBLE the order of unsigned ones.
func ordered(v uint64) uint64 { return v ^ (uint64(int64(v)>>63) | sign) }

// signOf is the sign of whole numbers of type t; 0: they have none.
func signOf(t pdu.Type) uint64 {
	switch t {
	case pdu.Type32:
		return 1 << 31
	case pdu.Type64:
		return sign
	default:
		return 0
	}
}

// numbered is the number of type t that order has made a word of, without a flip.
func numbered(t pdu.Type, v uint64) uint64 {
	switch t {
	case pdu.TypeFloat, pdu.TypeDouble:
		if v ^= sign | ^uint64(int64(v)>>63); t == pdu.TypeFloat {
			return uint64(math.Float32bits(float32(double(v))))
		}
		return v
	default:
		return v ^ signOf(t)
	}
}

func double(b uint64) float64 { return math.Float64frombits(b) }

func bits(v float64) uint64 { return math.Float64bits(v) }
