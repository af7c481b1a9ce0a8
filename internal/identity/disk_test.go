package identity

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// frailDisk is a file system in memory that notes after every step what could be found if the machine
// stopped there, or only the process. Until something is synced it may be there or not: of a file's
// content any beginning, of the changes of names any number of the first.
type frailDisk struct {
	files   map[string]*frailFile // by name, as a living process sees them
	lasting map[string]*frailFile // names that a stop cannot undo
	pending []func(map[string]*frailFile)
	found   []map[string]string // contents by name, in all cases so far
	steps   []string
}

type frailFile struct {
	disk    *frailDisk
	name    string
	content string
	synced  int // bytes that a stop cannot take away
}

// newFrailDisk returns a disk with a state file, unless its content is empty.
func newFrailDisk(content string) *frailDisk {
	d := &frailDisk{files: map[string]*frailFile{}}
	if content != "" {
		d.files["state"] = &frailFile{disk: d, name: "state", content: content, synced: len(content)}
	}
	d.lasting = maps.Clone(d.files)
	d.note("start")
	return d
}

// note adds what can be found after a step.
func (d *frailDisk) note(step string) {
	d.steps = append(d.steps, step)
	live := make(map[string]string)
	for name, f := range d.files {
		live[name] = f.content
	}
	d.found = append(d.found, live)
	names := maps.Clone(d.lasting)
	for i := range len(d.pending) + 1 {
		if i > 0 {
			d.pending[i-1](names)
		}
		for _, share := range []int{0, 1, 50, 99, 100} {
			stopped := make(map[string]string)
			for name, f := range names {
				stopped[name] = f.content[:max(f.synced, len(f.content)*share/100)]
			}
			d.found = append(d.found, stopped)
		}
	}
}

func (d *frailDisk) change(step string, change func(map[string]*frailFile)) {
	change(d.files)
	d.pending = append(d.pending, change)
	d.note(step)
}

func (d *frailDisk) create(dir, pattern string) (diskFile, error) {
	name := filepath.Join(dir, strings.Replace(pattern, "*", fmt.Sprint(len(d.steps)), 1))
	f := &frailFile{disk: d, name: name}
	d.change("create", func(names map[string]*frailFile) { names[name] = f })
	return f, nil
}

func (d *frailDisk) rename(from, to string) error {
	d.change("rename", func(names map[string]*frailFile) {
		names[to] = names[from]
		delete(names, from)
	})
	return nil
}

func (d *frailDisk) remove(path string) error {
	d.change("remove", func(names map[string]*frailFile) { delete(names, path) })
	return nil
}

func (d *frailDisk) syncDir(string) error {
	d.lasting, d.pending = maps.Clone(d.files), nil
	d.note("sync folder")
	return nil
}

func (f *frailFile) Name() string { return f.name }

// Write writes byte by byte: a process may be killed, and the machine stop, after each.
func (f *frailFile) Write(text []byte) (int, error) {
	for _, b := range text {
		f.content += string([]byte{b})
		f.disk.note("write")
	}
	return len(text), nil
}

func (f *frailFile) Sync() error {
	f.synced = len(f.content)
	f.disk.note("sync")
	return nil
}

func (f *frailFile) Close() error {
	f.disk.note("close")
	return nil
}

// restarts loads the state from everything that could be found at any time, each distinct case once, and
// returns what PMIDs the metric m then has and which errors there were.
func (d *frailDisk) restarts(t *testing.T) (pmids []pdu.PMID, failures []error) {
	t.Helper()
	seen := make(map[string]bool)
	dir := t.TempDir()
	for _, files := range d.found {
		key := fmt.Sprint(files)
		if seen[key] {
			continue
		}
		seen[key] = true
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.Mkdir(dir, 0o700))
		for name, content := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(content), 0o600))
		}
		path := filepath.Join(dir, "state")
		r, err := Load(path, testDomain)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		for _, name := range filesIn(t, path) {
			require.Equal(t, "state", name, "no temporary file stays")
		}
		id := pdu.NoPMID
		if m, ok := r.state.Metrics["m"]; ok {
			id = m.PMID
		}
		if !slices.Contains(pmids, id) {
			pmids = append(pmids, id)
		}
	}
	return pmids, failures
}

// Wherever a write of the state stops, the next Load finds all of the old state or all of the new.
func TestStateSurvivesAStopAtEveryInstant(t *testing.T) {
	save := func(r *Registry, d *frailDisk) {
		r.path, r.disk = "state", d
		require.NoError(t, r.Save())
	}
	d, r := newFrailDisk(""), load(t, "")
	before := bind(t, r, "m", testDesc)
	save(r, d)
	assert.Equal(t, "sync folder", d.steps[len(d.steps)-1], "nothing is told before the name lasts")
	pmids, failures := d.restarts(t)
	assert.Empty(t, failures)
	assert.ElementsMatch(t, []pdu.PMID{pdu.NoPMID, before}, pmids)
	written := d.files["state"].content

	var err error
	d, r = newFrailDisk(written), load(t, "")
	r.state, err = decode([]byte(written))
	require.NoError(t, err)
	changed := testDesc
	changed.Type = pdu.TypeU32
	after := bind(t, r, "m", changed)
	save(r, d)
	pmids, failures = d.restarts(t)
	assert.ElementsMatch(t, []pdu.PMID{before, after}, pmids)
	assert.Empty(t, failures)

	d.found = d.found[:0]
	d.note("after the save")
	pmids, failures = d.restarts(t)
	assert.Equal(t, []pdu.PMID{after}, pmids, "what has been saved lasts")
	assert.Empty(t, failures)
}

// The temporary file of a killed process is removed.
func TestLeftoversAreRemoved(t *testing.T) {
	path := stateFile(t)
	near := func(name string) string { return filepath.Join(filepath.Dir(path), name) }
	for _, name := range []string{".derived.identities.123", ".derived.identities.4", ".derived.identities.x", ".derived.identities.", "other.5"} {
		require.NoError(t, os.WriteFile(near(name), []byte("{"), 0o600))
	}
	load(t, path)
	assert.ElementsMatch(t, []string{".derived.identities.x", ".derived.identities.", "other.5"}, filesIn(t, path))
}
