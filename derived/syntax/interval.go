package syntax

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits of windows.
const (
	// MinEvery is the shortest interval between the ticks of a window: all ticks are fetches that pmcd has to serve.
	MinEvery = 100 * time.Millisecond

	// MaxTicks is how many ticks a window may have.
	MaxTicks = 10_000_000

	// MaxWhole is how many there may be where all values are looked at for each result.
	MaxWhole = 3600

	// MaxInterval is the longest interval.
	MaxInterval = 366 * 24 * time.Hour
)

// Where no interval is given a window has a tick each second if it is no longer than shortWindow, else every ten seconds.
const (
	shortWindow = 5 * time.Minute
	shortEvery  = time.Second
	longEvery   = 10 * time.Second
)

var errInterval = errors.New("use a number and a unit, such as 30s, 5min or 1hour30min")

// ParseInterval reads an interval as the option -t of PCP's tools does: "5min", "1 hour 30 min", "0.5"; a number without a
// unit is seconds. Source: PCPIntro(1). None is longer than [MaxInterval], or 0.
func ParseInterval(text string) (time.Duration, error) {
	rest := strings.ToLower(strings.Join(strings.Fields(text), ""))
	sum := 0.0
	for len(rest) > 0 {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		number, err := strconv.ParseFloat(rest[:digits], 64)
		rest = rest[digits:]
		word := len(rest) - len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz"))
		unit := unitOfTime(rest[:word])
		if err != nil || unit == 0 {
			return 0, errInterval
		}
		sum += number * float64(unit)
		rest = rest[word:]
	}
	if sum < 1 {
		return 0, errInterval
	}
	if sum > float64(MaxInterval) {
		return 0, fmt.Errorf("more than %v days", MaxInterval.Hours()/24)
	}
	return time.Duration(sum + 0.5), nil
}

// unitOfTime is the unit that a word stands for; 0: none.
func unitOfTime(word string) time.Duration {
	switch word {
	case "", "s", "sec", "secs", "second", "seconds":
		return time.Second
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute
	case "h", "hour", "hours":
		return time.Hour
	case "d", "day", "days":
		return 24 * time.Hour
	}
	return 0
}

// Window is how long the window of a function over time is, 0 if it is since its client has looked last, and how far its ticks are apart; 0, 0 for all
// other functions.
func (e *Call) Window() (window, every time.Duration) {
	for i, x := range e.Args {
		if e.Kind(i) != Interval {
			continue
		}
		d, _ := ParseInterval(x.(*Literal).Text) // judged when the definition was parsed
		if window == 0 {
			window, every = d, defaultEvery(d)
		} else {
			every = d
		}
	}
	if window == 0 && e.Func.arg(len(e.Func.Args())-1).Kind == Interval {
		every = shortEvery
	}
	return window, every
}

func defaultEvery(window time.Duration) time.Duration {
	if window <= shortWindow {
		return shortEvery
	}
	return longEvery
}

// judgeWindow refuses what is no interval, and windows that ticks do not fill.
func (p *parser) judgeWindow(e *Call) {
	var at []int
	most := time.Duration(MaxTicks)
	for i, x := range e.Args {
		arg := e.Func.arg(i)
		if arg.Kind != Interval {
			continue
		}
		if arg.most > 0 {
			most = time.Duration(arg.most)
		}
		l := x.(*Literal)
		if _, err := ParseInterval(l.Text); err != nil {
			p.failAt(l.at.Start, "Illegal interval: '"+l.Text+"': "+err.Error())
			return
		}
		at = append(at, l.at.Start)
	}
	if len(at) == 0 {
		return
	}
	window, every := e.Window()
	switch {
	case every < MinEvery:
		p.failAt(at[len(at)-1], fmt.Sprintf("Interval of samples below %v", MinEvery))
	case window%every != 0:
		p.failAt(at[0], fmt.Sprintf("Window of %v is not a multiple of the interval of its samples, %v", window, every))
	case window/every > most:
		p.failAt(at[0], fmt.Sprintf("Window of more than %d samples", most))
	}
}
