package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"

	"pmdaderived/internal/regular"
	"pmdaderived/pdu"
)

const (
	stateVersion  = 1
	maxStateBytes = 256 << 20

	// maxAside is how many damaged files are kept.
	maxAside = 100
)

// state is what the state file has.
type state struct {
	Version  int                 `json:"version"`
	Domain   int                 `json:"domain"`
	Next     int                 `json:"next"` // number of PMIDs given out, retired ones included
	Metrics  map[string]metric   `json:"metrics"`
	Files    map[string]pdu.Inst `json:"files,omitempty"`
	NextFile pdu.Inst            `json:"nextFile,omitempty"`

	Groups     map[pdu.InDom]GroupDomain `json:"groups,omitempty"`
	NextGroups int                       `json:"nextGroups,omitempty"` // serial of a domain
}

// metric is what is remembered of one definition's name.
type metric struct {
	PMID pdu.PMID `json:"pmid"`
	// Text and Desc are those of the last successful binding; Desc is nil before the first.
	Text string    `json:"expression,omitempty"`
	Desc *metadata `json:"descriptor,omitempty"`
	// Former are the last maxFormer PMIDs that the name had under other metadata, in the order in which it gave them up last.
	Former []former `json:"former,omitempty"`
}

// former is a PMID and what it stands for.
type former struct {
	PMID pdu.PMID `json:"pmid"`
	Desc metadata `json:"descriptor"`
}

// former are the descriptors of the former PMIDs.
func (m metric) former() (all []pdu.Desc) {
	for _, was := range m.Former {
		all = append(all, was.Desc.desc(was.PMID))
	}
	return all
}

// metadata is a pmDesc without its PMID.
type metadata struct {
	Type  pdu.Type      `json:"type"`
	Sem   pdu.Semantics `json:"semantics"`
	InDom pdu.InDom     `json:"indom"`
	Units wireUnits     `json:"units"`
}

func metadataOf(d pdu.Desc) metadata {
	return metadata{Type: d.Type, Sem: d.Sem, InDom: d.InDom, Units: wireUnits(d.Units.Wire())}
}

func (d *metadata) desc(id pdu.PMID) pdu.Desc {
	return pdu.Desc{PMID: id, Type: d.Type, Sem: d.Sem, InDom: d.InDom, Units: pdu.UnitsFromWire(uint32(d.Units))}
}

// wireUnits are units in their wire form, in the file hexadecimal.
type wireUnits uint32

// MarshalText implements encoding.TextMarshaler.
func (u wireUnits) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%08x", uint32(u)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *wireUnits) UnmarshalText(text []byte) error {
	w, err := strconv.ParseUint(string(text), 16, 32)
	if err != nil {
		return fmt.Errorf("units %q: %w", text, err)
	}
	*u = wireUnits(w)
	return nil
}

// index is that of a PMID in the order of giving out; false for one that is not ours to give.
func (s *state) index(id pdu.PMID) (int, bool) {
	if id.Domain() != s.Domain || id.Cluster() < firstCluster {
		return 0, false
	}
	return (id.Cluster()-firstCluster)*perCluster + id.Item(), true
}

// check says why a state makes no sense.
func (s *state) check() error {
	switch {
	case s.Version != stateVersion:
		return fmt.Errorf("version %d, want %d", s.Version, stateVersion)
	case s.Next < 0 || s.Next > maxPMIDs:
		return fmt.Errorf("the next PMID, %d, is out of range", s.Next)
	case s.NextGroups < 0 || s.NextGroups > pdu.MaxSerial:
		return fmt.Errorf("the next instance domain of groups, %d, is out of range", s.NextGroups)
	}
	owner := make(map[pdu.PMID]string, len(s.Metrics))
	claim := func(name string, id pdu.PMID) error {
		if n, ok := s.index(id); !ok || n >= s.Next {
			return fmt.Errorf("metric %s: PMID %s was never assigned", name, id)
		}
		if other, ok := owner[id]; ok {
			return fmt.Errorf("metrics %s and %s have the same PMID", other, name)
		}
		owner[id] = name
		return nil
	}
	for name, m := range s.Metrics {
		if err := claim(name, m.PMID); err != nil {
			return err
		}
		for _, was := range m.Former {
			if err := claim(name, was.PMID); err != nil {
				return err
			}
		}
	}
	numbers := make(map[pdu.Inst]string, len(s.Files))
	for path, n := range s.Files {
		if other, ok := numbers[n]; ok || n < 0 {
			return fmt.Errorf("files %s and %s have the same number", other, path)
		}
		numbers[n] = path
	}
	return s.checkGroups()
}

// decode makes a state of the text of a file.
func decode(text []byte) (state, error) {
	if len(text) > maxStateBytes {
		return state{}, fmt.Errorf("more than %d bytes", maxStateBytes)
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return state{}, err
	}
	if err := s.check(); err != nil {
		return state{}, err
	}
	s.fillDefaults()
	return s, nil
}

