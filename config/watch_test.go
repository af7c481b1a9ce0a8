package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/internal/printable"
)

// watching is a watcher at work, and what it has noticed. Every change is loaded at once.
type watching struct {
	*Watcher
	t     *testing.T
	paths []string
	log   *logtest.Hook
	stop  func()

	mu     sync.Mutex
	loads  int // guarded by mu
	served string
}

// newWatching makes a watcher of a path list that has been loaded.
func newWatching(t *testing.T, paths ...string) *watching {
	t.Helper()
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	s := &watching{t: t, paths: paths, log: hook}
	s.Watcher = NewWatcher(paths, log)
	require.True(t, s.load())
	s.loads = 0
	return s
}

func (s *watching) start() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx, func() { s.load() })
	}()
	s.stop = func() { cancel(); <-done }
	s.t.Cleanup(s.stop)
}

// load is what the agent does when it is told of a change.
func (s *watching) load() bool {
	loaded := LoadOptions{DisplayName: printable.Escaped}.Load(s.paths)
	if !s.RecordLoad(&loaded) {
		return false
	}
	var names []string
	for _, d := range loaded.Definitions {
		names = append(names, d.Name+"="+d.Expr)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	s.served = strings.Join(names, " ")
	return true
}

func (s *watching) now() (loads int, served string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads, s.served
}

// await waits until this is served and returns how many loads that took.
func (s *watching) await(want string) int {
	s.t.Helper()
	return s.awaitThat(func(served string) bool { return served == want })
}

func (s *watching) awaitThat(good func(served string) bool) (loads int) {
	s.t.Helper()
	await.Until(s.t, "the right definitions are served", func() bool {
		var served string
		loads, served = s.now()
		return good(served)
	})
	return loads
}

// tree is a folder of files, named by their paths below it.
type tree struct {
	t   *testing.T
	dir string
}

func (d tree) path(name string) string { return filepath.Join(d.dir, name) }

func (d tree) put(name, text string) {
	d.t.Helper()
	d.mkdir(filepath.Dir(name))
	require.NoError(d.t, os.WriteFile(d.path(name), []byte(text), 0o644))
}

func (d tree) remove(name string) {
	d.t.Helper()
	_, err := os.Lstat(d.path(name))
	require.NoError(d.t, err)
	require.NoError(d.t, os.RemoveAll(d.path(name)))
}

func (d tree) chmod(name string, mode fs.FileMode) {
	d.t.Helper()
	require.NoError(d.t, os.Chmod(d.path(name), mode))
}

func (d tree) mkdir(name string) {
	d.t.Helper()
	require.NoError(d.t, os.MkdirAll(d.path(name), 0o755))
}

type (
	files = map[string]string // as newTree makes them
	steps = []string          // as tree.do takes them
)

// do takes steps: "VERB NAME [ARGUMENT]".
func (d tree) do(all steps) {
	d.t.Helper()
	for _, step := range all {
		verb, rest, _ := strings.Cut(step, " ")
		name, arg, _ := strings.Cut(rest, " ")
		var err error
		switch verb {
		case "put":
			d.put(name, arg)
		case "append":
			var f *os.File
			f, err = os.OpenFile(d.path(name), os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(d.t, err)
			_, err = f.WriteString(arg)
			err = errors.Join(err, f.Close())
		case "remove":
			d.remove(name)
		case "rename":
			err = os.Rename(d.path(name), d.path(arg))
		case "link":
			err = os.Symlink(arg, d.path(name))
		case "open-up":
			d.chmod(name, 0o666)
		case "mkdir":
			d.mkdir(name)
		case "age":
			err = os.Chtimes(d.path(name), time.Time{}, time.Unix(1, 0))
		default:
			require.Fail(d.t, "no such step", step)
		}
		require.NoError(d.t, err, step)
	}
}

// The kernel reports most ways in which files change: each change is announced at once, and once.
func TestWatchNotices(t *testing.T) {
	for _, row := range []struct {
		name  string
		files files
		path  string // "": d
		steps steps
		want  string
	}{
		{"a file renamed over another", files{"d/f": "a = 1\n"}, "", steps{"put d/f~ a = 2\n", "rename d/f~ d/f"}, "a=2"},
		{"a file truncated and written", files{"d/f": "a = 1\n"}, "", steps{"put d/f a = 2\n"}, "a=2"},
		{"a file of the list truncated and written", files{"d/f": "a = 1\n"}, "d/f", steps{"put d/f a = 2\n"}, "a=2"},
		{"a file of the list renamed over", files{"d/f": "a = 1\n"}, "d/f", steps{"put d/g a = 2\n", "rename d/g d/f"}, "a=2"},
		{"a file appended to", files{"d/f": "a = 1\n"}, "", steps{"append d/f b = 2\n"}, "a=1 b=2"},
		{"a file whose name is not printable", files{"d/\x01": "a = 1\n"}, "", steps{"put d/\x01 a = 2\n"}, "a=2"},
		{"a file created", files{"d/f": "a = 1\n"}, "", steps{"put d/g b = 2\n"}, "a=1 b=2"},
		{"a file deleted", files{"d/f": "a = 1\n", "d/g": "b = 2\n"}, "", steps{"remove d/g"}, "a=1"},
		{"a file created and another deleted", files{"d/f": "a = 1\n"}, "", steps{"put d/g a = 2\n", "remove d/f"}, "a=2"},
		{"a file deleted and made anew", files{"d/f": "a = 1\n"}, "", steps{"remove d/f", "put d/f a = 2\n"}, "a=2"},
		{"a file that was missing", files{"d/": ""}, "d/f", steps{"put d/f a = 1\n"}, "a=1"},
		{"a file in a new directory", files{"d/f": "a = 1\n"}, "", steps{"put d/e/g/h b = 2\n"}, "b=2 a=1"},
		{"a directory moved away", files{"d/e/f": "a = 1\n", "d/f": "b = 2\n"}, "", steps{"rename d/e e"}, "b=2"},
		{
			"Kubernetes swaps its link",
			files{"d/..1/f": "a = 1\n", "d/..data": "->..1", "d/f": "->..data/f"},
			"",
			steps{"put d/..2/f a = 2\n", "link d/..data_tmp ..2", "rename d/..data_tmp d/..data", "remove d/..1"},
			"a=2",
		},
		{
			"a directory behind two links changes",
			files{"x/y/f": "a = 1\n", "l": "->x/y", "d/l": "->../l"},
			"",
			steps{"put x/y/g b = 2\n"},
			"a=1 b=2",
		},
		{"files that everybody can write any more", files{"d/f": "a = 1\n", "d/g": "b = 2\n"}, "", steps{"open-up d/f"}, "b=2"},
		{"a last line without end", files{"d/f": "a = 1\n"}, "", steps{"put d/f a = 22"}, "a=22"},
		{"a file emptied", files{"d/f": "a = 1\n"}, "", steps{"put d/f "}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := newTree(t, row.files)
			paths := []string{d.path("d")}
			if row.path != "" {
				paths[0] = d.path(row.path)
			}
			s := newWatching(t, paths...)
			s.watched()
			d.do(row.steps)
			assert.Equal(t, 1, s.await(row.want))

			// And what comes next is noticed as well.
			next := row.path
			if info, err := os.Stat(paths[0]); err != nil || info.IsDir() {
				next = filepath.Join(row.path, "next")
			}
			if row.path == "" {
				next = "d/next"
			}
			d.put(next, "next = 1\n")
			s.awaitThat(func(served string) bool { return strings.Contains(served, "next=1") })
			assert.Equal(t, []string{notified}, s.said())
		})
	}
}

// notified is what the watcher says when it has nothing to complain of.
const notified = "the kernel reports changes of definition files"

// said returns what was logged.
func (s *watching) said() []string {
	var messages []string
	for _, e := range s.log.AllEntries() {
		messages = append(messages, e.Message)
	}
	return messages
}

// watched starts the watcher and waits until the kernel tells it of changes.
func (s *watching) watched() {
	s.t.Helper()
	s.start()
	s.awaitThat(func(string) bool { return len(s.said()) > 0 })
}

// A change that makes no difference to Load is not announced.
func TestWatchIgnores(t *testing.T) {
	for _, row := range []struct {
		name  string
		steps steps
	}{
		{"the same content again", steps{"put d/f a = 1\n"}},
		{"the same content in a new file", steps{"put d/g a = 1\n", "rename d/g d/f"}},
		{"a new time", steps{"age d/f"}},
		{"what editors leave behind", steps{
			"put d/.f.swp b = 2\n", "put d/f~ b = 2\n", "put d/#f# b = 2\n", "put d/..f b = 2\n", "link d/.#f nobody@host.1",
		}},
		{"what vim does to find out where it may write", steps{"put d/4913 ", "remove d/4913"}},
		{"an empty directory", steps{"mkdir d/e/f"}},
		{"files elsewhere", steps{"put f b = 2\n"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := newTree(t, map[string]string{"d/f": "a = 1\n"})
			s := newWatching(t, d.path("d"))
			s.watched()
			d.do(row.steps)
			<-time.After(3 * quietTime / 2) // a look that finds nothing cannot be waited for
			d.put("d/end", "end = 1\n")
			assert.Equal(t, 1, s.await("end=1 a=1"), "only the file that ends the test")
		})
	}
}

// A directory that replaces another is watched, even if its path stays the same and no event reports it.
func TestNotifierFollowsTheFiles(t *testing.T) {
	d := newTree(t, files{"d/e/f/g": "a = 1\n", "new/e/f/g": "a = 2\n", "far/g": "a = 3\n"})
	f, err := openEventSource()
	require.NoError(t, err)
	defer f.Close()
	n := notifier{eventSource: f, wakeRun: func() {}, tried: map[string]attempt{}}
	paths := []string{d.path("d/e/f")}
	written := d.path("d/e/f/g")
	for _, steps := range []steps{nil, {"rename d old", "rename new d"}, {"remove d/e/f", "link d/e/f ../../far"}} {
		d.do(steps)
		require.NoError(t, n.watch(paths, scanFiles(paths, stampFiles).dirs))
		d.put("d/e/f/g", "a = 4\n")
		for told := (fsnotify.Event{}); told.Name != written || !told.Has(fsnotify.Write); {
			select {
			case told = <-f.events:
			case <-time.After(await.Limit):
				require.Fail(t, "not told", "after %v", steps)
			}
		}
	}
}

// The kernel watches the directories that are loaded, and the directory of another path of the list.
func TestWatchedDirectories(t *testing.T) {
	for _, row := range []struct {
		name  string
		files files
		paths []string
		want  []string
	}{
		{"a file", files{"d/f": ""}, []string{"d/f"}, []string{"d"}},
		{"a directory", files{"d/f": ""}, []string{"d/"}, []string{"d"}},
		{"levels of directories", files{"d/e/f/g": ""}, []string{"d"}, []string{"d", "d/e", "d/e/f"}},
		{"ignored directories", files{"d/..1/f": "", "d/e~/f": ""}, []string{"d"}, []string{"d"}},
		{"a clone of a repository", files{"d/.git/f/g": "", "d/e/f": ""}, []string{"d"}, []string{"d", "d/e"}},
		{"a directory behind a link", files{"d/l": "->../e", "e/f": ""}, []string{"d"}, []string{"d", "d/l"}},
		{"a link upwards", files{"d/e/l": "->.."}, []string{"d"}, []string{"d", "d/e"}},
		{"missing in a directory", files{"d/": ""}, []string{"d/f"}, []string{"d"}},
		{"missing with its directory", nil, []string{"d/f"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTree(t, row.files)
			f := &fake{}
			var watched []string
			f.add = func(dir string) error { watched = append(watched, dir); return nil }
			source, err := f.open()
			require.NoError(t, err)
			n := newNotifier(source, func() {})
			defer n.close()
			for range 2 {
				require.NoError(t, n.watch(row.paths, scanFiles(row.paths, stampFiles).dirs))
			}
			assert.Equal(t, row.want, watched, "once")
		})
	}
}

// fake is a kernel whose events the test makes.
type fake struct {
	add    func(dir string) error // nil: all is well
	remove func(dir string)       // nil: nothing else happens

	mu     sync.Mutex
	events chan fsnotify.Event // guarded by mu
	errors chan error          // likewise
}

func (f *fake) open() (eventSource, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events, f.errors = make(chan fsnotify.Event), make(chan error)
	return eventSource{kernel: f, events: f.events, errors: f.errors}, nil
}

func (f *fake) Add(dir string) error {
	if f.add == nil {
		return nil
	}
	return f.add(dir)
}

func (f *fake) Remove(dir string) error {
	if f.remove != nil {
		f.remove(dir)
	}
	return nil
}

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.events)
	close(f.errors)
	return nil
}

