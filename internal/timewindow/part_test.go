package timewindow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// extent is an archive from Tuesday evening to Wednesday evening.
func extent() Extent {
	return Extent{
		Start: time.Date(2023, 11, 14, 22, 13, 20, 250e6, time.UTC),
		End:   time.Date(2023, 11, 15, 23, 13, 20, 500e6, time.UTC),
		Now:   time.Date(2023, 11, 16, 3, 7, 38, 0, time.UTC),
		Zone:  time.UTC,
	}
}

const layout = "02 15:04:05.999"

// The results are those of pmParseHighResTimeWindow in PCP 6.0.3, unless the row says otherwise.
func TestWindow(t *testing.T) {
	for _, row := range []struct {
		name               string
		o                  Options
		start, end, origin string
	}{
		{"all", Options{}, "14 22:13:20.25", "15 23:13:20.5", ""},
		{"after the start", Options{Start: "30min"}, "14 22:43:20.25", "15 23:13:20.5", ""},
		{"before the end", Options{Start: "-1hour"}, "15 22:13:20.5", "15 23:13:20.5", ""},
		{"blanks and a plus", Options{Start: " + 10 min "}, "14 22:23:20.25", "15 23:13:20.5", ""},
		{
			"the end is after the start of the window",
			Options{Start: "1h", End: "30m"},
			"14 23:13:20.25",
			"14 23:43:20.25", "",
		},
		{"both counted from the end", Options{Start: "1h", End: "-30m"}, "14 23:13:20.25", "15 22:43:20.5", ""},
		{"longer than there is", Options{Start: "-2days", End: "3d"}, "14 22:13:20.25", "15 23:13:20.5", ""},
		{"nothing but the end", Options{Start: "-0"}, "15 23:13:20.5", "15 23:13:20.5", ""},
		{"aligned", Options{Align: "1hour"}, "14 23:00:00", "15 23:13:20.5", ""},
		{"aligned to days of UTC", Options{Align: "1day"}, "15 00:00:00", "15 23:13:20.5", ""},
		{"aligned, then the end", Options{Start: "2h", End: "1h", Align: "1h"}, "15 01:00:00", "15 02:00:00", ""},
		{
			"aligned, then the origin",
			Options{Start: "10s", Align: "1min", Origin: "30s"},
			"14 22:14:00",
			"15 23:13:20.5", "14 22:15:00",
		},
		{"origin after the start", Options{Origin: "10min"}, "14 22:13:20.25", "15 23:13:20.5", "14 22:23:20.25"},
		{
			"origin before the end",
			Options{End: "1h", Origin: "-10min"},
			"14 22:13:20.25", "14 23:13:20.25",
			"14 23:03:20.25",
		},
		{"origin at the end", Options{Origin: "-0"}, "14 22:13:20.25", "15 23:13:20.5", "15 23:13:20.5"},
		{
			"origin after the end",
			Options{End: "1h", Origin: "2h"},
			"14 22:13:20.25", "14 23:13:20.25",
			"14 23:13:20.25",
		},
		{"origin before the start", Options{Start: "1h", Origin: "@2023-11-14"}, "14 23:13:20.25", "15 23:13:20.5", ""},
		{"time of the next day", Options{Start: "@10:00"}, "15 10:00:00", "15 23:13:20.5", ""},
		{"time of the same day", Options{Start: "@22:30"}, "14 22:30:00", "15 23:13:20.5", ""},
		{"this very second", Options{Start: "@22:13:20"}, "14 22:13:20.25", "15 23:13:20.5", ""},
		{"this very minute", Options{Start: "@22:13"}, "14 22:13:20.25", "15 23:13:20.5", ""},
		{"two times", Options{Start: "@13:10", End: "@14:10"}, "15 13:10:00", "15 14:10:00", ""},
		{"part of a second", Options{Start: "@03:00:00.25"}, "15 03:00:00.25", "15 23:13:20.5", ""},
		{"the next day of the end", Options{Start: "@13:10", End: "@03:00"}, "15 13:10:00", "15 23:13:20.5", ""},
		{"origin after the start", Options{Start: "@10:00", Origin: "@22:30"}, "15 10:00:00", "15 23:13:20.5", "15 22:30:00"},
		{"end of the same day", Options{Start: "30s", End: "@23:00"}, "14 22:13:50.25", "14 23:00:00", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, err := row.o.Part(extent())
			require.NoError(t, err)
			if row.origin == "" {
				row.origin = row.start
			}
			assert.Equal(t, []string{row.start, row.end, row.origin},
				[]string{w.Start.Format(layout), w.End.Format(layout), w.Origin.Format(layout)})
			assert.False(t, w.Unaligned)
		})
	}
	w, err := Options{Align: "3day"}.Part(extent())
	require.NoError(t, err)
	assert.True(t, w.Unaligned)
	assert.Equal(t, extent().Start, w.Start)
}

