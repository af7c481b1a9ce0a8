package command

import (
	"context"
	"fmt"
	"strconv"

	"pmdaderived/internal/commandline"
	"pmdaderived/internal/timewindow"
)

// Output formats of eval.
const (
	formText = "text"
	formCSV  = "csv"
	formJSON = "json"
)

// eval computes metrics from a pmcd's own, or from an archive, without the agent. It first takes the samples that
// delta() and rate() need. It returns 1 if an expression cannot be bound or its value is an error.
func (r *run) eval(ctx context.Context, args []string) int {
	limit, form := -1, ""
	p := &printer{run: r, indexes: map[column]int{}}
	ctx, cancel := untilSignal(ctx)
	defer cancel()
	commandline.NonFinite(r.flags, &p.nonFinite)
	r.flags.FuncP("samples", "s", "print `NUM` samples; 0: until interrupted; default: 1, with -a all",
		samplesOption(&limit, 0, ""))
	r.intervalOption("`TIME` between samples; default: 1s, with -a the interval of the records")
	r.flags.FuncP("output", "o", "print each sample in this `FORM`: text, csv or json",
		commandline.Choice(func(word string) { form = word }, formText, formCSV, formJSON))
	if exit, done := r.bindSubjects(ctx, args); done {
		return exit
	}
	for _, s := range r.subjects {
		switch m := r.metric(s); {
		case m == nil: // bindSubjects has printed why
			p.failed = true
		case m.Err != nil:
			r.showBroken(s, m.Err)
			r.showSimilar(ctx, s)
			p.failed = true
		default:
			p.metrics, p.watched = append(p.metrics, &printedMetric{name: s.text, metric: m}), append(p.watched, m)
		}
	}
	if len(p.metrics) > 0 {
		r.session.Watch(p.watched...)
		printSamples := p.printLive
		if r.collector.Archive != nil {
			printSamples = p.printArchive
		}
		if err := printSamples(ctx, limit, form); err != nil {
			return r.fail(err)
		}
	}
	if p.failed {
		return commandline.ExitFailure
	}
	return commandline.ExitOK
}

// samplesOption returns the function that reads a number of samples. hint is what to say if it is below the least.
func samplesOption(n *int, least uint64, hint string) func(arg string) error {
	return func(arg string) error {
		v, err := strconv.ParseUint(arg, 10, 31)
		if err != nil || v < least {
			return fmt.Errorf("%q is not a number of samples%s", arg, hint)
		}
		*n = int(v)
		return nil
	}
}

// printLive prints samples of a pmcd once the history is complete: one as pminfo does, several, or those of a form, in
// lines. limit is their number: 0 for all until the program is interrupted, and 1 if it is not given.
func (p *printer) printLive(ctx context.Context, limit int, form string) error {
	if limit < 0 {
		limit = 1
	}
	if err := p.fillWindows(ctx); err != nil {
		return err
	}
	printSample := p.pminfo
	if limit != 1 || form != "" {
		if p.zone = p.localZone(); p.archive.Zone != "" {
			var err error
			if p.zone, err = timewindow.Zone(p.archive.Zone); err != nil {
				return err
			}
		}
		printSample = p.lineIn(form)
	}
	return p.takeSamples(ctx, p.session.History(), limit, printSample)
}

// printArchive prints samples of an archive in lines, at most so many if limit is positive.
func (p *printer) printArchive(ctx context.Context, limit int, form string) error {
	p.zone = p.collector.Archive.Zone
	o, progress := p.playerOptions()
	defer progress.clear()
	if p.stdout.isTerminal() {
		progress.w = nil // lines would mix with it
	}
	if form == formCSV { // the first line needs all columns
		progress.passes = 2
		if err := p.playSamples(ctx, o, limit, p.addColumns); err != nil {
			return err
		}
		p.csvHead()
		p.collector.Archive.Rewind()
		p.session.Watch(p.watched...)
		o.Damaged = nil // the first pass has warned
	}
	err := p.playSamples(ctx, o, limit, p.lineIn(form))
	progress.clear()
	p.reportEmpty()
	return err
}