func (f *fake) tell(e fsnotify.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events <- e
}

func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors <- err
}

// write writes d/f and tells of it.
func (f *fake) write(d tree, text string) {
	d.t.Helper()
	d.put("d/f", text)
	f.touched(d, "d/f")
}

// touched tells of a write to a file.
func (f *fake) touched(d tree, name string) {
	d.t.Helper()
	f.tell(fsnotify.Event{Name: d.path(name), Op: fsnotify.Write})
}

// inBubble runs a test with a clock of its own and a fake kernel, in a folder with d/f.
func inBubble(t *testing.T, test func(t *testing.T, d tree, s *watching, f *fake)) {
	t.Helper()
	d := newTree(t, map[string]string{"d/f": "a = 1\nb = 2\n"})
	synctest.Test(t, func(t *testing.T) {
		s := newWatching(t, d.path("d"))
		f := &fake{}
		s.openSource = f.open
		s.start()
		synctest.Wait()
		test(t, d, s, f)
		s.stop()
	})
}

// after lets time pass and returns what is served then.
func (s *watching) after(d time.Duration) string {
	time.Sleep(d)
	synctest.Wait()
	_, served := s.now()
	return served
}

const aBit = time.Millisecond

func TestWatchWaitsForQuiet(t *testing.T) {
	inBubble(t, func(t *testing.T, d tree, s *watching, f *fake) {
		for i := range 5 {
			f.write(d, "a = 1"+strconv.Itoa(i)+"\nb = 2\n")
			assert.Equal(t, "a=1 b=2", s.after(quietTime-aBit), "event %d", i)
		}
		assert.Equal(t, "a=14 b=2", s.after(aBit))
		loads, _ := s.now()
		assert.Equal(t, 1, loads)
	})
}

