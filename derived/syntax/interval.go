package syntax

import (
	"errors"
	"fmt"
	"time"

	"pmdaderived/internal/timewindow"
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

// ParseInterval reads an interval as [timewindow.ParseInterval] does. None is longer than [MaxInterval], or 0.
func ParseInterval(text string) (time.Duration, error) {
	d, err := timewindow.ParseInterval(text)
	switch {
	case err != nil, d == 0:
		return 0, errInterval
	case d > MaxInterval:
		return 0, fmt.Errorf("more than %v days", MaxInterval.Hours()/24)
	}
	return d, nil
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

// checkWindow refuses what is no interval, and windows that ticks do not fill.
func (p *parser) checkWindow(e *Call) {
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
