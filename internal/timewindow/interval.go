package timewindow

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"pmdaderived/internal/blank"
)

// Error is a text that is not valid.
type Error struct {
	Text   string
	Offset int    // of the mistake, in bytes
	Reason string // a sentence without a full stop
}

func (e *Error) Error() string {
	return fmt.Sprintf("%q is not valid at character %d: %s", e.Text, e.Offset+1, e.Reason)
}

const wantInterval = "want a number and a unit, such as 30s, 5min or 1hour30min"

// ParseInterval reads an interval as the option -t of PCP's tools does: "5min", "1 hour 30 min", "0.5". A number
// without a unit is in seconds. Blanks are ignored. An error is an *[Error]. Source: PCPIntro(1),
// pmParseHighResInterval(3).
func ParseInterval(text string) (time.Duration, error) {
	fail := func(at int) (time.Duration, error) { return 0, &Error{text, at, wantInterval} }
	at := blank.Skip(text, 0)
	if at == len(text) {
		return fail(0)
	}
	sum := 0.0
	for at < len(text) {
		digits, end := readChars(text, at, "0123456789.")
		number, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return fail(at)
		}
		at = end
		word, end := readChars(text, at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
		unit := timeUnit(strings.ToLower(word))
		if unit == 0 {
			return fail(at)
		}
		at = end
		sum += number * float64(unit)
	}
	if sum+0.5 >= math.MaxInt64 {
		return 0, &Error{text, 0, "it is longer than 292 years"}
	}
	return time.Duration(sum + 0.5), nil
}

// readChars reads characters of a set from an offset on, without blanks. It also skips the blanks after them.
func readChars(text string, at int, set string) (chars string, end int) {
	for at < len(text) && strings.IndexByte(set, text[at]) >= 0 {
		chars += text[at : at+1]
		at = blank.Skip(text, at+1)
	}
	return chars, at
}

// timeUnit returns the unit that a word means, 0 if there is none.
func timeUnit(word string) time.Duration {
	switch word {
	case "nsec", "nsecs", "nanosecond", "nanoseconds":
		return time.Nanosecond
	case "usec", "usecs", "microsecond", "microseconds":
		return time.Microsecond
	case "ms", "msec", "msecs", "millisecond", "milliseconds":
		return time.Millisecond
	case "", "s", "sec", "secs", "second", "seconds":
		return time.Second
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour
	case "d", "day", "days":
		return 24 * time.Hour
	}
	return 0
}
