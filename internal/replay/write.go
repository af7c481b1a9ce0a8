package replay

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/served"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
)

// eachRecord calls look with each record.
func (p *recorder) eachRecord(ctx context.Context, look func(r *archive.Record)) error {
	records := p.In.NewContext(p.Start, p.End)
	defer records.Close()
	for {
		r, err := records.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			if _, ok := errors.AsType[*archive.DamageError](err); ok { // Play tells
				continue
			}
			return err
		}
		look(r)
		if p.Read != nil {
			p.Read(r.Time)
		}
	}
}

// outDomain is an instance domain of what is written.
type outDomain struct {
	indom     pdu.InDom // as the set has it
	groups    *served.GroupInDom
	version   int               // of In's domain when its labels were written last
	lastInsts *derived.InstSet  // that it was looked at for last
	written   map[pdu.Inst]bool // that have been written
}

// write writes all but the files' labels.
func (p *recorder) write(ctx context.Context, sessions []*session.Session) error {
	if err := p.writeMetadata(ctx); err != nil {
		return err
	}
	p.nothingSinceMark = true
	o := p.Options
	o.Mark = p.writeMark
	player := NewPlayer(p.source, sessions...)
	err := player.Play(ctx, o, func(s *session.Session, at time.Time) error { return p.addValues(ctx, s, at) })
	if err == nil {
		err = p.flush()
	}
	if err == nil {
		err = p.out.Close()
	}
	p.report.Ticks = player.Ticks()
	return err
}

// writeMetadata writes what there is to say of metrics once.
func (p *recorder) writeMetadata(ctx context.Context) error {
	const context = math.MaxUint32 // stands for no metric
	if err := p.copyLabels(ctx, context, pdu.LabelContext); err != nil {
		return err
	}
	domain := p.IDs.Domain()
	if err := p.out.Labels(p.Start, uint32(domain), pdu.LabelDomain, served.DomainLabels()); err != nil {
		return err
	}
	for _, m := range p.metrics {
		desc := m.Desc
		desc.PMID, desc.InDom = m.id, p.outInDom(m.Desc.InDom)
		err := errors.Join(
			p.out.Metric(desc, m.FullName()),
			p.out.Text(uint32(m.id), pdu.TextPMID|pdu.TextOneLine, m.Text(true)),
			p.out.Text(uint32(m.id), pdu.TextPMID|pdu.TextHelp, m.Text(false)),
			p.out.Labels(p.Start, uint32(m.id), pdu.LabelItem, m.Labels()))
		if err == nil && desc.InDom != pdu.NoInDom && p.domains[m.Desc.InDom] == nil {
			err = p.writeDomainMetadata(ctx, m.Desc.InDom)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeDomainMetadata writes texts and labels of a domain, and of one that In has all instances that there have been. If their changes were recorded in
// both archives, of version 3, pmlogextract of PCP 6 would write records that tools crash on.
func (p *recorder) writeDomainMetadata(ctx context.Context, of pdu.InDom) error {
	d := &outDomain{indom: of, version: -1}
	p.domains[of] = d
	out := uint32(p.outInDom(of))
	if _, ours := p.snapshot.Set.GroupDomains()[of]; ours {
		d.groups = p.snapshot.Groups[of]
		return errors.Join(
			p.out.Text(out, pdu.TextInDom|pdu.TextOneLine, d.groups.Text()),
			p.out.Text(out, pdu.TextInDom|pdu.TextHelp, d.groups.Text()))
	}
	if all, err := p.In.AllInstances(of); err == nil { // else no instance was recorded
		if err := p.out.InDom(p.Start, of, all); err != nil {
			return err
		}
	}
	for _, t := range []pdu.TextType{pdu.TextInDom | pdu.TextOneLine, pdu.TextInDom | pdu.TextHelp} {
		text, err := p.In.Text(ctx, out, t)
		if err != nil {
			continue // there is none
		}
		if err := p.out.Text(out, t, text); err != nil {
			return err
		}
	}
	return p.copyLabels(ctx, out, pdu.LabelInDom)
}

// copyLabels writes labels that In has.
func (p *recorder) copyLabels(ctx context.Context, ident uint32, t pdu.LabelType) error {
	sets, err := p.source.Labels(ctx, ident, t)
	if err != nil || !slices.ContainsFunc(sets, func(set pdu.LabelSet) bool { return len(set.Labels) > 0 }) {
		return err
	}
	return p.out.Labels(latest(p.source.Time(), p.Start), ident, t, sets)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// addValues takes over the values of a session. They are written when nothing else can be of their time.
func (p *recorder) addValues(ctx context.Context, s *session.Session, at time.Time) error {
	if !at.Equal(p.pendingTime) {
		if err := p.flush(); err != nil {
			return err
		}
		p.pendingTime = at
	}
	values := p.out.Values()
	for _, i := range p.classes[s] {
		m := p.metrics[i]
		v := s.Value(m.Derived)
		if !p.NonFinite {
			v = v.OnlyFinite()
		}
		switch {
		case v.Len() == 0:
			values.Fail(m.id, v.Code)
			continue
		case v.Type.Numeric():
			values.Numbers(m.id, v.Type, v.Insts.IDs(), v.Bits)
		default:
			values.Strings(m.id, v.Type, v.Insts.IDs(), v.Blobs)
		}
		if d := p.domains[m.Desc.InDom]; d != nil {
			if err := p.writeInstances(ctx, d, at, v.Insts); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeInstances writes the instances of a domain of groups if they are not those that were written last, and labels of other instances if these have changed.
func (p *recorder) writeInstances(ctx context.Context, d *outDomain, at time.Time, insts *derived.InstSet) error {
	if d.groups == nil {
		version := p.source.Version(d.indom)
		if version == d.version {
			return nil
		}
		d.version = version
		return p.copyLabels(ctx, uint32(d.indom), pdu.LabelInstances)
	}
	if insts == d.lastInsts {
		return nil
	}
	d.lastInsts = insts
	if d.written != nil && !slices.ContainsFunc(insts.IDs(), func(id pdu.Inst) bool { return !d.written[id] }) {
		return nil
	}
	now := p.groups.Members(d.indom)
	d.written = make(map[pdu.Inst]bool, len(now))
	for _, one := range now {
		d.written[one.ID] = true
	}
	err := p.out.InDom(at, p.outInDom(d.indom), now)
	if sets := d.groups.Labels(now); err == nil && len(sets) > 0 {
		err = p.out.Labels(at, uint32(p.outInDom(d.indom)), pdu.LabelInstances, sets)
	}
	return err
}

// flush writes the values that are waiting.
func (p *recorder) flush() error {
	if p.out.Values().Len() == 0 {
		return nil
	}
	p.nothingSinceMark = false
	p.report.Records++
	return p.out.Put(p.pendingTime)
}

// writeMark writes a mark, unless nothing is in front of it.
func (p *recorder) writeMark(at time.Time) error {
	if err := p.flush(); err != nil || p.nothingSinceMark {
		return err
	}
	p.nothingSinceMark = true
	return p.out.Mark(at)
}
