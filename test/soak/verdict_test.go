package soak

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
	"pmdaderived/test/rig"
)

// A call is excused that wave had to answer when it was killed, and no other.
func TestKilled(t *testing.T) {
	begin := time.Now()
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	s := &shared{disturbances: &disturbances{list: []disturbance{
		{cause: agentGone, begin: at(10), end: at(11)},
		{cause: pmcdGone, begin: at(20), end: at(21)},
	}}}
	refused := func(name string, code pdu.Code) error {
		return fmt.Errorf("client: %w", &rig.Refused{Name: name, Code: code})
	}
	for _, row := range []struct {
		name        string
		asked, told float64 // seconds
		err         error
		want        bool
	}{
		{"under way", 9.9, 10.1, refused(plainName, pdu.ErrIPC), true},
		{"before", 9.8, 9.9, refused(plainName, pdu.ErrIPC), false},
		{"when it runs again", 11.1, 11.2, refused(plainName, pdu.ErrIPC), false},
		{"when something else is gone", 20.1, 20.2, refused(plainName, pdu.ErrIPC), false},
		{"a metric of ours", 9.9, 10.1, refused("derived.wave.nanos", pdu.ErrIPC), false},
		{"another error", 9.9, 10.1, refused(plainName, pdu.ErrPMID), false},
		{"another call", 9.9, 10.1, pdu.ErrIPC, false},
		{"no error", 9.9, 10.1, nil, false},
	} {
		assert.Equal(t, row.want, s.causedByKill(at(row.asked), at(row.told), row.err), row.name)
	}
	assert.True(t, errors.Is(refused(plainName, pdu.ErrIPC), pdu.ErrIPC))
}

// A reading that is lower or higher for a moment does not count.
func TestMiddle(t *testing.T) {
	for _, row := range []struct {
		resident []float64
		want     float64
	}{
		{[]float64{27}, 27},
		{[]float64{27, 23, 26}, 26},
		{[]float64{27, 26, 30}, 27},
		{[]float64{9, 9, 9, 28, 26, 27}, 27},
	} {
		var all []figures
		for _, x := range row.resident {
			all = append(all, figures{Process: rig.Process{Resident: x}})
		}
		assert.InDelta(t, row.want, medianFigures(all).Resident, 0, "%v", row.resident)
	}
}

// A slow request counts, unless the machine was late by about as much at that time.
func TestSlowness(t *testing.T) {
	begin := time.Now()
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	bounds := []time.Duration{20 * time.Millisecond, 50 * time.Millisecond, 70 * time.Millisecond, rig.Forever}
	for _, row := range []struct {
		name    string
		slow    time.Duration // the request, read at 10 s; the reading before was at 9 s
		late    time.Duration // of a wake-up
		when    float64
		restart bool // the request is the first of another process
		want    string
	}{
		{"a machine in time", 54 * time.Millisecond, time.Millisecond, 8.5, false, "1 and 0"},
		{"a late machine", 54 * time.Millisecond, 956 * time.Millisecond, 8.5, false, "0 and 1"},
		{"a late machine and another process", 54 * time.Millisecond, 956 * time.Millisecond, 8.5, true, "0 and 1"},
		{"a machine in time and another process", 54 * time.Millisecond, time.Millisecond, 8.5, true, "1 and 0"},
		{"late long before", 54 * time.Millisecond, 956 * time.Millisecond, 5, false, "1 and 0"},
		{"late after it", 54 * time.Millisecond, 956 * time.Millisecond, 10.1, false, "1 and 0"},
		{"a machine late as it often is", 54 * time.Millisecond, 10 * time.Millisecond, 8.5, false, "1 and 0"},
		{"slower than the machine was late", time.Second, 500 * time.Millisecond, 8.5, false, "1 and 0"},
		{"no slow one", 50 * time.Millisecond, 956 * time.Millisecond, 8.5, false, "0 and 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := &run{shared: &shared{tally: &tally{begin: begin}}, wakes: rig.Wakes{
				{Due: at(1), Late: time.Millisecond},
				{Due: at(row.when), Late: row.late},
			}}
			reading := func(s float64, pid int, longest time.Duration, counts ...uint64) {
				r.addRequests(figures{
					at: at(s), pid: pid, longest: longest,
					requests: rig.Histogram{Bounds: bounds, Counts: counts},
				})
			}
			before, pid := uint64(5), 1
			reading(9, pid, 20*time.Millisecond, before, 0, 0, 0)
			if row.restart {
				before, pid = 0, 2
			}
			counts := []uint64{before, 0, 0, 0}
			for i, b := range bounds {
				if row.slow <= b {
					counts[i]++
					break
				}
			}
			reading(10, pid, row.slow, counts...)
			got := r.slowness()
			assert.Equal(t, row.want, got.Measured)
			assert.Equal(t, row.want[0] == '0', got.OK)
			assert.Equal(t, row.slow, r.longestRequest)
		})
	}
}