func TestWatchDoesNotWaitForEver(t *testing.T) {
	inBubble(t, func(t *testing.T, d tree, s *watching, f *fake) {
		for i := range int(11 * delayLimit / (2 * quietTime)) { // for 2.75 s
			f.write(d, "a = "+strconv.Itoa(100+i)+"\nb = 2\n")
			s.after(quietTime / 2)
		}
		loads, _ := s.now()
		assert.Equal(t, 2, loads)
		assert.Equal(t, "a=319 b=2", s.after(quietTime))
	})
}

// A change is announced once, even while its reload is running.
func TestWatchAnnouncesOnce(t *testing.T) {
	d := newTree(t, map[string]string{"d/f": "a = 1\n"})
	synctest.Test(t, func(t *testing.T) {
		s := newWatching(t, d.path("d"))
		f := &fake{}
		s.openSource = f.open
		announced := 0
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Run(ctx, func() { announced++ })
		}()
		synctest.Wait()
		d.put("d/f", "a = 2\n")
		for range 3 {
			f.touched(d, "d/f")
			s.after(time.Second)
			assert.Equal(t, 1, announced)
		}
		f.write(d, "a = 3\n")
		s.after(quietTime)
		assert.Equal(t, 2, announced, "another content is another change")

		d.put("d/f", "a = 4\n") // just before it is loaded
		assert.False(t, s.load())
		_, served := s.now()
		assert.Equal(t, "a=1", served)
		s.after(quietTime)
		assert.Equal(t, 3, announced)
		assert.True(t, s.load())

		d.put("d/f", "a = 5\n")
		assert.True(t, s.load(), "asked for by somebody else")
		f.touched(d, "d/f")
		s.after(time.Hour)
		assert.Equal(t, 3, announced)
		cancel()
		<-done
	})
}

