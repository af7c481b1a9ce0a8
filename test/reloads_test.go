//go:build pcp

package test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/reloadtest"
	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/pmcdtest"
)

var (
	reloadCount = flag.Int("reloads", 0,
		"how often TestReloads has the definitions read again; 0: for as long as -reload-time says")
	reloadTime = flag.Duration("reload-time", 6*time.Second, "how long TestReloads goes on")
	reloadSeed = flag.Uint64("reload-seed", 1, "what its edits begin with")
)

// These limit the growth of the daemon from a fifth of the reloads to the end.
const (
	moreThreads = 4
	moreFiles   = 8      // pmcd's table of clients decides when a connection is replaced
	moreMemory  = 24_000 // KiB
)

// footprint has the resources of a process.
type footprint struct{ threads, files, memory int }

func footprintOf(t *testing.T, pid int) footprint {
	t.Helper()
	status := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	var f footprint
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		number := func() int {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			require.NoError(t, err, line)
			return n
		}
		switch name {
		case "Threads":
			f.threads = number()
		case "VmRSS":
			f.memory = number()
		}
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if !errors.Is(err, fs.ErrPermission) { // only root may read them
		require.NoError(t, err)
	}
	f.files = len(files)
	return f
}

// editor changes the definitions.
type editor struct {
	t    *testing.T
	site *reloadtest.Site
	file string
	pmcd *pmcdtest.PMCD
	pid  int // of the daemon
	conn *pmapi.Conn
	show pdu.PMID // of a metric that shows the generation
}

// write puts the definitions of the site in place, as editors do.
func (e *editor) write() {
	e.t.Helper()
	text := strings.Join(e.site.Lines(), "\n") + "\n"
	require.NoError(e.t, os.WriteFile(e.file+"~", []byte(text), 0o644))
	require.NoError(e.t, os.Rename(e.file+"~", e.file))
}

// edit changes something and waits until it is served.
func (e *editor) edit() time.Duration {
	e.t.Helper()
	generation := e.site.Edit()
	e.write()
	begin := time.Now()
	require.NoError(e.t, syscall.Kill(e.pid, syscall.SIGHUP))
	for e.generation() != generation {
		require.Less(e.t, time.Since(begin), 30*time.Second, "generation %d is not served", generation)
	}
	return time.Since(begin)
}

func (e *editor) generation() int {
	e.t.Helper()
	res := must(e.conn.Fetch(e.t.Context(), []pdu.PMID{e.show}))(e.t)
	v := res.Sets[0].Values
	require.Len(e.t, v, 1)
	return int(v[0].TypeOr(pdu.TypeU32).Float64(v[0].Bits))
}

// reader is a client program of pmcd.
type reader struct {
	client *reloadtest.Client
	pmcd   *pmcdtest.PMCD
	rounds int // between two lookups of names
	count  int // fetches
}

// run looks up and fetches until ctx ends or something is wrong.
func (r *reader) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := r.life(ctx); err != nil {
			return err
		}
	}
	return nil
}