// Missing values are told apart by whether the machine stood still shortly before.
func TestMissing(t *testing.T) {
	begin := time.Now()
	for _, row := range []struct {
		name                         string
		late                         time.Duration // of a wake-up that was due at 10 s
		at                           time.Duration // when three values are missing
		lying                        bool
		unexplained, excused, misled int64
	}{
		{"a machine in time", time.Millisecond, 10 * time.Second, false, 3, 0, 0},
		{"while it stands still", 500 * time.Millisecond, 10300 * time.Millisecond, false, 0, 3, 0},
		{"soon after", 500 * time.Millisecond, 12400 * time.Millisecond, true, 0, 3, 0},
		{"long after", 500 * time.Millisecond, 12600 * time.Millisecond, true, 3, 0, 3},
		{"before", 500 * time.Millisecond, 9900 * time.Millisecond, true, 3, 0, 3},
		{"late, but not so late", 200 * time.Millisecond, 10100 * time.Millisecond, false, 3, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := &run{shared: &shared{tally: &tally{begin: begin}}, wakes: rig.Wakes{{
				Due:  begin.Add(10 * time.Second),
				Late: row.late,
			}}}
			for range 3 {
				r.tally.addMissing(begin.Add(row.at), row.lying)
			}
			unexplained, excused, misled := r.missing()
			assert.Equal(t, []int64{row.unexplained, row.excused, row.misled}, []int64{unexplained, excused, misled})
		})
	}
}

// Each reader must have windows, if there is time for some.
func TestWindowsRow(t *testing.T) {
	long, short := Plan{Length: time.Minute}, Plan{Length: time.Minute - 1}
	assert.True(t, long.windowsRow(3, 2, 1).OK)
	assert.False(t, long.windowsRow(3, 2, 0).OK)
	assert.True(t, short.windowsRow(0, 0, 0).OK)
}

// Memory is compared within the last process, which has had time to come to hold what it needs.
func TestGrowth(t *testing.T) {
	const length = 1000
	begin := time.Now()
	for _, row := range []struct {
		name   string
		pid    func(s int) int
		memory func(s int) float64 // MB
		want   string
	}{
		{"flat", func(int) int { return 1 }, func(int) float64 { return 30 }, "30.0 and 30.0 MB, +0.0 %"},
		{"a start early on", func(s int) int {
			if s < 140 {
				return 1
			}
			return 2
		}, func(s int) float64 { return 20 + 10*min(1, float64(s)/330) }, "30.0 and 30.0 MB, +0.0 %"},
		{
			"garbage, and what is low for a moment", func(int) int { return 1 },
			func(s int) float64 { return 30 + float64(s%5) - 20*float64(s%200/199) }, "32.0 and 32.0 MB, +0.0 %",
		},
		{
			"a step in the last third", func(int) int { return 1 }, func(s int) float64 { return 30 + 15*float64(s/700) },
			"30.0 and 45.0 MB, +50.0 %",
		},
		{
			"a leak", func(int) int { return 1 }, func(s int) float64 { return 30 + float64(s)/100 },
			"33.4 and 37.9 MB, +13.5 %",
		},
		{
			"a start while it is watched", func(s int) int { return 1 + s/500 }, func(int) float64 { return 30 },
			"not of one process",
		},
		{
			"a start at the end", func(s int) int { return 1 + s/950 }, func(s int) float64 { return 30 - float64(s/950) },
			"30.0 and 30.0 MB, +0.0 %",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := &run{shared: &shared{tally: &tally{begin: begin}}, options: Options{Plan: Plan{Length: length * time.Second}}}
			for s := range length {
				r.series = append(r.series, figures{
					Process: rig.Process{Resident: row.memory(s) * 1e6}, at: begin.Add(time.Duration(s) * time.Second), pid: row.pid(s),
				})
			}
			assert.Equal(t, row.want, r.growth().Measured)
		})
	}
	empty := &run{shared: &shared{tally: &tally{begin: begin}}, options: Options{Plan: Plan{Length: time.Second}}}
	assert.Equal(t, "not measured", empty.growth().Measured)
}

// A sample that differs from its time stamp is wrong, unless the machine stood still for as long in between.
func TestSkews(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		late  time.Duration
		due   time.Time
		wrong int64
	}{
		{600 * time.Millisecond, at.Add(time.Second), 0},
		{600 * time.Millisecond, at.Add(3 * time.Second), 1},
		{machineStopped - 1, at.Add(time.Second), 1},
		{300 * time.Millisecond, at.Add(time.Second), 1},
	} {
		tally := &tally{log: io.Discard}
		tally.addSkew(uint64(at.UnixNano()), uint64(at.Add(2*time.Second).UnixNano()), 1.0, "problem")
		tally.judgeSkews(rig.Wakes{{Due: c.due, Late: c.late}})
		assert.Equal(t, c.wrong, tally.problems[wrongValue].Load(), c)
	}
}
