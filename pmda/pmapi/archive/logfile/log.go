package logfile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"pmdaderived/pdu"
)

// Log has the files of one archive, or of several of one host after each other that are read as one. Users must not
// change its fields.
type Log struct {
	Labels []Label   // of each archive, in the order of time
	End    time.Time // of the last record that can be read
	Damage []error   // the faults of labels, metadata and indexes

	pool      pool
	parts     []*part         // in the order of time
	positions []timedPosition // in the order of time; the first is the begin
}

// part is one archive of a [Log].
type part struct {
	Label
	volumes  []*volume // in the order of their numbers
	index    []indexEntry
	end      time.Time // of the last record
	metadata *frames   // after the label; nil when it has been read
}

// Open opens the archives that paths name; the forms of a path are at the function Open of package archive. It calls
// metadata with each record of metadata, and the version of its archive, in the order of time of the archives. The
// function returns the fault of a wrong record, otherwise "". The record is valid until it returns.
func Open(paths []string, metadata func(r *Fields, version int) (wrong string)) (*Log, error) {
	found, err := find(paths)
	if err != nil {
		return nil, err
	}
	l := &Log{}
	defer func() {
		for _, p := range l.parts {
			p.metadata.file.close()
			p.metadata = nil
		}
	}()
	for _, f := range found {
		if err := l.add(f); err != nil {
			if f.named {
				l.Close()
				return nil, err
			}
			l.Damage = append(l.Damage, err)
		}
	}
	if len(l.parts) == 0 {
		return nil, l.Damage[0]
	}
	slices.SortStableFunc(l.parts, func(p, q *part) int { return p.Start.Compare(q.Start) })
	for i, p := range l.parts[1:] {
		before := l.parts[i]
		if before.Host != p.Host {
			l.Close()
			return nil, fmt.Errorf("archive %s is of host %s, but archive %s of host %s: %w. Name archives of one host",
				before.Path, before.Host, p.Path, p.Host, pdu.ErrLogHost)
		}
		if before.end.After(p.Start) {
			l.Close()
			return nil, fmt.Errorf("archive %s ends at %s, but archive %s starts at %s: %w",
				before.Path, TimeText(before.end), p.Path, TimeText(p.Start), pdu.ErrLogOverlap)
		}
	}
	for _, p := range l.parts {
		l.Labels, l.End = append(l.Labels, p.Label), p.end
		l.Damage = append(l.Damage, p.readMetadata(metadata)...)
	}
	l.findPositions()
	return l, nil
}

// add adds an archive. It opens the metadata and reads its label, but not its records.
func (l *Log) add(f *files) error {
	metadata, err := openFile(f.meta, maxMetadata)
	if err != nil {
		return err
	}
	p := &part{metadata: framesOf(metadata)}
	if p.Label, err = readLabel(p.metadata); err != nil {
		metadata.close()
		return err
	}
	p.Path = f.base
	p.volumes = f.sortedVolumes(p.Label)
	if f.index != "" {
		if p.index, err = readIndex(f.index, p.Label); err != nil {
			l.Damage = append(l.Damage, err)
		}
	}
	for _, v := range p.volumes {
		for _, entry := range p.index {
			if entry.volume == v.number {
				v.indexed = append(v.indexed, entry.off)
			}
		}
	}
	for _, v := range p.volumes {
		slices.Sort(v.indexed)
	}
	l.Damage = append(l.Damage, p.missingVolumes()...)
	for _, v := range slices.Backward(p.volumes) {
		if p.end = l.endOf(v); !p.end.IsZero() {
			break
		}
	}
	if foreign := p.volumes[0].foreign; foreign != nil && p.end.IsZero() { // no volume can be read
		metadata.close()
		return foreign
	}
	if p.end.Before(p.Start) {
		p.end = p.Start
	}
	l.parts = append(l.parts, p)
	return nil
}

// missingVolumes returns errors for the volumes that are missing before the last one, or that the index names.
func (p *part) missingVolumes() (damage []error) {
	last := p.volumes[len(p.volumes)-1].number
	if n := len(p.index); n > 0 {
		last = max(last, p.index[n-1].volume)
	}
	next := 0
	for _, v := range append(slices.Clone(p.volumes), &volume{number: last + 1}) {
		if next < v.number {
			which := "the volume is missing"
			if last := v.number - 1; next < last {
				which = fmt.Sprintf("the volumes from this one to %d are missing", last)
			}
			damage = append(damage, fmt.Errorf("%s.%d: %s: %w", p.Path, next, which, pdu.ErrLogFile))
		}
		next = v.number + 1
	}
	return damage
}

// maxDamage is the number of wrong records after which a file of metadata is not read any further.
const maxDamage = 1000

// readMetadata reads the records of metadata, and returns their faults. A wrong record is skipped. A wrong length ends
// the file.
func (p *part) readMetadata(add func(r *Fields, version int) (wrong string)) (damage []error) {
	s := p.metadata
	for {
		at := s.off
		body, err := s.next()
		if errors.Is(err, io.EOF) {
			return damage
		}
		if err != nil {
			return append(damage, err)
		}
		if reason := add(&Fields{b: body}, p.Version); reason != "" {
			damage = append(damage, &DamageError{File: s.file.path, Offset: at, Reason: reason, Code: pdu.ErrLogRec})
			if len(damage) == maxDamage {
				return append(damage, s.damage("%d records are not valid: the rest of the file is not read", maxDamage))
			}
		}
	}
}

// endOf returns the time of the last record of a volume, zero if it has none.
func (l *Log) endOf(v *volume) time.Time {
	if _, err := l.pool.acquire(v); err != nil {
		return time.Time{}
	}
	l.pool.release(v)
	return v.end
}

// Close closes the files. Readers cannot be used afterwards.
func (l *Log) Close() { l.pool.close() }
