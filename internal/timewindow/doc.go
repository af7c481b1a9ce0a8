// Package timewindow reads times as PCP's tools do on their command lines: intervals, and the options -S, -T, -A, -O
// and -Z that select a part of an archive. Sources: PCPIntro(1), pmParseInterval(3), pmParseTimeWindow(3). It is pure:
// the caller passes the extent of the archive and the present time.
//
//	                        archive ├──────────────────────────────────┤ Extent
//	-S, -T, -O ──resolve──►              ├─────┬──────────────┤          Part
//	                                   Start Origin          End
//
//	extent := timewindow.Extent{Start: first, End: last, Now: now, Zone: zone}
//	p, err := timewindow.Options{Start: "@10:00", End: "2hours", Align: "1min"}.Part(extent)
//
//	argument of -S, -T, -O      meaning
//	1hour30min                  after the start of the archive; for -T and -O, after that of the window
//	-1hour30min                 before the end of the archive; for -O, before that of the window
//	@13:10, @13:10:30           the first such time from the start of the archive on: if the archive begins at 13:07,
//	                            "@13:10" is of the same day, "@10:00" of the next one
//	@2026-11-28 07:36:36        a date and time in the zone, as in ISO 8601: with a T, without seconds or time of day,
//	                            with Z or +02:00
//	@Sat Nov 28 07:36:36 2026   the same, as PCP's tools print it
//	@now, @today, @yesterday    by the present time; a time of day may follow the last two
//
// Seconds may have a fraction.
package timewindow
