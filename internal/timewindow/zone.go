package timewindow

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"
)

// Zone returns the time zone of -Z, or of an archive's label. name is as in the variable TZ: "Australia/Melbourne",
// ":Europe/Vienna", "EST5EDT", "AEST-10" or "CET-1CEST,M3.5.0,M10.5.0/3".
func Zone(name string) (*time.Location, error) {
	trimmed := strings.TrimPrefix(name, ":")
	if trimmed != "Local" { // only Go has this name
		if zone, err := time.LoadLocation(trimmed); err == nil {
			return zone, nil
		}
	}
	if zone := posixZone(trimmed); zone != nil {
		return zone, nil
	}
	return nil, fmt.Errorf("%q is not a valid time zone: want one as in the variable TZ, such as UTC, "+
		"Australia/Melbourne or AEST-10", name)
}

// noAbbreviation is the abbreviation of a zone whose rule was not understood.
const noAbbreviation = "?"

// posixZone returns the zone of a rule as POSIX has it in the variable TZ, nil if the rule is not valid. Go reads such
// rules only at the end of a time zone file, so posixZone makes a file with little else. Source: tzfile(5).
func posixZone(rule string) *time.Location {
	if strings.ContainsAny(rule, "\n\x00") {
		return nil
	}
	header := func(times, types, chars uint32) []byte {
		b := append([]byte("TZif2"), make([]byte, 15)...)
		for _, n := range []uint32{0, 0, 0, times, types, chars} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return b
	}
	file := append(header(0, 0, 0), header(1, 1, uint32(len(noAbbreviation)+1))...)
	file = binary.BigEndian.AppendUint64(file, 1<<63|math.MaxInt64>>4) // earliest time
	file = append(file, 0)                                             // type 0
	file = append(file, 0, 0, 0, 0, 0, 0)                              // UTC, no summer time, first abbreviation
	file = append(file, noAbbreviation+"\x00\n"+rule+"\n"...)
	zone, err := time.LoadLocationFromTZData(rule, file)
	if err != nil {
		return nil
	}
	if abbreviation, _ := time.Unix(0, 0).In(zone).Zone(); abbreviation == noAbbreviation {
		return nil
	}
	return zone
}
