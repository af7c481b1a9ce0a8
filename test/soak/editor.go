package soak

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pmdaderived/derived/agent/reloadtest"
	"pmdaderived/pdu"
)

// mostReload is how soon an edit has to be served.
const mostReload = 10 * time.Second

// siteOperands are metrics of the stock agent sample.
func siteOperands() reloadtest.Operands {
	return reloadtest.Operands{
		Number: "sample.long.one", Bins: "sample.bin", Count: 9, Names: []string{"bin-100", "bin-500", "bin-900"},
		Text: "sample.string.hullo",
	}
}

// editor changes the definitions of a site again and again.
type editor struct {
	*scene
	site  *reloadtest.Site
	file  string
	pause time.Duration

	mu      sync.Mutex // held while an edit is on its way, and while pmcd is not there
	reloads atomic.Int64
	longest time.Duration
}

// write puts the definitions of the site in place, as editors do.
func (e *editor) write() error {
	text := strings.Join(e.site.Lines(), "\n") + "\n"
	if err := os.WriteFile(e.file+"~", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(e.file+"~", e.file)
}

// run goes on until ctx ends.
func (e *editor) run(ctx context.Context) {
	for sleep(ctx, e.pause) {
		e.mu.Lock()
		err := e.served(ctx, e.site.Edit())
		e.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			e.tally.problem(failedCall, "edit: %v", err)
		}
	}
}

// calm makes all definitions right, so that a new process serves what the old one did, and keeps edits off
// until resume is called.
func (e *editor) calm(ctx context.Context) (resume func(), err error) {
	e.mu.Lock()
	return e.mu.Unlock, e.served(ctx, e.site.Repair())
}

// served writes a generation and waits until it is served. Generations in between would make the site
// expect what the daemon has never read.
func (e *editor) served(ctx context.Context, generation int) error {
	begin := time.Now()
	if err := e.write(); err != nil {
		return err
	}
	conn, err := e.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is lost with it
	found, err := conn.LookupNames(ctx, []string{"derived.gen.first"})
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		res, err := conn.Fetch(ctx, []pdu.PMID{found[0].PMID})
		if err != nil {
			return err
		}
		if v := res.Sets[0].Values; len(v) == 1 && int(v[0].TypeOr(pdu.TypeU32).Float64(v[0].Bits)) == generation {
			e.reloads.Add(1)
			e.longest = max(e.longest, time.Since(begin))
			return nil
		}
		if time.Since(begin) > mostReload {
			return fmt.Errorf("generation %d is not served", generation)
		}
		sleep(ctx, 10*time.Millisecond)
	}
	return ctx.Err()
}

// count is how many edits have been served.
func (e *editor) count() int64 { return e.reloads.Load() }
