package replay

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
)

// outDomain is an instance domain of the written archive.
type outDomain struct {
	indom     pdu.InDom // number in the set
	groups    *served.GroupInDom
	version   int                 // version of In's domain when its labels were last written
	lastInsts *derived.InstSet    // instances that were last checked
	written   map[pdu.Inst]string // names of instances that have been written
}

// write writes everything but the labels of the files.
func (w *recorder) write(ctx context.Context, sessions []*session.Session) error {
	if err := w.writeMetadata(ctx); err != nil {
		return err
	}
	w.nothingSinceMark = true
	o := w.Options
	o.Mark = w.writeMark
	player := NewPlayer(w.source, sessions...)
	err := player.Play(ctx, o, func(s *session.Session, at time.Time) error { return w.addValues(ctx, s, at) })
	if err == nil {
		err = w.flush()
	}
	if err == nil && !w.hasValues {
		err = ErrNoValues
	}
	if err == nil {
		err = w.out.Close()
	}
	w.report.Ticks = player.Ticks()
	return err
}

// writeMetadata writes descriptors, texts and labels.
func (w *recorder) writeMetadata(ctx context.Context) error {
	const context = math.MaxUint32 // the identifier of no metric
	if err := w.copyLabels(ctx, context, pdu.LabelContext); err != nil {
		return err
	}
	domain := w.IDs.Domain()
	if err := w.out.Labels(w.Start, uint32(domain), pdu.LabelDomain, served.DomainLabels()); err != nil {
		return err
	}
	for _, m := range w.metrics {
		desc := m.Desc
		desc.PMID, desc.InDom = m.id, w.outInDom(m.Desc.InDom)
		err := errors.Join(
			w.out.Metric(desc, m.FullName()),
			w.out.Text(uint32(m.id), pdu.TextPMID|pdu.TextOneLine, m.Text(true)),
			w.out.Text(uint32(m.id), pdu.TextPMID|pdu.TextHelp, m.Text(false)),
			w.out.Labels(w.Start, uint32(m.id), pdu.LabelItem, m.Labels()))
		if err == nil && desc.InDom != pdu.NoInDom && w.domains[m.Desc.InDom] == nil {
			err = w.writeDomainMetadata(ctx, m.Desc.InDom)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeDomainMetadata writes texts and labels of a domain. Of a domain of In it writes all instances that there have
// been, once: if both archives had the changes, in version 3, pmlogextract of PCP 6 would write records on which tools
// crash.
func (w *recorder) writeDomainMetadata(ctx context.Context, of pdu.InDom) error {
	d := &outDomain{indom: of, version: -1}
	w.domains[of] = d
	out := uint32(w.outInDom(of))
	if _, ours := w.snapshot.Set.GroupDomains()[of]; ours {
		d.groups = w.snapshot.Groups[of]
		return errors.Join(
			w.out.Text(out, pdu.TextInDom|pdu.TextOneLine, d.groups.Text()),
			w.out.Text(out, pdu.TextInDom|pdu.TextHelp, d.groups.Text()))
	}
	if all, err := w.In.AllInstances(of); err == nil { // else no instance was recorded
		if err := w.out.InDom(w.Start, of, all); err != nil {
			return err
		}
	}
	for _, t := range []pdu.TextType{pdu.TextInDom | pdu.TextOneLine, pdu.TextInDom | pdu.TextHelp} {
		text, err := w.In.Text(ctx, out, t)
		if err != nil {
			continue // there is none
		}
		if err := w.out.Text(out, t, text); err != nil {
			return err
		}
	}
	return w.copyLabels(ctx, out, pdu.LabelInDom)
}

// copyLabels copies labels from In.
func (w *recorder) copyLabels(ctx context.Context, ident uint32, t pdu.LabelType) error {
	sets, err := w.source.Labels(ctx, ident, t)
	if err != nil || !slices.ContainsFunc(sets, func(set pdu.LabelSet) bool { return len(set.Labels) > 0 }) {
		return err
	}
	return w.out.Labels(latest(w.source.Time(), w.Start), ident, t, sets)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// addValues adds the values of a session to the record. The record is written when time moves on. At the time of a mark
// nothing is written, because two records cannot have the same time.
func (w *recorder) addValues(ctx context.Context, s *session.Session, at time.Time) error {
	if at.Truncate(time.Microsecond).Equal(w.markTime.Truncate(time.Microsecond)) {
		return nil
	}
	if !at.Equal(w.pendingTime) {
		if err := w.flush(); err != nil {
			return err
		}
		w.pendingTime = at
	}
	values := w.out.Values()
	for _, i := range w.classes[s] {
		m := w.metrics[i]
		v := s.Value(m.Derived)
		if !w.NonFinite {
			v = v.OnlyFinite()
		}
		w.hasValues = w.hasValues || v.Len() > 0
		switch {
		case v.Len() == 0:
			values.Fail(m.id, v.Code)
			continue
		case v.Type.Numeric():
			values.Numbers(m.id, v.Type, v.Insts.IDs(), v.Bits)
		default:
			values.Strings(m.id, v.Type, v.Insts.IDs(), v.Blobs)
		}
		if d := w.domains[m.Desc.InDom]; d != nil {
			if err := w.writeInstances(ctx, d, at, v.Insts); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeInstances writes the instances of a domain of groups when there are new ones, and the labels of other domains
// when they have changed.
func (w *recorder) writeInstances(ctx context.Context, d *outDomain, at time.Time, insts *derived.InstSet) error {
	if d.groups == nil {
		version := w.source.Version(d.indom)
		if version == d.version {
			return nil
		}
		d.version = version
		return w.copyLabels(ctx, uint32(d.indom), pdu.LabelInstances)
	}
	if insts == d.lastInsts {
		return nil
	}
	d.lastInsts = insts
	names := w.groups.Table(d.indom)
	if d.written != nil && !slices.ContainsFunc(insts.IDs(), func(id pdu.Inst) bool {
		name, _ := names.Name(id)
		return d.written[id] != name
	}) {
		return nil
	}
	now := w.groups.Members(d.indom)
	d.written = make(map[pdu.Inst]string, len(now))
	for _, one := range now {
		d.written[one.ID] = one.Name
	}
	err := w.out.InDom(at, w.outInDom(d.indom), now)
	if sets := d.groups.Labels(now); err == nil && len(sets) > 0 {
		err = w.out.Labels(at, uint32(w.outInDom(d.indom)), pdu.LabelInstances, sets)
	}
	return err
}

// flush writes the record.
func (w *recorder) flush() error {
	if w.out.Values().Len() == 0 {
		return nil
	}
	w.nothingSinceMark = false
	w.report.Records++
	return w.out.Put(w.pendingTime)
}

// writeMark writes a mark, unless there is nothing before it.
func (w *recorder) writeMark(at time.Time) error {
	if err := w.flush(); err != nil || w.nothingSinceMark {
		return err
	}
	w.nothingSinceMark, w.markTime = true, at
	return w.out.Mark(at)
}
