package archive

import (
	"slices"
	"time"

	"pmdaderived/pmda/pmapi/archive/logfile"
	"pmdaderived/pmda/pmapi/archive/metadata"
)

// Archive is one archive, or several of one host after each other, read as one.
type Archive struct {
	log  *logfile.Log
	meta *metadata.Metadata
}

// LogLabel is what an archive says of itself (pmLogLabel).
type LogLabel = logfile.Label

// DamageError says where a file of an archive is not what it should be, or cannot be read.
type DamageError = logfile.DamageError

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
	meta := metadata.New()
	log, err := logfile.Open(paths, meta.Add)
	if err != nil {
		return nil, err
	}
	meta.Finish()
	return &Archive{log, meta}, nil
}

// Close closes the files. Contexts cannot be used any more.
func (a *Archive) Close() error {
	a.log.Close()
	return nil
}

// LogLabels has the label of each archive, in the order of time.
//
// Source: pmGetArchiveLabel(3).
func (a *Archive) LogLabels() []LogLabel { return slices.Clone(a.log.Labels) }

// Start is when the archive begins: the time in the first label.
func (a *Archive) Start() time.Time { return a.log.Labels[0].Start }

// End is the time of the last record that can be read.
//
// Source: pmGetArchiveEnd(3).
func (a *Archive) End() time.Time { return a.log.End }

// Damage is what of labels, metadata and index cannot be read.
func (a *Archive) Damage() []error { return slices.Clone(a.log.Damage) }