func TestDate(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"2023-11-15", "2023-11-15 00:00:00"},
		{" 2023-11-15 01:02 ", "2023-11-15 01:02:00"},
		{"2023-11-15 01:02:03.5", "2023-11-15 01:02:03.5"},
		{"2023-11-15T01:02:03", "2023-11-15 01:02:03"},
		{"2023-11-15T03:00:00Z", "2023-11-15 03:00:00"},
		{"2023-11-15 03:00+0200", "2023-11-15 01:00:00"},
		{"2023-11-15T03:00:00.25-05:30", "2023-11-15 08:30:00.25"},
		{"Wed Nov 15 10:00:00 2023", "2023-11-15 10:00:00"},
		{"wed nov 15 10:00:00.125 2023", "2023-11-15 10:00:00.125"},
		{"Wed Nov  1 10:00:00 2023", "2023-11-01 10:00:00"},
		{"3:04", "2023-11-15 03:04:00"},
		{"22:13", "2023-11-14 22:13:00"},
		{"22:12", "2023-11-15 22:12:00"},
		{"22:13:19.5", "2023-11-15 22:13:19.5"},
		{"now", "2023-11-16 03:07:38"},
		{"today", "2023-11-16 00:00:00"},
		{"Today 01:02:03", "2023-11-16 01:02:03"},
		{"yesterday", "2023-11-15 00:00:00"},
		{"yesterday  13:10", "2023-11-15 13:10:00"},
	} {
		t.Run(row.text, func(t *testing.T) {
			got, err := extent().date("@"+row.text, 1, extent().Start)
			require.NoError(t, err)
			assert.Equal(t, row.want, got.UTC().Format("2006-01-02 15:04:05.999"))
		})
	}
}

func TestDateInAZone(t *testing.T) {
	for _, row := range []struct{ zone, want string }{
		{"EST5", "2023-11-15 15:00"},
		{"AEST-10", "2023-11-15 00:00"},
		{":Europe/Vienna", "2023-11-15 09:00"},
		{"CET-1CEST,M3.5.0,M10.5.0/3", "2023-11-15 09:00"},
		{"<+0330>-3:30", "2023-11-15 06:30"},
	} {
		e := extent()
		var err error
		e.Zone, err = Zone(row.zone)
		require.NoError(t, err, row.zone)
		w, err := Options{Start: "@10:00"}.Part(e)
		require.NoError(t, err, row.zone)
		assert.Equal(t, row.want, w.Start.UTC().Format("2006-01-02 15:04"), row.zone)
	}
	summer, err := Zone("CET-1CEST,M3.5.0,M10.5.0/3")
	require.NoError(t, err)
	assert.Equal(t, "14:00 CEST", time.Date(2024, 7, 1, 12, 0, 0, 0, time.UTC).In(summer).Format("15:04 MST"))
	for _, name := range []string{"nowhere", "EST5\nEST5", "../../etc/passwd", "Local"} {
		_, err := Zone(name)
		assert.ErrorContains(t, err, "is not a valid time zone", name)
	}
}

// A time of day that a clock shows twice is the first one from the start on, on either side of Greenwich.
func TestClocksPutBack(t *testing.T) {
	const europe, america = "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0"
	for _, row := range []struct{ zone, start, arg, want string }{
		{europe, "2026-10-24T22:00Z", "@02:30", "2026-10-25T00:30Z"},
		{europe, "2026-10-25T00:31Z", "@02:30", "2026-10-25T01:30Z"},
		{europe, "2026-10-25T01:31Z", "@02:30", "2026-10-26T01:30Z"},
		{europe, "2026-10-24T12:00Z", "@02:30", "2026-10-25T00:30Z"},
		{europe, "2026-10-24T22:00Z", "@03:30", "2026-10-25T02:30Z"},
		{europe, "2026-03-28T23:00Z", "@03:30", "2026-03-29T01:30Z"},
		{europe, "2026-03-29T12:00Z", "@03:30", "2026-03-30T01:30Z"},
		{america, "2026-11-01T04:00Z", "@01:30", "2026-11-01T05:30Z"},
		{america, "2026-11-01T05:31Z", "@01:30", "2026-11-01T06:30Z"},
		{america, "2026-11-01T06:31Z", "@01:30", "2026-11-02T06:30Z"},
		{america, "2026-10-31T12:00Z", "@01:30", "2026-11-01T05:30Z"},
	} {
		parsed := func(text string) time.Time {
			at, err := time.Parse("2006-01-02T15:04Z07:00", text)
			require.NoError(t, err)
			return at
		}
		zone, err := Zone(row.zone)
		require.NoError(t, err)
		start := parsed(row.start)
		part, err := Options{Start: row.arg}.Part(Extent{Start: start, End: start.Add(48 * time.Hour), Zone: zone})
		require.NoError(t, err)
		assert.Equal(t, row.want, part.Start.UTC().Format("2006-01-02T15:04Z07:00"), row)
	}
}

