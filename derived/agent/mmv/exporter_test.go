package mmv

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/agent"
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
	figures figures
	logged  *logtest.Hook
	sinks   []*memory
	refuse  error        // what create returns, if not nil
	onWrite func() error // of the sinks
}

// figures are the agent's, which change while others read them.
type figures struct {
	mutex sync.Mutex
	now   agent.Figures
}

func (f *figures) read(into *agent.Figures) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	*into = f.now
}

func (f *figures) change(change func(*agent.Figures)) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	change(&f.now)
}

func newBench() *bench {
	b := &bench{}
	log, hook := logtest.NewNullLogger()
	b.logged = hook
	b.Exporter = New(Options{
		Dir: "/nowhere", Name: "ours", Version: "v", Log: log,
		Figures: b.figures.read,
	})
	b.process = func(p *process) { *p = process{heap: 1} }
	b.create = func(*moment) (sink, error) {
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
func slot(t *testing.T, name string) int {
	t.Helper()
	n := 0
	for _, m := range table() {
		switch {
		case m.name == name:
			return n
		case m.number != nil:
			n++
		case m.spread != nil:
			n += len(agent.BucketNames())
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
		b.figures.change(func(f *agent.Figures) { f.Requests++ })
		require.NoError(t, b.update(time.Unix(2+second, 0)))
		assert.Equal(t, map[int]uint64{slot(t, "requests"): uint64(second + 1)}, b.sinks[0].numbers)
	}
	require.NoError(t, b.update(time.Unix(9, 0)))
	assert.Equal(t, 3, b.sinks[0].writes)
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { b.Run(ctx); close(ended) }()
		synctest.Wait()
		require.Len(t, b.sinks, 1)
		b.figures.change(func(f *agent.Figures) { f.Values = 7 })
		time.Sleep(interval + time.Millisecond)
		synctest.Wait()
		assert.EqualValues(t, 7, b.sinks[0].numbers[slot(t, "values")])
		assert.False(t, b.sinks[0].closed)
		cancel()
		<-ended
		assert.True(t, b.sinks[0].closed)
		assert.Empty(t, b.lines())
	})
}

// Without requests it looks seldom, and within a second again from the next one on.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		next := make(chan struct{}, 1)
		var looks atomic.Int64
		b.options.Figures = func(f *agent.Figures) { looks.Add(1); b.figures.read(f) }
		b.options.Next = func() <-chan struct{} { return next }
		look := func(during time.Duration) int64 {
			before := looks.Load()
			time.Sleep(during)
			synctest.Wait()
			return looks.Load() - before
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { b.Run(ctx); close(ended) }()
		assert.EqualValues(t, 1+restAfter+3, look(restAfter*interval+3*rest+interval/2))
		b.figures.change(func(f *agent.Figures) { f.Requests++ })
		next <- struct{}{}
		assert.EqualValues(t, 1, look(interval+time.Millisecond))
		assert.EqualValues(t, 1, b.sinks[0].numbers[slot(t, "requests")])
		assert.EqualValues(t, restAfter+1, look(restAfter*interval+rest))

		b.figures.change(func(f *agent.Figures) { f.Requests++ }) // that nobody has told of
		look(rest)
		assert.EqualValues(t, 2, b.sinks[0].numbers[slot(t, "requests")])
		cancel()
		<-ended
	})
}

