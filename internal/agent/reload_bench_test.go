package agent

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/await"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
	"pmdaderived/pmda/pmdatest"
)

const manyDefinitions = 5000

// manyOperands adds metrics to an upstream: as many as the definitions use, with and without instances.
func manyOperands(u *collector) {
	u.Update(func() {
		for i := range manyDefinitions {
			m := pmapitest.Metric{
				Name: fmt.Sprintf("many.g%d.m%d", i/100, i),
				Desc: pdu.Desc{PMID: pdu.NewPMID(61, i>>10, i&1023), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter},
			}
			if i%2 == 0 {
				m.Desc.InDom = binDom
			}
			u.Metrics = append(u.Metrics, m)
		}
	})
}

// manyConf is a configuration of 5,000 definitions, so many of them with windows. The one in the middle shows a number.
func manyConf(number, windows int) served.Config {
	lines := make([]string, manyDefinitions)
	for i := range lines {
		lines[i] = fmt.Sprintf("site.g%d.m%d = rate(many.g%d.m%d) * 8", i/100, i, i/100, i)
	}
	for i := range windows {
		lines[i] = fmt.Sprintf(`site.g%d.m%d = max_sample(rate(many.g%d.m%d) * 8, "1min")`, i/100, i, i/100, i)
	}
	lines[manyDefinitions/2] = fmt.Sprintf("site.changed = mkconst(%d, type=u32)", number)
	return conf(lines...)
}

func startMany(tb testing.TB, state string, windows int) *harness {
	tb.Helper()
	up := newCollector(tb)
	manyOperands(up)
	log := logrus.New()
	log.SetOutput(io.Discard)
	return start(tb, up, manyConf(0, windows), func(o *Options) { o.Log, o.StateFile = log, state })
}

// BenchmarkReload5000 is the time from the request to read 5,000 definitions again, of which one has changed, to
// the new ones being served, parsing not included, while a client fetches: also of its longest request.
func BenchmarkReload5000(b *testing.B) {
	for _, windows := range []int{0, 500} {
		b.Run(fmt.Sprintf("windows=%d", windows), func(b *testing.B) { reload5000(b, windows) })
	}
}

func reload5000(b *testing.B, windows int) {
	h := startMany(b, filepath.Join(b.TempDir(), "state"), windows).bound()
	id := h.id("derived.site.changed")
	var longest time.Duration
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		c := manyConf(n, windows)
		h.config.Store(&c)
		b.StartTimer()
		h.agent.Reload()
		await.Until(b, "the definition has been read again", func() bool {
			begin := time.Now()
			r := pmdatest.As[*pdu.Result](h.pmcd, h.pmcd.Request(&pdu.Fetch{PMIDs: []pdu.PMID{id}}))
			longest = max(longest, time.Since(begin))
			v := r.Sets[0].Values
			return len(v) == 1 && v[0].Bits == uint64(n)
		})
	}
	b.ReportMetric(float64(longest)/1e6, "ms-longest-request")
	b.ReportMetric(float64(h.agent.figures.RequestTime.Longest())/1e6, "ms-longest-in-agent")
}

// BenchmarkColdLoad5000 is the start of an agent with 5,000 definitions, without a state file, until all are
// bound, parsing included. cpu-ms is what the process took for it, the pmcd that it asks included.
func BenchmarkColdLoad5000(b *testing.B) {
	up := newCollector(b)
	manyOperands(up)
	log := logrus.New()
	log.SetOutput(io.Discard)
	before := cpu(b)
	for b.Loop() {
		a := New(Options{
			Domain: testDomain, Load: func() served.Config { return manyConf(0, 0) }, Dial: up.dial,
			StateFile: filepath.Join(b.TempDir(), "state"), Log: log,
		})
		ctx, cancel := context.WithCancel(b.Context())
		var running sync.WaitGroup
		running.Go(func() { a.Run(ctx) })
		await.Until(b, "bound", func() bool { return a.snapshot.Load().Bound == manyDefinitions })
		cancel()
		running.Wait()
	}
	b.ReportMetric(float64(cpu(b)-before)/1e6/float64(b.N), "cpu-ms/op")
}

func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
