package timewindow

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"pmdaderived/internal/blank"
)

// Options has the arguments of the options that select a part of an archive; "" means not given.
type Options struct {
	Start  string // -S
	End    string // -T
	Align  string // -A
	Origin string // -O
}

// Extent is what can be selected from.
type Extent struct {
	Start, End time.Time      // of the archive
	Now        time.Time      // present time
	Zone       *time.Location // of dates and times; nil: UTC
}

// Part is a part of an archive.
type Part struct {
	Start, End time.Time
	Origin     time.Time // time of the first sample; from Start to End
	Unaligned  bool      // no multiple of Align is in the part, so Align was ignored
}

// Part returns the selected part. It cuts off times outside the archive. An error names the option; about a text that
// is not valid it is an *[Error].
func (o Options) Part(e Extent) (Part, error) {
	if e.Zone == nil {
		e.Zone = time.UTC
	}
	p := Part{Start: e.Start, End: e.End}
	var err error
	align := time.Duration(0)
	if o.Align != "" {
		if align, err = ParseInterval(o.Align); err == nil && align == 0 {
			err = &Error{o.Align, 0, wantInterval}
		}
		if err != nil {
			return p, fmt.Errorf("-A: %w", err)
		}
	}
	aligned := func(t time.Time) time.Time {
		if align == 0 {
			return t
		}
		next := t
		if past := time.Duration(t.UnixNano() % int64(align)); past > 0 {
			next = t.Add(align - past)
		}
		if next.After(e.End) {
			p.Unaligned = true
			return t
		}
		return next
	}

	if o.Start != "" {
		if p.Start, err = e.resolve(o.Start, e.Start, e.End); err != nil {
			return p, fmt.Errorf("-S: %w", err)
		}
		p.Start = later(p.Start, e.Start)
	}
	p.Start = aligned(p.Start)
	if p.Start.After(e.End) {
		return p, fmt.Errorf("-S: the window begins at %s, after the end of the archive at %s", e.text(p.Start),
			e.text(e.End))
	}
	if o.End != "" {
		if p.End, err = e.resolve(o.End, p.Start, e.End); err != nil {
			return p, fmt.Errorf("-T: %w", err)
		}
		if p.End.After(e.End) {
			p.End = e.End
		}
		if p.End.Before(p.Start) {
			return p, fmt.Errorf("-T: the window ends at %s, before it begins at %s", e.text(p.End), e.text(p.Start))
		}
	}
	p.Origin = p.Start
	if o.Origin != "" {
		if p.Origin, err = e.resolve(o.Origin, p.Start, p.End); err != nil {
			return p, fmt.Errorf("-O: %w", err)
		}
		p.Origin = aligned(later(p.Origin, p.Start))
		if p.Origin.After(p.End) {
			p.Origin = p.End
		}
	}
	return p, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// text formats a time for a message.
func (e Extent) text(t time.Time) string { return t.In(e.Zone).Format("2006-01-02 15:04:05 MST") }

// resolve returns the time that an argument means: an interval after or before a time, or a date and time.
func (e Extent) resolve(arg string, after, before time.Time) (time.Time, error) {
	at := blank.Skip(arg, 0)
	switch rest := arg[at:]; {
	case strings.HasPrefix(rest, "@"):
		return e.date(arg, at+1, after)
	case strings.HasPrefix(rest, "-"):
		d, err := interval(arg, at+1)
		return before.Add(-d), err
	case strings.HasPrefix(rest, "+"):
		d, err := interval(arg, at+1)
		return after.Add(d), err
	}
	d, err := interval(arg, at)
	return after.Add(d), err
}

// interval reads the interval at an offset of an argument.
func interval(arg string, from int) (time.Duration, error) {
	d, err := ParseInterval(arg[from:])
	if fault, ok := errors.AsType[*Error](err); ok {
		reason := fault.Reason
		if from == 0 && reason == wantInterval {
			reason += ", or a date and time behind @"
		}
		return 0, &Error{arg, from + fault.Offset, reason}
	}
	return d, err
}
