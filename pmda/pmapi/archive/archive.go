package archive

import (
	"fmt"
	"slices"
	"time"

	"pmdaderived/pdu"
)

// Archive is one archive, or several of one host after each other, read as one.
type Archive struct {
	*meta
	pool   pool
	parts  []*part // by time
	places []place // by time; the first is the begin
	damage []error
}

// part is one archive of an [Archive].
type part struct {
	LogLabel
	volumes []*volume // by number
	index   []indexEntry
	end     time.Time // of the last record
}

// Open opens what paths name, as the option -a of PCP's tools does: an archive's base name or one of its files, compressed or not; a folder, whose
// archives are taken; several of these, in one path separated by commas, or with the wildcards of glob(7).
// The archives may be given in any order, and must not overlap in time: [pdu.ErrLogOverlap].
// If the metadata says different things of one metric, the first one counts, and [Archive.Damage] has the other.
//
// An error means that there is nothing to read: no such file, or a label that is not one. An archive of several that cannot be read is among
// the damage.
//
// Source: PCPIntro(1), pmNewContext(3).
func Open(paths ...string) (*Archive, error) {
	found, err := find(paths)
	if err != nil {
		return nil, err
	}
	a := &Archive{meta: newMeta()}
	metas := make(map[*part]*file)
	defer func() {
		for _, f := range metas {
			f.close()
		}
	}()
	for _, f := range found {
		p, metadata, err := a.openPart(f)
		if err != nil {
			a.damage = append(a.damage, err)
			continue
		}
		a.parts, metas[p] = append(a.parts, p), metadata
	}
	if len(a.parts) == 0 {
		_ = a.Close()
		return nil, a.damage[0]
	}
	slices.SortStableFunc(a.parts, func(p, q *part) int { return p.Start.Compare(q.Start) })
	for i, p := range a.parts[1:] {
		if before := a.parts[i]; before.end.After(p.Start) {
			_ = a.Close()
			return nil, fmt.Errorf("%s ends at %s, after the start of %s at %s: %w",
				before.Path, stamp(before.end), p.Path, stamp(p.Start), pdu.ErrLogOverlap)
		}
	}
	for _, p := range a.parts {
		s := framesAt(metas[p], 0)
		_, _ = s.next() // the label
		a.damage = append(a.damage, a.read(s, p.Version)...)
	}
	a.done()
	a.findPlaces()
	return a, nil
}

// stamp is a time as messages have it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// openPart opens the files of an archive. The metadata is open, and not read yet.
func (a *Archive) openPart(f *files) (*part, *file, error) {
	metadata, err := openFile(f.meta, maxMetadata)
	if err != nil {
		return nil, nil, err
	}
	label, err := readLabel(framesAt(metadata, 0))
	if err != nil {
		metadata.close()
		return nil, nil, err
	}
	p := &part{LogLabel: label}
	p.Path = f.base
	p.volumes = f.sortedVolumes(label.Version)
	if f.index != "" {
		if p.index, err = readIndex(f.index, p.Version); err != nil {
			a.damage = append(a.damage, err)
		}
	}
	p.end = p.Start
	for i := range slices.Backward(p.volumes) {
		if t, ok := a.lastOf(p, i); ok {
			p.end = t
			break
		}
	}
	return p, metadata, nil
}

// lastOf finds the time of the last record of a volume; ok is false if it has none.
func (a *Archive) lastOf(p *part, i int) (t time.Time, ok bool) {
	v := p.volumes[i]
	f, err := a.pool.acquire(v)
	if err != nil {
		return t, false
	}
	defer a.pool.release(v)
	s := framesAt(f, 0)
	label, err := readLabel(s)
	if err != nil || label.Version != p.Version {
		return t, false
	}
	first := s.off
	if off, ok := s.last(); ok && off >= first {
		s.seek(off)
		if body, err := s.next(); err == nil {
			if t, ok = recordTime(body, p.Version); ok {
				return t, true
			}
		}
	}
	for _, entry := range p.index { // the end is broken: look for the last record that is whole
		if entry.volume == v.number && entry.off > first && entry.off < f.size {
			first = entry.off
		}
	}
	s.seek(first)
	for {
		body, err := s.next()
		if err != nil {
			return t, ok
		}
		if at, good := recordTime(body, p.Version); good {
			t, ok = at, true
		}
	}
}

// Close closes the files. Contexts cannot be used any more.
func (a *Archive) Close() error {
	a.pool.close()
	return nil
}

// LogLabels has the label of each archive, in the order of time.
//
// Source: pmGetArchiveLabel(3).
func (a *Archive) LogLabels() []LogLabel {
	labels := make([]LogLabel, len(a.parts))
	for i, p := range a.parts {
		labels[i] = p.LogLabel
	}
	return labels
}

// Start is when the archive begins: the time in the first label.
func (a *Archive) Start() time.Time { return a.parts[0].Start }

// End is the time of the last record that can be read.
//
// Source: pmGetArchiveEnd(3).
func (a *Archive) End() time.Time { return a.parts[len(a.parts)-1].end }

// Damage is what of labels, metadata and index cannot be read.
func (a *Archive) Damage() []error { return slices.Clone(a.damage) }
