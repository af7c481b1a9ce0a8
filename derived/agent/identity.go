package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"

	"pmdaderived/pdu"
)

// A PMID belongs to a metric of one name and one set of metadata for ever: archives and running
// tools remember it. Clusters from firstCluster on are given out in the order in which definitions
// first appear; cluster 0 is for our own metrics.
const (
	firstCluster  = 1
	itemsPerGroup = pdu.MaxItem + 1
	maxIdentities = (pdu.MaxCluster + 1 - firstCluster) * itemsPerGroup

	identityVersion  = 1
	maxIdentityBytes = 256 << 20
)

// identity is what is remembered of one definition's name.
type identity struct {
	PMID pdu.PMID `json:"pmid"`
	// Text and Desc are those of the last successful binding; Desc is nil before the first.
	Text string          `json:"expression,omitempty"`
	Desc *identifiedDesc `json:"descriptor,omitempty"`
	// Former are the PMIDs that the name had under other metadata: it gets them back with those.
	Former []formerIdentity `json:"former,omitempty"`
}

// formerIdentity is a PMID and what it stands for.
type formerIdentity struct {
	PMID pdu.PMID       `json:"pmid"`
	Desc identifiedDesc `json:"descriptor"`
}

// become gives the identity other metadata, and the PMID that belongs to those; fresh makes one if
// there is none yet.
func (m *identity) become(desc identifiedDesc, fresh func() (pdu.PMID, error)) error {
	now := formerIdentity{Desc: desc}
	i := slices.IndexFunc(m.Former, func(f formerIdentity) bool { return f.Desc == desc })
	if i >= 0 {
		now = m.Former[i]
		m.Former = slices.Delete(slices.Clone(m.Former), i, i+1)
	} else {
		var err error
		if now.PMID, err = fresh(); err != nil {
			return err
		}
	}
	m.Former = append(m.Former, formerIdentity{m.PMID, *m.Desc})
	m.PMID, m.Desc = now.PMID, &now.Desc
	return nil
}

// identifiedDesc is a pmDesc as the file has it.
type identifiedDesc struct {
	Type  pdu.Type      `json:"type"`
	Sem   pdu.Semantics `json:"semantics"`
	InDom pdu.InDom     `json:"indom"`
	Units wireUnits     `json:"units"`
}

func identify(d pdu.Desc) identifiedDesc {
	return identifiedDesc{Type: d.Type, Sem: d.Sem, InDom: d.InDom, Units: wireUnits(d.Units.Wire())}
}

func (d *identifiedDesc) desc(id pdu.PMID) pdu.Desc {
	return pdu.Desc{PMID: id, Type: d.Type, Sem: d.Sem, InDom: d.InDom, Units: pdu.UnitsFromWire(uint32(d.Units))}
}

// wireUnits are units in their wire form, in the file hexadecimal.
type wireUnits uint32

func (u wireUnits) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%08x", uint32(u)), nil }

func (u *wireUnits) UnmarshalText(text []byte) error {
	w, err := strconv.ParseUint(string(text), 16, 32)
	if err != nil {
		return fmt.Errorf("units %q: %w", text, err)
	}
	*u = wireUnits(w)
	return nil
}

// identities is the persistent map from names to PMIDs. It has one owner, the binder, once the
// agent runs.
type identities struct {
	path     string // "": not persistent
	disk     disk
	domain   int
	next     int // number of PMIDs given out, retired ones included
	metrics  map[string]identity
	files    map[string]pdu.Inst // instances of fileInDom
	nextFile pdu.Inst            // the next of those
	dirty    bool                // something is not saved
	promised bool                // something that must be before anybody is told: a PMID and what it stands for, the number of a file
}

// identityFile is the form on disk.
type identityFile struct {
	Version  int                 `json:"version"`
	Domain   int                 `json:"domain"`
	Next     int                 `json:"next"`
	Metrics  map[string]identity `json:"metrics"`
	Files    map[string]pdu.Inst `json:"files,omitempty"`
	NextFile pdu.Inst            `json:"nextFile,omitempty"`
}

// errDamaged says that the state file cannot be used and has been set aside.
var errDamaged = errors.New("state file set aside")

func newIdentities(path string, domain int) *identities {
	return &identities{
		path: path, disk: osDisk{}, domain: domain, metrics: make(map[string]identity), files: make(map[string]pdu.Inst),
	}
}

