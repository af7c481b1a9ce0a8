package pdu

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Bounds of a power such as the 2 of "Kbyte^2". The dimension that results must be in -8..7.
const (
	minPower = -8
	maxPower = 15
)

var (
	errUnitsWord     = errors.New("unrecognized or duplicate base unit")
	errUnitsLiteral  = errors.New("invalid floating point literal")
	errUnitsExtra    = errors.New("multiple extra units not allowed")
	errUnitsExtraTwo = errors.New("extra units cannot appear in both dividend and divisor")
)

// ParseUnits reads units as people write them: "Kbyte / sec", "10 MB", "count x 10^3 / ms", "".
//
//	units = part , [ "/" , part ]      above and below the line; either may be empty
//	part  = { blank | number | unit }  each axis at most once, in any order
//	unit  = keyword , [ "^" , power ]  no blanks inside; power -8..15
//	      | extra , " (" , scale , ")"  "voltage (mV)": one in all, without a power
//
// The case of letters does not matter. To convert an amount from the written units to the returned
// units divide it by the multiplier: with "10 sec" it is 0.1. An axis on both sides of the line
// is returned in byte, sec or count, and the multiplier has the difference. Numbers may be zero, so
// the multiplier may be infinite or NaN.
//
// The error is one of pmParseUnitsStr's own reasons, without a prefix, because messages of
// mkconst() and rescale() quote it. ParseUnits reports an error in two cases where libpcp does not:
// for a time scale above hour on both sides, which has no length, libpcp 6.0.3 aborts; for a word that
// is no unit after an extra unit, libpcp 7.2.2 never returns.
//
// Source: pmParseUnitsStr(3), docs/language-rules.md 9.1.
func ParseUnits(s string) (Units, float64, error) {
	upper, lower, _ := strings.Cut(s, "/")
	above, err := parseUnitsPart(upper)
	if err != nil {
		return Units{}, 0, err
	}
	below, err := parseUnitsPart(lower)
	if err != nil {
		return Units{}, 0, err
	}
	return divideUnits(above, below)
}

// unitsPart is one side of the line. It has a power and a scale for each axis, both zero where the axis is unused, and
// the product of the numbers.
type unitsPart struct {
	space, time, count unitsAxis
	extra              ExtraUnit
	extraScale         uint8
	product            float64
}

type unitsAxis struct{ power, scale int }

func parseUnitsPart(s string) (unitsPart, error) {
	part := unitsPart{product: 1}
	for s != "" {
		switch c := s[0]; {
		case isBlank(c):
			s = s[1:]
		case c == '-' || c == '.' || '0' <= c && c <= '9':
			value, n := leadingFloat(s)
			if n == 0 {
				return part, errUnitsLiteral
			}
			part.product *= value
			s = s[n:]
		default:
			rest, err := part.unit(s)
			if err != nil {
				return part, err
			}
			s = rest
		}
	}
	return part, nil
}

// unit reads one unit at the start of s and returns the rest of s.
func (p *unitsPart) unit(s string) (rest string, err error) {
	extra, scale, rest, ok := cutExtra(s)
	switch {
	case ok && p.extra != ExtraNone:
		return "", errUnitsExtra
	case ok:
		p.extra, p.extraScale = extra, scale
		return rest, nil
	}
	if rest, ok = p.powered(s); !ok {
		return "", errUnitsWord
	}
	return rest, nil
}

// powered reads one unit of space, time or count.
func (p *unitsPart) powered(s string) (rest string, ok bool) {
	word, rest := cutWord(s)
	word = lowerASCII(word)
	if word == "count" && len(rest) >= len(timesTen) && lowerASCII(rest[:len(timesTen)]) == timesTen {
		word, rest = cutWord(rest[len(timesTen):])
		axis, ok := parseTimesTen(word)
		return rest, ok && p.count.set(axis)
	}
	name, power, raised := strings.Cut(word, "^")
	n := 1
	if raised {
		if n, ok = parsePower(power); !ok {
			return "", false
		}
	}
	if scale, ok := spaceScale(name); ok {
		return rest, p.space.set(unitsAxis{n, scale})
	}
	if scale, ok := timeScale(name); ok {
		return rest, p.time.set(unitsAxis{n, scale})
	}
	if name == "count" || name == "counts" {
		return rest, p.count.set(unitsAxis{power: n})
	}
	return "", false
}

