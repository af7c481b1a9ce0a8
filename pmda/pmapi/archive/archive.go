package archive

import (
	"slices"
	"time"

	"pmdaderived/pmda/pmapi/archive/logfile"
	"pmdaderived/pmda/pmapi/archive/metadata"
)

// Archive is one archive, or several of one host after each other that are read as one. Several goroutines may use it.
type Archive struct {
	log  *logfile.Log
	meta *metadata.Metadata
}

// LogLabel is the label of an archive: its host, its start and its format (pmLogLabel).
type LogLabel = logfile.Label

// DamageError is a fault of a file of an archive, with its position.
type DamageError = logfile.DamageError

// Open opens the archives that paths name, as the option -a of PCP's tools does. A path is the base name of an archive,
// one of its files, compressed or not, or a folder, all of whose archives are opened. It may be a list of these with
// commas, and may have the wildcards of glob(7). The order does not matter. If the archives are of several hosts, the
// error wraps [pdu.ErrLogHost]; if they overlap in time, [pdu.ErrLogOverlap].
//
// If the metadata has different descriptors for one metric, the first one is used, and [Archive.Damage] reports the
// others.
//
// An error means that an archive that a path names cannot be read, because it has no file or no valid label. If some
// archives of a folder cannot be read, [Archive.Damage] has their errors.
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

// Close closes the files. Contexts cannot be used afterwards. The error is always nil.
func (a *Archive) Close() error {
	a.log.Close()
	return nil
}

// LogLabels returns the label of each archive, in the order of time.
//
// Source: pmGetArchiveLabel(3).
func (a *Archive) LogLabels() []LogLabel { return slices.Clone(a.log.Labels) }

// Start returns the time in the first label.
func (a *Archive) Start() time.Time { return a.log.Labels[0].Start }

// End returns the time of the last record that can be read.
//
// Source: pmGetArchiveEnd(3).
func (a *Archive) End() time.Time { return a.log.End }

// Damage returns the faults of labels, metadata and index. Most are a *[DamageError]. Faults of volumes are not among
// them: [Context.Next] returns these.
func (a *Archive) Damage() []error { return slices.Clone(a.log.Damage) }
