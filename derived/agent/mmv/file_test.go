package mmv

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/performancecopilot/speed/v4"
	"github.com/performancecopilot/speed/v4/mmvdump"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pmdaderived/derived/agent/control"
	"pmdaderived/pdu"
)

// testReader reads a daemon that has counted nothing.
func testReader(version string) *reader {
	return newReader(&control.Source{Version: version, Figures: &control.Figures{}})
}

func createIn(dir string) (*file, error) {
	r := testReader("1.2.3")
	return create(dir, "ours", r.metrics, r.read(time.Unix(1, 0)))
}

// served is a file as the MMV agent would show it, by another reader than our own code.
type served struct {
	metrics   map[string]string // "ITEM TYPE SEMANTICS UNITS" by name
	instances map[string]int32  // numbers by name
	values    map[string]any    // by metric, or by metric and instance
}

func read(t *testing.T, path string) served {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	header, _, metrics, values, instances, domains, texts, err := mmvdump.Dump(data)
	require.NoError(t, err)
	assert.Equal(t, header.G1, header.G2, "complete")
	assert.EqualValues(t, os.Getpid(), header.Process)
	require.Len(t, domains, 1)

	s := served{metrics: map[string]string{}, instances: map[string]int32{}, values: map[string]any{}}
	name := func(padded []byte) string { return string(padded[:bytes.IndexByte(padded, 0)]) }
	for _, one := range metrics {
		m := one.(*mmvdump.Metric1)
		s.metrics[name(m.Name[:])] = fmt.Sprint(m.Item(), " ", int(m.Typ()), " ", int(m.Sem()), " ", uint32(m.Unit()))
	}
	for _, one := range instances {
		i := one.(*mmvdump.Instance1)
		assert.Contains(t, domains, i.Indom())
		s.instances[name(i.External[:])] = i.Internal()
	}
	for _, v := range values {
		require.Contains(t, metrics, v.Metric)
		m := metrics[v.Metric].(*mmvdump.Metric1)
		key := name(m.Name[:])
		if m.Indom() != mmvdump.NoIndom {
			require.Contains(t, instances, v.Instance)
			key += " " + name(instances[v.Instance].(*mmvdump.Instance1).External[:])
		}
		if m.Typ() == mmvdump.StringType {
			s.values[key] = name(texts[uint64(v.Extra)].Payload[:])
			continue
		}
		var err error
		s.values[key], err = mmvdump.FixedVal(v.Val, m.Typ())
		require.NoError(t, err)
	}
	return s
}

// A reader of the format finds all of the table, and every number in its own place: each is set to something else.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	f, err := createIn(dir)
	require.NoError(t, err)
	defer f.close()
	info, err := os.Stat(f.path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode(), "the MMV agent may be another user")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing but the file is left")

	s := read(t, f.path)
	assert.EqualValues(t, os.Getpid(), s.values["pid"])
	assert.InDelta(t, time.Now().Unix(), s.values["start_time"], 3600)
	metrics, values := map[string]string{}, map[string]any{"version": "1.2.3"}
	assert.Equal(t, values["version"], s.values["version"])
	slot := 0
	set := func(key string, typ pdu.Type) {
		slot++
		number := uint64(1000 + slot)
		switch typ {
		case pdu.TypeDouble:
			values[key] = float64(number) / 8
			number = math.Float64bits(float64(number) / 8)
		case pdu.TypeU32:
			values[key] = uint32(number)
		default:
			values[key] = number
		}
		require.NoError(t, f.write(slot-1, number))
	}
	for _, m := range testReader("").metrics {
		metrics[m.Name] = fmt.Sprint(m.Exported, " ", int(m.Type), " ", int(m.Sem), " ", m.Units.Wire())
		switch {
		case m.Type == pdu.TypeString:
		case m.Serial == control.Singular:
			set(m.Name, m.Type)
		default:
			for i, bucket := range control.BucketNames() {
				assert.EqualValues(t, i, s.instances[bucket], bucket)
				set(m.Name+" "+bucket, m.Type)
			}
		}
	}
	assert.Equal(t, metrics, s.metrics)
	assert.Len(t, s.instances, len(control.BucketNames()))
	require.Len(t, f.set, slot)
	assert.Equal(t, values, read(t, f.path).values)
}