// fillDefaults makes what an older version, or nobody yet, has written.
func (s *state) fillDefaults() {
	if s.Metrics == nil {
		s.Metrics = make(map[string]metric)
	}
	if s.Files == nil {
		s.Files = make(map[string]pdu.Inst)
	}
	for _, n := range s.Files {
		s.NextFile = max(s.NextFile, n+1)
	}
	if s.Groups == nil {
		s.Groups = make(map[pdu.InDom]GroupDomain)
	}
}

// errDamaged says that the state file cannot be used and has been set aside.
var errDamaged = errors.New("state file set aside")

// Load reads a state file. It always returns a registry that can be used: when the file is missing an empty
// one; when it is damaged, of another domain or from another version an empty one too, and an error that says where the
// file has been put. A file that cannot be read or put aside is never written over: the registry is not persistent then,
// as one with the path "".
func Load(path string, domain int) (*Registry, error) {
	r := &Registry{state: state{Version: stateVersion, Domain: domain}, path: path, disk: osDisk{}}
	r.state.fillDefaults()
	r.indexGroups()
	if path == "" {
		return r, nil
	}
	removeLeftovers(path)
	text, err := regular.Read(path, maxStateBytes+1) // one more than can be one
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil
	case err != nil: // it may be good
		r.path = ""
		return r, fmt.Errorf("identities: %w", err)
	}
	s, err := decode(text)
	if err == nil && s.Domain != domain {
		err = fmt.Errorf("domain %d, want %d", s.Domain, domain)
	}
	if err == nil {
		r.state = s
		r.indexGroups()
		return r, nil
	}
	r.state.rescueNumbers(text)
	aside, moveErr := setAside(path)
	if moveErr != nil {
		r.path = ""
		return r, fmt.Errorf("identities: %s: %w, and moving it away: %w", path, err, moveErr)
	}
	return r, fmt.Errorf("identities: %w as %s: %w", errDamaged, aside, err)
}

// LoadReadOnly reads a state file for who needs identities and is not the agent: the registry is not persistent, so that what it gives
// out besides nobody else knows of. The file stays as it is; the agent may run.
func LoadReadOnly(path string) (*Registry, error) {
	text, err := regular.Read(path, maxStateBytes+1) // one more than can be one
	if err != nil {
		return nil, err
	}
	s, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := &Registry{state: s, disk: osDisk{}}
	r.indexGroups()
	return r, nil
}

// WasBound reports whether a name has been bound before.
func (r *Registry) WasBound(name string) bool { return r.state.Metrics[name].Desc != nil }

// rescueNumbers finds in a damaged file the numbers from which on no PMID and no domain of groups was given out, as far as that can
// still be seen.
func (s *state) rescueNumbers(text []byte) {
	for _, found := range regexp.MustCompile(`"(\d+\.\d+(\.\d+)?)"`).FindAllSubmatch(text, -1) {
		if len(found[2]) == 0 {
			if d, err := pdu.ParseInDom(string(found[1])); err == nil && d.Domain() == s.Domain {
				s.NextGroups = max(s.NextGroups, d.Serial()+1)
			}
			continue
		}
		id, err := pdu.ParsePMID(string(found[1]))
		if n, ok := s.index(id); err == nil && ok {
			s.Next = max(s.Next, n+1)
		}
	}
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

// MustSave reports whether something is not saved that must be before anybody is told.
func (r *Registry) MustSave() bool { return r.mustSave }

// Save writes the state file if something has changed. After an error it can be tried again.
func (r *Registry) Save() error {
	if !r.changed || r.path == "" {
		return nil
	}
	err := replaceFile(r.disk, r.path, func(w io.Writer) error { return json.NewEncoder(w).Encode(&r.state) })
	if err != nil {
		return fmt.Errorf("identities: %w", err)
	}
	r.changed, r.mustSave = false, false
	return nil
}

// SavedMetric is what a state file says of a definition's name.
type SavedMetric struct {
	Bound bool     // it has been served
	Text  string   // the expression that it had then, the last time
	Desc  pdu.Desc // of that
}

// ReadMetrics reads from a state file which definitions an agent has ever had, by name. It changes nothing; the agent
// may run.
func ReadMetrics(path string) (map[string]SavedMetric, error) {
	text, err := regular.Read(path, maxStateBytes+1) // one more than can be one
	if err != nil {
		return nil, err
	}
	s, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all := make(map[string]SavedMetric, len(s.Metrics))
	for name, m := range s.Metrics {
		known := SavedMetric{Bound: m.Desc != nil, Text: m.Text}
		if m.Desc != nil {
			known.Desc = m.Desc.desc(m.PMID)
		}
		all[name] = known
	}
	return all, nil
}