// life runs the program once, until it disconnects.
func (r *reader) life(ctx context.Context) error {
	conn, err := pmapi.Dial(ctx, "unix", r.pmcd.Socket)
	if err != nil {
		return ended(ctx, err)
	}
	defer conn.Close()
	names := r.client.ChooseNames()
	found, err := conn.LookupNames(ctx, names)
	if err != nil {
		return ended(ctx, err)
	}
	for i, n := range found {
		if n.Code < 0 {
			continue
		}
		desc, err := conn.Desc(ctx, n.PMID)
		switch {
		case conn.Err() != nil:
			return ended(ctx, err)
		case err == nil:
			if err := r.client.AddMetric(names[i], desc); err != nil {
				return err
			}
		}
	}
	for range r.rounds {
		res, err := conn.Fetch(ctx, r.client.IDs())
		if err != nil {
			return ended(ctx, err)
		}
		r.count++
		if err := r.client.Check(res.Sets, time.Now()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// ended returns err, or nil if the end of the test caused it.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// While an administrator edits a file again and again, with mistakes, every fetch of every client is right, as package
// reloadtest defines it. The daemon does not grow.
func TestReloads(t *testing.T) {
	const clients = 8
	work := worldReadableDir(t)
	file := filepath.Join(work, "derived.conf")
	site := reloadtest.NewSite(*reloadSeed, reloadtest.Operands{
		Number: "sample.long.one", Bins: "sample.bin", Count: 9, Names: []string{"bin-100", "bin-500", "bin-900"},
		Text: "sample.string.hullo",
	})
	e := &editor{t: t, site: site, file: file}
	e.write()
	e.pmcd = startServing(t, "-c", file)
	e.pid = pidOf(t, e.pmcd, "pmdaderived")
	conn := dial(t, e.pmcd)
	e.conn = conn
	names := must(conn.LookupNames(t.Context(), []string{"derived.gen.first"}))(t)
	e.show = names[0].PMID
	await.Until(t, "the first generation is served", func() bool {
		res, err := conn.Fetch(t.Context(), []pdu.PMID{e.show})
		return err == nil && len(res.Sets[0].Values) == 1
	})

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	readers, failed := make([]*reader, clients), make(chan error, clients)
	for i := range readers {
		r := &reader{client: site.NewClient(uint64(i)), pmcd: e.pmcd, rounds: 50}
		readers[i] = r
		require.NoError(t, r.life(ctx)) // of generation 0, from which it learns the metadata
		running.Go(func() {
			if err := r.run(ctx); err != nil {
				failed <- err
			}
		})
	}

	var early footprint
	begin, reloads, longest, total := time.Now(), 0, time.Duration(0), time.Duration(0)
	share := func() float64 {
		if *reloadCount > 0 {
			return float64(reloads) / float64(*reloadCount)
		}
		return time.Since(begin).Seconds() / reloadTime.Seconds()
	}
	for ; share() < 1; reloads++ {
		if early == (footprint{}) && share() >= 0.2 {
			early = footprintOf(t, e.pid)
		}
		took := e.edit()
		longest, total = max(longest, took), total+took
		select {
		case err := <-failed:
			require.NoError(t, err)
		default:
		}
	}
	late := footprintOf(t, e.pid)
	took := time.Since(begin)
	cancel()
	running.Wait()
	close(failed)
	for err := range failed {
		assert.NoError(t, err)
	}

	fetches, values, young, begun, repeated, histories := 0, 0, 0, 0, 0, 0
	for _, r := range readers {
		fetches, values = fetches+r.count, values+r.client.Values
		young, begun = young+r.client.NotSampled, begun+r.client.NoHistory
		repeated, histories = repeated+r.client.Repeated, histories+r.client.Histories
	}
	t.Logf("%d reloads in %.1f s, %d definitions made wrong; from signal to value %.1f ms on average, %.1f at most",
		reloads, took.Seconds(), site.State().Broken, total.Seconds()*1e3/float64(reloads), longest.Seconds()*1e3)
	t.Logf("%d clients: %d fetches, %d values, %d metric identifiers", clients, fetches, values, site.State().IDs)
	assert.Greater(t, histories, repeated, "metrics with a history have values most of the time")
	t.Logf("no value yet: %d of new metrics, %d of new histories, %d of %d for want of a newer sample; failed fetches: %d",
		young, begun, repeated, repeated+histories, len(failed))
	t.Logf("after a fifth and at the end: threads %d %d, open files %d %d, memory %d %d KiB",
		early.threads, late.threads, early.files, late.files, early.memory, late.memory)
	assert.LessOrEqual(t, late.threads, early.threads+moreThreads, "threads")
	assert.LessOrEqual(t, late.files, early.files+moreFiles, "open files")
	assert.LessOrEqual(t, late.memory, early.memory+moreMemory, "KiB of memory")
	assert.Equal(t, e.pid, pidOf(t, e.pmcd, "pmdaderived"), "it is the same process")
	assert.NotContains(t, e.pmcd.Log(), "panic")
}
