package timewindow

import (
	"fmt"
	"strings"
	"time"
)

// move is a distance in time, of which some units are not always equally long.
type move struct {
	years, months, days int
	more                time.Duration
}

// unitMove is so many of a unit; nil: the word is none.
func unitMove(word string, n int) *move {
	switch strings.TrimSuffix(word, "s") {
	case "sec", "second":
		return &move{more: time.Duration(n) * time.Second}
	case "min", "minute":
		return &move{more: time.Duration(n) * time.Minute}
	case "hour":
		return &move{more: time.Duration(n) * time.Hour}
	case "day":
		return &move{days: n}
	case "week":
		return &move{days: 7 * n}
	case "month":
		return &move{months: n}
	case "year":
		return &move{years: n}
	}
	return nil
}

func (m move) back() move { return move{-m.years, -m.months, -m.days, -m.more} }

// resolve is the time that the fields mean, or why they mean none.
func (p *dateParser) resolve(e Extent) (time.Time, string) {
	t, reason := p.base(e)
	for _, m := range p.moves {
		t = t.AddDate(m.years, m.months, m.days).Add(m.more)
	}
	return t, reason
}

// base is what distances are counted from.
func (p *dateParser) base(e Extent) (time.Time, string) {
	dated := p.year != unset || p.month != unset || p.day != unset || p.weekday != unset
	switch {
	case p.now:
		return e.Now, ""
	case p.clock && dated:
		return time.Time{}, "it has two dates"
	case p.clock:
		y, m, d := e.Now.In(p.zone).Date()
		return p.on(y, int(m), d+p.days), ""
	case !dated && p.hour == unset && len(p.moves) > 0:
		return e.End.In(p.zone), ""
	case !dated && p.hour == unset:
		return e.Start, ""
	}
	start := e.Start.In(p.zone)
	y, m, d := start.Date()
	switch {
	case p.year == unset && p.month == unset && p.day == unset: // the first such time, or day of the week
		const week = 7
		for more := range week + 1 {
			t := p.on(y, int(m), d+more)
			if p.weekday != unset && int(t.Weekday()) != p.weekday {
				continue
			}
			if p.hour == unset || !t.Before(start.Truncate(p.fine)) {
				return t, ""
			}
		}
		return p.on(y, int(m), d+week), ""
	case p.month == unset && p.day != unset && p.year != unset:
		return time.Time{}, "it has no month"
	}
	year, month, day := p.year, p.month, max(p.day, 1)
	if month == unset && p.year != unset {
		month = 1
	}
	if month == unset { // a day of some month
		month = int(m)
		if day < d {
			month++
		}
	}
	if year == unset {
		year = y
		if month < int(m) || month == int(m) && p.day != unset && day < d {
			year++
		}
	}
	t := p.on(year, month, day)
	switch {
	case t.Day() != day:
		return t, fmt.Sprintf("%s %d has no day %d", time.Month((month-1)%12+1), year, day)
	case p.weekday != unset && int(t.Weekday()) != p.weekday:
		return t, fmt.Sprintf("%s is not a %s but a %s", t.Format("2006-01-02"), time.Weekday(p.weekday), t.Weekday())
	}
	return t, ""
}

// on is the time of day at a date.
func (p *dateParser) on(year, month, day int) time.Time {
	return time.Date(year, time.Month(month), day, max(p.hour, 0), p.minute, p.second, p.nanos, p.zone)
}
