package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/replay"
	"pmdaderived/internal/session"
	"pmdaderived/internal/window"
	"pmdaderived/pdu"
)

// showWindows prints how often functions over time are sampled, and how many ticks they keep: it is what they cost.
func (e *explanation) showWindows(m *derived.Metric) {
	if len(m.Needs().Windows) == 0 {
		return
	}
	fmt.Fprintln(e.stdout)
	divides := false
	for _, i := range m.Needs().Windows {
		w := e.session.Set().Windows()[i]
		divides = divides || w.Needs().Divides
		if w.PerClient() {
			e.sentence("%s since the client's own last fetch: sampled every %s while a client fetches it, "+
				"otherwise less often; the agent keeps the ticks since the oldest last fetch of a client, at most %d ticks or "+
				"%d values.", w.Func, timeText(w.Every), window.MaxPerClientTicks, window.MaxPerClientValues)
			continue
		}
		retained := plural.Of(int(w.Span), "tick")
		if w.Desc.InDom != pdu.NoInDom {
			retained += " with a value of each instance"
		}
		e.sentence("%s: always sampled every %s; the agent keeps %s.", windowText(w), timeText(w.Every), retained)
	}
	if divides {
		fmt.Fprintln(e.stdout, "Inside functions over time 0 / 0 is no value.")
	}
}

// showTicks prints how many samples an archive has for the functions over time of a metric: with few, or with none, the
// values mean something else, or are missing.
func (e *explanation) showTicks(ctx context.Context, m *derived.Metric) error {
	archive := e.collector.Archive
	if archive == nil || len(m.Needs().Windows) == 0 {
		return nil
	}
	o, progress := e.playerOptions()
	progress.start = archive.Part.Start
	defer progress.clear()
	e.session.Watch(m)
	player := replay.NewPlayer(archive.Source, e.session)
	o.Every = max(1, 2*o.End.Sub(o.Start)) // one sample is enough
	if err := player.Play(ctx, o, func(*session.Session, time.Time) error { return nil }); err != nil {
		return err
	}
	progress.clear()
	fmt.Fprintln(e.stdout)
	e.printTicks(player.Ticks())
	return nil
}

// printTicks prints how many samples functions over time had.
func (r *run) printTicks(windows []replay.Ticks) {
	for _, ticks := range windows {
		r.sentence("%s, every %s: the archive has %d of %s (records with all operands).",
			windowText(ticks.Window), timeText(ticks.Window.Every), ticks.Recorded,
			plural.Of(int(ticks.Possible), "sample"))
	}
}

// windowText names a function over time by what it covers.
func windowText(w *derived.Window) string {
	switch {
	case w.Func == syntax.Latch: // until it is released
		return w.Func.String()
	case w.PerClient():
		return w.Func.String() + " since the last fetch"
	}
	return fmt.Sprintf("%s over %s", w.Func, timeText(time.Duration(w.Span)*w.Every))
}

// timeText formats a time without zeros at the end: "1h", "1m30s".
func timeText(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if short, ok := strings.CutSuffix(text, zero); ok {
			text = short + zero[:1]
		}
	}
	return text
}