func TestTick(t *testing.T) {
	b := newBench()
	tick := make(chan time.Time)
	b.options.Tick = tick
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { b.Run(ctx); close(ended) }()
	tick <- time.Unix(1, 0) // accepted once the file is there
	tick <- time.Unix(2, 0)
	cancel()
	<-ended
	assert.Len(t, b.sinks, 1)
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
				b.figures.change(func(f *agent.Figures) { f.Requests = 1 })
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

func TestWaitsForAnotherProcess(t *testing.T) {
	b := newBench()
	b.refuse = errInUse
	for range 3 {
		require.NoError(t, b.update(time.Unix(1, 0)))
	}
	assert.Equal(t, []string{"warning: no metrics below mmv until it ends"}, b.lines(), "once")
	b.refuse = nil
	require.NoError(t, b.update(time.Unix(2, 0)))
	assert.Len(t, b.sinks, 1)
}

// What the system refuses today it may allow tomorrow.
func TestTriesAgain(t *testing.T) {
	b := newBench()
	for _, refusal := range []syscall.Errno{syscall.ENOSPC, syscall.ENOSPC, syscall.EACCES, syscall.EMFILE, syscall.EMFILE} {
		b.refuse = &fs.PathError{Op: "open", Path: "/nowhere/ours", Err: refusal}
		require.NoError(t, b.update(time.Unix(1, 0)))
	}
	b.refuse = nil
	require.NoError(t, b.update(time.Unix(2, 0)))
	assert.Len(t, b.sinks, 1)
	const no = "warning: no metrics below mmv"
	assert.Equal(t, []string{no, no, no, "info: metrics below mmv can be had again"}, b.lines(), "once for each reason")
}

func TestFileThatIsLostIsMadeAgain(t *testing.T) {
	b := newBench()
	require.NoError(t, b.update(time.Unix(1, 0)))
	b.sinks[0].onIntact = errLost
	b.figures.change(func(f *agent.Figures) { f.Requests = 5 })
	require.NoError(t, b.update(time.Unix(2, 0)))
	require.Len(t, b.sinks, 2)
	assert.True(t, b.sinks[0].closed)
	assert.Zero(t, b.sinks[0].writes)
	assert.Zero(t, b.sinks[1].writes)
	assert.Equal(t, []string{"info: mmv file is gone, making another"}, b.lines())
}

// With a real file: what Run leaves behind is nothing.
func TestRunWithAFile(t *testing.T) {
	dir := t.TempDir()
	log, hook := logtest.NewNullLogger()
	tick := make(chan time.Time)
	var counted figures
	e := New(Options{
		Dir: dir, Name: "ours", Version: "v", Log: log, Tick: tick,
		Figures: counted.read,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { e.Run(ctx); close(ended) }()
	tick <- time.Now()
	counted.change(func(f *agent.Figures) { f.RequestTime[3], f.RequestLongest = 100, 21*time.Microsecond })
	tick <- time.Now()
	tick <- time.Now()
	s := read(t, filepath.Join(dir, "ours"))
	assert.EqualValues(t, 100, s.values["request_time 0.025"])
	assert.EqualValues(t, 0.021, s.values["request_p99"])
	assert.NotZero(t, s.values["memory.heap"])
	assert.NotZero(t, s.values["memory.total"])
	assert.NotZero(t, s.values["goroutines"])
	cancel()
	<-ended
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
	assert.Empty(t, hook.AllEntries())
}

// An idle daemon stays idle.
func TestNothingIsAllocatedWithoutChanges(t *testing.T) {
	b := newBench()
	require.NoError(t, b.update(time.Unix(1, 0)))
	b.process = newProcessReader().read
	b.observe(time.Unix(1, 0))
	now := time.Unix(1, 0)
	allocs := testing.AllocsPerRun(100, func() {
		now = now.Add(time.Second)
		b.observe(now)
	})
	assert.Zero(t, allocs)
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
	bounds := bucketBounds(agent.BucketNames())
	require.Equal(t, 0.01, bounds[0])
	require.True(t, math.IsInf(bounds[len(bounds)-1], 1))
	const longest = 90 * time.Second
	for _, row := range []struct {
		name   string
		counts map[int]uint64
		want   quantiles
	}{
		{"none", nil, quantiles{}},
		{"one", map[int]uint64{2: 1}, quantiles{.02, .02, .02}},
		{"two", map[int]uint64{0: 1, 2: 1}, quantiles{.01, .02, .02}},
		{"a hundred", map[int]uint64{0: 50, 1: 40, 2: 9, 3: 1}, quantiles{.01, .015, .02}},
		{"more", map[int]uint64{0: 50, 1: 39, 2: 10, 18: 2}, quantiles{.015, .02, 1}},
		{"beyond all bounds", map[int]uint64{len(bounds) - 1: 1}, quantiles{90000, 90000, 90000}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var b agent.Buckets
			for i, n := range row.counts {
				b[i] = n
			}
			assert.Equal(t, row.want, quantilesOf(&b, bounds, longest))
		})
	}
	var b agent.Buckets
	b[18] = 1
	assert.Equal(t, .9, quantilesOf(&b, bounds, 900*time.Microsecond).median, "not more than there has been")
}

func TestWindow(t *testing.T) {
	var w window
	var total agent.Buckets
	now := time.Unix(5000, 0)
	recent := func() uint64 {
		added := w.recent(now, &total)
		return added[0]
	}
	total[0] = 5
	assert.EqualValues(t, 5, recent(), "all there has been, at the start")
	for range 49 {
		now = now.Add(time.Second)
		assert.EqualValues(t, 5, recent())
	}
	now = now.Add(11 * time.Second)
	recent()
	total[0] = 7
	now = now.Add(time.Second)
	assert.EqualValues(t, 2, recent(), "the first five are more than a minute ago")
}
