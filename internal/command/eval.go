package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/session"
	"pmdaderived/internal/timewindow"
	"pmdaderived/pdu"
)

// defaultPause is the time between samples of a pmcd.
const defaultPause = time.Second

// runEval computes metrics from a pmcd's own, or from an archive, without the agent. It first takes the samples that
// delta() and rate() need. It returns 1 if an expression cannot be bound or its value is an error.
func runEval(ctx context.Context, t *invocation, args []string) int {
	samples, pause, nonFinite, form := -1, defaultPause, false, ""
	ctx, cancel := untilSignal(ctx)
	defer cancel()
	commandline.NonFinite(t.flags, &nonFinite)
	t.flags.FuncP("samples", "s", "print `NUM` samples; 0: until interrupted; default: 1, with -a all",
		samplesOption(&samples))
	t.intervalOption(&pause, "`TIME` between samples; default: 1s, with -a the interval of the records")
	t.flags.FuncP("output", "o", "print a line for each sample, in this `FORM`: text, csv or json",
		commandline.Choice(func(word string) { form = word }, formText, formCSV, formJSON))
	a, exit := t.openQuery(ctx, args)
	if a == nil {
		return exit
	}
	defer a.collector.Close()
	e := evaluation{invocation: t, session: a.Session, nonFinite: nonFinite}
	for _, s := range a.subjects {
		m := a.metric(s)
		if m == nil { // printed by openQuery
			e.failed = true
			continue
		}
		if m.Err != nil {
			t.showBroken(s, m.Err)
			t.showSimilar(ctx, a, s)
			e.failed = true
			continue
		}
		e.metrics = append(e.metrics, namedMetric{s.text, m})
	}
	if len(e.metrics) > 0 {
		e.watch()
		var err error
		if p := a.collector.Archive; p != nil {
			err = e.sampleArchive(ctx, p, max(samples, 0), form)
		} else {
			if samples < 0 {
				samples = 1
			}
			err = e.sampleLive(ctx, samples, pause, form)
		}
		if err != nil {
			return t.fail(err)
		}
	}
	if e.failed {
		return commandline.ExitFailure
	}
	return commandline.ExitOK
}

func samplesOption(n *int) func(string) error {
	return func(arg string) error {
		v, err := strconv.ParseUint(arg, 10, 31)
		if err != nil {
			return fmt.Errorf("%q is not a number of samples", arg)
		}
		*n = int(v)
		return nil
	}
}

// evaluation is a run of eval.
type evaluation struct {
	*invocation
	session *session.Session
	metrics []namedMetric
	failed  bool           // there was an error
	zone    *time.Location // of the times that are printed

	nonFinite bool // infinite values and NaN are printed
}

// namedMetric is a metric to print, with its heading.
type namedMetric struct {
	name   string
	metric *derived.Metric
}

// watch selects the metrics that samples are taken for.
func (e *evaluation) watch() {
	watched := make([]*derived.Metric, len(e.metrics))
	for i, s := range e.metrics {
		watched[i] = s.metric
	}
	e.session.Watch(watched...)
}

// sampleLive takes samples, and prints them once the history is complete: several, or those of a form, as rows. samples
// is the number to print; 0 means until interrupted.
func (e *evaluation) sampleLive(ctx context.Context, samples int, pause time.Duration, form string) error {
	if err := e.fillWindows(ctx); err != nil {
		return err
	}
	before := e.session.History()
	all := samples + before
	if samples == 0 {
		all = math.MaxInt
	}
	var row func(at time.Time) error // nil: as pminfo prints a sample
	if samples != 1 || form != "" {
		if e.zone = e.localZone(); e.archive.Zone != "" {
			var err error
			if e.zone, err = timewindow.Zone(e.archive.Zone); err != nil {
				return err
			}
		}
		row = e.rows().inForm(form)
	}
	return takeSamples(ctx, e.session, all, pause, func(n int) error {
		switch {
		case n < before:
			return nil
		case row == nil:
			e.printSample()
			return nil
		}
		return row(e.session.Time())
	})
}

// fillWindows waits until functions over time have all their samples. At a terminal it shows how long that will take.
func (e *evaluation) fillWindows(ctx context.Context) error {
	span := e.session.Span()
	if span == 0 {
		return nil
	}
	terminal := e.stderr.isTerminal()
	defer func() {
		if terminal {
			fmt.Fprint(e.stderr.w, "\r\033[K")
		}
	}()
	return e.session.Wait(ctx, time.Now().Add(span), func(left time.Duration) {
		if terminal {
			fmt.Fprintf(e.stderr.w, "\r\033[Ktaking samples for %s, %s left", timeText(span),
				timeText(left.Round(time.Second)))
		}
	})
}

