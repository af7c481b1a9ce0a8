package command

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/agent"
	"pmdaderived/internal/collector"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/lint"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
)

// problems returns all errors and warnings about the files that are checked, in the order of files and lines.
func (f *findings) problems() []*config.Problem {
	found := slices.Concat(f.files.Problems, f.files.Hints(),
		unknownCodes(f.files.Definitions), f.faults(), f.warnings(), f.continuedLines(), f.ownLabels())
	found = slices.DeleteFunc(found, func(p *config.Problem) bool { return !f.files.Concerns(p) })
	for i, p := range found {
		if p.Code == codeReplaced && !f.files.Shipped(p.Pos.File) && !f.files.Shipped(p.Replaced.File) {
			graver := *p // a site replaces shipped definitions on purpose, its own rather by mistake
			graver.Severity = config.Warning
			found[i] = &graver
		}
	}
	order := make(map[string]int, len(f.files.Sources))
	for i, s := range f.files.Sources {
		order[s.Path] = i
	}
	slices.SortStableFunc(found, func(x, y *config.Problem) int {
		return cmp.Or(cmp.Compare(order[x.Pos.File], order[y.Pos.File]),
			cmp.Compare(x.Pos.Line, y.Pos.Line), cmp.Compare(x.Pos.Column, y.Pos.Column))
	})
	return found
}

// faults returns why definitions cannot be served. Shipped files have definitions for metrics that most hosts lack, so
// those that wait for metrics are one note for each file; with --all each has its own.
func (f *findings) faults() (found []*config.Problem) {
	inFiles := f.files.InFiles()
	waiting := map[string][]served.Definition{}
	own := agent.OwnMetrics(commandline.Domain)
	for _, fault := range served.Check(f.files.All, own, f.lint.Catalog, f.files.Language, agent.MaxOperands) {
		d := inFiles[fault.Definition.Name]
		p := definitions.ProblemOf(d, fault)
		file := p.Pos.File
		if definitions.CodeOf(p) == definitions.CodeUnknown && f.files.Lenient(file) {
			if !f.showAll {
				if !slices.Contains(d.Ignored, definitions.CodeUnknown) {
					waiting[file] = append(waiting[file], fault.Definition)
				}
				continue
			}
			p.Severity, p.Code = config.Note, definitions.CodeUnknown
		}
		found = append(found, p)
		if err, ok := errors.AsType[*derived.Error](fault.Err); ok && err.Hint != "" {
			note := *p
			note.Severity, note.Code, note.Msg, note.Err = config.Note, definitions.CodeHint, err.Hint, nil
			found = append(found, &note)
		}
	}
	for file, defs := range waiting {
		found = append(found, waitingProblem(file, defs,
			definitions.MissingMetrics(definitions.WithUsed(f.files.ByName(), defs...), f.catalog), f.files.Language.Masked))
	}
	return found
}

// warnings returns what is valid in definitions but probably not meant.
func (f *findings) warnings() (found []*config.Problem) {
	inFiles := f.files.InFiles()
	o := f.lint
	o.Root, o.Language = derived.Root, f.files.Language
	o.Portable = func(d *derived.Definition) syntax.Support { return f.files.AllowedSupport(inFiles[d.Name].Pos.File) }
	for _, w := range lint.Check(definitions.Derived(f.files.All), o) {
		if p := f.problemOfWarning(w, inFiles); p != nil {
			found = append(found, p)
		}
	}
	return found
}