func TestFileOfAnother(t *testing.T) {
	t.Run("who lives", func(t *testing.T) {
		dir := t.TempDir()
		f, err := createIn(dir)
		require.NoError(t, err)
		_, err = createIn(dir)
		require.ErrorIs(t, err, errInUse)
		assert.NoError(t, f.intact())
		require.NoError(t, f.close())
		f, err = createIn(dir)
		require.NoError(t, err)
		require.NoError(t, f.close())
	})
	t.Run("who crashed", func(t *testing.T) {
		dir := t.TempDir()
		stale := filepath.Join(dir, "ours")
		require.NoError(t, os.WriteFile(stale, []byte("left behind"), 0o444))
		f, err := createIn(dir)
		require.NoError(t, err)
		read(t, stale)
		require.NoError(t, f.close())
	})
	t.Run("who took our place", func(t *testing.T) {
		dir := t.TempDir()
		f, err := createIn(dir)
		require.NoError(t, err)
		require.NoError(t, os.Remove(f.path))
		assert.ErrorIs(t, f.intact(), errLost)
		require.NoError(t, os.WriteFile(f.path, []byte("theirs"), 0o644))
		assert.ErrorIs(t, f.intact(), errLost)
		require.NoError(t, f.close())
		assert.FileExists(t, f.path)
	})
}

// A process that was killed between making its file and moving it into place leaves nothing for good.
func TestOrphansAreRemoved(t *testing.T) {
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	dead, alive := ended.Process.Pid, os.Getppid()
	dir := t.TempDir()
	for _, row := range []struct {
		name string
		kept bool
	}{
		{fmt.Sprintf(".ours.%d", dead), false},
		{fmt.Sprintf(".ours.%d", alive), true},
		{fmt.Sprintf(".theirs.%d", dead), true},
		{fmt.Sprintf(".ours.%d~", dead), true},
		{".ours.-1", true},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, row.name), nil, 0o644))
		t.Run(row.name, func(t *testing.T) {
			f, err := createIn(dir)
			require.NoError(t, err)
			require.NoError(t, f.close())
			_, err = os.Stat(filepath.Join(dir, row.name))
			assert.Equal(t, row.kept, err == nil)
		})
	}
}

func TestNoFile(t *testing.T) {
	for _, row := range []struct {
		name string
		make func(t *testing.T, dir string) // dir does not exist yet
		want string
	}{
		{"no directory", func(*testing.T, string) {}, "no such file or directory"},
		{"a file in its place", func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(dir, nil, 0o644))
		}, "not a directory"},
		{"a directory in the file's place", func(t *testing.T, dir string) {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "ours", "x"), 0o755))
		}, "exists"},
		{"a name in the way of the hidden one", func(t *testing.T, dir string) {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, fmt.Sprintf(".ours.%d", os.Getpid()), "x"), 0o755))
		}, "not empty"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "mmv")
			row.make(t, dir)
			_, err := createIn(dir)
			require.ErrorContains(t, err, row.want)
		})
	}
}

// What waits for a writer is not waited for.
func TestNamedPipeInTheFilesPlace(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "ours"), 0o644))
	f, err := createIn(dir)
	require.NoError(t, err)
	require.NoError(t, f.close())
}

// What is handed to speed keeps to the limits of the format, version 1, which speed does not check.
func TestTableFitsTheFormat(t *testing.T) {
	items, names := map[uint32]bool{}, map[string]bool{}
	for _, m := range testReader("").metrics {
		assert.False(t, items[m.Exported] || names[m.Name], m.Name)
		items[m.Exported], names[m.Name] = true, true
		assert.NotEmpty(t, m.Name)
		assert.LessOrEqual(t, len(m.Name), speed.MaxV1NameLength, m.Name)
		assert.Less(t, m.Exported, uint32(1<<speed.PCPMetricItemBitLength), m.Name)
		assert.LessOrEqual(t, len(m.Short), maxText, m.Name)
	}
	for _, name := range control.BucketNames() {
		assert.False(t, name == "" || len(name) > speed.MaxV1NameLength || names["[]"+name], name)
		names["[]"+name] = true
	}
}

// Texts do not run into each other, however long they are.
func TestLongTexts(t *testing.T) {
	r := testReader(strings.Repeat("v", 300))
	f, err := create(t.TempDir(), "ours", r.metrics, r.read(time.Unix(1, 0)))
	require.NoError(t, err)
	defer f.close()
	assert.Equal(t, strings.Repeat("v", 255), read(t, f.path).values["version"])
}

// A store to a mapping whose file has been cut is a fault, not the end of the process.
func TestFaultIsAnError(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	f, err := createIn(t.TempDir())
	require.NoError(t, err)
	defer f.close()
	require.NoError(t, os.Truncate(f.path, 0))
	assert.ErrorIs(t, f.intact(), errLost)
	err = guard(func() error { return f.write(0, 7) })
	require.ErrorContains(t, err, "panic")
}

func TestPrivateFieldsThatAreGone(t *testing.T) {
	_, err := newClient("a/b", "x")
	require.Error(t, err)
	client, err := newClient("name", "/place")
	require.NoError(t, err)
	assert.Equal(t, "/place", reflect.ValueOf(client).Elem().FieldByName("loc").String())
	require.ErrorContains(t, setPrivate(reflect.ValueOf(client), "location", "x"), "no location in speed.PCPClient")
	require.ErrorContains(t, setPrivate(reflect.ValueOf(client), "loc", 1), "no loc in speed.PCPClient")
}
