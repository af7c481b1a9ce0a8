package mmv

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/agent/control"
	"pmdaderived/pdu"
)

// memory is a sink that remembers what was written, and fails when it is told to.
type memory struct {
	writes   int
	numbers  map[int]uint64
	onWrite  func() error
	onIntact error
	closed   bool
}

func (m *memory) intact() error { return m.onIntact }

func (m *memory) write(slot int, number uint64) error {
	m.writes++
	m.numbers[slot] = number
	if m.onWrite != nil {
		return m.onWrite()
	}
	return nil
}

func (m *memory) close() error {
	m.closed = true
	return nil
}

// bench is an Exporter with everything around it.
type bench struct {
	*Exporter
	figures control.Figures
	logged  *logtest.Hook
	sinks   []*memory
	refuse  error        // what create returns, if not nil
	onWrite func() error // of the sinks
}

func newBench() *bench {
	b := &bench{}
	log, hook := logtest.NewNullLogger()
	b.logged = hook
	b.Exporter = New(Options{Dir: "/nowhere", Name: "ours", Version: "v", Log: log, Figures: &b.figures})
	b.create = func([]uint64) (sink, error) {
		if b.refuse != nil {
			return nil, b.refuse
		}
		s := &memory{numbers: map[int]uint64{}, onWrite: b.onWrite}
		b.sinks = append(b.sinks, s)
		return s, nil
	}
	return b
}

func (b *bench) lines() (all []string) {
	for _, entry := range b.logged.AllEntries() {
		all = append(all, entry.Level.String()+": "+entry.Message)
	}
	return all
}

// slot finds the slot of a singular metric.
func (b *bench) slot(t *testing.T, name string) int {
	t.Helper()
	n := 0
	for _, m := range b.reader.metrics {
		switch {
		case m.Name == name:
			return n
		case m.Serial != control.Singular:
			n += len(control.BucketNames())
		case m.Type != pdu.TypeString:
			n++
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestOnlyChangesAreWritten(t *testing.T) {
	b := newBench()
	require.NoError(t, b.update(time.Unix(1, 0)))
	require.Len(t, b.sinks, 1)
	assert.Zero(t, b.sinks[0].writes, "the file is made with the values of the moment")
	for second := range int64(3) {
		b.figures.Requests.Add(1)
		clear(b.sinks[0].numbers)
		require.NoError(t, b.update(time.Unix(2+second, 0)))
		assert.EqualValues(t, second+1, b.sinks[0].numbers[b.slot(t, "requests")])
		for _, other := range []string{"values", "pid", "start_time", "upstream.fetches"} {
			assert.NotContains(t, b.sinks[0].numbers, b.slot(t, other))
		}
	}
}

// Whatever goes wrong is one line in the log and the end of the export.
func TestFailuresTurnItOff(t *testing.T) {
	for _, row := range []struct {
		name    string
		refuse  error
		onWrite func() error
		want    string
	}{
		{"no file", errors.New("metric has no name"), nil, "metric has no name"},
		{"error", nil, func() error { return errors.New("disk on fire") }, "disk on fire"},
		{"panic", nil, func() error { panic("speed has a bug") }, "speed has a bug"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench()
				b.refuse, b.onWrite = row.refuse, row.onWrite
				ended := make(chan struct{})
				go func() { b.Run(t.Context()); close(ended) }()
				synctest.Wait()
				b.figures.Requests.Add(1)
				time.Sleep(2 * interval)
				<-ended
				require.Equal(t, []string{"warning: no metrics below mmv"}, b.lines())
				assert.Equal(t, "/nowhere/ours", b.logged.LastEntry().Data["file"])
				assert.ErrorContains(t, b.logged.LastEntry().Data[logrus.ErrorKey].(error), row.want)
				for _, s := range b.sinks {
					assert.True(t, s.closed)
				}
			})
		})
	}
}

// What the system or another process stands in the way of today there may be tomorrow.
func TestTriesAgain(t *testing.T) {
	b := newBench()
	for _, refusal := range []error{syscall.ENOSPC, syscall.ENOSPC, syscall.EACCES, errInUse, errInUse} {
		b.refuse = &fs.PathError{Op: "open", Path: "/nowhere/ours", Err: refusal}
		require.NoError(t, b.update(time.Unix(1, 0)))
	}
	b.refuse = nil
	require.NoError(t, b.update(time.Unix(2, 0)))
	assert.Len(t, b.sinks, 1)
	const no = "warning: no metrics below mmv"
	assert.Equal(t, []string{no, no, no, "info: metrics below mmv are available again"}, b.lines(), "once for each reason")
}

