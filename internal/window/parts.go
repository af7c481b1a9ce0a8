package window

import (
	"math"
	"slices"

	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// function is a function over time. It joins values to parts, and makes a result of parts.
type function syntax.Func

const (
	maximum = function(syntax.MaxSample)
	minimum = function(syntax.MinSample)
	sum     = function(syntax.SumSample)
	average = function(syntax.AvgSample)
	count   = function(syntax.CountSample)
	stdev   = function(syntax.StdevSample) // divides by n, not by n - 1
	first   = function(syntax.FirstSample)
	last    = function(syntax.LastSample)

	percentile = function(syntax.PercentileSample)
	slope      = function(syntax.SlopeSample)
)

// valueSize returns the largest size of a retained value, in bytes. Those of a percentile are also in a sorted list, which
// may have room for half as many again.
func (f function) valueSize() int {
	switch f {
	case stdev:
		return 16
	case percentile:
		return 20
	default:
		return 8
	}
}

// part is the intermediate result of some values of an instance. The zero part stands for no values. Joining it changes
// nothing: no word is smaller than 0, and as a DOUBLE it adds nothing.
type part struct {
	word  uint64 // see function.toWords; of an average the sum, of a standard deviation the mean
	count uint32 // number of values
}

// parts has the parts of all slots.
type parts struct {
	bySlot  []part
	squares []float64 // of a standard deviation: the sum of squared differences from the mean
}

// grow adds a slot.
func (p *parts) grow(f function) {
	p.bySlot = append(p.bySlot, part{})
	if f == stdev {
		p.squares = append(p.squares, 0)
	}
}

// reset clears all parts, and sets the number of slots.
func (p *parts) reset(slots int) {
	clear(p.bySlot)
	clear(p.squares)
	p.bySlot, p.squares = p.bySlot[:slots], p.squares[:min(slots, len(p.squares))]
}

// addNewer joins the words of a tick to the parts of their slots, which have older values. Each function has a loop of
// its own, without calls, because this is faster.
func (f function) addNewer(p *parts, at []int32, words []uint64) {
	of, all, words := p.bySlot, p.squares, words[:len(at)]
	var inverse inverse
	switch f {
	case maximum, minimum:
		for i, s := range at {
			x := &of[s]
			x.word = max(x.word, words[i])
			x.count++
		}
	case sum, average:
		for i, s := range at {
			x := &of[s]
			x.word = bits(double(x.word) + double(words[i]))
			x.count++
		}
	case stdev:
		for i, s := range at {
			x := &of[s]
			x.count++
			x.addDeviation(&all[s], double(words[i]), inverse.of(x.count))
		}
	case first:
		for i, s := range at {
			x := &of[s]
			if x.count == 0 {
				x.word = words[i]
			}
			x.count++
		}
	case last:
		for i, s := range at {
			x := &of[s]
			x.word = words[i]
			x.count++
		}
	case count, percentile, slope:
		for _, s := range at {
			of[s].count++
		}
	}
}

// addOlder joins the words of a tick to the parts of their slots, which have newer values. It replaces each word, and
// each element of squares, by the part as it was before. An instance that occurs twice is joined in the opposite of the
// order in which it is removed.
func (f function) addOlder(p *parts, at []int32, words []uint64, squares []float64) {
	of, all, words := p.bySlot, p.squares, words[:len(at)]
	var inverse inverse
	switch f {
	case maximum, minimum:
		for i, s := range slices.Backward(at) {
			x, word := &of[s], words[i]
			words[i] = x.word
			x.word = max(x.word, word)
			x.count++
		}
	case sum, average:
		for i, s := range slices.Backward(at) {
			x, word := &of[s], words[i]
			words[i] = x.word
			x.word = bits(double(x.word) + double(word))
			x.count++
		}
	case stdev:
		for i, s := range slices.Backward(at) {
			x, word := &of[s], words[i]
			words[i], squares[i] = x.word, all[s]
			x.count++
			x.addDeviation(&all[s], double(word), inverse.of(x.count))
		}
	case first:
		for i, s := range slices.Backward(at) {
			x := &of[s]
			words[i], x.word = x.word, words[i]
			x.count++
		}
	case last:
		for i, s := range slices.Backward(at) {
			x, word := &of[s], words[i]
			words[i] = x.word
			if x.count == 0 {
				x.word = word
			}
			x.count++
		}
	case count, percentile, slope: // the words are needed as they are
		for _, s := range at {
			of[s].count++
		}
	}
}

// inverse remembers the last 1/n: the division is the slowest operation here, and most instances have as many values as
// the instance before.
type inverse struct {
	n     uint32
	value float64
}

func (v *inverse) of(n uint32) float64 {
	if n != v.n {
		v.n, v.value = n, 1/float64(n)
	}
	return v.value
}

// addDeviation joins a value to a part of a standard deviation. weight is 1/n with the value counted.
func (p *part) addDeviation(squares *float64, value, weight float64) {
	off := value - double(p.word)
	mean := double(p.word) + off*weight
	p.word = bits(mean)
	*squares += off * (value - mean)
}

// toWords converts numbers of type t to words. For maximum and percentile a larger word is a larger number, for minimum
// a smaller one. For sums a word is a DOUBLE, for the others the number itself.
func (f function) toWords(t pdu.Type, dst, numbers []uint64) {
	switch f {
	case maximum, percentile:
		orderWords(t, dst, numbers, 0)
	case minimum:
		orderWords(t, dst, numbers, math.MaxUint64)
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

// toResults joins the older and newer parts of slots, and writes the results as numbers of the function's type. The
// values have type t.
func (f function) toResults(t pdu.Type, dst []uint64, at []int32, older, newer *parts) {
	dst = dst[:len(at)]
	for i, s := range at {
		x, y := &older.bySlot[s], &newer.bySlot[s]
		switch f {
		case maximum:
			dst[i] = fromOrdered(t, max(x.word, y.word))
		case minimum:
			dst[i] = fromOrdered(t, ^max(x.word, y.word))
		case sum:
			dst[i] = bits(double(x.word) + double(y.word))
		case average:
			dst[i] = bits((double(x.word) + double(y.word)) / float64(x.count+y.count))
		case stdev:
			squares, n := older.squares[s]+newer.squares[s], float64(x.count+y.count)
			if x.count > 0 && y.count > 0 {
				difference := double(y.word) - double(x.word)
				squares += difference * difference * float64(x.count) * float64(y.count) / n
			}
			dst[i] = bits(math.Sqrt(squares / n))
		case count:
			dst[i] = uint64(x.count + y.count)
		case first:
			if dst[i] = x.word; x.count == 0 {
				dst[i] = y.word
			}
		case last:
			if dst[i] = y.word; y.count == 0 {
				dst[i] = x.word
			}
		case percentile, slope:
		}
	}
}

const sign = 1 << 63

// orderWords converts numbers of type t, without NaN, to words in the order of unsigned integers. If flip has all bits,
// the order is the opposite.
func orderWords(t pdu.Type, dst, numbers []uint64, flip uint64) {
	dst = dst[:len(numbers)]
	switch t {
	case pdu.TypeFloat:
		for i, v := range numbers {
			dst[i] = orderDouble(bits(float64(math.Float32frombits(uint32(v))))) ^ flip
		}
	case pdu.TypeDouble:
		for i, v := range numbers {
			dst[i] = orderDouble(v) ^ flip
		}
	default:
		flip ^= signOf(t)
		for i, v := range numbers {
			dst[i] = v ^ flip
		}
	}
}

// orderDouble converts a DOUBLE to a word in the order of unsigned integers.
func orderDouble(v uint64) uint64 { return v ^ (uint64(int64(v)>>63) | sign) }

// signOf returns the sign bit of integers of type t, 0 if they are unsigned.
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

// fromOrdered converts a word of orderWords, made without flip, to the number of type t.
func fromOrdered(t pdu.Type, v uint64) uint64 {
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