// A change between the first load and the first comparison is announced.
func TestWatchComparesWithWhatWasLoaded(t *testing.T) {
	d := newTree(t, map[string]string{"d/f": "a = 1\n"})
	synctest.Test(t, func(t *testing.T) {
		s := newWatching(t, d.path("d"))
		s.openSource = (&fake{}).open
		d.put("d/f", "a = 2\n")
		s.start()
		assert.Equal(t, "a=2", s.after(quietTime))
		s.stop()
	})
}

func TestWatchLeavesHalfWrittenFilesTime(t *testing.T) {
	t.Run("truncated and written later", func(t *testing.T) {
		inBubble(t, func(t *testing.T, d tree, s *watching, f *fake) {
			f.write(d, "")
			assert.Equal(t, "a=1 b=2", s.after(quietTime+settleTime-aBit))
			f.write(d, "a = 10\nb = 2\n")
			assert.Equal(t, "a=10 b=2", s.after(quietTime))
			loads, _ := s.now()
			assert.Equal(t, 1, loads)
		})
	})
	t.Run("written line by line", func(t *testing.T) {
		inBubble(t, func(t *testing.T, d tree, s *watching, f *fake) {
			for _, text := range []string{"", "a", "a = 3\n", "a = 3\nb =", "a = 3\nb = 45"} {
				f.write(d, text)
				assert.Equal(t, "a=1 b=2", s.after(settleTime-aBit))
			}
			f.write(d, "a = 3\nb = 45\n")
			assert.Equal(t, "a=3 b=45", s.after(quietTime))
		})
	})
	t.Run("deleted and made again", func(t *testing.T) {
		inBubble(t, func(t *testing.T, d tree, s *watching, f *fake) {
			d.remove("d/f")
			f.touched(d, "d/f")
			assert.Equal(t, "a=1 b=2", s.after(settleTime-aBit))
			f.write(d, "a = 3\nb = 2\n")
			assert.Equal(t, "a=3 b=2", s.after(quietTime))
		})
	})
	t.Run("meant", func(t *testing.T) {
		inBubble(t, func(t *testing.T, d tree, s *watching, f *fake) {
			f.write(d, "")
			assert.Empty(t, s.after(quietTime+settleTime))
		})
	})
	t.Run("but not for ever", func(t *testing.T) {
		inBubble(t, func(t *testing.T, d tree, s *watching, f *fake) {
			started := time.Now()
			for i := 0; ; i++ {
				require.Less(t, time.Since(started), settleLimit+2*quietTime)
				f.write(d, "a="+strconv.Itoa(i)) // shorter, and another one every time
				if s.after(quietTime) != "a=1 b=2" {
					break
				}
			}
			assert.GreaterOrEqual(t, time.Since(started), settleLimit)
		})
	})
}

