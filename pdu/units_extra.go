package pdu

import (
	"fmt"
	"strconv"
)

// extraKinds has the name and the scales of each extra unit, from scale 1 on.
var extraKinds = [...]struct { //nolint:gochecknoglobals // a table
	name   string
	scales []string
}{
	ExtraTemperature: {"temperature", []string{"C", "F", "K"}},
	ExtraVoltage:     {"voltage", []string{"V", "mV", "uV"}},
	ExtraCurrent:     {"current", []string{"A", "mA", "uA"}},
	ExtraPower:       {"power", []string{"kW", "W", "mW", "uW"}},
}

// abs returns the unit without its sign, which says on which side of the line it is.
func (e ExtraUnit) abs() int {
	if e < 0 {
		return -int(e)
	}
	return int(e)
}

// Name returns the unit's name, "voltage", on both sides of the line. It returns "" for none, and "extra-5" and so
// on for a unit that PCP 7.2 has no name for.
func (e ExtraUnit) Name() string {
	switch n := e.abs(); {
	case n < len(extraKinds):
		return extraKinds[n].name
	default:
		return "extra-" + strconv.Itoa(n)
	}
}

// ScaleName returns the symbol of a scale of the unit, "mV", or "" if PCP 7.2 has none.
func (e ExtraUnit) ScaleName(scale uint8) string {
	if n := e.abs(); n < len(extraKinds) && scale > 0 && int(scale) <= len(extraKinds[n].scales) {
		return extraKinds[n].scales[scale-1]
	}
	return ""
}

// extraName returns an extra unit as units are printed: "voltage (mV)".
func extraName(e ExtraUnit, scale uint8) string {
	symbol := e.ScaleName(scale)
	switch {
	case e.abs() >= len(extraKinds):
		return e.Name()
	case symbol == "":
		symbol = "scale-" + strconv.Itoa(int(scale))
	}
	return fmt.Sprintf("%s (%s)", e.Name(), symbol)
}

// cutExtra reads an extra unit at the start of s and returns the rest of s. "voltage (mV)" is one keyword: the blank
// before the parenthesis is part of it. No blank is needed after it.
func cutExtra(s string) (unit ExtraUnit, scale uint8, rest string, ok bool) {
	for e, kind := range extraKinds {
		for i := range kind.scales {
			e, scale := ExtraUnit(e), uint8(i+1)
			keyword := extraName(e, scale)
			if len(s) >= len(keyword) && lowerASCII(s[:len(keyword)]) == lowerASCII(keyword) {
				return e, scale, s[len(keyword):], true
			}
		}
	}
	return ExtraNone, 0, s, false
}
