package conformance

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"pmdaderived/pdu"
)

// Answer is the answer of a run to one fetch: a code, or values.
type Answer struct {
	Code   pdu.Code
	Values []Value
}

// Value is one value, in the form of the corpus.
type Value struct {
	Inst pdu.Inst // NoInst: singular
	Name any      // of the instance; nil: it has none
	Text string
}

// Text returns a value in the form of the corpus: integers decimal, FLOAT and DOUBLE as the shortest decimal that reads
// back as the same, aggregates and events as "hex:" and their bytes.
func Text(t pdu.Type, bits uint64, bytes []byte) string {
	switch t {
	case pdu.Type32:
		return strconv.Itoa(int(int32(uint32(bits))))
	case pdu.TypeU32, pdu.TypeU64:
		return strconv.FormatUint(bits, 10)
	case pdu.Type64:
		return strconv.FormatInt(int64(bits), 10)
	case pdu.TypeFloat:
		return shortest(float64(math.Float32frombits(uint32(bits))), 32)
	case pdu.TypeDouble:
		return shortest(math.Float64frombits(bits), 64)
	case pdu.TypeString:
		return string(bytes)
	}
	return "hex:" + hex.EncodeToString(bytes)
}

func shortest(f float64, size int) string {
	if math.IsNaN(f) {
		return "nan"
	}
	if math.IsInf(f, 0) {
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(f), "+"))
	}
	if a := math.Abs(f); a == 0 || a >= 1e-4 && a < 1e16 {
		return strconv.FormatFloat(f, 'f', -1, size)
	}
	return strconv.FormatFloat(f, 'e', -1, size)
}

// Different returns "" if the two are equal, else a line about the difference.
func Different(what string, want, got any) string {
	if fmt.Sprintf("%#v", want) == fmt.Sprintf("%#v", got) {
		return ""
	}
	return fmt.Sprintf("\n%s: want %v, got %v", what, want, got)
}

// DifferentDesc returns the differences of a descriptor from that of libpcp, in a case of class ok.
func (c *Case) DifferentDesc(got pdu.Desc) string {
	indom := pdu.NoInDom.String()
	if c.InDom != nil {
		indom = *c.InDom
	}
	u := got.Units
	return Different("type", c.Type, got.Type.String()) + Different("semantics", c.Sem, got.Sem.String()) +
		Different("indom", indom, got.InDom.String()) +
		Different("units", c.Units, u.String()) + Different("dimension", c.Dim, [3]int8{u.Space, u.Time, u.Count}) +
		Different("scale", c.Scale, [3]int8{int8(u.SpaceScale), int8(u.TimeScale), u.CountScale})
}

// DifferentValues returns the difference of the answer to fetch number i from that of libpcp, in a case of class ok.
// elapsed is the time in seconds since the answer before.
func (c *Case) DifferentValues(i int, got Answer, elapsed float64) string {
	what := fmt.Sprintf("fetch %d", i)
	want := c.Fetches[i]
	switch {
	case c.Compare != "exact" && c.Compare != "per-elapsed":
		return ""
	case want.Error != nil:
		return Different(what, want.Error.Code, got.Code)
	case got.Code < 0:
		return "\n" + what + ": got " + got.Code.Error()
	}
	var wants, gots []string
	for _, v := range *want.Values {
		wants = append(wants, fmt.Sprint(v[0], v[1], " ", v[2]))
	}
	for _, v := range got.Values {
		gots = append(gots, fmt.Sprint(v.Inst, v.Name, " ", v.Text))
	}
	if c.Compare == "per-elapsed" && len(wants) == len(gots) {
		for k, v := range *want.Values {
			if near(v[2].(string), want.Elapsed, got.Values[k].Text, elapsed) {
				gots[k] = wants[k]
			}
		}
	}
	return Different(what, wants, gots)
}

// elapsedTolerance is the share by which rates may differ: the corpus has times in microseconds, and a daemon samples a
// moment before the client's fetch has its time stamp.
const elapsedTolerance = 0.02

// near compares two values, each multiplied by the time that it covers.
func near(want string, wantElapsed float64, got string, elapsed float64) bool {
	a, errA := strconv.ParseFloat(want, 64)
	b, errB := strconv.ParseFloat(got, 64)
	if errA != nil || errB != nil {
		return false
	}
	if wantElapsed > 0 && elapsed > 0 {
		a, b = a*wantElapsed, b*elapsed
	}
	return math.Abs(a-b) <= elapsedTolerance*math.Abs(a)
}

// Shown returns a syntax error as libpcp shows it: lines with the text, a caret below the offset, and the reason if
// there is one.
func Shown(text string, offset int, reason string) string {
	var caret strings.Builder
	for i, r := range text {
		switch {
		case i == offset:
			r = '^'
		case r != '\t':
			r = ' '
		}
		caret.WriteRune(r)
	}
	if reason != "" {
		reason += "\n"
	}
	return text + "\n" + caret.String() + "\n" + reason
}
