package timewindow

import (
	"errors"
	"strings"
	"time"

	"pmdaderived/internal/blank"
)

const wantDate = "want a time, such as 13:10, 2026-11-28 07:36:36, Sat Nov 28 07:36:36 2026, yesterday 13:10 or now"

// date reads the time after an "@". from is the offset behind the "@". A time of day is the first one that is not before
// start.
func (e Extent) date(arg string, from int, start time.Time) (time.Time, error) {
	at := blank.Skip(arg, from)
	text := strings.TrimRight(arg[at:], blank.All)
	word, rest, _ := strings.Cut(text, " ")
	switch strings.ToLower(word) {
	case "now":
		if rest == "" {
			return e.Now, nil
		}
	case "today":
		return e.clockOnDay(arg, at+len(word), 0)
	case "yesterday":
		return e.clockOnDay(arg, at+len(word), -1)
	}
	layouts := dates()
	colon := strings.IndexByte(text, ':')
	isClock := colon == 1 || colon == 2 // follows the hour
	if isClock {
		layouts = clocks()
	}
	t, err := parseLayout(text, e.Zone, layouts)
	switch {
	case err != nil:
		return time.Time{}, &Error{arg, at, err.Error()}
	case isClock:
		return firstClock(t, text, start.In(e.Zone)), nil
	}
	return t, nil
}

// clockOnDay reads a time of day, midnight if there is none, and returns it for the day that is some days from today.
func (e Extent) clockOnDay(arg string, from, days int) (time.Time, error) {
	at := blank.Skip(arg, from)
	var clock time.Time
	if text := strings.TrimRight(arg[at:], blank.All); text != "" {
		var err error
		if clock, err = parseLayout(text, e.Zone, clocks()); err != nil {
			return time.Time{}, &Error{arg, at, err.Error()}
		}
	}
	return clockOn(e.Now.In(e.Zone), days, clock), nil
}

// firstClock returns the first time, from start on, at which a clock shows this time of day. text decides whether seconds
// count. In the night in which clocks are put back there are two such times; time.Date returns either.
func firstClock(clock time.Time, text string, start time.Time) time.Time {
	shown := time.Second
	if strings.Count(text, ":") == 1 {
		shown = time.Minute
	}
	today := clockOn(start, 0, clock)
	for _, t := range []time.Time{twin(today, -1), today, twin(today, 1)} {
		if !t.Before(start.Truncate(shown)) {
			return t
		}
	}
	return twin(clockOn(start, 1, clock), -1)
}

// twin returns the other time at which a clock shows the same, because it is put back in between: a later one with the
// days 1, an earlier one with -1. It returns t if there is none.
func twin(t time.Time, days int) time.Time {
	_, here := t.Zone()
	_, there := t.Add(time.Duration(days) * 24 * time.Hour).Zone()
	other := t.Add(time.Duration(here-there) * time.Second)
	if _, offset := other.Zone(); offset != there {
		return t
	}
	return other
}

// clockOn returns a time of day on the day that is some days from a time.
func clockOn(day time.Time, days int, clock time.Time) time.Time {
	y, m, d := day.Date()
	return time.Date(y, m, d+days, clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), day.Location())
}

// clocks returns the layouts of times of day. time.Parse also accepts a fraction after the seconds.
func clocks() []string { return []string{"15:04:05", "15:04"} }

// dates returns the layouts of dates: those of ISO 8601, also with a blank in place of the T, and that of ctime(3),
// which PCP's tools print.
func dates() []string {
	layouts := []string{"2006-01-02", time.ANSIC}
	for _, separator := range []string{" ", "T"} {
		for _, clock := range clocks() {
			for _, zone := range []string{"", "Z07:00", "Z0700"} {
				layouts = append(layouts, "2006-01-02"+separator+clock+zone)
			}
		}
	}
	return layouts
}

// parseLayout parses a text with the first layout that fits. Its error says what is expected.
func parseLayout(text string, zone *time.Location, layouts []string) (time.Time, error) {
	reason := wantDate
	for _, layout := range layouts {
		t, err := time.ParseInLocation(layout, text, zone)
		if err == nil {
			return t, nil
		}
		if fault, ok := errors.AsType[*time.ParseError](err); ok {
			if field, ok := strings.CutSuffix(fault.Message, " out of range"); ok {
				reason = "the " + strings.TrimPrefix(field, ": ") + " is out of range"
			}
		}
	}
	return time.Time{}, errors.New(reason)
}
