package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"pmdaderived/derived"
	"pmdaderived/internal/collector"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/printable"
)

// explanation is the output of explain.
type explanation struct {
	*run
	depth int                  // levels of operands to show
	view  *collector.AgentView // what the agent says of definitions; nil: there is no agent
}

// maxDepth is the number of levels below an expression that explain prints at most.
const maxDepth = 64

// explain prints the metadata of every part of an expression, and how the agent serves a definition. It returns 1 if an
// expression cannot be bound.
func (r *run) explain(ctx context.Context, args []string) int {
	e := &explanation{run: r, depth: maxDepth}
	r.flags.Func("depth", "show `NUM` levels of operands below the expression", func(arg string) (err error) {
		if e.depth, err = strconv.Atoi(arg); err != nil || e.depth < 0 || e.depth > maxDepth {
			return fmt.Errorf("%q is not a number from 0 to %d", arg, maxDepth)
		}
		return nil
	})
	exit, done := r.bindSubjects(ctx, args)
	if done {
		return exit
	}
	if err := r.verify(ctx); err != nil {
		return r.fail(err)
	}
	var err error
	switch e.view, err = r.collector.AgentView(ctx); {
	case err != nil:
		exit = r.fail(err) // the rest does not need the agent
	case e.view == nil && r.collector.Archive == nil &&
		slices.ContainsFunc(r.subjects, func(s subject) bool { return s.source != nil }):
		r.complain(errors.New("this pmcd has no agent for derived metrics"))
	}
	shown := false
	for _, s := range r.subjects {
		switch m := r.metric(s); {
		case s.problem != nil: // bindSubjects has printed it
			exit = commandline.ExitFailure
		case m.Err == nil:
			if shown {
				fmt.Fprintln(r.stdout)
			}
			if err := e.showMetric(ctx, s, m); err != nil {
				return r.fail(err)
			}
			shown = true
		case s.source == nil && e.rowOf(s) != nil: // defined in a file that only the agent reads
		default:
			exit = commandline.ExitFailure
			r.showBroken(s, m.Err)
			if s.source == nil || e.view == nil { // otherwise showServed lists the operands
				r.showSimilar(ctx, s)
			}
		}
		if err := e.showServed(ctx, s); err != nil {
			exit = r.fail(err)
		}
	}
	return exit
}

// showMetric prints the expression and its place, and all that is known of it without the agent.
func (e *explanation) showMetric(ctx context.Context, s subject, m *derived.Metric) error {
	if s.source == nil {
		fmt.Fprintf(e.stdout, "%s\n\n", printable.Line(s.text))
	} else {
		fmt.Fprintf(e.stdout, "%s = %s\n    defined in %s\n", s.def.Name, printable.Line(s.def.Text), s.source.Pos)
		if s.def.Labels != nil {
			fmt.Fprintf(e.stdout, "    labels %s\n", *s.def.Labels)
		}
		fmt.Fprintln(e.stdout)
	}
	e.showTree(m)
	e.showWindows(m)
	if err := e.showTicks(ctx, m); err != nil {
		return err
	}
	return cmp.Or(e.showGroups(ctx, s, m), e.showBuckets(ctx, s, m))
}