// After lost events the files are compared.
func TestWatchSurvivesOverflow(t *testing.T) {
	inBubble(t, func(t *testing.T, d tree, s *watching, f *fake) {
		d.put("d/f", "a = 3\nb = 2\n")
		f.fail(fsnotify.ErrEventOverflow)
		assert.Equal(t, "a=3 b=2", s.after(quietTime))
		assert.Equal(t, []string{notified}, s.said())
	})
}

// A poll finds what the kernel does not report, although the size of a file may stay the same.
func TestWatchPolls(t *testing.T) {
	for _, row := range []struct {
		name  string
		files files
		path  string // "": d
		steps steps
		want  string
	}{
		{"another host writes a file", files{"d/f": "a = 1\n"}, "", steps{"put d/f a = 2\n"}, "a=2"},
		{"another host writes a file and keeps its time", files{"d/f": "a = 1\n"}, "", steps{"put d/f a = 2\n", "age d/f"}, "a=2"},
		{"half-written files", files{"d/f": "a = 1\n"}, "", steps{"put d/f a = 2"}, "a=2"},
		{"a path of which nothing existed", files{"x/": ""}, "d/e/f/g", steps{"put d/e/f/g a = 1\n"}, "a=1"},
		{"a directory removed and recreated", files{"d/f": "a = 1\n"}, "", steps{"remove d", "put d/f a = 2\n"}, "a=2"},
		{"several levels removed and recreated", files{"d/e/f/g": "a = 1\n"}, "d/e/f", steps{"remove d", "put d/e/f/g a = 2\n"}, "a=2"},
		{"a directory put in the place of another", files{"d/f": "a = 1\n", "new/f": "a = 2\n"}, "", steps{"rename d old", "rename new d"}, "a=2"},
		{"the directory above replaced", files{"d/e/f": "a = 1\n", "new/e/f": "a = 2\n"}, "d/e", steps{"rename d old", "rename new d"}, "a=2"},
		{"a link to a directory is turned", files{"1/f": "a = 1\n", "2/f": "a = 2\n", "d": "->1"}, "", steps{"link tmp 2", "rename tmp d"}, "a=2"},
		{"the target of a link changes", files{"x/y/f": "a = 1\n", "d/f": "->../x/y/f"}, "", steps{"put x/y/f a = 2\n"}, "a=2"},
		{"a link that led nowhere", files{"d/f": "->../x/f"}, "", steps{"put x/f a = 1\n"}, "a=1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newTree(t, row.files)
			synctest.Test(t, func(t *testing.T) {
				s := newWatching(t, d.path(cmp.Or(row.path, "d")))
				s.openSource = (&fake{}).open
				_, before := s.now()
				s.start()
				synctest.Wait()
				d.do(row.steps)
				assert.Equal(t, before, s.after(pollInterval-aBit))
				assert.Equal(t, row.want, s.after(aBit+settleTime))
				s.stop()
			})
		})
	}
}

