package identity

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

const testDomain = 510

// testDesc is the metadata of a definition, whose PMID is the business of the registry.
var testDesc = pdu.Desc{
	PMID: pdu.NoPMID, Type: pdu.TypeDouble, InDom: pdu.NewInDom(60, 1), Sem: pdu.SemInstant,
	Units: pdu.Units{Space: 1, Time: -1, SpaceScale: pdu.SpaceKbyte, TimeScale: pdu.TimeSec},
}

func stateFile(t *testing.T) string { return filepath.Join(t.TempDir(), "derived.identities") }

func load(t *testing.T, path string) *Registry {
	t.Helper()
	r, err := Load(path, testDomain)
	require.NoError(t, err)
	return r
}

func pmid(t *testing.T, r *Registry, name string) pdu.PMID {
	t.Helper()
	id, err := r.PMID(name)
	require.NoError(t, err)
	return id
}

func bind(t *testing.T, r *Registry, name string, d pdu.Desc) pdu.PMID {
	t.Helper()
	id, err := r.Bind(name, d)
	require.NoError(t, err)
	return id
}

// saved saves a registry, and returns the one that Load returns then.
func saved(t *testing.T, r *Registry) *Registry {
	t.Helper()
	require.NoError(t, r.Save())
	return load(t, r.path)
}

// filesIn returns the names in the folder of a path.
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

func TestPMIDsAreGivenOutInOrder(t *testing.T) {
	r := load(t, "")
	assert.Equal(t, pdu.NewPMID(testDomain, 1, 0), pmid(t, r, "m0"))
	assert.Equal(t, pdu.NewPMID(testDomain, 1, 1), pmid(t, r, "m1"))
	assert.Equal(t, pdu.NewPMID(testDomain, 1, 0), pmid(t, r, "m0"), "a name keeps its identity")

	r.state.Next = perCluster
	id := pmid(t, r, "in the next cluster")
	assert.Equal(t, pdu.NewPMID(testDomain, 2, 0), id)
	assert.Equal(t, pdu.Inst(perCluster), r.Instance(id))
}

