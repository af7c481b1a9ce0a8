package timewindow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pmdaderived/internal/blank"
)

// date reads a date and time from a place on, and finds out which it is.
func (e Extent) date(arg string, from int) (time.Time, error) {
	p := &dateParser{text: arg, at: from, year: unset, month: unset, day: unset, weekday: unset, hour: unset, zone: e.Zone}
	for p.skip(); p.at < len(p.text) && p.fault == nil; p.skip() {
		switch c := p.text[p.at]; {
		case isDigit(c):
			p.number()
		case c == '+' || c == '-':
			p.signed()
		case isLetter(c):
			p.word()
		default:
			p.fail(p.at, "want a date and time, such as 13:10 or Mar 4 1996")
		}
	}
	if p.fault != nil {
		return time.Time{}, p.fault
	}
	t, reason := p.resolve(e)
	if reason != "" {
		return time.Time{}, &Error{arg, from, reason}
	}
	return t, nil
}

// unset is a field that was not given.
const unset = -1

// dateParser reads one date and time.
type dateParser struct {
	text  string
	at    int
	fault error

	year, month, day, weekday   int
	hour, minute, second, nanos int
	fine                        time.Duration // what the time of day was given to
	zone                        *time.Location
	clock                       bool // now, today ... : by the clock
	now                         bool
	days                        int // of today, yesterday ...
	moves                       []move
}

func (p *dateParser) fail(at int, reason string) {
	if p.fault == nil {
		p.fault = &Error{p.text, at, reason}
	}
}

