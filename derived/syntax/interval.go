package syntax

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"pmdaderived/internal/timewindow"
)

// Limits of windows.
const (
	// MinEvery is the shortest interval between the ticks of a window. Each tick is a fetch that pmcd has to serve.
	MinEvery = 100 * time.Millisecond

	// MaxTicks is the largest number of ticks in a window.
	MaxTicks = 10_000_000

	// MaxWhole is the largest number of ticks for functions that read all values of the window for each result.
	MaxWhole = 3600

	// MaxInterval is the longest interval.
	MaxInterval = 366 * 24 * time.Hour
)

// Without an interval a window of up to shortWindow has a tick each second, and a longer one every ten seconds.
const (
	shortWindow = 5 * time.Minute
	shortEvery  = time.Second
	longEvery   = 10 * time.Second
)

var errInterval = errors.New("use a number and a unit, such as 30s, 5min or 1hour30min")

// ParseInterval reads an interval as [timewindow.ParseInterval] does. It refuses 0 and intervals longer than
// [MaxInterval].
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

// Window returns the length of the window of a function over time, and the interval of its ticks. The length is 0 for
// a function without an interval: its window then begins at the previous fetch of the client. Of latch() it is one
// interval. It returns 0, 0 for functions that are not over time.
func (e *Call) Window() (window, every time.Duration) {
	for i, x := range e.Args {
		if e.Kind(i) != Interval {
			continue
		}
		d, _ := ParseInterval(x.(*Literal).Text) // Parse has checked it
		if window == 0 {
			window, every = d, defaultEvery(d)
		} else {
			every = d
		}
	}
	if window == 0 && e.Func.arg(len(e.Func.Args())-1).Kind == Interval {
		every = shortEvery
	}
	if e.Func == Latch { // it needs only the newest tick
		every = cmp.Or(window, every)
		window = every
	}
	return window, every
}

func defaultEvery(window time.Duration) time.Duration {
	if window <= shortWindow {
		return shortEvery
	}
	return longEvery
}

// checkWindow checks the intervals of a call: their texts, and that the window is a whole number of ticks, not too
// many.
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
