// Package timewindow reads times as PCP's tools take them on their command lines: intervals, and the options -S, -T, -A, -O and -Z that
// select a part of an archive. Sources: PCPIntro(1), pmParseInterval(3), pmParseTimeWindow(3). It is pure: who calls it says what the
// archive has, and what time it is.
//
//	w, err := timewindow.Options{Start: "@10:00", End: "2hours", Align: "1min"}.Window(timewindow.Extent{Start: first, End: last, Now: now, Zone: zone})
//
//	an argument of -S, -T, -O   means
//	1hour30min                  so long after the start of the archive, for -T and -O after that of the window
//	-1hour30min                 so long before the end of the archive, for -O before that of the window
//	@13:10, @13:10:30           the first such time from the start of the archive on: of an archive that begins at 13:07
//	                            "@13:10" is of the same day, "@10:00" of the next one
//	@2026-11-28 07:36:36        a date and time in the zone, as in ISO 8601: with a T, without seconds or time of day, with Z or +02:00
//	@Sat Nov 28 07:36:36 2026   the same, as PCP's tools print it
//	@now, @today, @yesterday    by the clock; a time of day may stand behind the last two
//
// Seconds may have a fraction.
package timewindow
