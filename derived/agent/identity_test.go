package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

const testDomain = 510

// testDesc is the metadata of a definition, whose PMID is the business of the identities.
var testDesc = pdu.Desc{
	PMID: pdu.NoPMID, Type: pdu.TypeDouble, InDom: pdu.NewInDom(60, 1), Sem: pdu.SemInstant,
	Units: pdu.Units{Space: 1, Time: -1, SpaceScale: pdu.SpaceKbyte, TimeScale: pdu.TimeSec},
}

func stateFile(t *testing.T) string { return filepath.Join(t.TempDir(), "derived.identities") }

func load(t *testing.T, path string) *identities {
	t.Helper()
	ids, err := loadIdentities(path, testDomain)
	require.NoError(t, err)
	return ids
}

// filesIn lists the names in the folder of a path.
func filesIn(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestIdentitiesAreGivenOutInOrder(t *testing.T) {
	ids := load(t, "")
	for i, want := range []pdu.PMID{pdu.NewPMID(testDomain, 1, 0), pdu.NewPMID(testDomain, 1, 1)} {
		id, err := ids.named(fmt.Sprintf("m%d", i))
		require.NoError(t, err)
		assert.Equal(t, want, id)
	}
	again, err := ids.named("m0")
	require.NoError(t, err)
	assert.Equal(t, pdu.NewPMID(testDomain, 1, 0), again, "a name keeps its identity")

	ids.next = itemsPerGroup
	id, err := ids.named("in the next cluster")
	require.NoError(t, err)
	assert.Equal(t, pdu.NewPMID(testDomain, 2, 0), id)
	n, ok := ids.number(id)
	assert.True(t, ok)
	assert.Equal(t, itemsPerGroup, n)
}

func TestIdentitiesSurviveARestart(t *testing.T) {
	path := stateFile(t)
	ids := load(t, path)
	bound, err := ids.bound("disk.rate", "rate(disk)", testDesc)
	require.NoError(t, err)
	named, err := ids.named("missing.operand")
	require.NoError(t, err)
	require.NoError(t, ids.save())
	assert.Equal(t, []string{"derived.identities"}, filesIn(t, path))

	ids = load(t, path)
	want := testDesc
	want.PMID = bound
	desc, ok := ids.remembered("disk.rate", "rate(disk)")
	assert.True(t, ok)
	assert.Equal(t, want, desc)

	_, ok = ids.remembered("disk.rate", "something else")
	assert.False(t, ok, "another expression may have other metadata")
	_, ok = ids.remembered("missing.operand", "")
	assert.False(t, ok, "it was never bound")
	_, ok = ids.remembered("unknown", "")
	assert.False(t, ok)

	id, err := ids.named("missing.operand")
	require.NoError(t, err)
	assert.Equal(t, named, id)
	fresh, err := ids.named("new")
	require.NoError(t, err)
	assert.NotContains(t, []pdu.PMID{bound, named}, fresh)
}

// Every descriptor that an operand can have comes back as it was.
func TestDescriptorsSurviveARestart(t *testing.T) {
	path := stateFile(t)
	ids := load(t, path)
	descs := map[string]pdu.Desc{}
	for _, typ := range []pdu.Type{pdu.TypeNoSupport, pdu.Type32, pdu.TypeString, pdu.TypeHighResEvent, pdu.TypeUnknown, 77} {
		for _, sem := range []pdu.Semantics{0, pdu.SemCounter, pdu.SemDiscrete} {
			for _, units := range []pdu.Units{{}, {Space: -8, Time: 7, Count: 1, SpaceScale: 6, TimeScale: 5, CountScale: -8}} {
				d := pdu.Desc{PMID: pdu.NoPMID, Type: typ, Sem: sem, InDom: pdu.NoInDom, Units: units}
				name := fmt.Sprintf("m%d", len(descs))
				id, err := ids.bound(name, "x", d)
				require.NoError(t, err)
				d.PMID = id
				descs[name] = d
			}
		}
	}
	require.NoError(t, ids.save())
	ids = load(t, path)
	for name, want := range descs {
		got, ok := ids.remembered(name, "x")
		assert.True(t, ok)
		assert.Equal(t, want, got)
	}
}

// A PMID stands for one set of metadata for ever.
func TestChangedMetadataGetsANewIdentity(t *testing.T) {
	for name, change := range map[string]func(*pdu.Desc){
		"type":      func(d *pdu.Desc) { d.Type = pdu.TypeU64 },
		"semantics": func(d *pdu.Desc) { d.Sem = pdu.SemCounter },
		"indom":     func(d *pdu.Desc) { d.InDom = pdu.NewInDom(60, 2) },
		"units":     func(d *pdu.Desc) { d.Units.SpaceScale = pdu.SpaceMbyte },
	} {
		t.Run(name, func(t *testing.T) {
			path := stateFile(t)
			ids := load(t, path)
			first, err := ids.bound("m", "x", testDesc)
			require.NoError(t, err)
			changed := testDesc
			change(&changed)
			second, err := ids.bound("m", "y", changed)
			require.NoError(t, err)
			assert.NotEqual(t, first, second)
			require.NoError(t, ids.save())

			ids = load(t, path)
			third, err := ids.bound("m", "x", testDesc)
			require.NoError(t, err)
			assert.Equal(t, first, third, "it is what it was, and has the identity that belongs to that")
			other, err := ids.named("other")
			require.NoError(t, err)
			assert.Len(t, map[pdu.PMID]bool{first: true, second: true, other: true}, 3,
				"no identity is given to another metric, not even after a restart")
			require.NoError(t, ids.save())

			fourth, err := load(t, path).bound("m", "y", changed)
			require.NoError(t, err)
			assert.Equal(t, second, fourth)
		})
	}
}

func TestChangedTextKeepsTheIdentity(t *testing.T) {
	path := stateFile(t)
	ids := load(t, path)
	first, err := ids.bound("m", "a + b", testDesc)
	require.NoError(t, err)
	require.NoError(t, ids.save())
	second, err := ids.bound("m", "a - b", testDesc)
	require.NoError(t, err)
	assert.Equal(t, first, second)
	require.NoError(t, ids.save())
	_, ok := load(t, path).remembered("m", "a - b")
	assert.True(t, ok, "the new text has been saved")
}

func TestIdentitiesRunOut(t *testing.T) {
	ids := load(t, "")
	ids.next = maxIdentities - 1
	last, err := ids.bound("last", "x", testDesc)
	require.NoError(t, err)
	assert.Equal(t, pdu.NewPMID(testDomain, pdu.MaxCluster, pdu.MaxItem), last)

	_, err = ids.named("one too many")
	require.ErrorIs(t, err, errNoIdentity)
	changed := testDesc
	changed.Type = pdu.TypeU32
	_, err = ids.bound("last", "x", changed)
	require.ErrorIs(t, err, errNoIdentity)

	id, err := ids.bound("last", "x", testDesc)
	require.NoError(t, err, "what has an identity keeps it")
	assert.Equal(t, last, id)
}

// The file is what package json would write: older agents, and people, read it.
func TestIdentityFileText(t *testing.T) {
	desc, other := identify(testDesc), identify(pdu.Desc{InDom: pdu.NoInDom, Type: pdu.TypeString, Sem: pdu.SemDiscrete})
	for name, f := range map[string]identityFile{
		"nothing": {Metrics: map[string]identity{}},
		"no files": {Version: 1, Domain: 510, Next: 3, Metrics: map[string]identity{
			"a": {PMID: pdu.NewPMID(510, 1, 2)},
		}},
		"everything": {Version: 1, Domain: 510, Next: 4000, Files: map[string]pdu.Inst{"/b": 0, "/ä \"\x00\xff": 7}, Metrics: map[string]identity{
			"b.c": {PMID: pdu.NewPMID(510, 3, 1023), Text: "x > 1 && y < 2 ? 'a\\' : \"\t\u2028\"", Desc: &desc},
			"b":   {PMID: pdu.NewPMID(510, 1, 0), Text: "x ", Desc: &other, Former: []formerIdentity{{pdu.NewPMID(510, 1, 1), desc}, {pdu.NoPMID, other}}},
			"a":   {PMID: pdu.NoPMID, Text: "\x7f", Former: []formerIdentity{}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := json.MarshalIndent(f, "", "\t")
			require.NoError(t, err)
			got, err := f.text()
			require.NoError(t, err)
			assert.Equal(t, string(want), string(got))
		})
	}
}

// A state file that cannot be used is set aside, never written over and never fatal.
func TestUnusableStateFile(t *testing.T) {
	good := func(change func(*identityFile)) string {
		desc := identify(testDesc)
		f := identityFile{
			Version: identityVersion, Domain: testDomain, Next: 2,
			Metrics: map[string]identity{
				"a": {PMID: pdu.NewPMID(testDomain, 1, 0), Text: "x", Desc: &desc},
				"b": {PMID: pdu.NewPMID(testDomain, 1, 1)},
			},
		}
		change(&f)
		text, err := json.Marshal(f)
		require.NoError(t, err)
		return string(text)
	}
	whole := good(func(*identityFile) {})
	for _, row := range []struct{ name, text, reason string }{
		{"empty", "", "unexpected end"},
		{"not JSON", "PMDA", "invalid character"},
		{"cut short", whole[:len(whole)/2], "unexpected end"},
		{"something behind it", whole + "x", "after top-level value"},
		{"another type", "[]", "cannot unmarshal"},
		{"a later version", good(func(f *identityFile) { f.Version = 2 }), "version 2, want 1"},
		{"no version", `{}`, "version 0"},
		{"another domain", good(func(f *identityFile) { f.Domain = 60 }), "domain 60, want 510"},
		{"negative counter", good(func(f *identityFile) { f.Next = -1 }), "out of range"},
		{"huge counter", good(func(f *identityFile) { f.Next = maxIdentities + 1 }), "out of range"},
		{"counter behind the metrics", good(func(f *identityFile) { f.Next = 1 }), "never given out"},
		{"metric of another domain", good(func(f *identityFile) {
			f.Metrics["a"] = identity{PMID: pdu.NewPMID(60, 1, 0)}
		}), "never given out"},
		{"metric in our own cluster", good(func(f *identityFile) {
			f.Metrics["a"] = identity{PMID: pdu.NewPMID(testDomain, 0, 0)}
		}), "never given out"},
		{"two metrics with one identity", good(func(f *identityFile) {
			f.Metrics["a"] = identity{PMID: pdu.NewPMID(testDomain, 1, 1)}
		}), "have one identity"},
		{"units that are no number", strings.Replace(whole, fmt.Sprintf("%08x", testDesc.Units.Wire()), "Kbyte", 1), `units "Kbyte"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := stateFile(t)
			require.NoError(t, os.WriteFile(path, []byte(row.text), 0o600))
			ids, err := loadIdentities(path, testDomain)
			require.ErrorIs(t, err, errDamaged)
			require.ErrorContains(t, err, row.reason)
			require.ErrorContains(t, err, path+".damaged")
			aside, err := os.ReadFile(path + ".damaged")
			require.NoError(t, err)
			assert.Equal(t, row.text, string(aside))
			assert.NoFileExists(t, path)

			assert.Empty(t, ids.metrics)
			id, err := ids.named("m")
			require.NoError(t, err)
			assert.NotContains(t, row.text, `"`+id.String()+`"`, "what can still be read is not given out again")
			require.NoError(t, ids.save())
			load(t, path)
		})
	}
}

// A file that cannot be read now may be a good one: it stays, and nothing is written over it. A folder in
// its place stands for all that root, who may run the tests, cannot be refused.
func TestUnreadableStateFileStays(t *testing.T) {
	path := stateFile(t)
	require.NoError(t, os.Mkdir(path, 0o700))
	ids, err := loadIdentities(path, testDomain)
	require.Error(t, err)
	require.NotErrorIs(t, err, errDamaged)
	_, err = ids.named("m")
	require.NoError(t, err)
	require.NoError(t, ids.save())
	assert.DirExists(t, path)
	assert.NoDirExists(t, path+".damaged")
}

// One damaged file does not take the place of another.
func TestDamagedStateFilesAreAllKept(t *testing.T) {
	path := stateFile(t)
	for _, text := range []string{"first", "second"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := loadIdentities(path, testDomain)
		require.ErrorIs(t, err, errDamaged)
	}
	for name, want := range map[string]string{".damaged": "first", ".damaged.1": "second"} {
		text, err := os.ReadFile(path + name)
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
	}
}

func TestHugeStateFileIsSetAside(t *testing.T) {
	path := stateFile(t)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, maxIdentityBytes+1))
	_, err := loadIdentities(path, testDomain)
	require.ErrorIs(t, err, errDamaged)
	require.ErrorContains(t, err, "more than")
}

// A file that can neither be used nor be moved away holds identities that somebody may want back.
func TestStateFileThatStaysIsNotOverwritten(t *testing.T) {
	path := stateFile(t)
	require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o600))
	for n := range maxAside + 1 { // every name that it could have is taken
		aside := path + ".damaged"
		if n > 0 {
			aside += "." + strconv.Itoa(n)
		}
		require.NoError(t, os.WriteFile(aside, nil, 0o600))
	}
	ids, err := loadIdentities(path, testDomain)
	require.Error(t, err)
	_, err = ids.named("m")
	require.NoError(t, err)
	require.NoError(t, ids.save())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "damaged", string(text))
}

func TestSaveWritesOnlyWhatHasChanged(t *testing.T) {
	path := stateFile(t)
	ids := load(t, path)
	require.NoError(t, ids.save())
	assert.NoFileExists(t, path, "nothing to remember yet")
	_, err := ids.bound("m", "x", testDesc)
	require.NoError(t, err)
	require.NoError(t, ids.save())
	require.NoError(t, os.Remove(path))
	_, err = ids.bound("m", "x", testDesc)
	require.NoError(t, err)
	require.NoError(t, ids.save())
	assert.NoFileExists(t, path)
}

func TestSaveThatFailsIsTriedAgain(t *testing.T) {
	path := stateFile(t)
	ids := load(t, path)
	_, err := ids.named("m")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(path, 0o700)) // no file can take its place
	require.Error(t, ids.save())
	assert.Equal(t, []string{"derived.identities"}, filesIn(t, path), "no temporary file stays")
	require.NoError(t, os.Remove(path))
	require.NoError(t, ids.save())
	assert.Contains(t, load(t, path).metrics, "m")
}

// Readers see a whole file at every instant while it is being replaced.
func TestSaveReplacesTheFileAtOnce(t *testing.T) {
	path := stateFile(t)
	ids := load(t, path)
	text := strings.Repeat("x + ", 1000) + "x"
	_, err := ids.bound("m", text, testDesc)
	require.NoError(t, err)
	require.NoError(t, ids.save())

	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			var f identityFile
			text, err := os.ReadFile(path)
			if assert.NoError(t, err) && assert.NoError(t, json.Unmarshal(text, &f)) {
				continue
			}
			return
		}
	})
	for i := range 50 {
		_, err := ids.bound(fmt.Sprintf("m%d", i), text, testDesc)
		require.NoError(t, err)
		require.NoError(t, ids.save())
	}
	close(done)
	reader.Wait()
	assert.Equal(t, []string{"derived.identities"}, filesIn(t, path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode().Perm())
}

// Whatever is in the file, loading it neither panics nor gives a PMID that is not ours.
func FuzzStateFile(f *testing.F) {
	f.Add([]byte(`{"version":1,"domain":510,"next":1,"metrics":{"a":{"pmid":"510.1.0","expression":"x",` +
		`"descriptor":{"type":5,"semantics":3,"indom":"60.1","units":"00000000"}}}}`))
	f.Add([]byte(`{"version":1,"domain":510,"next":1,"metrics":null}`))
	f.Add([]byte(`{"version":1,"domain":510,"next":1,"metrics":{"a":{"pmid":2139095040}}}`))
	f.Add([]byte(`{"version":1,"domain":510,"next":2,"metrics":{"a":{"pmid":"510.1.0","former":[{"pmid":"510.1.1",` +
		`"descriptor":{"type":5,"semantics":3,"indom":"60.1","units":"00000000"}}]}}}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "state")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		ids, err := loadIdentities(path, testDomain)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			require.Empty(t, ids.metrics)
			require.NoError(t, os.Remove(path+".damaged"))
		}
		for name, m := range ids.metrics {
			n, ok := ids.number(m.PMID)
			require.True(t, ok)
			require.Less(t, n, ids.next)
			_, known := ids.remembered(name, m.Text)
			require.Equal(t, m.Desc != nil, known)
		}
		id, err := ids.named("fresh one")
		if err == nil {
			require.Equal(t, testDomain, id.Domain())
			require.GreaterOrEqual(t, id.Cluster(), firstCluster)
		}
	})
}

// Files that have gone are forgotten, if they are many, but never one that there is, and no number is used twice.
func TestNumbersOfFiles(t *testing.T) {
	ids := newIdentities("", testDomain)
	given := make(map[pdu.Inst]bool)
	var files []File
	for i := range 3 * maxFiles {
		files = append(files, File{Path: strconv.Itoa(i)})
		if i%1000 == 999 {
			now := files[i-999:]
			ids.keepFiles(now)
			for _, f := range now {
				n := ids.file(f.Path)
				assert.False(t, given[n])
				given[n] = true
				assert.Equal(t, n, ids.file(f.Path))
			}
		}
	}
	assert.LessOrEqual(t, len(ids.files), maxFiles+2000)
}
