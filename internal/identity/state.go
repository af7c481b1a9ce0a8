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

	// maxAside limits the damaged files that are kept.
	maxAside = 100
)

// state is the content of the state file. Older files also have numbers of definition files, and expressions, which are ignored.
type state struct {
	Version int               `json:"version"`
	Domain  int               `json:"domain"`
	Next    int               `json:"next"` // number of PMIDs given out, retired ones included
	Metrics map[string]metric `json:"metrics"`

	Groups     map[pdu.InDom]GroupDomain `json:"groups,omitempty"`
	NextGroups int                       `json:"nextGroups,omitempty"` // serial of the next instance domain
}

// metric has the identities of one definition's name.
type metric struct {
	PMID pdu.PMID `json:"pmid"`
	// Desc is from the last binding, nil before the first one.
	Desc *metadata `json:"descriptor,omitempty"`
	// Former has the last maxFormer PMIDs that the name had with other metadata, in the order in which it gave them up.
	Former []former `json:"former,omitempty"`
}

// former is a PMID and the metadata that it stands for.
type former struct {
	PMID pdu.PMID `json:"pmid"`
	Desc metadata `json:"descriptor"`
}

// former returns the descriptors of the former PMIDs.
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

// wireUnits are units in their wire form. The file has them in hexadecimal.
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

// index returns the position of a PMID in the order of giving out; false: the registry never gives it out.
func (s *state) index(id pdu.PMID) (int, bool) {
	if id.Domain() != s.Domain || id.Cluster() < firstCluster {
		return 0, false
	}
	return (id.Cluster()-firstCluster)*perCluster + id.Item(), true
}

// check returns why a state is inconsistent.
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
	return s.checkGroups()
}

// decode returns the state in the text of a file.
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

// fillDefaults sets the fields that an older version did not write, or that are empty in a new state.
func (s *state) fillDefaults() {
	if s.Metrics == nil {
		s.Metrics = make(map[string]metric)
	}
	if s.Groups == nil {
		s.Groups = make(map[pdu.InDom]GroupDomain)
	}
}

// errDamaged is returned when a state file cannot be used and has been moved away.
var errDamaged = errors.New("state file set aside")

// Load reads a state file. It always returns a registry that can be used, even with an error:
//
//	the file                                     the registry
//	is missing                                   empty
//	is damaged, or of another domain or version  empty, but gives out no number that the file still shows; the file is
//	                                             moved to a name that the error has
//	cannot be read, or cannot be moved           empty, and is never saved, so that the file is never written over
//
// With the path "" the registry is empty and never saved.
func Load(path string, domain int) (*Registry, error) {
	r := &Registry{state: state{Version: stateVersion, Domain: domain}, path: path, disk: osDisk{}}
	r.state.fillDefaults()
	r.indexGroups()
	if path == "" {
		return r, nil
	}
	removeLeftovers(path)
	text, err := regular.Read(path, maxStateBytes+1) // one more than decode accepts
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

// LoadReadOnly reads a state file for another program than the agent. The registry is never saved: PMIDs that it
// gives out are unknown to the agent. The agent may run.
func LoadReadOnly(path string) (*Registry, error) {
	text, err := regular.Read(path, maxStateBytes+1) // one more than decode accepts
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

// WasBound reports whether a name has ever been bound.
func (r *Registry) WasBound(name string) bool { return r.state.Metrics[name].Desc != nil }

// rescueNumbers finds PMIDs and instance domains in the text of a damaged file, and sets the next numbers above them.
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

// setAside moves a file to a name that does not exist yet, and returns that name.
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

// Save writes the state file if the state has changed. After an error it can be called again.
func (r *Registry) Save() error {
	if !r.changed || r.path == "" {
		return nil
	}
	err := replaceFile(r.disk, r.path, func(w io.Writer) error { return json.NewEncoder(w).Encode(&r.state) })
	if err != nil {
		return fmt.Errorf("identities: %w", err)
	}
	r.changed = false
	return nil
}