// set gives the axis its power and scale, once. A power of zero leaves it unused.
func (a *unitsAxis) set(b unitsAxis) bool {
	if a.power != 0 {
		return false
	}
	if b.power != 0 {
		*a = b
	}
	return true
}

// timesTen follows "count" in the keywords with a count scale, with exactly these blanks.
const timesTen = " x 10"

// parseTimesTen reads the text after "count x 10": nothing (ten), "^3" (a thousand), "^3^2" (a
// thousand, squared). libpcp has no keyword for ten to the power of 0, 1, or 8 and up. There
// "count x 10^0" is the keyword "count x 10" raised to 0.
func parseTimesTen(s string) (unitsAxis, bool) {
	if s == "" {
		return unitsAxis{1, 1}, true
	}
	if s[0] != '^' {
		return unitsAxis{}, false
	}
	first, second, both := strings.Cut(s[1:], "^")
	n, ok := parsePower(first)
	if !ok {
		return unitsAxis{}, false
	}
	if n == 0 || n == 1 || n > 7 {
		return unitsAxis{n, 1}, !both
	}
	if !both {
		return unitsAxis{1, n}, true
	}
	power, ok := parsePower(second)
	return unitsAxis{power, n}, ok
}

// parsePower reads -8..15 in the one usual spelling: no plus sign, no leading zero.
func parsePower(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= minPower && n <= maxPower && strconv.Itoa(n) == s
}

// spaceScale returns the power of 1024 of a space keyword in lower case. Decimal prefixes are
// powers of 1024 too.
func spaceScale(name string) (int, bool) {
	if name == "byte" || name == "bytes" {
		return 0, true
	}
	if n, ok := strings.CutPrefix(name, "space-"); ok {
		return parseScale(n)
	}
	for i, prefix := range [...][3]string{
		{"k", "kilo", "kibi"},
		{"m", "mega", "mebi"},
		{"g", "giga", "gibi"},
		{"t", "tera", "tebi"},
		{"p", "peta", "pebi"},
		{"e", "exa", "exbi"},
		{"z", "zetta", "zebi"},
		{"y", "yotta", "yobi"},
	} {
		letter, decimal, binary := prefix[0], prefix[1], prefix[2]
		switch name {
		case letter + "b", letter + "ib", letter + "byte", letter + "bytes",
			decimal + "byte", decimal + "bytes", binary + "byte", binary + "bytes":
			return i + 1, true
		}
	}
	return 0, false
}

// timeScale returns the TimeScale of a time keyword in lower case.
func timeScale(name string) (int, bool) {
	if n, ok := strings.CutPrefix(name, "time-"); ok {
		return parseScale(n)
	}
	switch name {
	case "nanoseconds", "nanosecond", "nanosec", "ns":
		return int(TimeNanosec), true
	case "microseconds", "microsecond", "microsec", "us":
		return int(TimeMicrosec), true
	case "milliseconds", "millisecond", "millisec", "ms":
		return int(TimeMillisec), true
	case "seconds", "second", "sec", "s":
		return int(TimeSec), true
	case "minutes", "minute", "min":
		return int(TimeMin), true
	case "hours", "hour", "hr", "h":
		return int(TimeHour), true
	}
	return 0, false
}

// parseScale reads the number of "space-N" and "time-N": 0..15, the range of the wire form.
func parseScale(s string) (int, bool) {
	n, ok := parsePower(s)
	return n, ok && n >= 0
}

