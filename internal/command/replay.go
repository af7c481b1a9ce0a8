package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/identity"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/replay"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
)

// runReplay writes an archive of derived metrics, computed from another archive. It returns 1 if nothing, or not every
// metric that was named, is written.
func runReplay(ctx context.Context, t *invocation, args []string) int {
	ctx, cancel := untilSignal(ctx)
	defer cancel()
	r := replay.Recording{PID: os.Getpid()}
	identities := ""
	t.pathsOption()
	t.intervalOption(new(time.Duration), "`TIME` between samples (default: as recorded)")
	t.flags.BoolVar(&r.Replace, "replace", false, "also write metrics that the archive already has")
	t.flags.StringVar(&identities, "identities", "",
		"take PMIDs and instance domains from `FILE`, the state file of an agent")
	commandline.NonFinite(t.flags, &r.NonFinite)
	t.timeOptions()
	operands, exit, done := t.parse(args)
	switch {
	case done:
		return exit
	case len(t.archive.Paths) == 0:
		return t.usageError(errors.New("no archive to read: use -a"))
	case len(operands) == 0:
		return t.usageError(errors.New("no archive to write: name one"))
	}
	r.Out = operands[0]
	names := operands[1:]
	for i, name := range names {
		names[i] = derived.ShortName(name)
	}
	if len(names) > 0 {
		r.Wanted = func(name string) bool {
			return slices.ContainsFunc(names, func(node string) bool { return pdu.AtOrBelow(name, node) })
		}
	}
	if err := t.setIdentities(&r, identities); err != nil {
		return t.fail(err)
	}
	p, err := t.play()
	if err != nil {
		return t.fail(err)
	}
	defer func() { _ = p.Close() }()
	read, err := t.readPaths(true)
	if err != nil {
		return t.fail(err)
	}
	progress := t.progress(p.Part.Origin, p.Part.End)
	if p.Every == 0 {
		progress.passes = 2 // the first pass finds metrics that are recorded together
	}
	r.In, r.Options = p.Archive, t.playerOptions(p, progress)
	for _, name := range names {
		if !slices.ContainsFunc(read.All, func(d served.Definition) bool { return pdu.AtOrBelow(d.Name, name) }) {
			return t.fail(fmt.Errorf("%s is not defined", name))
		}
	}
	r.Config = served.Config{Definitions: read.All, Language: read.Language}
	report, err := r.Record(ctx)
	progress.clear()
	return t.printReport(&r, report, err, names, identities)
}

// setIdentities reads identities from a file, or from that of this host's agent, which may not exist.
func (t *invocation) setIdentities(r *replay.Recording, file string) (err error) {
	own := file == ""
	if own {
		file = commandline.StateFile(t.conf)
	}
	r.IDs, err = identity.LoadReadOnly(file)
	if own && errors.Is(err, fs.ErrNotExist) {
		r.IDs, err = identity.Load("", commandline.Domain)
	}
	if err != nil {
		return fmt.Errorf("identities: %w", err)
	}
	return nil
}

// printReport prints what has been written, and what has not. identities is the file of --identities.
func (t *invocation) printReport(
	r *replay.Recording, report *replay.Report, err error, names []string, identities string,
) int {
	exit := commandline.ExitOK
	has, rest := 0, 0
	for _, left := range report.LeftOut {
		switch {
		case left.Recorded && len(names) == 0:
			has++
		case left.LacksOperands && len(names) == 0:
			rest++
		default:
			t.complain(fmt.Errorf("%s.%s is not written: %s", derived.Root, left.Name, left.Why))
			exit = commandline.ExitFailure
		}
	}
	if has > 0 {
		t.complain(fmt.Errorf("%s not written: already in the archive (see --replace)", plural.Of(has, "metric")))
	}
	if rest > 0 {
		t.complain(fmt.Errorf("%s not written: operands are not in the archive", plural.Of(rest, "metric")))
	}
	if n := len(report.NewPMIDs); n > 0 {
		first := derived.FullName(report.NewPMIDs[0])
		if identities == "" {
			t.complain(fmt.Errorf("the agent of this host has not served %s yet, such as %s, and may assign other "+
				"PMIDs", plural.Of(n, "metric"), first))
		} else {
			t.complain(fmt.Errorf("%s has no PMIDs for %s, such as %s, and the agent that wrote it may assign others",
				identities, plural.Of(n, "metric"), first))
		}
	}
	if err != nil {
		return t.fail(err)
	}
	t.printTicks(t.stdout, report.Ticks)
	fmt.Fprintf(t.stdout, "%s: %s of %s\n", r.Out, plural.Of(report.Records, "record"),
		plural.Of(len(report.Metrics), "metric"))
	return exit
}
