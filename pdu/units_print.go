package pdu

import (
	"strconv"
	"strings"
)

// String returns the units as pminfo -d prints them: "Kbyte / sec", "count x 10^3", "/ hour^2", "voltage (mV)",
// and "" for none. ParseUnits reads it back unchanged, with two exceptions that come from libpcp. It refuses a count
// scale without a dimension ("x 10^3"). And "count x 10" squared prints as "count x 10^2", which is read as
// hundreds. Source: pmUnitsStr(3), docs/language-rules.md 9.2.
func (u Units) String() string {
	if u.Dimensionless() {
		if u.CountScale == 0 {
			return ""
		}
		return strings.TrimPrefix(countName(u.CountScale), "count ")
	}
	var b strings.Builder
	u.appendSide(&b, 1)
	if u.Space < 0 || u.Time < 0 || u.Count < 0 || u.Extra < 0 {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('/')
		u.appendSide(&b, -1)
	}
	return b.String()
}

// appendSide appends the axes whose dimension has the given sign, with positive powers.
func (u Units) appendSide(b *strings.Builder, sign int) {
	for _, axis := range [...]struct {
		dim  int
		name string
	}{
		{min(1, sign*int(u.Extra)), extraName(u.Extra, u.ExtraScale)},
		{sign * int(u.Space), u.SpaceScale.String()},
		{sign * int(u.Time), u.TimeScale.String()},
		{sign * int(u.Count), countName(u.CountScale)},
	} {
		if axis.dim <= 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(axis.name)
		if axis.dim > 1 {
			b.WriteByte('^')
			b.WriteString(strconv.Itoa(axis.dim))
		}
	}
}

// String returns pmUnitsStr's name: "byte", "Kbyte" … "Ybyte", for larger scales "space-9" and so on.
func (s SpaceScale) String() string {
	return nameOf(s, "space-%d", "byte", "Kbyte", "Mbyte", "Gbyte", "Tbyte", "Pbyte", "Ebyte", "Zbyte",
		"Ybyte")
}

// String returns pmUnitsStr's name: "nanosec" … "hour", for larger scales "time-6" and so on.
func (s TimeScale) String() string {
	return nameOf(s, "time-%d", "nanosec", "microsec", "millisec", "sec", "min", "hour")
}

// countName returns the name of a count scale: "count", "count x 10", "count x 10^3".
func countName(scale int8) string {
	switch scale {
	case 0:
		return "count"
	case 1:
		return "count x 10"
	}
	return "count x 10^" + strconv.Itoa(int(scale))
}
