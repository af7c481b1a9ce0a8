package archive

import (
	"context"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// Archive is one archive, or several of one host after each other, read as one.
type Archive struct {
}

// Open opens what paths name, as the option -a of PCP's tools does: an archive's base name or one of its files, compressed or not; a folder, whose
// archives are taken; several of these, in one path separated by commas, or with the wildcards of glob(7).
// The archives may be given in any order, and must not overlap in time: PM_ERR_LOGOVERLAP.
// If the metadata of two say different things of one metric, the first one counts, and [Archive.Damage] has the other.
//
// An error means that there is nothing to read: no such file, or a label that is not one.
//
// Source: PCPIntro(1), pmNewContext(3).
func Open(paths ...string) (*Archive, error) { return nil, nil }

// Close closes the files. Contexts cannot be used any more.
func (a *Archive) Close() error { return nil }

// LogLabel is what an archive says of itself (pmLogLabel).
type LogLabel struct {
	Path     string    // the base name of its files
	Version  int       // 2 or 3
	PID      int       // of the pmlogger that wrote it
	Start    time.Time // of the first record
	Host     string    // that the values are of
	TimeZone string    // of that host, as $TZ has it: "AEST-10"
	ZoneInfo string    // of that host, ":Australia/Melbourne"; only from version 3 on
}

// LogLabels has the label of each archive, in the order of time.
//
// Source: pmGetArchiveLabel(3).
func (a *Archive) LogLabels() []LogLabel { return nil }

// Start is when the archive begins: the time in the first label.
func (a *Archive) Start() time.Time { return time.Time{} }

// End is the time of the last record that can be read.
//
// Source: pmGetArchiveEnd(3).
func (a *Archive) End() time.Time { return time.Time{} }

// Damage is what of labels, metadata and index cannot be read.
func (a *Archive) Damage() []error { return nil }

// LookupNames finds the metrics of the names: one result per name, in the order of the names. The code of a name that is
// not there is [pdu.ErrName], or [pdu.ErrNonLeaf].
//
// Source: pmLookupName(3).
func (a *Archive) LookupNames(_ context.Context, names []string) ([]pmapi.NameResult, error) {
	return nil, nil
}

// NameAll gives all names of a metric; [pdu.ErrPMID] if it has none.
//
// Source: pmNameAll(3).
func (a *Archive) NameAll(_ context.Context, id pdu.PMID) ([]string, error) { return nil, nil }

// Children lists the nodes directly below name, sorted; the root is "". A metric has none. [pdu.ErrName] if there is no such node.
//
// Source: pmGetChildrenStatus(3).
func (a *Archive) Children(_ context.Context, name string) ([]pmapi.Child, error) { return nil, nil }

// Traverse lists the full names of all metrics at or below name, sorted; the root is "". [pdu.ErrName] if there is no such node.
//
// Source: pmTraversePMNS(3).
func (a *Archive) Traverse(_ context.Context, name string) ([]string, error) { return nil, nil }

// Desc gives the descriptor of a metric; [pdu.ErrPMID] if the archive does not have it.
//
// Source: pmLookupDesc(3).
func (a *Archive) Desc(_ context.Context, id pdu.PMID) (pdu.Desc, error) { return pdu.Desc{}, nil }

// Descs gives the descriptors of metrics: one result per metric, in the order of ids.
//
// Source: pmLookupDescs(3).
func (a *Archive) Descs(_ context.Context, ids []pdu.PMID) ([]pmapi.DescResult, error) {
	return nil, nil
}

// Text gives the one-line or the help text of a metric or an instance domain; [pdu.ErrText] if there is none.
//
// Source: pmLookupText(3), pmLookupInDomText(3).
func (a *Archive) Text(_ context.Context, ident uint32, t pdu.TextType) (string, error) {
	return "", nil
}

// AllInstances lists the instances that a domain has had at any time, each once, with its last name; [pdu.ErrInDom] if the archive does not
// have it.
//
// Source: pmGetInDomArchive(3).
func (a *Archive) AllInstances(indom pdu.InDom) ([]pdu.Instance, error) { return nil, nil }