// skip passes over what stands between fields.
func (p *dateParser) skip() {
	for p.at < len(p.text) && (p.text[p.at] == ',' || blank.Is(p.text[p.at])) {
		p.at++
	}
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// accept passes over a character if it is the next one.
func (p *dateParser) accept(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// peekDigit reports whether a digit is at a distance.
func (p *dateParser) peekDigit(distance int) bool {
	return p.at+distance < len(p.text) && isDigit(p.text[p.at+distance])
}

// digits reads a number.
func (p *dateParser) digits() (n, width int) {
	from := p.at
	for p.at < len(p.text) && isDigit(p.text[p.at]) {
		p.at++
	}
	n, err := strconv.Atoi(p.text[from:p.at])
	if err != nil {
		p.fail(from, "want a number")
	}
	return n, p.at - from
}

// letters reads a word, in lower case; "" if there is none.
func (p *dateParser) letters() string {
	from := p.at
	for p.at < len(p.text) && isLetter(p.text[p.at]) {
		p.at++
	}
	return strings.ToLower(p.text[from:p.at])
}

// within fails unless a number is in a range.
func (p *dateParser) within(at, n, least, most int, what string) int {
	if n < least || n > most {
		p.fail(at, fmt.Sprintf("%d is not a valid %s", n, what))
	}
	return n
}

// set gives a field a value, once.
func (p *dateParser) set(at int, field *int, n int, what string) {
	if *field != unset {
		p.fail(at, "there is a second "+what)
	}
	*field = n
}

// number reads a field that begins with a digit.
func (p *dateParser) number() {
	at := p.at
	n, width := p.digits()
	switch {
	case p.accept(':'):
		p.time(at, n)
	case p.peekDigit(1) && (p.text[p.at] == '-' || p.text[p.at] == '/'):
		p.numeric(at, n, width, p.text[p.at])
	default:
		behind := p.at
		p.at = blank.Skip(p.text, p.at)
		switch word := p.letters(); {
		case word == "am" || word == "pm":
			p.half(at, n, word)
			p.fine = time.Hour
		case unitMove(word, n) != nil:
			m := *unitMove(word, n)
			again := p.at
			p.at = blank.Skip(p.text, p.at)
			if p.letters() == "ago" {
				m = m.back()
			} else {
				p.at = again
			}
			p.moves = append(p.moves, m)
		case width == 4:
			p.at = behind
			p.set(at, &p.year, n, "year")
		default:
			p.at = behind
			p.set(at, &p.day, p.within(at, n, 1, 31, "day of a month"), "day of a month")
		}
	}
}

// time reads what is behind the hour and a colon.
func (p *dateParser) time(at, hour int) {
	p.set(at, &p.hour, p.within(at, hour, 0, 23, "hour"), "time of day")
	minuteAt := p.at
	minute, width := p.digits()
	if width != 2 {
		p.fail(minuteAt, "want a time of day, such as 13:10 or 13:10:30")
	}
	p.minute, p.fine = p.within(minuteAt, minute, 0, 59, "minute"), time.Minute
	if p.accept(':') {
		secondAt := p.at
		second, width := p.digits()
		if width != 2 {
			p.fail(secondAt, "want a time of day, such as 13:10 or 13:10:30")
		}
		p.second, p.fine = p.within(secondAt, second, 0, 60, "second"), time.Second
		if p.accept('.') {
			from := p.at
			p.digits()
			const most = 9 // digits of nanoseconds
			fraction := p.text[from:min(p.at, from+most)]
			p.nanos, _ = strconv.Atoi(fraction + strings.Repeat("0", most-len(fraction)))
			p.fine = 1
		}
	}
	behind := p.at
	p.at = blank.Skip(p.text, p.at)
	if word := p.letters(); word == "am" || word == "pm" {
		p.hour = unset
		p.half(at, hour, word)
	} else {
		p.at = behind
	}
}

// half sets an hour of the morning or of the afternoon.
func (p *dateParser) half(at, hour int, word string) {
	hour = p.within(at, hour, 1, 12, "hour of am or pm") % 12
	if word == "pm" {
		hour += 12
	}
	p.set(at, &p.hour, hour, "time of day")
}

// numeric reads a date of numbers: with - the year comes first, with / the month, unless the year has four digits.
func (p *dateParser) numeric(at, first, width int, separator byte) {
	p.at++
	secondAt := p.at
	second, _ := p.digits()
	thirdAt, third, thirdWidth := p.at, unset, 0
	if p.accept(separator) {
		thirdAt = p.at
		third, thirdWidth = p.digits()
	}
	var year, month, day, yearWidth, yearAt, monthAt, dayAt int
	if separator == '-' || width == 4 {
		year, yearWidth, month, day = first, width, second, third
		yearAt, monthAt, dayAt = at, secondAt, thirdAt
	} else {
		month, day, year, yearWidth = first, second, third, thirdWidth
		monthAt, dayAt, yearAt = at, secondAt, thirdAt
	}
	if day == unset {
		p.fail(dayAt, "want a date, such as 1996-03-04")
		return
	}
	if year != unset {
		p.set(at, &p.year, century(year, yearWidth), "year")
		if yearWidth != 2 && yearWidth != 4 {
			p.fail(yearAt, "want a year of two or four digits")
		}
	}
	p.set(at, &p.month, p.within(monthAt, month, 1, 12, "month"), "month")
	p.set(at, &p.day, p.within(dayAt, day, 1, 31, "day of a month"), "day of a month")
	if p.at < len(p.text) && p.text[p.at] == 'T' && p.peekDigit(1) { // as in ISO 8601
		p.at++
	}
}

// century completes a year of two digits as POSIX does.
func century(year, width int) int {
	const turn = 69 // of 1969
	switch {
	case width != 2:
		return year
	case year >= turn:
		return 1900 + year
	}
	return 2000 + year
}

// signed reads a distance, or an offset from UTC behind a time.
func (p *dateParser) signed() {
	at, sign := p.at, 1
	if p.text[at] == '-' {
		sign = -1
	}
	p.at = blank.Skip(p.text, p.at+1)
	n, width := p.digits()
	if width == 0 {
		p.fail(p.at, "want a number")
		return
	}
	behind := p.at
	p.at = blank.Skip(p.text, p.at)
	if m := unitMove(p.letters(), n); m != nil {
		if sign < 0 {
			*m = m.back()
		}
		p.moves = append(p.moves, *m)
		return
	}
	p.at = behind
	hours, minutes := n, 0
	switch {
	case width == 2 && p.accept(':'):
		minutes, width = p.digits()
	case width == 4:
		hours, minutes, width = n/100, n%100, 2
	}
	if p.hour == unset || width != 2 || hours > 24 || minutes > 59 {
		p.fail(at, "want a number and a unit, such as -1hour, or an offset from UTC behind a time of day, such as +0200")
		return
	}
	p.zone = time.FixedZone("", sign*(hours*3600+minutes*60))
}

// word reads a field that begins with a letter.
func (p *dateParser) word() {
	at := p.at
	word := p.letters()
	const short = 3 // letters of a name
	month := slices.IndexFunc(monthNames(), func(name string) bool { return len(word) >= short && strings.HasPrefix(name, word) })
	weekday := slices.IndexFunc(dayNames(), func(name string) bool { return len(word) >= short && strings.HasPrefix(name, word) })
	days, clock := map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}[word]
	switch {
	case month >= 0:
		p.set(at, &p.month, month+1, "month")
	case weekday >= 0:
		p.set(at, &p.weekday, weekday, "day of the week")
	case word == "now":
		p.now = true
	case clock:
		p.clock, p.days = true, days
	case word == "z":
		p.zone = time.UTC
	default:
		for p.at < len(p.text) && (isLetter(p.text[p.at]) || isDigit(p.text[p.at]) || strings.IndexByte("/_+-", p.text[p.at]) >= 0) {
			p.at++
		}
		zone, err := Zone(p.text[at:p.at])
		if err != nil {
			p.fail(at, fmt.Sprintf("%q is not a month, a day of the week, a time zone or another word of a date", p.text[at:p.at]))
			return
		}
		p.zone = zone
	}
}

func monthNames() []string {
	names := make([]string, 12)
	for i := range names {
		names[i] = strings.ToLower(time.Month(i + 1).String())
	}
	return names
}

func dayNames() []string {
	names := make([]string, 7)
	for i := range names {
		names[i] = strings.ToLower(time.Weekday(i).String())
	}
	return names
}
