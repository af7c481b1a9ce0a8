package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
)

// sample takes one sample of a subject, and of probes, which are definitions of our own. It returns the metrics of the
// probes.
func (e *explanation) sample(
	ctx context.Context, s subject, probes []*derived.Definition,
) (*session.Session, []*derived.Metric, error) {
	defs, names := e.used(s), make([]string, len(probes))
	for i, probe := range probes {
		defs, names[i] = append(defs, served.Definition{Definition: probe}), probe.Name
	}
	return e.collector.Sample(ctx, defs, e.definitions.Language, names...)
}

// shownGroups is the number of groups of one key that are shown.
const shownGroups = 20

// showGroups prints the present groups of a metric, and those by the keys that matchinst() looks up. Two probes count the
// instances of each clause "by": those of each group, and all, which may be more.
func (e *explanation) showGroups(ctx context.Context, s subject, m *derived.Metric) error {
	var probes []*derived.Definition
	var clauses []*syntax.By
	known := map[string]bool{}
	for l := range m.Lines {
		call, ok := l.Expr.(*syntax.Call)
		if !ok {
			continue
		}
		clause := call.By
		if keys := call.Keys(); clause == nil && len(keys) > 0 && keys[0].Lookup != nil {
			clause = &syntax.By{Keys: keys}
		}
		if clause == nil {
			continue
		}
		id := l.Kids[0].InDom.String() + clause.String()
		if known[id] {
			continue
		}
		known[id] = true
		for _, by := range []*syntax.By{clause, nil} {
			count := &syntax.Call{Func: syntax.Count, Args: []syntax.Expr{instancesOf(l.Kids[0])}, By: by}
			probes = append(probes, &derived.Definition{
				Name: fmt.Sprintf("(groups %d)", len(probes)), Text: count.String(), Expr: count,
			})
		}
		clauses = append(clauses, clause)
	}
	if len(clauses) == 0 {
		return nil
	}
	session, metrics, err := e.sample(ctx, s, probes)
	if err != nil {
		return err
	}
	for i, clause := range clauses {
		if perGroup, whole := metrics[2*i], metrics[2*i+1]; perGroup != nil && whole != nil {
			fmt.Fprintln(e.stdout)
			e.showGroupsBy(clause, session, perGroup, whole)
		}
	}
	return nil
}

// instancesOf returns an expression with the instances of n. Where it can it needs no earlier sample.
func instancesOf(n *derived.Node) syntax.Expr {
	if leaf := n.Leaf(); leaf != nil {
		return leaf
	}
	if e, ok := n.Expr.(*syntax.Call); ok && e.By != nil {
		return &syntax.Call{Func: syntax.Count, Args: []syntax.Expr{instancesOf(n.Kids[0])}, By: e.By}
	}
	return n.Expr
}

// showGroupsBy prints the groups of one key, with the number of their instances.
func (e *explanation) showGroupsBy(by *syntax.By, s *session.Session, perGroup, whole *derived.Metric) {
	v, clause := s.Value(perGroup), printable.Line(by.String())
	if v.Code < 0 {
		fmt.Fprintf(e.stdout, "%s: %v\n", clause, v.Code)
		return
	}
	members := uint64(0)
	for _, n := range v.Bits {
		members += n
	}
	total := members
	if n := s.Value(whole); n.Len() > 0 {
		total = n.Bits[0]
	}
	when := "now"
	if len(e.archive.Paths) > 0 {
		when = "at " + s.Time().UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(e.stdout, "%s %s: %s, %s", clause, when, plural.Of(v.Len(), "group"),
		plural.Of(int(total), "instance"))
	if members < total {
		fmt.Fprintf(e.stdout, ", %d of them in no group", total-members)
	}
	fmt.Fprintln(e.stdout)
	for i, missed := range s.Missed(perGroup) {
		var found []string
		for _, of := range []struct {
			text string
			n    int
		}{{"nothing to look up", missed.Empty}, {"nothing found", missed.Nothing}, {"different values", missed.Different}} {
			if of.n > 0 {
				found = append(found, of.text+" for "+plural.Of(of.n, "instance"))
			}
		}
		if len(found) > 0 {
			fmt.Fprintf(e.stdout, "    -> %s: %s\n", by.Keys[i].Lookup.Metric, strings.Join(found, ", "))
		}
	}
	for i, n := range v.Bits[:min(len(v.Bits), shownGroups)] {
		name, _ := s.InstanceName(perGroup.Desc.InDom, v.At(i))
		fmt.Fprintf(e.stdout, "    %q of %d\n", name, n)
	}
	if rest := v.Len() - shownGroups; rest > 0 {
		fmt.Fprintf(e.stdout, "    and %d more\n", rest)
	}
}

// showBuckets prints how the present instances of metrics tell the bounds of their buckets.
func (e *explanation) showBuckets(ctx context.Context, s subject, m *derived.Metric) error {
	var probes []*derived.Definition
	for l := range m.Lines {
		if !syntax.Is(l.Expr, syntax.PercentileBucket, syntax.ShareBucket) {
			continue
		}
		leaf := l.Kids[0].Leaf()
		if leaf == nil {
			continue
		}
		name := "buckets of " + leaf.Name
		if !slices.ContainsFunc(probes, func(probe *derived.Definition) bool { return probe.Name == name }) {
			values := &syntax.Call{Func: syntax.Instant, Args: []syntax.Expr{leaf}}
			share := &syntax.Call{Func: syntax.ShareBucket, Args: []syntax.Expr{values, &syntax.Number{Text: "0"}}}
			probes = append(probes, &derived.Definition{Name: name, Text: share.String(), Expr: share})
		}
	}
	if len(probes) == 0 {
		return nil
	}
	session, metrics, err := e.sample(ctx, s, probes)
	if err != nil {
		return err
	}
	for i, share := range metrics {
		if share != nil {
			insts, names := session.Instances(share.Tree.Kids[0].InDom)
			fmt.Fprintln(e.stdout)
			e.sentence("%s: %s", probes[i].Name, boundsText(names, insts.IDs()))
		}
	}
	return nil
}

// boundsText returns how many instances tell their bounds in each form.
func boundsText(names *derived.NameTable, ids []pdu.Inst) string {
	if code := names.LabelCode(derived.BoundLabelName); code < 0 {
		return "not known, because the labels of the instances are not: " + code.Error()
	}
	forms := map[derived.BoundForm][]pdu.Inst{}
	for _, id := range ids {
		form := derived.BoundOf(names, id)
		forms[form] = append(forms[form], id)
	}
	var texts []string
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		switch n := len(forms[form]); {
		case form.Cumulative():
			texts = append(texts, fmt.Sprintf("%d by %s, cumulative", n, form))
		case form != derived.NoBound:
			texts = append(texts, fmt.Sprintf("%d by %s, not cumulative", n, form))
		default:
			first, _ := names.Name(forms[form][0])
			texts = append(texts, fmt.Sprintf("%d without a bound, such as %q", n, first))
		}
	}
	return cmp.Or(strings.Join(texts, "; "), "no instances")
}