// A file that is mounted by itself is found by the poll, and the log says which file that is.
func TestWatchSaysWhichFileIsMounted(t *testing.T) {
	d := newTree(t, files{"d/f": "a = 1\n", "d/g": "b = 1\n"})
	synctest.Test(t, func(t *testing.T) {
		s := newWatching(t, d.path("d"))
		s.openSource = (&fake{}).open
		s.isMounted = func(path string) bool { return path == d.path("d/g") }
		s.start()
		d.put("d/g", "b = 2\n")
		assert.Equal(t, "a=1 b=2", s.after(pollInterval+quietTime))
		require.Len(t, s.log.AllEntries(), 1)
		assert.EqualError(t, s.log.LastEntry().Data["reason"].(error), d.path("d/g")+" is mounted by itself")
		s.stop()
	})
	assert.True(t, isMountRoot("/proc"))
	assert.False(t, isMountRoot("/proc/self"))
	assert.False(t, isMountRoot(d.path("d/g")))
}

// A file is read each minute, also if nothing tells that it has changed.
func TestWatchReadsEachMinute(t *testing.T) {
	inBubble(t, func(t *testing.T, d tree, s *watching, _ *fake) {
		s.stop()
		s.RecordLoad(&Loaded{}) // as if the content had been another one with the same stamp
		s.stamp = scanFiles(s.paths, stampFiles).digest
		s.readDue = time.Now().Add(readInterval)
		s.start()
		loads, _ := s.now()
		s.after(readInterval - aBit)
		later, _ := s.now()
		assert.Equal(t, loads, later)
		s.after(aBit + quietTime)
		later, _ = s.now()
		assert.Equal(t, loads+1, later)
	})
}

// When its limits are exhausted the kernel reports nothing, or not everything, until other processes free resources.
func TestWatchPollsWhenLimitsAreExhausted(t *testing.T) {
	for _, row := range []struct {
		name           string
		instances, add error
		reason         string
	}{
		{"of instances", syscall.EMFILE, nil, "too many open files"},
		{"of watches", nil, syscall.ENOSPC, "no space left on device"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newTree(t, map[string]string{"d/f": "a = 1\n"})
			synctest.Test(t, func(t *testing.T) {
				s := newWatching(t, d.path("d"))
				f := &fake{}
				var mu sync.Mutex
				exhausted := true
				fail := func(err error) error {
					mu.Lock()
					defer mu.Unlock()
					if exhausted {
						return err
					}
					return nil
				}
				s.openSource = func() (eventSource, error) {
					if err := fail(row.instances); err != nil {
						return eventSource{}, err
					}
					return f.open()
				}
				f.add = func(dir string) error {
					if filepath.Base(dir) == "d" {
						return fail(row.add)
					}
					return nil
				}
				s.start()
				synctest.Wait()
				d.put("d/f", "a = 2\n")
				assert.Equal(t, "a=2", s.after(pollInterval+quietTime))
				s.after(time.Minute)
				require.Len(t, s.log.AllEntries(), 1, "said once")
				assert.Equal(t, logrus.WarnLevel, s.log.LastEntry().Level)
				assert.ErrorContains(t, s.log.LastEntry().Data["reason"].(error), row.reason)

				mu.Lock()
				exhausted = false
				mu.Unlock()
				s.after(pollInterval)
				require.Len(t, s.log.AllEntries(), 2)
				assert.Equal(t, notified, s.log.LastEntry().Message)
				f.write(d, "a = 3\n")
				assert.Equal(t, "a=3", s.after(quietTime))
				s.stop()
			})
		})
	}
}