// takeSamples takes samples, a pause apart, and calls taken after each.
func takeSamples(
	ctx context.Context, session *session.Session, samples int, pause time.Duration, taken func(n int) error,
) error {
	next := time.Now()
	for n := range samples {
		if n > 0 {
			if next = next.Add(pause); next.Before(time.Now()) {
				next = time.Now()
			}
			if err := session.Wait(ctx, next, nil); err != nil {
				return err
			}
		}
		if err := session.Sample(ctx, time.Now()); err != nil {
			return err
		}
		if err := taken(n); err != nil {
			return err
		}
	}
	return nil
}

// printSample prints the newest sample as pminfo does.
func (e *evaluation) printSample() {
	for _, s := range e.metrics {
		fmt.Fprintf(e.stdout, "\n%s\n", printable.Line(s.name))
		v := e.session.Value(s.metric)
		if !e.nonFinite {
			v = v.OnlyFinite() // as the agent serves it
		}
		switch {
		case v.Code < 0:
			fmt.Fprintln(e.stdout, "Error: "+errorText(v))
			e.failed = true
		case v.Len() == 0:
			fmt.Fprintln(e.stdout, "No value(s) available!")
		default:
			e.printValues(s.metric, v)
		}
	}
}

// inOrder returns the indexes of values in the order in which they are printed: topk_inst() has the largest first,
// bottomk_inst() the smallest, and anything else the order of its instances.
func inOrder(m *derived.Metric, v *derived.Vector) []int {
	order := make([]int, v.Len())
	for i := range order {
		order[i] = i
	}
	call, ok := syntax.Unparen(m.Tree.Expr).(*syntax.Call)
	if !ok || call.Func != syntax.TopK && call.Func != syntax.BottomK {
		return order
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if call.Func == syntax.TopK {
			i, j = j, i
		}
		return cmp.Compare(v.Type.Float64(v.Bits[i]), v.Type.Float64(v.Bits[j]))
	})
	return order
}

// errorText returns the error of a result.
func errorText(v *derived.Vector) string {
	if v.Why != "" {
		return v.Code.Error() + ": " + v.Why
	}
	return v.Code.Error()
}

func (e *evaluation) printValues(m *derived.Metric, v *derived.Vector) {
	for _, i := range inOrder(m, v) {
		if v.Insts == nil {
			fmt.Fprintf(e.stdout, "    value %s\n", valueText(v, i))
			continue
		}
		id := v.At(i)
		name := "???"
		if known, ok := e.session.InstanceName(m.Desc.InDom, id); ok {
			name = strconv.Quote(known)
		}
		fmt.Fprintf(e.stdout, "    inst [%d or %s] value %s\n", id, name, valueText(v, i))
	}
}

// valueText returns a value as pminfo prints it.
func valueText(v *derived.Vector, i int) string {
	switch v.Type {
	case pdu.TypeFloat:
		return formatNumber(v.Type.Float64(v.Bits[i]), 8)
	case pdu.TypeDouble:
		return formatNumber(v.Type.Float64(v.Bits[i]), 16)
	case pdu.TypeString:
		return `"` + printable.Line(string(v.Blobs[i])) + `"`
	case pdu.TypeAggregate, pdu.TypeAggregateStatic:
		return aggregateText(v.Blobs[i])
	}
	if !v.Type.Numeric() {
		return fmt.Sprintf("[%s, %d bytes]", v.Type, len(v.Blobs[i]))
	}
	if n, ok := v.Type.Int64(v.Bits[i]); ok {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatUint(v.Bits[i], 10)
}

// aggregateText returns bytes in hexadecimal, preceded by their text if they are printable.
func aggregateText(blob []byte) string {
	text := "[" + hex.EncodeToString(blob) + "]"
	if bytes.ContainsFunc(blob, func(c rune) bool { return c < ' ' || c > '~' }) {
		return text
	}
	return `"` + string(blob) + `" ` + text
}

// formatNumber formats a number as C's %.*g does.
func formatNumber(x float64, digits int) string {
	return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(x, 'g', digits, 64), "+"))
}