func TestPMIDsSurviveARestart(t *testing.T) {
	path := stateFile(t)
	r := load(t, path)
	bound, named := bind(t, r, "disk.rate", testDesc), pmid(t, r, "missing.operand")
	assert.True(t, r.changed)
	r = saved(t, r)
	assert.Equal(t, []string{"derived.identities"}, filesIn(t, path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode().Perm(), "every user's tools may read it")

	want := testDesc
	want.PMID = bound
	desc, ok := r.Desc("disk.rate")
	assert.True(t, ok)
	assert.Equal(t, want, desc)
	for _, name := range []string{"missing.operand", "unknown"} {
		_, ok = r.Desc(name)
		assert.False(t, ok, name)
	}
	assert.Equal(t, named, pmid(t, r, "missing.operand"))
	assert.NotContains(t, []pdu.PMID{bound, named}, pmid(t, r, "new"))
}

// Every descriptor that an operand can have comes back as it was.
func TestDescriptorsSurviveARestart(t *testing.T) {
	r := load(t, stateFile(t))
	descs := map[string]pdu.Desc{}
	for _, typ := range []pdu.Type{pdu.TypeNoSupport, pdu.Type32, pdu.TypeString, pdu.TypeHighResEvent, pdu.TypeUnknown, 77} {
		for _, sem := range []pdu.Semantics{0, pdu.SemCounter, pdu.SemDiscrete} {
			for _, units := range []pdu.Units{{}, {Space: -8, Time: 7, Count: 1, SpaceScale: 6, TimeScale: 5, CountScale: -8}} {
				d := pdu.Desc{Type: typ, Sem: sem, InDom: pdu.NoInDom, Units: units}
				name := fmt.Sprintf("m%d", len(descs))
				d.PMID = bind(t, r, name, d)
				descs[name] = d
			}
		}
	}
	r = saved(t, r)
	for name, want := range descs {
		got, ok := r.Desc(name)
		assert.True(t, ok)
		assert.Equal(t, want, got)
	}
}

// A PMID stands for one set of metadata for ever.
func TestChangedMetadataGetsANewPMID(t *testing.T) {
	for name, change := range map[string]func(*pdu.Desc){
		"type":      func(d *pdu.Desc) { d.Type = pdu.TypeU64 },
		"semantics": func(d *pdu.Desc) { d.Sem = pdu.SemCounter },
		"indom":     func(d *pdu.Desc) { d.InDom = pdu.NewInDom(60, 2) },
		"units":     func(d *pdu.Desc) { d.Units.SpaceScale = pdu.SpaceMbyte },
	} {
		t.Run(name, func(t *testing.T) {
			r := load(t, stateFile(t))
			changed := testDesc
			change(&changed)
			first := bind(t, r, "m", testDesc)
			second := bind(t, r, "m", changed)
			assert.NotEqual(t, first, second)

			r = saved(t, r)
			assert.Equal(t, first, bind(t, r, "m", testDesc), "it is what it was, and has the PMID that belongs to that")
			assert.Len(t, map[pdu.PMID]bool{first: true, second: true, pmid(t, r, "other"): true}, 3,
				"no PMID is given to another metric, not even after a restart")
			assert.Equal(t, second, bind(t, saved(t, r), "m", changed))
		})
	}
}

// An agent of operands that changes its metadata each time does not make the state file grow for ever.
func TestOldMetadataAreForgotten(t *testing.T) {
	r := load(t, stateFile(t))
	version := func(i int) pdu.Desc {
		changed := testDesc
		changed.InDom = pdu.NewInDom(60, i)
		return changed
	}
	var ids []pdu.PMID
	for i := range 2 * maxFormer {
		ids = append(ids, bind(t, r, "m", version(i)))
	}
	r = saved(t, r)
	former := r.Former("m")
	require.Len(t, former, maxFormer)
	assert.Equal(t, ids[maxFormer-1], former[0].PMID)
	assert.Equal(t, ids[maxFormer-1], bind(t, r, "m", version(maxFormer-1)), "it is remembered")
	assert.NotContains(t, ids, bind(t, r, "m", version(0)), "no PMID is given out twice")
}

func TestPMIDsRunOut(t *testing.T) {
	r := load(t, "")
	r.state.Next = maxPMIDs - 1
	last := bind(t, r, "last", testDesc)
	assert.Equal(t, pdu.NewPMID(testDomain, pdu.MaxCluster, pdu.MaxItem), last)

	_, err := r.PMID("one too many")
	require.ErrorIs(t, err, errUsedUp)
	changed := testDesc
	changed.Type = pdu.TypeU32
	_, err = r.Bind("last", changed)
	require.ErrorIs(t, err, errUsedUp)
	assert.Equal(t, last, bind(t, r, "last", testDesc), "what has a PMID keeps it")
}

// good is a state file, as older agents and people read it.
const good = `{
	"version": 1,
	"domain": 510,
	"next": 3,
	"metrics": {
		"a.b": {
			"pmid": "510.1.2",
			"descriptor": {
				"type": 5,
				"semantics": 3,
				"indom": "60.1",
				"units": "1f013000"
			},
			"former": [
				{
					"pmid": "510.1.0",
					"descriptor": {
						"type": 3,
						"semantics": 3,
						"indom": "60.1",
						"units": "1f013000"
					}
				}
			]
		},
		"c": {
			"pmid": "510.1.1"
		}
	}
}
`

func TestStateFile(t *testing.T) {
	path := stateFile(t)
	r := load(t, path)
	former := testDesc
	former.Type = pdu.TypeU64
	bind(t, r, "a.b", former)
	pmid(t, r, "c")
	bind(t, r, "a.b", testDesc)
	require.NoError(t, r.Save())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.JSONEq(t, good, string(text))
	assert.Equal(t, r.state, load(t, path).state)

	old := strings.Replace(good, `"metrics"`, `"files": {"/a": 0, "/b": 0}, "nextFile": 1, "metrics"`, 1)
	old = strings.Replace(old, `"descriptor"`, `"expression": "x \u003e 1", "descriptor"`, 1)
	require.NoError(t, os.WriteFile(path, []byte(old), 0o600))
	upgraded := load(t, path)
	assert.Equal(t, r.state, upgraded.state, "of an older agent")
}

// A state file that cannot be used is set aside, and neither written over nor fatal. LoadReadOnly leaves it where it
// is.
func TestUnusableStateFile(t *testing.T) {
	change := func(old, with string) string { return strings.Replace(good, old, with, 1) }
	for _, row := range []struct{ name, text, reason string }{
		{"empty", "", "unexpected end"},
		{"not JSON", "PMDA", "invalid character"},
		{"cut short", good[:len(good)/2], "unexpected end"},
		{"something behind it", good + "x", "after top-level value"},
		{"another type", "[]", "cannot unmarshal"},
		{"a later version", change(`"version": 1`, `"version": 2`), "version 2, want 1"},
		{"no version", `{}`, "version 0"},
		{"another domain", `{"version": 1, "domain": 60}`, "domain 60, want 510"},
		{"negative counter", change(`"next": 3`, `"next": -1`), "out of range"},
		{"huge counter", change(`"next": 3`, fmt.Sprintf(`"next": %d`, maxPMIDs+1)), "out of range"},
		{"counter behind the metrics", change(`"next": 3`, `"next": 2`), "never assigned"},
		{"metric of another domain", change("510.1.1", "60.1.1"), "never assigned"},
		{"metric in our own cluster", change("510.1.1", "510.0.1"), "never assigned"},
		{"two metrics with one PMID", change("510.1.1", "510.1.2"), "have the same PMID"},
		{"a former PMID of two metrics", change("510.1.0", "510.1.1"), "have the same PMID"},
		{"units that are no number", change("1f013000", "Kbyte"), `units "Kbyte"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := stateFile(t)
			require.NoError(t, os.WriteFile(path, []byte(row.text), 0o600))
			if row.name != "another domain" {
				_, err := LoadReadOnly(path)
				require.ErrorContains(t, err, row.reason)
				assert.FileExists(t, path)
			}
			r, err := Load(path, testDomain)
			require.ErrorIs(t, err, errDamaged)
			require.ErrorContains(t, err, row.reason)
			require.ErrorContains(t, err, path+".damaged")
			aside, err := os.ReadFile(path + ".damaged")
			require.NoError(t, err)
			assert.Equal(t, row.text, string(aside))
			assert.NoFileExists(t, path)

			assert.Empty(t, r.state.Metrics)
			assert.NotContains(t, row.text, `"`+pmid(t, r, "m").String()+`"`, "what can still be read is not given out again")
			saved(t, r)
		})
	}
	_, err := LoadReadOnly(stateFile(t))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A file that cannot be read, or neither be used nor moved, is not written over: it may have PMIDs that somebody
// wants back. The test uses a folder in the place of the file, since root, who may run it, can read any file.
func TestStateFileThatStays(t *testing.T) {
	for name, prepare := range map[string]func(path string){
		"unreadable": func(path string) { require.NoError(t, os.Mkdir(path, 0o700)) },
		"immovable": func(path string) {
			require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o600))
			require.NoError(t, os.WriteFile(path+".damaged", nil, 0o600))
			for n := range maxAside { // every name that it could have is taken
				require.NoError(t, os.WriteFile(path+".damaged."+strconv.Itoa(n+1), nil, 0o600))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := stateFile(t)
			prepare(path)
			before, err := os.Stat(path)
			require.NoError(t, err)
			r, err := Load(path, testDomain)
			require.Error(t, err)
			require.NotErrorIs(t, err, errDamaged)
			pmid(t, r, "m")
			require.NoError(t, r.Save())
			after, err := os.Stat(path)
			require.NoError(t, err)
			assert.True(t, os.SameFile(before, after))
		})
	}
}

// A damaged file does not replace an earlier one. A file that is too large counts as damaged.
func TestDamagedStateFilesAreAllKept(t *testing.T) {
	path := stateFile(t)
	for _, size := range []int64{1, 2, maxStateBytes + 1} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Truncate(path, size))
		_, err := Load(path, testDomain)
		require.ErrorIs(t, err, errDamaged)
		assert.Equal(t, size > maxStateBytes, strings.Contains(err.Error(), "more than"))
	}
	for name, want := range map[string]int64{".damaged": 1, ".damaged.1": 2, ".damaged.2": maxStateBytes + 1} {
		info, err := os.Stat(path + name)
		require.NoError(t, err)
		assert.Equal(t, want, info.Size())
	}
}

func TestSaveWritesOnlyWhatHasChanged(t *testing.T) {
	path := stateFile(t)
	r := load(t, path)
	require.NoError(t, r.Save())
	assert.NoFileExists(t, path, "nothing to remember yet")
	bind(t, r, "m", testDesc)
	require.NoError(t, r.Save())
	require.NoError(t, os.Remove(path))
	bind(t, r, "m", testDesc)
	require.NoError(t, r.Save())
	assert.NoFileExists(t, path)
}

func TestSaveThatFailsIsTriedAgain(t *testing.T) {
	path := stateFile(t)
	r := load(t, path)
	want := pmid(t, r, "m")
	require.NoError(t, os.Mkdir(path, 0o700)) // no file can take its place
	require.Error(t, r.Save())
	assert.True(t, r.changed)
	assert.Equal(t, []string{"derived.identities"}, filesIn(t, path), "no temporary file stays")
	require.NoError(t, os.Remove(path))
	assert.Equal(t, want, pmid(t, saved(t, r), "m"))
}

// A file has the same number in any company, and no two files have one.
func TestFileNumbers(t *testing.T) {
	paths := []string{"/etc/b.conf", "/etc/a.conf", "/etc/b.conf"}
	numbers := FileNumbers(paths)
	assert.Equal(t, numbers[0], numbers[2])
	assert.NotEqual(t, numbers[0], numbers[1])
	assert.Equal(t, numbers[1:2], FileNumbers(paths[1:2]))
	const first, second = "costarring", "liquid" // they have the same hash
	alone := FileNumbers([]string{second})[0]
	assert.Equal(t, []pdu.Inst{alone + 1, alone}, FileNumbers([]string{second, first}))
}

// Whatever the file has, Load does not panic, and PMID returns PMIDs of the agent's domain only.
func FuzzStateFile(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"version":1,"domain":510,"next":1,"metrics":null}`))
	f.Add([]byte(`{"version":1,"domain":510,"next":1,"metrics":{"a":{"pmid":2139095040}}}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "state")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		r, err := Load(path, testDomain)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			require.Empty(t, r.state.Metrics)
			require.NoError(t, os.Remove(path+".damaged"))
		}
		for name, m := range r.state.Metrics {
			n, ok := r.state.index(m.PMID)
			require.True(t, ok)
			require.Less(t, n, r.state.Next)
			_, known := r.Desc(name)
			require.Equal(t, m.Desc != nil, known)
		}
		if id, err := r.PMID("a new one"); err == nil {
			require.Equal(t, testDomain, id.Domain())
			require.GreaterOrEqual(t, id.Cluster(), firstCluster)
		}
	})
}

// LoadReadOnly returns the identities that the agent has written, and does not change the file.
func TestLoadReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids")
	_, err := LoadReadOnly(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	r, err := Load(path, 510)
	require.NoError(t, err)
	bound, err := r.Bind("a", pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom})
	require.NoError(t, err)
	groups := r.GroupInDom(pdu.NewInDom(60, 1), "kind")
	require.NoError(t, r.Save())
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	v, err := LoadReadOnly(path)
	require.NoError(t, err)
	assert.Equal(t, 510, v.Domain())
	id, err := v.PMID("a")
	require.NoError(t, err)
	assert.Equal(t, bound, id)
	assert.True(t, v.WasBound("a"))
	assert.False(t, v.WasBound("b"))
	assert.Equal(t, groups, v.GroupInDom(pdu.NewInDom(60, 1), "kind"))
	_, err = v.PMID("b")
	require.NoError(t, err)
	assert.False(t, v.WasBound("b"), "a number, but not one that anybody has been told")
	require.NoError(t, v.Save())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after)

	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = LoadReadOnly(path)
	require.ErrorContains(t, err, path)
}