// divideUnits returns the units of above / below, and the multiplier of ParseUnits.
func divideUnits(above, below unitsPart) (Units, float64, error) {
	var u Units
	for _, axis := range [...]struct {
		name         string
		above, below unitsAxis
		dim          *int8
	}{
		{"space", above.space, below.space, &u.Space},
		{"time", above.time, below.time, &u.Time},
		{"count", above.count, below.count, &u.Count},
	} {
		dim := axis.above.power - axis.below.power
		if dim < -8 || dim > 7 {
			return Units{}, 0, fmt.Errorf("%s dimension out of bounds", axis.name)
		}
		*axis.dim = int8(dim)
	}
	switch {
	case above.extra != ExtraNone && below.extra != ExtraNone:
		return Units{}, 0, errUnitsExtraTwo
	case above.extra != ExtraNone:
		u.Extra, u.ExtraScale = above.extra, above.extraScale
	default:
		u.Extra, u.ExtraScale = -below.extra, below.extraScale
	}

	multiplier := below.product / above.product
	if a, b := above.space, below.space; a.power != 0 && b.power != 0 {
		multiplier = math.Ldexp(multiplier, 10*(b.power*b.scale-a.power*a.scale))
	} else {
		u.SpaceScale = SpaceScale(cmp.Or(a.scale, b.scale))
	}
	if a, b := above.time, below.time; a.power != 0 && b.power != 0 {
		if a.scale > int(TimeHour) || b.scale > int(TimeHour) {
			return Units{}, 0, errors.New("time scale out of bounds")
		}
		multiplier *= secondsToPower(b.scale, b.power, a.scale, -a.power)
		if u.Time != 0 {
			u.TimeScale = TimeSec
		}
	} else {
		u.TimeScale = TimeScale(cmp.Or(a.scale, b.scale))
	}
	if a, b := above.count, below.count; a.power != 0 && b.power != 0 {
		multiplier *= math.Pow10(b.power*b.scale - a.power*a.scale)
	} else {
		u.CountScale = int8(cmp.Or(a.scale, b.scale))
	}
	return u, multiplier, nil
}

// secondsToPower returns (the length of scale a in seconds)^aPower × (that of b)^bPower. It
// divides once, at the end, so that usual scales give exact or correctly rounded factors.
func secondsToPower(a, aPower, b, bPower int) float64 {
	// The length of each scale is long/short seconds.
	lengths := [...]struct{ long, short float64 }{{1, 1e9}, {1, 1e6}, {1, 1e3}, {1, 1}, {60, 1}, {3600, 1}}
	num, den := 1.0, 1.0
	for _, f := range [...]struct{ scale, power int }{{a, aPower}, {b, bPower}} {
		long, short := lengths[f.scale].long, lengths[f.scale].short
		if f.power < 0 {
			long, short, f.power = short, long, -f.power
		}
		for range f.power {
			num *= long
			den *= short
		}
	}
	return num / den
}

// number matches the longest number at the start of a text as strtod(3) reads it in the C locale. The first group
// has the digits of a hexadecimal number, the second those of a decimal one; both are empty for a negative infinity
// or NaN. In "0x" without hexadecimal digits the 0 alone is the number.
var number = regexp.MustCompile(`^(?i:-infinity|-inf|-nan|` +
	`-?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[-+]?[0-9]+)?|` +
	`-?([0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)`)

// leadingFloat reads the number at the start of s. It returns the number's length in bytes, 0 if there is none. A
// number too large or too small for a normal float64 is none.
func leadingFloat(s string) (value float64, n int) {
	found := number.FindStringSubmatch(s)
	if found == nil {
		return 0, 0
	}
	text, hexDigits, digits := found[0], found[1], found[2]
	n = len(text)
	if hexDigits != "" && !strings.ContainsAny(text, "pP") {
		text += "p0"
	}
	if lowerASCII(text) == "-nan" { // ParseFloat knows no sign of it
		return math.NaN(), n
	}
	value, err := strconv.ParseFloat(text, 64)
	zero := strings.Trim(hexDigits+digits, "0.") == ""
	if err != nil || !zero && math.Abs(value) < smallestNormal {
		return 0, 0
	}
	return value, n
}

const smallestNormal = 0x1p-1022

// isBlank reports whether isspace(3) accepts c in the C locale.
func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// cutWord splits s before its first blank.
func cutWord(s string) (word, rest string) {
	for i := range len(s) {
		if isBlank(s[i]) {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// lowerASCII returns s with A..Z in lower case. strings.ToLower would change other letters, too: the Kelvin sign
// to a k.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}