// A watch that is denied is tried again when another directory is there. The poll does the rest.
func TestWatchRepeatsNoDenial(t *testing.T) {
	for _, denied := range []error{syscall.EACCES, syscall.EPERM} {
		d := newTree(t, files{"d/f": "a = 1\n"})
		dir, err := filepath.EvalSymlinks(d.path("d"))
		require.NoError(t, err)
		synctest.Test(t, func(t *testing.T) {
			var tries atomic.Int32
			s := newWatching(t, dir)
			s.openSource = (&fake{add: func(path string) error {
				if path == dir {
					tries.Add(1)
					return denied
				}
				return nil
			}}).open
			s.start()
			s.after(time.Hour)
			assert.EqualValues(t, 1, tries.Load())
			d.put("d/f", "a = 2\n")
			assert.Equal(t, "a=2", s.after(pollInterval+quietTime))
			d.do(steps{"rename d old", "put d/f a = 3\n"})
			assert.Equal(t, "a=3", s.after(pollInterval+quietTime))
			s.after(time.Hour)
			assert.EqualValues(t, 2, tries.Load())
			assert.Len(t, s.said(), 1)
			s.stop()
		})
	}
}

// Events of other files in the directory of a listed file are dropped unread.
func TestWatchDropsEventsOfOtherFiles(t *testing.T) {
	d := newTree(t, files{"d/f": "a = 1\n"})
	synctest.Test(t, func(t *testing.T) {
		s := newWatching(t, d.path("d/f"))
		f := &fake{}
		s.openSource = f.open
		s.start()
		synctest.Wait()
		d.put("d/f", "a = 2\n")
		f.touched(d, "d/other")
		assert.Equal(t, "a=1", s.after(delayLimit))
		f.touched(d, "d/f")
		assert.Equal(t, "a=2", s.after(quietTime))
		s.stop()
	})
}

// Other users, who change their entries all the time, cannot keep a change of root from being loaded.
func TestRecordLoadIsNotRefusedForEntriesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make files of other users")
	}
	inTree(t, files{"d/a": "a = 1\n"})
	require.NoError(t, os.Chmod("d", 0o777|fs.ModeSticky))
	w := NewWatcher([]string{"d"}, nil)
	for i := range 3 {
		announced := scanFiles(w.paths, readFiles)
		w.announced = &announced
		require.NoError(t, os.Symlink("a", fmt.Sprint("d/", i)))
		require.NoError(t, os.Lchown(fmt.Sprint("d/", i), 65534, 65534))
		loaded := Load(w.paths, nil)
		assert.True(t, w.RecordLoad(&loaded))
		assert.Equal(t, scanFiles(w.paths, readFiles).digest, w.loaded.digest, "an entry is reported")
		assert.NotEqual(t, announced.digest, w.loaded.digest)
	}
}

// Only errors that end without an event cause a comparison soon.
func TestTransientErrors(t *testing.T) {
	for _, row := range []struct {
		err  error
		want bool
	}{
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EMFILE}, true},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENFILE}, true},
		{&fs.PathError{Op: "read", Path: "/x", Err: syscall.EIO}, true},
		{syscall.ENOMEM, true},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}, false}, // inotify tells
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, false}, // likewise
		{errTooLarge, false},
	} {
		t.Run(row.err.Error(), func(t *testing.T) {
			l := &Loaded{Sources: []Source{{Path: "/a"}, {Path: "/x", Err: row.err}}}
			assert.Equal(t, row.want, l.state().transient)
		})
	}
}
