package freshbench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pmdaderived/test/rig"
)

// later are the limits from the third fetch of a periodic client on.
func later() []rig.Limit {
	return []rig.Limit{{Q: 0.5, Most: 6 * time.Millisecond}, {Q: 0.99, Most: 10 * time.Millisecond}, {Q: 0.999, Most: 15 * time.Millisecond}}
}

// mostUpstream is how many upstream fetches a client's fetch may cause.
const mostUpstream = 1.1

// periodic runs stock tools of different intervals together.
func (b *bench) periodic(ctx context.Context) ([]rig.Row, error) {
	length := b.plan.Periodic
	config, err := b.folder.Write("logger.conf", "log mandatory on 1 sec { derived.now }\nlog mandatory on 10 sec { derived.seldom }\n")
	if err != nil {
		return nil, err
	}
	// samples is how often a tool fetches, the first time included: at the end of its time pmval does not show its last value.
	samples := func(interval time.Duration) string { return fmt.Sprintf("-s%d", length/interval+1) }
	archive := b.folder.Path("archive")
	shown := 0
	var ends rig.Durations // ages of values when their lines came, from the third on
	f, err := b.during(ctx, func() error {
		return b.together(ctx, func(_ int, lines []rig.Line) {
			n := 0
			for _, l := range lines {
				if value, ok := lastNumber(l.Text); ok {
					if n++; n > 2 {
						ends = append(ends, l.At.Sub(time.Unix(0, int64(value))))
					}
				}
			}
			shown += n
		}, [][]string{
			{"pmval", "-t1", samples(time.Second), "derived.now"},
			{"pmval", "-t0.1", samples(time.Second / 10), "derived.now"},
			{"pmrep", "-ocsv", "-r", "-t2", samples(2 * time.Second), "derived.now"},
			{"pmlogger", "-c", config, "-l", b.folder.Path("logger.log"), "-T" + seconds(length), archive},
		})
	})
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
	return periodicRows(f, ends, shown+len(records)+len(seldom), append(thirdOn(records), thirdOn(seldom)...)), nil
}

// together runs tools at the same time and gives what each has printed to a function.
func (b *bench) together(ctx context.Context, printed func(i int, lines []rig.Line), tools [][]string) error {
	all, lines := make([]*rig.Tool, len(tools)), make([][]rig.Line, len(tools))
	for i, args := range tools {
		var err error
		if all[i], err = rig.Start(ctx, b.pmcd, func(l rig.Line) { lines[i] = append(lines[i], l) }, nil, args...); err != nil {
			return err
		}
	}
	for i, t := range all {
		if err := t.Wait(); err != nil {
			return err
		}
		b.log.Notef("%s: %d lines", strings.Join(t.Cmd.Args, " "), len(lines[i]))
		printed(i, lines[i])
	}
	return nil
}

func thirdOn(all rig.Durations) rig.Durations { return all[min(2, len(all)):] }

// periodicRows tells what became of the tools: by the daemon, by the lines of pmval and pmrep, by how many values
// there were in all, and by the records of pmlogger.
func periodicRows(f rig.Figures, lines rig.Durations, shown int, records rig.Durations) []rig.Row {
	const what = "periodic tools"
	counted := func(r rig.Row, n uint64) rig.Row {
		r.Measured += fmt.Sprintf(" of %d", n)
		return r
	}
	all := f.Histograms[regularFetch].Plus(f.Histograms[irregularFetch])
	served := all.Total() + f.Histograms[firstFetch].Total() + f.Histograms[secondFetch].Total()
	return []rig.Row{
		counted(rig.Times(what+": age at the reply, third fetch on", all, later()...), all.Total()),
		rig.Times(what+": second fetch", f.Histograms[secondFetch], rig.Limit{Q: 1, Most: 50 * time.Millisecond}),
		counted(rig.Times(what+": pmlogger's time stamps less values", records, later()...), uint64(len(records))),
		rig.Times(what+": age when a line has come", lines, rig.Limit{Q: 0.5}, rig.Limit{Q: 0.99}, rig.Limit{Q: 0.999}),
		{
			What:     what + ": values shown of those served",
			Measured: fmt.Sprintf("%d of %d; %.0f refused", shown, served, f.Numbers[stale]), Target: "all",
			OK: uint64(shown) == served && f.Numbers[stale] == 0,
		},
		perFetch(what, f, served, mostUpstream),
	}
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
func (b *bench) archiveAges(ctx context.Context, archive, metric string) (ages rig.Durations, err error) {
	lines, _, err := rig.Output(ctx, b.pmcd, nil, "pmdumplog", archive, metric)
	if err != nil {
		return nil, err
	}
	var stamp time.Duration // since midnight
	for _, l := range lines {
		words := strings.Fields(l.Text)
		if len(words) == 3 && strings.HasPrefix(words[2], "metric") {
			if stamp, err = timeOfDay(words[0]); err != nil {
				return nil, err
			}
			continue
		}
		if value, ok := lastNumber(l.Text); ok {
			ages = append(ages, sinceMidnight(stamp, value))
		}
	}
	return ages, nil
}

const day = 24 * time.Hour

// timeOfDay reads HH:MM:SS.ssssss.
func timeOfDay(text string) (time.Duration, error) {
	at, err := time.Parse("15:04:05.999999", text)
	return at.Sub(at.Truncate(day)), err
}

// sinceMidnight is how long before a time of day (UTC) a moment was, in ns since the Epoch: half a day at most.
func sinceMidnight(stamp time.Duration, moment uint64) time.Duration {
	age := (stamp - time.Duration(moment%uint64(day)) + day) % day
	if age > day/2 {
		age -= day // sampled after the time stamp
	}
	return age
}
