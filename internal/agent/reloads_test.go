package agent

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/reloadtest"
	"pmdaderived/internal/identity"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmdatest"
)

var (
	reloadCount = flag.Int("reloads", defaultReloads, "how often TestReloadsUnderLoad has the configuration read again")
	reloadSeed  = flag.Uint64("reload-seed", 1, "what its edits begin with")
)

// A process may have this much more after the reloads than after a tenth of them.
const (
	moreGoroutines = 0
	moreFiles      = 1       // a second descriptor of the pipe from pmcd, which is there after a pause
	moreHeap       = 2 << 20 // bytes
)

// pause is the time without requests after each round: it leaves the processors to the agent.
const pause = 100 * time.Microsecond

// footprint has the resources of a process.
type footprint struct {
	goroutines, files int
	heap              uint64
}

func measure(tb testing.TB) footprint {
	tb.Helper()
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // finalizers of the first have run
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(tb, err)
	return footprint{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}

// memoryDir returns a folder in memory, if there is one: a disk would take most of the time.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "pmdaderived-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// siteConf reads the site's file.
func siteConf(lines []string) served.Config {
	var c served.Config
	for i, line := range lines {
		if strings.HasPrefix(line, "#") {
			continue
		}
		one := conf(line)
		for _, d := range one.Definitions {
			d.Line = i + 1
			c.Definitions = append(c.Definitions, d)
		}
		c.Failures = append(c.Failures, one.Failures...)
	}
	return c
}

// reloads is an agent whose configuration is another one each time that it is read, and its clients.
type reloads struct {
	*harness
	site    *reloadtest.Site
	clients []*reloadtest.Client
	fetches int
	listed  int

	reloading time.Duration // all reloads
	longest   time.Duration // request
}

// While the configuration is read again and again, with mistakes in it, every fetch of every client is right, as
// package reloadtest defines it. Nothing piles up.
func TestReloadsUnderLoad(t *testing.T) {
	up := newCollector(t)
	up.OnRequest(func(int, pdu.Frame) bool {
		up.Update(func() { up.Time = time.Now() })
		return true
	})
	site := reloadtest.NewSite(*reloadSeed, reloadtest.Operands{
		Number: "up.load", Bins: "up.bin", Count: 3, Names: []string{"one", "two", "three"}, Text: "up.name",
	})
	log := logrus.New()
	log.SetOutput(io.Discard)
	state := filepath.Join(memoryDir(t), "derived.identities")
	var edit atomic.Bool
	r := &reloads{site: site, harness: start(t, up, served.Config{}, func(o *Options) {
		o.Log, o.StateFile = log, state
		o.Load = func() served.Config {
			if edit.Load() {
				site.Edit()
			}
			return siteConf(site.Lines())
		}
	}).bound()}
	for i := range 8 {
		r.clients = append(r.clients, site.NewClient(uint64(i)))
		r.replace(i)
	}
	eventually(t, "everything sampled", func() bool { return r.sampled() })
	edit.Store(true)

	var early footprint
	begin := time.Now()
	for done := range *reloadCount {
		if done == *reloadCount/10 {
			early = measure(t)
		}
		up.Forget()
		before := r.agent.figures.Reloads.Load()
		r.agent.Reload()
		for r.agent.figures.Reloads.Load() == before {
			r.round(done)
			time.Sleep(pause)
		}
		r.reloading += time.Duration(r.agent.figures.ReloadTook.Load())
	}
	took := time.Since(begin)
	for i := range r.clients {
		r.fetch(i)
	}
	up.Forget()
	late := measure(t)
	assert.Equal(t, site.State().Generation, site.State().Served, "at the end the last edit is served")

	r.report(took, early, late)
	assert.LessOrEqual(t, late.goroutines, early.goroutines+moreGoroutines, "goroutines")
	assert.LessOrEqual(t, late.files, early.files+moreFiles, "open files")
	assert.LessOrEqual(t, late.heap, early.heap+moreHeap, "bytes in the heap")
	r.sameAfterRestart(state)
}

// round is some requests of one client after the other.
func (r *reloads) round(n int) {
	i := (n + r.fetches) % len(r.clients)
	if r.fetches%50 == i {
		r.replace(i)
	}
	if r.fetches%40 == 0 {
		r.list()
	}
	r.fetch(i)
}

func (r *reloads) request(i int, m pdu.Message) pdu.Message {
	r.tb.Helper()
	r.pmcd.Client = pmda.Client(i)
	begin := time.Now()
	reply := r.pmcd.Request(m)
	r.longest = max(r.longest, time.Since(begin))
	return reply
}

// replace has a client disconnect, and another one look up other metrics.
func (r *reloads) replace(i int) {
	r.tb.Helper()
	r.pmcd.EndContext(pmda.Client(i))
	for _, name := range r.clients[i].ChooseNames() {
		ids, ok := r.request(i, &pdu.PMNSNames{Names: []string{name}}).(*pdu.PMNSIDs)
		if !ok {
			continue
		}
		d, ok := r.request(i, &pdu.DescReq{PMID: ids.PMIDs[0]}).(*pdu.DescReply)
		if !ok {
			continue
		}
		require.NoError(r.tb, r.clients[i].AddMetric(name, d.Desc))
	}
}

// list lists the names, as a client does that explores them.
func (r *reloads) list() {
	r.tb.Helper()
	from := r.site.State().Served
	all := pmdatest.As[*pdu.PMNSNames](r.pmcd, r.request(0, &pdu.PMNSTraverse{Name: derived.Root}))
	var names []string
	for _, name := range all.Names {
		if !strings.HasPrefix(name, derived.Root+".control.") {
			names = append(names, name)
		}
	}
	r.listed++
	require.NoError(r.tb, r.site.CheckNames(names, from))
}

// fetch lets a client fetch all that it has looked up.
func (r *reloads) fetch(i int) {
	r.tb.Helper()
	ids := r.clients[i].IDs()
	result := pmdatest.As[*pdu.Result](r.pmcd, r.request(i, &pdu.Fetch{PMIDs: ids}))
	if result.Sec != 0 {
		r.up.Announce(pdu.Change(result.Sec))
	}
	r.fetches++
	require.NoError(r.tb, r.clients[i].Check(result.Sets, time.Now()), "client %d", i)
}

// sampled reports whether each metric of each client has a value by now.
func (r *reloads) sampled() bool {
	before := 0
	for i, c := range r.clients {
		before += c.NotSampled + c.NoHistory
		r.fetch(i)
	}
	now := 0
	for _, c := range r.clients {
		now += c.NotSampled + c.NoHistory
	}
	return now == before
}

func (r *reloads) report(took time.Duration, early, late footprint) {
	values, young, begun, repeated, histories := 0, 0, 0, 0, 0
	for _, c := range r.clients {
		values, young, begun = values+c.Values, young+c.NotSampled, begun+c.NoHistory
		repeated, histories = repeated+c.Repeated, histories+c.Histories
	}
	assert.Greater(r.tb, histories, repeated, "metrics with a history have values most of the time")
	n := r.agent.figures.Reloads.Load()
	r.tb.Logf(
		"%d reloads in %.1f s, %.2f ms each, %d definitions made wrong", n, took.Seconds(),
		r.reloading.Seconds()*1e3/float64(n), r.site.State().Broken,
	)
	r.tb.Logf("%d clients: %d fetches, %d values, %d listings, %d metric identifiers, longest request %.1f ms",
		len(r.clients), r.fetches, values, r.listed, r.site.State().IDs, float64(r.longest)/1e6)
	r.tb.Logf("no value yet: %d of new metrics, %d of new histories, %d of %d for want of a newer sample; "+
		"failed fetches: 0", young, begun, repeated, repeated+histories)
	r.tb.Logf("after a tenth and at the end: goroutines %d %d, open files %d %d, heap %d %d KiB",
		early.goroutines, late.goroutines, early.files, late.files, early.heap>>10, late.heap>>10)
}

// sameAfterRestart checks that another process, which starts with what this one has saved, gives every
// metric the same identifier.
func (r *reloads) sameAfterRestart(state string) {
	r.tb.Helper()
	memory, err := identity.ReadMetrics(state)
	require.NoError(r.tb, err)
	next, err := identity.Load(state, testDomain)
	require.NoError(r.tb, err)
	for id, name := range r.site.Metrics() {
		short := derived.ShortName(name)
		all := []pdu.PMID{memory[short].Desc.PMID}
		for _, was := range next.Former(short) {
			all = append(all, was.PMID)
		}
		assert.Contains(r.tb, all, id, fmt.Sprintf("identifiers of %s", name))
	}
}

// Operands that are known are not looked up again because a file has changed.
func TestReloadAsksOnlyWhatIsNew(t *testing.T) {
	up := newCollector(t)
	h := start(t, up, conf("a = up.load", "b = up.bin[one]", "c = nosuch")).bound()
	var asked sync.Map
	up.OnRequest(func(_ int, f pdu.Frame) bool {
		switch f.Kind {
		case pdu.KindPMNSNames, pdu.KindDescReq, pdu.KindInstanceReq:
			m, err := pdu.Decode(f)
			if assert.NoError(t, err) {
				asked.Store(fmt.Sprintf("%v", m), true)
			}
		}
		return true
	})
	h.reload(conf("a = up.load + 1", "b = up.bin[one] + 1"))
	asked.Range(func(request, _ any) bool { return assert.Fail(t, "asked again", request) })
	h.reload(conf("a = up.load + up.count", "b = up.bin[two]", "c = nosuch"))
	var all []string
	asked.Range(func(request, _ any) bool {
		all = append(all, request.(string))
		return true
	})
	text := strings.Join(all, "\n")
	assert.Contains(t, text, "up.count")
	assert.Contains(t, text, "nosuch", "it may exist by now")
	assert.NotContains(t, text, "up.load")
}

// ReloadAll has all operands looked up again: their metadata may have changed without an announcement.
func TestRefreshLooksOperandsUpAgain(t *testing.T) {
	up := newCollector(t)
	h := start(t, up, conf("a = up.load", "b = delta(up.load)")).bound()
	was := h.id("derived.a")
	up.Update(func() { up.Metrics[0].Desc.Units = pdu.Units{Space: 1} })
	h.reload(conf("a = up.load"))
	assert.Equal(t, was, h.id("derived.a"), "nobody knows")
	before := h.agent.figures.Reloads.Load()
	h.agent.ReloadAll()
	eventually(t, "configuration read again", func() bool { return h.agent.figures.Reloads.Load() > before })
	now := h.id("derived.a")
	assert.NotEqual(t, was, now, "another metric")
	desc := pmdatest.As[*pdu.DescReply](h.pmcd, h.pmcd.Request(&pdu.DescReq{PMID: now})).Desc
	assert.Equal(t, pdu.Units{Space: 1}, desc.Units)
}

// A definition whose operands change has a value at once.
func TestReloadPrimesNewOperands(t *testing.T) {
	h := start(t, newCollector(t), conf("a = up.load")).bound()
	id := h.id("derived.a")
	require.Equal(t, []pdu.Value{pdu.DoubleValue(pdu.NoInst, 0.5)}, h.value(id))
	h.reload(conf("a = up.load + sum(up.bin)"))
	set := require1(t, h.fetch(id))
	require.Equal(t, []pdu.Value{pdu.DoubleValue(pdu.NoInst, 20.5)}, set.Values, "code %d", set.Code)
}

// While a reload looks names up, and until it is done, the instances that are selected now have their values.
func TestReloadKeepsSelectorsUntilTheSwap(t *testing.T) {
	up := newCollector(t)
	h := start(t, up, conf("a = up.bin[one]", "b = up.load")).bound()
	a, b := h.id("derived.a"), h.id("derived.b")
	require.Len(t, h.value(a), 1)
	require.Len(t, h.value(b), 1)
	gate := make(chan struct{})
	up.OnRequest(func(_ int, f pdu.Frame) bool {
		var fetch pdu.HighResFetch
		if f.Kind == pdu.KindHighResFetch && fetch.Decode(f.Body) == nil && slices.Contains(fetch.PMIDs, countID) {
			<-gate // the reload waits for the first sample of b
		}
		return true
	})
	before := h.agent.figures.Reloads.Load()
	c := conf("a = up.bin[two]", "b = up.load + instant(up.count)")
	h.config.Store(&c)
	h.agent.Reload()
	eventually(t, "the new name is known", func() bool {
		_, ok := h.agent.names.Table(binDom).Select("two")
		return ok
	})
	set := require1(t, h.fetch(a))
	assert.Len(t, set.Values, 1, "code %d", set.Code)
	close(gate)
	eventually(t, "configuration read again", func() bool { return h.agent.figures.Reloads.Load() > before })
	now := require1(t, h.value(a))
	assert.EqualValues(t, -20, now.TypeOr(pdu.Type32).Float64(now.Bits))
}
