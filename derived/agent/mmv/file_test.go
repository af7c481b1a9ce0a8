package mmv

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/performancecopilot/speed/v4"
	"github.com/performancecopilot/speed/v4/mmvdump"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pmdaderived/derived/agent"
)

var testMoment = &moment{version: "1.2.3", started: time.Unix(1e9, 0), pid: 42}

func createIn(dir string) (*file, error) {
	return create(dir, "ours", table(), agent.BucketNames(), testMoment)
}

// served is a file as the MMV agent would show it, by another reader than our own code: metrics in
// its order, values by metric, or by metric and instance.
type served struct {
	order     []string
	instances []string // "ID NAME", in order
	items     map[string]uint32
	values    map[string]any
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

	s := served{items: map[string]uint32{}, values: map[string]any{}}
	name := func(padded []byte) string { return string(padded[:bytes.IndexByte(padded, 0)]) }
	for _, at := range slices.Backward(slices.Sorted(maps.Keys(metrics))) { // which the MMV agent turns round
		m := metrics[at].(*mmvdump.Metric1)
		s.order = append(s.order, name(m.Name[:]))
		s.items[name(m.Name[:])] = m.Item()
	}
	for _, at := range slices.Sorted(maps.Keys(instances)) {
		i := instances[at].(*mmvdump.Instance1)
		assert.Contains(t, domains, i.Indom())
		s.instances = append(s.instances, fmt.Sprint(i.Internal(), " ", name(i.External[:])))
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

func TestFileHasTheOrderOfTheTable(t *testing.T) {
	dir := t.TempDir()
	f, err := createIn(dir)
	require.NoError(t, err)
	defer f.close()
	s := read(t, f.path)

	var names []string
	values := 0
	for _, m := range table() {
		names = append(names, m.name)
		assert.Equal(t, m.item, s.items[m.name], m.name)
		values++
		if m.spread != nil {
			values += len(agent.BucketNames()) - 1
		}
	}
	assert.Equal(t, names, s.order)
	assert.Len(t, s.values, values)
	var instances []string
	for i, name := range agent.BucketNames() {
		instances = append(instances, fmt.Sprint(i, " ", name))
	}
	assert.Equal(t, instances, s.instances)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing but the file is left")
}

// Every number goes to its own place: each is set to something else, and found there.
func TestFileValues(t *testing.T) {
	f, err := createIn(t.TempDir())
	require.NoError(t, err)
	defer f.close()
	s := read(t, f.path)
	assert.Equal(t, "1.2.3", s.values["version"])
	assert.EqualValues(t, 42, s.values["pid"])
	assert.EqualValues(t, 1e9, s.values["start_time"])

	slot, want := 0, map[string]any{"version": "1.2.3"}
	set := func(key string, typ speed.MetricType) {
		slot++
		number := uint64(1000 + slot)
		switch typ {
		case speed.DoubleType:
			want[key] = float64(number) / 8
			number = math.Float64bits(float64(number) / 8)
		case speed.Uint32Type:
			want[key] = uint32(number)
		default:
			want[key] = number
		}
		require.NoError(t, f.write(slot-1, number))
	}
	for _, m := range table() {
		switch {
		case m.number != nil:
			set(m.name, m.typ)
		case m.spread != nil:
			for _, bucket := range agent.BucketNames() {
				set(m.name+" "+bucket, m.typ)
			}
		}
	}
	assert.Len(t, f.set, slot)
	assert.Equal(t, want, read(t, f.path).values)
}

func TestFileIsRemoved(t *testing.T) {
	dir := t.TempDir()
	f, err := createIn(dir)
	require.NoError(t, err)
	assert.NoError(t, f.intact())
	info, err := os.Stat(f.path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode(), "the MMV agent may be another user")
	require.NoError(t, f.close())
	assert.NoFileExists(t, f.path)
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
		}, "is not a directory"},
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

// speed checks none of these.
func TestCheck(t *testing.T) {
	require.NoError(t, check(table(), agent.BucketNames(), testMoment))
	for _, row := range []struct {
		name    string
		change  func(all []metric)
		buckets []string
		want    string
	}{
		{"no name", func(all []metric) { all[1].name = "" }, nil, "name"},
		{"long name", func(all []metric) { all[1].name = strings.Repeat("x", 64) }, nil, "name"},
		{"same name", func(all []metric) { all[1].name = all[2].name }, nil, "name"},
		{"same item", func(all []metric) { all[1].item = all[2].item }, nil, "item"},
		{"no item", func(all []metric) { all[1].item = 0 }, nil, "item"},
		{"item of eleven bits", func(all []metric) { all[1].item = 1024 }, nil, "item"},
		{"long help", func(all []metric) { all[1].short = strings.Repeat("x", 256) }, nil, "help text"},
		{"longer help", func(all []metric) { all[1].long = strings.Repeat("x", 256) }, nil, "help text"},
		{"long value", func(all []metric) { all[0].text = func(*moment) string { return strings.Repeat("x", 256) } }, nil, "value"},
		{"no instance name", func([]metric) {}, []string{"1", ""}, "instance"},
		{"long instance name", func([]metric) {}, []string{strings.Repeat("1", 64)}, "instance"},
		{"same instance name", func([]metric) {}, []string{"1", "1"}, "instance"},
	} {
		t.Run(row.name, func(t *testing.T) {
			all := table()
			row.change(all)
			assert.ErrorContains(t, check(all, row.buckets, testMoment), row.want)
		})
	}
}

// Texts of the greatest length do not run into each other.
func TestLongestTexts(t *testing.T) {
	dir := t.TempDir()
	f, err := create(dir, "ours", table(), agent.BucketNames(), &moment{version: strings.Repeat("v", 255)})
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
	at, err := private[string](reflect.ValueOf(client), "loc")
	require.NoError(t, err)
	assert.Equal(t, "/place", *at)
	require.ErrorContains(t, setPrivate(reflect.ValueOf(client), "location", "x"), "no location in speed.PCPClient")
	require.ErrorContains(t, setPrivate(reflect.ValueOf(client), "loc", 1), "no loc in speed.PCPClient")
}