// loadIdentities reads the map from a file. It always returns a usable one: when the file is
// missing an empty one; when it cannot be read, is damaged, of another domain or from another version
// an empty one too, and an error that wraps errDamaged and says where the file has been put. A file
// that cannot be put aside is never written over: the map is not persistent then.
func loadIdentities(path string, domain int) (*identities, error) {
	ids := newIdentities(path, domain)
	if path == "" {
		return ids, nil
	}
	removeLeftovers(path)
	err := ids.read()
	var unreadable *fs.PathError
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return ids, nil
	case errors.As(err, &unreadable): // it may be good: leave it alone, and write nothing over it
		ids.path = ""
		return ids, fmt.Errorf("identities: %w", err)
	}
	ids.next = ids.rescue()
	aside, moveErr := setAside(path)
	if moveErr != nil {
		ids.path = ""
		return ids, fmt.Errorf("identities: %w, and moving it away: %w", err, moveErr)
	}
	return ids, fmt.Errorf("identities: %w as %s: %w", errDamaged, aside, err)
}

// setAside moves a file to a name that is not taken yet.
func setAside(path string) (string, error) {
	for n := 0; ; n++ {
		aside := path + ".damaged"
		if n > 0 {
			aside += "." + strconv.Itoa(n)
		}
		err := os.Link(path, aside)
		switch {
		case errors.Is(err, fs.ErrExist) && n < maxAside:
			continue
		case err != nil:
			return aside, err
		}
		return aside, os.Remove(path)
	}
}

// maxAside is how many damaged files are kept.
const maxAside = 100

// rescue finds in a damaged file the number from which on no PMID was given out, as far as that can
// still be seen, so that none comes to stand for something else.
func (ids *identities) rescue() int {
	f, err := os.Open(ids.path)
	if err != nil {
		return 0
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIdentityBytes))
	if err != nil {
		return 0
	}
	next := 0
	for _, found := range regexp.MustCompile(`"(\d+\.\d+\.\d+)"`).FindAllSubmatch(text, -1) {
		id, err := pdu.ParsePMID(string(found[1]))
		if n, ok := ids.number(id); err == nil && ok {
			next = max(next, n+1)
		}
	}
	return next
}

// read takes over what the file says.
func (ids *identities) read() error {
	f, err := readIdentityFile(ids.path)
	if err != nil {
		return err
	}
	return ids.adopt(f)
}