func TestFileThatIsLostIsMadeAgain(t *testing.T) {
	b := newBench()
	require.NoError(t, b.update(time.Unix(1, 0)))
	b.sinks[0].onIntact = errLost
	require.NoError(t, b.update(time.Unix(2, 0)))
	require.Len(t, b.sinks, 2)
	assert.True(t, b.sinks[0].closed)
	assert.Zero(t, b.sinks[0].writes)
	assert.Zero(t, b.sinks[1].writes)
	assert.Equal(t, []string{"info: mmv file is missing, creating it again"}, b.lines())
}

// With a real file: what Run leaves behind is nothing.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		log, hook := logtest.NewNullLogger()
		var figures control.Figures
		e := New(Options{Dir: dir, Name: "ours", Version: "v", Log: log, Figures: &figures})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { e.Run(ctx); close(ended) }()
		synctest.Wait()
		figures.RequestTime.Record(21*time.Microsecond, 100)
		time.Sleep(interval + time.Millisecond)
		synctest.Wait()
		s := read(t, filepath.Join(dir, "ours"))
		assert.EqualValues(t, 100, s.values["request_time 0.025"])
		assert.EqualValues(t, 0.021, s.values["request_p99"])
		for _, name := range []string{"memory.heap", "memory.total", "goroutines"} {
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

// An idle daemon stays idle.
func TestReadingAllocatesNothing(t *testing.T) {
	r, now := testReader("v"), time.Unix(1, 0)
	r.read(now)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		now = now.Add(time.Second)
		r.read(now)
	}))
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"pmdaderived", "a", "a_1"} {
		assert.NoError(t, CheckName(name), name)
	}
	for _, name := range []string{"", "1a", "a.b", "a/b", "..", "ä", "a b", string(make([]byte, 64))} {
		assert.Error(t, CheckName(name), "%q", name)
	}
}

func TestQuantiles(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, row := range []struct {
		name   string
		counts map[time.Duration]uint64
		want   [3]time.Duration
	}{
		{"none", nil, [3]time.Duration{}},
		{"one", map[time.Duration]uint64{20 * us: 1}, [3]time.Duration{20 * us, 20 * us, 20 * us}},
		{"two", map[time.Duration]uint64{10 * us: 1, 20 * us: 1}, [3]time.Duration{10 * us, 20 * us, 20 * us}},
		{
			"a hundred",
			map[time.Duration]uint64{9 * us: 50, 15 * us: 40, 20 * us: 9, 25 * us: 1},
			[3]time.Duration{10 * us, 15 * us, 20 * us},
		},
		{
			"more",
			map[time.Duration]uint64{9 * us: 50, 15 * us: 39, 20 * us: 10, ms: 2},
			[3]time.Duration{15 * us, 20 * us, ms},
		},
		{"beyond all bounds", map[time.Duration]uint64{time.Hour: 1}, [3]time.Duration{time.Hour, time.Hour, time.Hour}},
		{"not more than there has been", map[time.Duration]uint64{900 * us: 1}, [3]time.Duration{900 * us, 900 * us, 900 * us}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var h control.Histogram
			for d, n := range row.counts {
				h.Record(d, n)
			}
			r := recent{longest: h.Longest, all: []*control.Histogram{&h}}
			r.update(time.Unix(1, 0))
			assert.Equal(t, row.want, r.quantiles)
		})
	}
}

func TestRecent(t *testing.T) {
	var one, other control.Histogram
	r := recent{
		longest: func() time.Duration { return time.Hour }, all: []*control.Histogram{&one, &other},
	}
	now := time.Unix(5000, 0)
	median := func() time.Duration { r.update(now); return r.quantiles[0] }
	one.Record(time.Second, 2)
	other.Record(time.Second, 3)
	assert.Equal(t, time.Second, median(), "all there has been, at the start")
	one.Record(time.Millisecond, 2)
	for range 49 {
		now = now.Add(time.Second)
		assert.Equal(t, time.Second, median())
	}
	now = now.Add(11 * time.Second)
	median()
	other.Record(time.Millisecond, 1)
	now = now.Add(time.Second)
	assert.Equal(t, time.Millisecond, median(), "the first five are more than a minute ago")
	for range recentParts {
		now = now.Add(recentStep)
		median()
	}
	assert.Zero(t, median(), "there was nothing")
}
