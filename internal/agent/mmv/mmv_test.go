package mmv

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/performancecopilot/speed/v4"
	"github.com/performancecopilot/speed/v4/mmvdump"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pmdaderived/internal/agent/control"
	"pmdaderived/pdu"
)

var update = flag.Bool("update", false, "write docs/mmv.md anew")

// ownTmp names the folder that a pcp.conf of our own gives speed, which reads it when the program starts.
const ownTmp = "PMDADERIVED_TEST_TMP"

// TestMain runs the tests in a process whose pcp.conf keeps speed out of the machine's folder.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(ownTmp) != "" {
		os.Exit(m.Run())
	}
	os.Exit(runApart())
}

func runApart() int {
	dir, err := os.MkdirTemp("", "mmv")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	conf := filepath.Join(dir, "pcp.conf")
	if err := os.WriteFile(conf, []byte("PCP_TMP_DIR="+dir+"\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), "PCP_CONF="+conf, ownTmp+"="+dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	_ = cmd.Run() // its exit status tells
	return cmd.ProcessState.ExitCode()
}

// folder returns the folder where speed writes, empty.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(os.Getenv(ownTmp), "mmv")
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Mkdir(dir, 0o755))
	return dir
}

// exporter returns an Exporter of figures with the name "ours".
func exporter(dir string, figures *control.Figures) (*Exporter, *logtest.Hook) {
	log, hook := logtest.NewNullLogger()
	return New(Options{Dir: dir, Name: "ours", Figures: figures, Log: log}), hook
}

func lines(hook *logtest.Hook) (all []string) {
	for _, entry := range hook.AllEntries() {
		all = append(all, entry.Level.String()+": "+entry.Message)
	}
	return all
}

// served is a file as the MMV agent would show it, by another reader than our own code.
type served struct {
	metrics map[string]string // "TYPE SEMANTICS UNITS" by name
	values  map[string]any
}

func read(t *testing.T, path string) served {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	header, _, metrics, values, _, domains, _, err := mmvdump.Dump(data)
	require.NoError(t, err)
	assert.Equal(t, header.G1, header.G2, "complete")
	assert.EqualValues(t, os.Getpid(), header.Process)
	require.Empty(t, domains)
	s := served{map[string]string{}, map[string]any{}}
	name := func(m mmvdump.Metric) string {
		padded := m.(*mmvdump.Metric1).Name[:]
		return string(padded[:bytes.IndexByte(padded, 0)])
	}
	for _, m := range metrics {
		s.metrics[name(m)] = fmt.Sprint(int(m.Typ()), " ", int(m.Sem()), " ", uint32(m.Unit()))
	}
	for _, v := range values {
		m := metrics[v.Metric]
		s.values[name(m)], err = mmvdump.FixedVal(v.Val, m.Typ())
		require.NoError(t, err)
	}
	return s
}

// A reader of the format finds every metric of the table, and its number: each metric has another one.
func TestFile(t *testing.T) {
	dir := folder(t)
	r := newReader(&control.Figures{})
	f, err := create(dir, "ours", r.metrics, r.read())
	require.NoError(t, err)
	defer f.close()
	info, err := os.Stat(f.path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode(), "the MMV agent may be another user")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing but the file is left")
	assert.EqualValues(t, os.Getpid(), read(t, f.path).values["pid"])

	metrics, values, numbers := map[string]string{}, map[string]any{}, make([]uint64, len(r.metrics))
	for i, m := range r.metrics {
		metrics[m.Name] = fmt.Sprint(int(m.Type), " ", int(m.Sem), " ", m.Units.Wire())
		number := uint64(1000 + i)
		switch m.Type {
		case pdu.TypeDouble:
			values[m.Name] = float64(number) / 8
			number = math.Float64bits(float64(number) / 8)
		case pdu.TypeU32:
			values[m.Name] = uint32(number)
		default:
			values[m.Name] = number
		}
		numbers[i] = number
	}
	require.NoError(t, f.update(numbers))
	s := read(t, f.path)
	assert.Equal(t, metrics, s.metrics)
	assert.Equal(t, values, s.values)
}

// A process that was killed while it made its file has left a hidden one. The next start overwrites it.
func TestPartialFileIsOverwritten(t *testing.T) {
	dir := folder(t)
	hidden := filepath.Join(dir, ".ours")
	require.NoError(t, os.WriteFile(hidden, []byte("MMV\x00partial"), 0o644))
	r := newReader(&control.Figures{})
	f, err := create(dir, "ours", r.metrics, r.read())
	require.NoError(t, err)
	defer f.close()
	assert.EqualValues(t, os.Getpid(), read(t, f.path).values["pid"])
	assert.NoFileExists(t, hidden)
}

// The table keeps the limits of format version 1, and the metrics have different numbers, which are hashes of 10
// bits. speed checks neither. A new metric whose number is in use needs another name.
func TestTableFitsTheFormat(t *testing.T) {
	used := map[uint32]string{}
	for _, m := range newReader(&control.Figures{}).metrics {
		require.Equal(t, control.Singular, m.Serial, m.Name)
		require.NotEqual(t, pdu.TypeString, m.Type, m.Name)
		assert.LessOrEqual(t, len(m.Name), speed.MaxV1NameLength, m.Name)
		assert.Less(t, len(m.Short), speed.StringLength, m.Name)
		made, err := newMetric(m, 0)
		require.NoError(t, err)
		assert.Empty(t, used[made.ID()], "%s has the same number", m.Name)
		used[made.ID()] = m.Name
	}
}

