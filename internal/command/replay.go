package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"pmdaderived/derived"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/identity"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/replay"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
)

// replay writes an archive of derived metrics, computed from another archive. It returns 1 if nothing, or not every
// metric that was named, is written.
func (r *run) replay(ctx context.Context, args []string) int {
	ctx, cancel := untilSignal(ctx)
	defer cancel()
	recording := replay.Recording{PID: os.Getpid()}
	identities := ""
	r.pathsOption()
	r.intervalOption("`TIME` between samples (default: as recorded)")
	r.flags.BoolVar(&recording.Replace, "replace", false, "also write metrics that the archive already has")
	r.flags.StringVar(&identities, "identities", "",
		"take PMIDs and instance domains from `FILE`, the state file of an agent")
	commandline.NonFinite(r.flags, &recording.NonFinite)
	r.timeOptions()
	operands, exit, done := r.parse(args)
	switch {
	case done:
		return exit
	case len(r.archive.Paths) == 0:
		return r.usageError(errors.New("no archive to read: use -a"))
	case len(operands) == 0:
		return r.usageError(errors.New("no archive to write: name one"))
	}
	recording.Out = operands[0]
	names := operands[1:]
	for i, name := range names {
		names[i] = derived.ShortName(name)
	}
	var err error
	if recording.IDs, err = r.identities(identities); err != nil {
		return r.fail(err)
	}
	if err := r.connect(ctx); err != nil {
		return r.fail(err)
	}
	if err := r.readDefinitions(true); err != nil {
		return r.fail(err)
	}
	o, progress := r.playerOptions()
	if o.Every == 0 {
		progress.passes = 2 // the first pass finds metrics that are recorded together
	}
	recording.In, recording.Options = r.collector.Archive.Archive, o
	own := r.definitions.Own()
	for _, name := range names {
		if !slices.ContainsFunc(own, func(d served.Definition) bool { return pdu.AtOrBelow(d.Name, name) }) {
			return r.fail(fmt.Errorf("%s is not defined", name))
		}
	}
	wanted := make(map[string]bool, len(own))
	for _, d := range own {
		wanted[d.Name] = len(names) == 0 ||
			slices.ContainsFunc(names, func(node string) bool { return pdu.AtOrBelow(d.Name, node) })
	}
	recording.Wanted = func(name string) bool { return wanted[name] }
	recording.Config = served.Config{
		Definitions: definitions.WithUsed(r.definitions.ByName(), own...), Language: r.definitions.Language,
	}
	report, err := recording.Record(ctx)
	progress.clear()
	exit = r.printLeftOut(report, len(names) > 0)
	r.printNewPMIDs(report, identities)
	if err != nil {
		return r.fail(err)
	}
	r.printTicks(report.Ticks)
	fmt.Fprintf(r.stdout, "%s: %s of %s\n", recording.Out, plural.Of(report.Records, "record"),
		plural.Of(len(report.Metrics), "metric"))
	return exit
}

// identities reads identities from a file, or from that of this host's agent, which may not exist.
func (r *run) identities(file string) (ids *identity.Registry, err error) {
	own := file == ""
	if own {
		file = commandline.StateFile(r.conf)
	}
	ids, err = identity.LoadReadOnly(file)
	if own && errors.Is(err, fs.ErrNotExist) {
		ids, err = identity.Load("", commandline.Domain)
	}
	if err != nil {
		return nil, fmt.Errorf("identities: %w", err)
	}
	return ids, nil
}

// printLeftOut prints what has not been written, and returns the exit status. Without names it only counts metrics that
// nobody can expect: a person who names a metric wants to know why it is missing.
func (r *run) printLeftOut(report *replay.Report, named bool) int {
	exit := commandline.ExitOK
	var has, lacks []string
	for _, left := range report.LeftOut {
		switch {
		case left.Recorded && !named:
			has = append(has, left.Name)
		case left.LacksOperands && !named:
			lacks = append(lacks, left.Name)
		default:
			r.complain(fmt.Errorf("%s.%s is not written: %s", derived.Root, left.Name, left.Why))
			exit = commandline.ExitFailure
		}
	}
	for _, row := range []struct {
		names []string
		why   string
	}{{has, "already in the archive (see --replace)"}, {lacks, "operands are not in the archive"}} {
		if n := len(row.names); n > 0 {
			r.complain(fmt.Errorf("%s not written, such as %s.%s: %s", plural.Of(n, "metric"), derived.Root, row.names[0], row.why))
		}
	}
	return exit
}

// printNewPMIDs warns of metrics whose PMIDs an agent may not have: who joins the archives would mix metrics.
// identities is the file of --identities.
func (r *run) printNewPMIDs(report *replay.Report, identities string) {
	if len(report.NewPMIDs) == 0 {
		return
	}
	metrics := plural.Of(len(report.NewPMIDs), "metric")
	unknown := fmt.Errorf("the agent of this host has not served %s yet, such as %s, and may assign other PMIDs",
		metrics, derived.FullName(report.NewPMIDs[0]))
	if identities != "" {
		unknown = fmt.Errorf("%s has no PMIDs for %s, such as %s, and the agent that wrote it may assign others",
			identities, metrics, derived.FullName(report.NewPMIDs[0]))
	}
	r.complain(unknown)
}
