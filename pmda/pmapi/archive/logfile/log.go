package logfile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"pmdaderived/pdu"
)

// Log is the files of one archive, or of several of one host after each other, read as one.
type Log struct {
	Labels []Label   // of each archive, by time
	End    time.Time // of the last record that can be read
	Damage []error   // what of labels, metadata and index cannot be read

	pool      pool
	parts     []*part         // by time
	positions []timedPosition // by time; the first is the begin
}

// part is one archive of a [Log].
type part struct {
	Label
	volumes  []*volume // by number
	index    []indexEntry
	end      time.Time // of the last record
	metadata *frames   // behind the label, until it has been read
}

// Open opens the files that paths name, as the function Open of package archive says. Each record of metadata is given to metadata, those of the
// first archive first; it returns what is wrong with one, "" if nothing is.
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
			l.Damage = append(l.Damage, err)
		}
	}
	if len(l.parts) == 0 {
		return nil, l.Damage[0]
	}
	slices.SortStableFunc(l.parts, func(p, q *part) int { return p.Start.Compare(q.Start) })
	for i, p := range l.parts[1:] {
		if before := l.parts[i]; before.end.After(p.Start) {
			l.Close()
			return nil, fmt.Errorf("archive %s ends at %s, but archive %s starts at %s: %w", before.Path, before.end.UTC().Format(time.RFC3339Nano),
				p.Path, p.Start.UTC().Format(time.RFC3339Nano), pdu.ErrLogOverlap)
		}
	}
	for _, p := range l.parts {
		l.Labels, l.End = append(l.Labels, p.Label), p.end
		l.Damage = append(l.Damage, p.readMetadata(metadata)...)
	}
	l.findPositions()
	return l, nil
}

// add opens the files of an archive. The metadata is open, and not read yet.
func (l *Log) add(f *files) error {
	metadata, err := openFile(f.meta, maxMetadata)
	if err != nil {
		return err
	}
	p := &part{metadata: framesAt(metadata, 0)}
	if p.Label, err = readLabel(p.metadata); err != nil {
		metadata.close()
		return err
	}
	p.Path = f.base
	p.volumes = f.sortedVolumes(p.Version)
	if f.index != "" {
		if p.index, err = readIndex(f.index, p.Version); err != nil {
			l.Damage = append(l.Damage, err)
		}
	}
	p.end = p.Start
	for i := range slices.Backward(p.volumes) {
		if t, ok := l.lastOf(p, i); ok {
			p.end = t
			break
		}
	}
	l.parts = append(l.parts, p)
	return nil
}

// maxDamage is how many wrong records a file of metadata may have.
const maxDamage = 1000

// readMetadata reads metadata, and returns what is wrong with it. A record that is wrong costs itself, a length that is wrong all that follows.
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

// lastOf finds the time of the last record of a volume; ok is false if it has none.
func (l *Log) lastOf(p *part, i int) (t time.Time, ok bool) {
	v := p.volumes[i]
	f, err := l.pool.acquire(v)
	if err != nil {
		return t, false
	}
	defer l.pool.release(v)
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

// Close closes the files. Readers cannot be used any more.
func (l *Log) Close() { l.pool.close() }