// docs/mmv.md has every metric.
func TestDocumentation(t *testing.T) {
	const path = "../../../docs/mmv.md"
	var rows strings.Builder
	for _, m := range newReader(&control.Figures{}).metrics {
		units := m.Units.String()
		if units == "" {
			units = "none"
		}
		fmt.Fprintf(&rows, "| `%s` | %v | %v | %s | %s |\n", m.Name, m.Type, m.Sem, units, m.Short)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	want := regexp.MustCompile(`(?m)(^\| `+"`"+`.*\n)+`).ReplaceAllString(string(text), rows.String())
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(text), "go test ./internal/agent/mmv -update writes it")
}

// Run keeps the file up to date and leaves nothing behind.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := folder(t)
		var figures control.Figures
		e, hook := exporter(dir, &figures)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { e.Run(ctx); close(ended) }()
		synctest.Wait()
		figures.Requests.Add(7)
		figures.RequestTime.Record(21*time.Microsecond, 100)
		time.Sleep(interval + time.Millisecond)
		synctest.Wait()
		s := read(t, filepath.Join(dir, "ours"))
		assert.EqualValues(t, 7, s.values["requests"])
		assert.EqualValues(t, 0.021, s.values["request_longest"])
		for _, name := range []string{"memory.heap", "goroutines"} {
			assert.NotZero(t, s.values[name], name)
		}
		cancel()
		<-ended
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, entries)
		assert.Empty(t, hook.AllEntries())
	})
}

// Reading the numbers does not allocate.
func TestReadingAllocatesNothing(t *testing.T) {
	r := newReader(&control.Figures{})
	r.read()
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.read() }))
}

// Anything with the names of the file that a crashed process has left is replaced.
func TestFileReplacesAnother(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(t *testing.T, dir string)
	}{
		{"left behind", func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "ours"), []byte("left behind"), 0o444))
		}},
		{"left behind half written", func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, ".ours"), nil, 0o444))
		}},
		{"a named pipe", func(t *testing.T, dir string) { require.NoError(t, unix.Mkfifo(filepath.Join(dir, "ours"), 0o644)) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := folder(t)
			row.do(t, dir)
			r := newReader(&control.Figures{})
			f, err := create(dir, "ours", r.metrics, r.read())
			require.NoError(t, err)
			read(t, f.path)
			require.NoError(t, f.close())
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Empty(t, entries)
		})
	}
}

// Without its file the Exporter ends, logs why, and leaves the file of another process alone.
func TestFileThatIsLost(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(t *testing.T, path string) // to our file
		want string                          // what is left; "": no file
	}{
		{"removed", func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }, ""},
		{"cut short", func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) }, ""},
		{"replaced", func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.WriteFile(path, []byte("theirs"), 0o644))
		}, "theirs"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := folder(t)
				path := filepath.Join(dir, "ours")
				e, hook := exporter(dir, &control.Figures{})
				ended := make(chan struct{})
				go func() { e.Run(t.Context()); close(ended) }()
				synctest.Wait()
				read(t, path)
				row.do(t, path)
				<-ended
				require.Equal(t, []string{"warning: no metrics below mmv"}, lines(hook))
				assert.ErrorContains(t, hook.LastEntry().Data["error"].(error), "removed, replaced or cut short")
				text, _ := os.ReadFile(path)
				assert.Equal(t, row.want, string(text))
			})
		})
	}
}

// Where no file can be made, the Exporter logs the reason and ends.
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
			require.NoError(t, os.MkdirAll(filepath.Join(dir, ".ours", "x"), 0o755))
		}, "not empty"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := folder(t)
			require.NoError(t, os.Remove(dir))
			row.make(t, dir)
			e, hook := exporter(dir, &control.Figures{})
			e.Run(t.Context())
			require.Equal(t, []string{"warning: no metrics below mmv"}, lines(hook))
			assert.Equal(t, filepath.Join(dir, "ours"), hook.LastEntry().Data["file"])
			assert.ErrorContains(t, hook.LastEntry().Data["error"].(error), row.want)
		})
	}
}

// A store to a mapping whose file was cut short panics, which Run recovers, and does not end the process.
func TestFaultIsAPanic(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	r := newReader(&control.Figures{})
	f, err := create(folder(t), "ours", r.metrics, r.read())
	require.NoError(t, err)
	defer f.close()
	require.NoError(t, os.Truncate(f.path, 0))
	assert.False(t, f.unchanged())
	assert.Panics(t, func() { _ = f.values[0].Set(speedValue(f.metrics[0].Type, 7)) })
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"pmdaderived", "a", "a_1"} {
		assert.NoError(t, CheckName(name), name)
	}
	for _, name := range []string{"", "1a", "a.b", "a/b", "..", "ä", "a b", string(make([]byte, 64))} {
		assert.Error(t, CheckName(name), "%q", name)
	}
}
