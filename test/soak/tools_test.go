package soak

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each row is what pmrep prints next. Ticks are numbers of seconds, modulo 8.
func TestWindowLine(t *testing.T) {
	list := windows()
	line := func(last, first, sum, count, peak int) string {
		at := func(s int) string { return fmt.Sprintf("1700000%03d007000000", s) }
		return fmt.Sprintf("2023-11-14 22:13:2%d,1,%s,%s,%d000000000.000,%d,%d.000,%d000000000.000", last, at(last), at(first),
			sum, count, peak*list[5].metric.k, sum*list[6].metric.k)
	}
	for _, row := range []struct {
		name    string
		lines   []string
		windows int64
		reason  string
	}{
		{"a window", []string{line(5, 3, 3, 3, 5)}, 1, ""},
		{"two", []string{line(5, 3, 3, 3, 5), line(8, 6, 3, 3, 7)}, 2, ""},
		{"a gap", []string{line(5, 3, 3, 2, 4)}, 0, ""},
		{"no new tick", []string{"2023-11-14 22:13:23,1,1700000002007000000,1700000001007000000,,0,36.000,"}, 0, ""},
		{"one of another client", []string{line(5, 4, 2, 2, 5)}, 0, "has to count since"},
		{"another peak", []string{line(8, 3, 6, 6, 5)}, 1, "derived.peak."},
		{"another run", []string{`Time,"wave.nanos"`, line(5, 5, 1, 1, 5)}, 0, ""},
		{"after no values", []string{"2023-11-14 22:13:23,1,,,,,,", line(5, 5, 1, 1, 5)}, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var log strings.Builder
			var windows atomic.Int64
			s := &shared{tally: &tally{log: &log}, disturbances: &disturbances{}}
			check := s.windowLine("pmrep", &windows)
			for _, text := range append([]string{line(2, 1, 2, 2, 2)}, row.lines...) {
				check(text)
			}
			assert.Equal(t, row.windows, windows.Load())
			if row.reason == "" {
				assert.Zero(t, s.tally.total(), log.String())
				return
			}
			assert.Contains(t, log.String(), row.reason)
		})
	}
}
