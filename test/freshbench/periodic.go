package freshbench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// later are the limits from the third fetch of a periodic client on.
func later() []limit {
	return []limit{{0.5, 6 * time.Millisecond}, {0.99, 10 * time.Millisecond}, {0.999, 15 * time.Millisecond}}
}

// mostUpstream is how many upstream fetches a client's fetch may cause.
const mostUpstream = 1.1

// periodic runs stock tools of different intervals together.
func periodic(ctx context.Context, b *bench) ([]Row, error) {
	length := b.options.Plan.Periodic
	if length == 0 {
		return nil, nil
	}
	logger := "log mandatory on 1 sec { derived.now }\nlog mandatory on 10 sec { derived.seldom }\n"
	if err := os.WriteFile(b.file("logger.conf"), []byte(logger), 0o644); err != nil {
		return nil, err
	}
	before, err := b.figures(ctx)
	if err != nil {
		return nil, err
	}
	// samples is how often a tool fetches, the first time included: at the end of its time pmval does not show its last value.
	samples := func(interval time.Duration) string { return fmt.Sprintf("-s%d", length/interval+1) }
	archive := b.file("archive")
	var tools []*tool
	for _, args := range [][]string{
		{"pmval", "-t1", samples(time.Second), "derived.now"},
		{"pmval", "-t0.1", samples(time.Second / 10), "derived.now"},
		{"pmrep", "-ocsv", "-r", "-t2", samples(2 * time.Second), "derived.now"},
		{"pmlogger", "-c", b.file("logger.conf"), "-l", b.file("logger.log"), "-T" + seconds(length), archive},
	} {
		t, err := start(ctx, b.pmcd, nil, args...)
		if err != nil {
			return nil, err
		}
		tools = append(tools, t)
	}
	var ends []time.Duration // ages of values when their lines came, from the third on
	shown := 0
	for _, t := range tools {
		lines, err := t.wait()
		if err != nil {
			return nil, err
		}
		n := 0
		for _, l := range lines {
			if value, ok := lastNumber(l.text); ok {
				if n++; n > 2 {
					ends = append(ends, time.Duration(wallClock(l.at)-value))
				}
			}
		}
		b.logf("%s: %d values", strings.Join(t.cmd.Args, " "), n)
		shown += n
	}
	after, err := b.figures(ctx)
	if err != nil {
		return nil, err
	}
	records, err := b.archiveAges(ctx, archive, "derived.now")
	if err != nil {
		return nil, err
	}
	seldom, err := b.archiveAges(ctx, archive, "derived.seldom")
	if err != nil {
		return nil, err
	}
	return periodicRows(after.since(before), newDurations(ends), shown+len(records)+len(seldom),
		newDurations(append(thirdOn(records), thirdOn(seldom)...))), nil
}

func thirdOn(all []time.Duration) []time.Duration { return all[min(2, len(all)):] }

// periodicRows tells what became of the tools: by the daemon, by the lines of pmval and pmrep, by how many values
// there were in all, and by the records of pmlogger.
func periodicRows(f figures, lines durations, shown int, records durations) []Row {
	const what = "periodic tools"
	all := f.ages[regularFetch].plus(f.ages[irregularFetch])
	measured, target, ok := judge(all, later())
	rows := []Row{{
		What:     what + ": age at the reply, third fetch on",
		Measured: fmt.Sprintf("%s of %d", measured, all.total()), Target: target, OK: ok, Timed: true,
	}}
	measured, target, ok = judge(f.ages[secondFetch], []limit{{1, 50 * time.Millisecond}})
	rows = append(rows, Row{What: what + ": second fetch", Measured: measured, Target: target, OK: ok, Timed: true})

	measured, target, ok = judge(records, later())
	rows = append(rows, Row{
		What: what + ": pmlogger's time stamps less values", Measured: fmt.Sprintf("%s of %d", measured, len(records)),
		Target: target, OK: ok, Timed: true,
	})
	measured, _, _ = judge(lines, []limit{{0.5, 0}, {0.99, 0}, {0.999, 0}})
	rows = append(rows, Row{What: what + ": age when a line has come", Measured: measured, OK: true, Timed: true})

	served := f.served()
	rows = append(rows, Row{
		What:     what + ": values shown of those served",
		Measured: fmt.Sprintf("%d of %d; %d refused", shown, served, f.stale), Target: "all",
		OK: uint64(shown) == served && f.stale == 0,
	})
	perFetch := float64(f.upstream) / float64(max(1, served))
	return append(rows, Row{
		What:     what + ": upstream fetches for a client's fetch",
		Measured: fmt.Sprintf("%d / %d = %.3f", f.upstream, served, perFetch), Target: fmt.Sprintf("≤ %g", mostUpstream),
		OK: perFetch <= mostUpstream, Timed: true,
	})
}

// seconds writes a duration as tools take it.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s" }

// lastNumber finds the value at the end of a line of pmval or pmrep.
func lastNumber(text string) (uint64, bool) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '"' })
	if len(words) == 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(words[len(words)-1], 10, 64)
	return n, err == nil && n > 1e18 // times of day in ns
}

// archiveAges gives how old each value of an archive is by its time stamp, in order.
func (b *bench) archiveAges(ctx context.Context, archive, metric string) ([]time.Duration, error) {
	lines, err := run(ctx, b.pmcd, nil, "pmdumplog", archive, metric)
	if err != nil {
		return nil, err
	}
	var ages []time.Duration
	var stamp time.Duration // since midnight
	for _, l := range lines {
		words := strings.Fields(l.text)
		if len(words) == 3 && strings.HasPrefix(words[2], "metric") {
			if stamp, err = timeOfDay(words[0]); err != nil {
				return nil, err
			}
			continue
		}
		if value, ok := lastNumber(l.text); ok {
			ages = append(ages, sinceMidnight(stamp, value))
		}
	}
	return ages, nil
}

const day = 24 * time.Hour

// timeOfDay reads HH:MM:SS.ssssss.
func timeOfDay(text string) (time.Duration, error) {
	at, err := time.Parse("15:04:05.999999", text)
	if err != nil {
		return 0, err
	}
	return at.Sub(at.Truncate(day)), nil
}

// sinceMidnight is how long before a time of day (UTC) a moment was, in ns since the Epoch: half a day at most.
func sinceMidnight(stamp time.Duration, moment uint64) time.Duration {
	age := (stamp - time.Duration(moment%uint64(day)) + day) % day
	if age > day/2 {
		age -= day // sampled after the time stamp
	}
	return age
}