// problemOfWarning returns a warning as a problem with its place and severity. It returns nil for some warnings about
// shipped files: a site that does not edit them can do nothing about them.
func (f *findings) problemOfWarning(w lint.Warning, inFiles map[string]*config.Definition) *config.Problem {
	p := definitions.ProblemAt(inFiles[w.Definition.Name], w.Offset)
	p.Severity, p.Code, p.Msg = config.Warning, string(w.Code), w.Message
	lenient := f.files.Lenient(p.Pos.File)
	switch w.Code {
	// These are about metrics or values of this host.
	case lint.AbsentOperand, lint.AbsentInstance, lint.MatchesNothing, lint.NoBuckets, lint.UnsignedDiff,
		lint.ZeroDivisor:
		if lenient && !f.showAll {
			return nil
		}
		if lenient || w.Code == lint.AbsentOperand {
			p.Severity = config.Note
		}
	// These are true also where nobody can edit the file.
	case lint.ChangeOfTotal, lint.DividedShare, lint.ChangeOverAge, lint.DifferentInstances:
		if f.files.Shipped(p.Pos.File) {
			p.Severity = config.Note
		}
	case lint.MisspeltOperand:
		if lenient {
			p.Severity = config.Note
		}
	case lint.SameExpression:
		if lenient {
			return nil
		}
		if f.files.Shipped(inFiles[w.Other.Name].Pos.File) {
			p.Severity = config.Note
		}
	}
	return p
}

// continuedLines warns of expressions on several lines, which PCP 6.0 does not join.
func (f *findings) continuedLines() (found []*config.Problem) {
	for _, d := range f.files.Definitions {
		last := definitions.ProblemAt(d, len(d.Expr)-1)
		if f.files.AllowedSupport(d.Pos.File) >= syntax.PCP63 || last.Pos.Line == definitions.ProblemAt(d, 0).Pos.Line {
			continue
		}
		last.Severity, last.Code = config.Warning, string(lint.NotPortable)
		last.Msg = "a line that continues another one: " + lint.Understood(syntax.PCP63)
		found = append(found, last)
	}
	return found
}

// ownLabels warns of labels, which no libpcp knows.
func (f *findings) ownLabels() (found []*config.Problem) {
	for _, d := range f.files.Definitions {
		if d.Labels == nil || f.files.AllowedSupport(d.LabelsPos.File) >= syntax.Nowhere {
			continue
		}
		p := &config.Problem{
			Pos: d.LabelsPos, Severity: config.Warning, Code: string(lint.NotPortable), Name: d.Name,
			Msg: "no libpcp supports the attribute labels: clients that compute the definition themselves report an error " +
				"and have no labels",
		}
		p.Excerpt = config.NewExcerpt(d.Name+"(labels) = "+*d.Labels, len(d.Name)+len("(")+1)
		found = append(found, p)
	}
	return found
}

// lookUpOperands looks up the operands of definitions, and metrics with names of definitions, so that lint can judge
// more than the text.
func (f *findings) lookUpOperands(ctx context.Context) (err error) {
	if err := f.connect(ctx); err != nil {
		return err
	}
	if err := f.verify(ctx); err != nil {
		return err
	}
	names := make([]string, len(f.files.All))
	for i, d := range f.files.All {
		names[i] = d.Name
	}
	if f.catalog, err = session.LookUp(ctx, f.collector.Metrics, f.files.All, names...); err != nil {
		return err
	}
	f.lint = lint.Options{
		Catalog: f.catalog, Archive: f.collector.Archive != nil,
		Host:    &lintHost{collector: f.collector, ctx: ctx, instances: map[pdu.InDom][]string{}},
		Suggest: func(name string) string { return f.collector.Similar(ctx, name) },
	}
	return nil
}

// lintHost is the collector as a [lint.Host]. Instances that pmcd does not return are unknown: lint does not warn of
// them.
type lintHost struct {
	collector *collector.Collector
	ctx       context.Context        //nolint:containedctx // lives as long as one run of check
	instances map[pdu.InDom][]string // names that have been looked up, nil with an error
}

// Instances implements lint.Host.
func (h *lintHost) Instances(d pdu.InDom) []string {
	names, ok := h.instances[d]
	if !ok {
		if instances, err := h.collector.Instances(h.ctx, d); err == nil {
			names = make([]string, len(instances))
			for i, instance := range instances {
				names[i] = instance.Name
			}
		}
		h.instances[d] = names
	}
	return names
}

// HasInstance implements lint.Host.
func (h *lintHost) HasInstance(d pdu.InDom, name string) bool {
	_, err := h.collector.InstanceID(h.ctx, d, name)
	return !errors.Is(err, pdu.ErrInst)
}
