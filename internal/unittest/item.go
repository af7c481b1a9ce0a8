package unittest

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// endless is the count of an item that repeats until the next item or the end of the test.
const endless = -1

// kind is the kind of an item.
type kind uint8

const (
	none     kind = iota // no value
	anyValue             // only in expectations
	number
	nonFinite // an infinity or NaN
	text
	blob
	code // an error in place of values
)

// fits reports whether a type has values of this kind.
func (k kind) fits(t pdu.Type) bool {
	switch k {
	case number:
		return t.Numeric()
	case nonFinite:
		return t == pdu.TypeFloat || t == pdu.TypeDouble
	case text:
		return t == pdu.TypeString
	case blob:
		return !t.Numeric() && t != pdu.TypeString
	default:
		return false
	}
}

// item is a value for one or more samples.
type item struct {
	kind      kind
	num, step *big.Rat // of number; step may be nil
	tolerance *big.Rat // nil: the error of arithmetic
	float     float64  // of nonFinite
	bytes     []byte   // of text and blob
	code      pdu.Code
	count     int

	pos  sourcePos
	when *time.Duration // nil: after the item before

	first, end int // samples that it is for, set by placeItems and fillItems
}

// value returns the number of an item in a sample: num, and a step more in each sample after the first, as counters
// grow.
func (it *item) value(sample int) *big.Rat {
	if it.step == nil || sample == it.first {
		return it.num
	}
	v := new(big.Rat).SetInt64(int64(sample - it.first))
	return v.Add(v.Mul(v, it.step), it.num)
}

const (
	digits  = `(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?`
	repeats = `(?:x([0-9]+)|(\.\.\.))?`
)

var (
	numberForm  = regexp.MustCompile(`^([-+]?` + digits + `)([-+]` + digits + `)?(?:~(` + digits + `))?$`)
	specialForm = regexp.MustCompile(`^(?i)([-+]?inf|nan)$`)
	codeForm    = regexp.MustCompile(`^PM_ERR_[A-Z0-9]+$`)
	suffixForm  = regexp.MustCompile(`^(.*?)` + repeats + `$`)
)

// maxNumber is the largest length of a number in bytes. Fractions of long ones would take long to compute.
const maxNumber = 400

// parse reads a value with its count. msg is "" or the mistake.
func (it *item) parse(word string) (msg string) {
	body, suffix := word, ""
	if closing, ok := closings[word[0]]; ok {
		n := 1 + enclosed(word[1:], closing)
		body, suffix = word[:n], word[n:]
	} else if m := suffixForm.FindStringSubmatch(word); m != nil {
		body, suffix = m[1], word[len(m[1]):]
	}
	switch {
	case suffix == "...":
		it.count = endless
	case suffix != "":
		n, err := strconv.Atoi(strings.TrimPrefix(suffix, "x"))
		if err != nil || suffix[0] != 'x' || n < 1 || n > maxSamples {
			return fmt.Sprintf("%s: use x and a number of samples from 1 to %d, or ...", suffix, maxSamples)
		}
		it.count = n
	}
	return it.parseValue(body)
}

func (it *item) parseValue(body string) (msg string) {
	switch {
	case body == "_":
		it.kind = none
	case body == "*":
		it.kind = anyValue
	case strings.HasPrefix(body, `"`):
		it.kind, it.bytes = text, []byte(syntax.Unescape(body[1:len(body)-1]))
	case strings.HasPrefix(body, `[`):
		b, err := hex.DecodeString(body[1 : len(body)-1])
		if err != nil {
			return body + ": use hexadecimal digits in the brackets"
		}
		it.kind, it.bytes = blob, b
	case codeForm.MatchString(body):
		c, err := pdu.ParseCode(body)
		if err != nil {
			return body + " is not a PCP error code"
		}
		it.kind, it.code = code, c
	case specialForm.MatchString(body):
		it.kind = nonFinite
		it.float, _ = strconv.ParseFloat(body, 64)
	default:
		m := numberForm.FindStringSubmatch(body)
		if m == nil || len(body) > maxNumber {
			return body + `: want a number such as 5 or 0+10x5, a text in quotes, _ for none, or PM_ERR_AGAIN`
		}
		it.kind = number
		it.num, _ = new(big.Rat).SetString(m[1])
		if m[2] != "" {
			it.step, _ = new(big.Rat).SetString(m[2])
		}
		if m[3] != "" {
			it.tolerance, _ = new(big.Rat).SetString(m[3])
		}
	}
	return ""
}

// bits returns a number in the representation of a type, or an error if it does not fit.
func bits(t pdu.Type, v *big.Rat) (uint64, error) {
	switch t {
	case pdu.TypeFloat:
		f, _ := v.Float32()
		return uint64(math.Float32bits(f)), nil
	case pdu.TypeDouble:
		f, _ := v.Float64()
		return math.Float64bits(f), nil
	}
	if !v.IsInt() {
		return 0, fmt.Errorf("%s is not a whole number, and %s holds only whole numbers", decimal(v), t)
	}
	switch n := v.Num(); {
	case t == pdu.Type32 && n.IsInt64() && n.Int64() == int64(int32(n.Int64())):
		return uint64(uint32(n.Int64())), nil
	case t == pdu.Type64 && n.IsInt64():
		return uint64(n.Int64()), nil
	case n.IsUint64() && (t == pdu.TypeU64 || t == pdu.TypeU32 && n.Uint64() <= math.MaxUint32):
		return n.Uint64(), nil
	}
	return 0, fmt.Errorf("%s does not fit into %s", v.Num(), t)
}

// decimal formats a number.
func decimal(v *big.Rat) string {
	if v.IsInt() {
		return v.Num().String()
	}
	f, _ := v.Float64()
	return derived.FormatNumber(pdu.TypeDouble, math.Float64bits(f))
}

// text returns the value of an item in a sample, for messages.
func (it *item) text(sample int) string {
	switch it.kind {
	case none:
		return "_"
	case anyValue:
		return "*"
	case nonFinite:
		return lowerNumber(strconv.FormatFloat(it.float, 'g', -1, 64))
	case text:
		return strconv.Quote(string(it.bytes))
	case blob:
		return "[" + hex.EncodeToString(it.bytes) + "]"
	case code:
		return it.code.Name()
	default:
	}
	shown := decimal(it.value(sample))
	if it.tolerance != nil {
		shown += "~" + decimal(it.tolerance)
	}
	return shown
}

// lowerNumber returns a number as test files have it: inf, -inf and nan in lower case.
func lowerNumber(number string) string { return strings.ToLower(strings.TrimPrefix(number, "+")) }