func TestErrors(t *testing.T) {
	for _, row := range []struct {
		o    Options
		want string
	}{
		{Options{Start: "bad"}, `-S: "bad" is not valid at character 1: want a number and a unit, such as 30s, 5min or 1hour30min, or a date and time behind @`},
		{
			Options{End: "4minutes 30mumble"},
			`-T: "4minutes 30mumble" is not valid at character 12: want a number and a unit`,
		},
		{Options{Origin: "-5x"}, `-O: "-5x" is not valid at character 3: want a number`},
		{Options{Align: "0"}, `-A: "0" is not valid at character 1: want a number`},
		{Options{Align: "x"}, `-A: "x" is not valid at character 1: `},
		{Options{Start: "999999999days"}, "longer than 292 years"},
		{Options{Start: "2days"}, "-S: the window begins at 2023-11-16 22:13:20 UTC, after the end of the archive at " +
			"2023-11-15 23:13:20 UTC"},
		{
			Options{Start: "1h", End: "@2023-11-14"},
			"-T: the window ends at 2023-11-14 00:00:00 UTC, before it begins at 2023-11-14 23:13:20 UTC",
		},
		{Options{Start: "@ " +
			"bad"}, `-S: "@ bad" is not valid at character 3: want a time, such as 13:10, 2026-11-28 07:36:36, Sat Nov 28 07:36:36 2026, yesterday 13:10 or now`},
		{Options{Start: "@13:61"}, `character 2: the minute is out of range`},
		{Options{Start: "@25:00"}, `character 2: the hour is out of range`},
		{Options{Start: "@2023-02-30"}, `character 2: the day is out of range`},
		{Options{Start: "@2023-13-01 10:00"}, `character 2: the month is out of range`},
		{Options{Start: "@yesterday 24:00"}, `character 12: the hour is out of range`},
		{Options{Start: "@today bad"}, `character 8: want a time`},
		{Options{Start: "@now 10:00"}, `want a time`},
		{Options{Start: "@13:5"}, `want a time`},
		{Options{Start: "@13:00pm"}, `want a time`},
		{Options{Start: "@10:00 yesterday"}, `want a time`},
		{Options{Start: "@tomorrow"}, `want a time`},
		{Options{Start: "@Mar 4"}, `want a time`},
		{Options{Start: "@3/4/96"}, `want a time`},
		{Options{Start: "@96-03-04"}, `want a time`},
		{Options{Start: "@2 days ago"}, `want a time`},
		{Options{Start: "@-1hour"}, `want a time`},
		{Options{Start: "@Wed"}, `want a time`},
		{Options{Start: "@"}, `character 2: want a time`},
	} {
		_, err := row.o.Part(extent())
		assert.ErrorContains(t, err, row.want, row.o)
	}
}

func TestParseInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "1.5h": 90 * time.Minute, "4 days 6 hours": 102 * time.Hour, "800d": 800 * 24 * time.Hour,
		" 1 0 s": 10 * time.Second,
		"1ms":    time.Millisecond, "2 usecs": 2 * time.Microsecond, "3nanoseconds": 3, "2hrs 1 HR": 3 * time.Hour,
	} {
		got, err := ParseInterval(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

// Whatever is given: an error, or a window within the archive.
func FuzzWindow(f *testing.F) {
	for _, text := range []string{
		"30min", "-1hour", "@10:00", "@Wed Nov 15 10:00:00 2023",
		"@2023-11-15T03:00:00+02:00", "@yesterday 1:00:00.5", "1e9d",
	} {
		f.Add(text, "1h", "10min", "-0")
	}
	f.Fuzz(func(t *testing.T, start, end, align, origin string) {
		e := extent()
		w, err := Options{start, end, align, origin}.Part(e)
		if err != nil {
			return
		}
		for _, ordered := range [][2]time.Time{
			{e.Start, w.Start},
			{w.Start, w.Origin},
			{w.Origin, w.End},
			{w.End, e.End},
		} {
			assert.False(t, ordered[1].Before(ordered[0]), "%v", w)
		}
	})
}