func readIdentityFile(path string) (*identityFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxIdentityBytes {
		return nil, fmt.Errorf("%s: %d bytes are more than %d", path, info.Size(), maxIdentityBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f identityFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.Version != identityVersion {
		return nil, fmt.Errorf("%s: version %d, want %d", path, f.Version, identityVersion)
	}
	return &f, nil
}

// adopt takes over the metrics of a file if they make sense.
func (ids *identities) adopt(f *identityFile) error {
	switch {
	case f.Domain != ids.domain:
		return fmt.Errorf("%s: domain %d, want %d", ids.path, f.Domain, ids.domain)
	case f.Next < 0 || f.Next > maxIdentities:
		return fmt.Errorf("%s: next identity %d out of range", ids.path, f.Next)
	}
	used := make(map[pdu.PMID]string, len(f.Metrics))
	for name, m := range f.Metrics {
		if n, ok := ids.number(m.PMID); !ok || n >= f.Next {
			return fmt.Errorf("%s: metric %s: identity %s was never given out", ids.path, name, m.PMID)
		}
		if other, ok := used[m.PMID]; ok {
			return fmt.Errorf("%s: metrics %s and %s have one identity", ids.path, other, name)
		}
		used[m.PMID] = name
		for _, former := range m.Former {
			if n, ok := ids.number(former.PMID); !ok || n >= f.Next {
				return fmt.Errorf("%s: metric %s: identity %s was never given out", ids.path, name, former.PMID)
			}
			if other, ok := used[former.PMID]; ok {
				return fmt.Errorf("%s: metrics %s and %s have one identity", ids.path, other, name)
			}
			used[former.PMID] = name
		}
	}
	numbers := make(map[pdu.Inst]string, len(f.Files))
	for path, n := range f.Files {
		if other, ok := numbers[n]; ok || n < 0 {
			return fmt.Errorf("%s: files %s and %s have one number", ids.path, other, path)
		}
		numbers[n] = path
	}
	for _, n := range f.Files {
		f.NextFile = max(f.NextFile, n+1)
	}
	ids.next, ids.nextFile = f.Next, f.NextFile
	if f.Metrics != nil {
		ids.metrics = f.Metrics
	}
	if f.Files != nil {
		ids.files = f.Files
	}
	return nil
}

// number is the place of a PMID in the order of giving out; false for one that is not ours to give.
func (ids *identities) number(id pdu.PMID) (int, bool) {
	if id.Domain() != ids.domain || id.Cluster() < firstCluster {
		return 0, false
	}
	return (id.Cluster()-firstCluster)*itemsPerGroup + id.Item(), true
}

// errNoIdentity says that every PMID of the domain has been given out.
var errNoIdentity = fmt.Errorf("all %d metric identifiers of the domain have been used", maxIdentities)

func (ids *identities) fresh() (pdu.PMID, error) {
	if ids.next >= maxIdentities {
		return pdu.NoPMID, errNoIdentity
	}
	id := pdu.NewPMID(ids.domain, firstCluster+ids.next/itemsPerGroup, ids.next%itemsPerGroup)
	ids.next++
	ids.dirty, ids.promised = true, true
	return id, nil
}

// named returns the PMID of a name, a new one if it has none yet.
func (ids *identities) named(name string) (pdu.PMID, error) {
	if m, ok := ids.metrics[name]; ok {
		return m.PMID, nil
	}
	id, err := ids.fresh()
	if err == nil {
		ids.metrics[name] = identity{PMID: id}
	}
	return id, err
}

// maxFiles is how many files are remembered besides those that there are.
const maxFiles = 10000

// keepFiles forgets files that are not there any more, if they are many.
func (ids *identities) keepFiles(files []File) {
	if len(ids.files) < len(files)+maxFiles {
		return
	}
	now := make(map[string]bool, len(files))
	for _, f := range files {
		now[f.Path] = true
	}
	maps.DeleteFunc(ids.files, func(path string, _ pdu.Inst) bool { return !now[path] })
	ids.dirty = true
}

// file returns the number of a file, a new one if it has none yet. Numbers are never used again.
func (ids *identities) file(path string) pdu.Inst {
	n, ok := ids.files[path]
	if !ok {
		n = ids.nextFile
		ids.nextFile++
		ids.files[path] = n
		ids.dirty, ids.promised = true, true
	}
	return n
}

// bound notes what a name now stands for and returns its PMID: a new one if the metadata is not
// what the old one promised.
func (ids *identities) bound(name, text string, desc pdu.Desc) (pdu.PMID, error) {
	id, err := ids.named(name)
	if err != nil {
		return id, err
	}
	m, now := ids.metrics[name], identify(desc)
	switch {
	case m.Desc == nil:
		own := now // not in the way of those that have not changed
		m.Desc, ids.promised = &own, true
	case *m.Desc != now:
		if err := m.become(now, ids.fresh); err != nil {
			return id, err
		}
		ids.promised = true
	case m.Text == text:
		return id, nil
	}
	m.Text = text
	ids.metrics[name] = m
	ids.dirty = true
	return m.PMID, nil
}

// remembered returns the descriptor that a definition had when it was last bound; false if it never
// was, or had another expression then.
func (ids *identities) remembered(name, text string) (pdu.Desc, bool) {
	m, ok := ids.metrics[name]
	if !ok || m.Desc == nil || m.Text != text {
		return pdu.Desc{}, false
	}
	return m.Desc.desc(m.PMID), true
}

// save writes the map if it has changed. The file is whole at every instant: a new one is written,
// synced and put in its place.
func (ids *identities) save() error {
	if !ids.dirty || ids.path == "" {
		return nil
	}
	file := identityFile{
		Version: identityVersion, Domain: ids.domain, Next: ids.next, Metrics: ids.metrics,
		Files: ids.files, NextFile: ids.nextFile,
	}
	text, err := file.text()
	if err != nil {
		return fmt.Errorf("identities: %w", err)
	}
	if err := replaceFile(ids.disk, ids.path, append(text, '\n')); err != nil {
		return fmt.Errorf("identities: %w", err)
	}
	ids.dirty, ids.promised = false, false
	return nil
}
