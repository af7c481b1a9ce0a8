package command

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/internal/printable"
	"pmdaderived/pdu"
)

// valueText returns a value as pminfo prints it.
func valueText(v *derived.Vector, i int) string {
	switch v.Type {
	case pdu.TypeFloat:
		return formatNumber(v.Type.Float64(v.Bits[i]), 8)
	case pdu.TypeDouble:
		return formatNumber(v.Type.Float64(v.Bits[i]), 16)
	case pdu.TypeString:
		return `"` + printable.Line(string(v.Blobs[i])) + `"`
	case pdu.TypeAggregate, pdu.TypeAggregateStatic:
		return aggregateText(v.Blobs[i])
	}
	if !v.Type.Numeric() {
		return fmt.Sprintf("[%s, %d bytes]", v.Type, len(v.Blobs[i]))
	}
	if n, ok := v.Type.Int64(v.Bits[i]); ok {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatUint(v.Bits[i], 10)
}

// aggregateText returns bytes in hexadecimal, preceded by their text if they are printable.
func aggregateText(blob []byte) string {
	text := "[" + hex.EncodeToString(blob) + "]"
	if bytes.ContainsFunc(blob, func(c rune) bool { return c < ' ' || c > '~' }) {
		return text
	}
	return `"` + string(blob) + `" ` + text
}

// formatNumber formats a number as C's %.*g does.
func formatNumber(x float64, digits int) string {
	return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(x, 'g', digits, 64), "+"))
}

// cellText returns a value for a column. Numbers of type FLOAT and DOUBLE have six digits, or all before the point: the
// seconds of now() are the tenth.
func cellText(v *derived.Vector, i int) string {
	if v.Type != pdu.TypeFloat && v.Type != pdu.TypeDouble {
		return valueText(v, i)
	}
	x := v.Type.Float64(v.Bits[i])
	if whole := math.Round(x); math.Abs(whole) >= 1e6 && math.Abs(whole) < 1e16 {
		return formatNumber(whole, 16)
	}
	return formatNumber(x, 6)
}

// plainText returns a value for programs: a number with all its digits, a string without quotes.
func plainText(v *derived.Vector, i int) string {
	switch {
	case v.Type == pdu.TypeString:
		return string(v.Blobs[i])
	case v.Type.Numeric():
		return derived.FormatNumber(v.Type, v.Bits[i])
	}
	return valueText(v, i)
}

// jsonValue returns a number, or a string for an infinite value or NaN, which JSON does not have.
func jsonValue(v *derived.Vector, i int) any {
	text := plainText(v, i)
	if v.Type.Numeric() && derived.Finite(v.Type, v.Bits[i]) {
		return json.Number(text)
	}
	return text
}

// errorText returns the error of a result.
func errorText(v *derived.Vector) string {
	if v.Why != "" {
		return v.Code.Error() + ": " + v.Why
	}
	return v.Code.Error()
}
