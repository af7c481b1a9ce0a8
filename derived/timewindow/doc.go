// Package timewindow reads times as PCP's tools take them on their command lines: intervals, and the options -S, -T, -A, -O and -Z that
// select a part of an archive. Sources: PCPIntro(1), pmParseInterval(3), pmParseTimeWindow(3). It is pure: who calls it says what the
// archive has, and what time it is.
//
//	w, err := timewindow.Options{Start: "@10:00", End: "2hours", Align: "1min"}.Window(timewindow.Extent{Start: first, End: last, Now: now, Zone: zone})
//
//	an argument of -S, -T, -O   means
//	1hour30min                  so long after the start of the archive, for -T and -O after that of the window
//	-1hour30min                 so long before the end of the archive, for -O before that of the window
//	@13:10, @Mar 4 1996         a date and time in the zone
//
// Of a date and time what is left out at its end is the lowest there is: "@ Mar 1996" is "@ Mar 1 00:00:00 1996". What is left out at its
// beginning comes from the start of the archive, as the first time from there on that fits: of an archive that begins at 13:07 "@13:10" is of the
// same day, "@10:00" of the next one.
//
//	date            1996-03-04, 96-03-04, 3/4/96, 3/4/1996, 4 March 1996, Mar 4 1996, Mar 4, Mar 1996, Mon
//	time            13:07, 13:07:47, 13:07:47.25, 1:07 pm, 1pm
//	zone            EST, UTC, Z, +0200, Australia/Melbourne
//	counted from    2 hours ago, +1 day, -30min: from the date before it, or else from the end of the archive
//	by the clock    now, today, yesterday, tomorrow
//
// Neither "this" and "last", nor an ordinal in front of a day of the week, are understood.
package timewindow
