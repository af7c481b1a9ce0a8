package soak

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pmdaderived/internal/agent/reloadtest"
	"pmdaderived/test/rig"
)

// maxReload is the time within which an edit must be served.
const maxReload = 10 * time.Second

// siteOperands returns metrics of the stock agent sample.
func siteOperands() reloadtest.Operands {
	return reloadtest.Operands{
		Number: "sample.long.one", Bins: "sample.bin", Count: 9, Names: []string{"bin-100", "bin-500", "bin-900"},
		Text: "sample.string.hullo",
	}
}

// editor changes the definitions of a site again and again.
type editor struct {
	*shared
	site   *reloadtest.Site
	folder rig.Folder
	pause  time.Duration

	mu      sync.Mutex   // held during an edit, and while pmcd does not run
	reloads atomic.Int64 // edits that were served
}

func (e *editor) write() error {
	_, err := e.folder.Write("site.conf", strings.Join(e.site.Lines(), "\n")+"\n")
	return err
}

// run goes on until ctx ends.
func (e *editor) run(ctx context.Context) {
	for rig.Sleep(ctx, e.pause) {
		e.mu.Lock()
		err := e.writeAndAwait(ctx, e.site.Edit())
		e.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			e.tally.addProblem(failedCall, "edit: %v", err)
		}
	}
}

// pauseRepaired makes all definitions right, so that a new process serves the same as the old one, and blocks edits
// until resume is called.
func (e *editor) pauseRepaired(ctx context.Context) (resume func(), err error) {
	e.mu.Lock()
	return e.mu.Unlock, e.writeAndAwait(ctx, e.site.Repair())
}

// writeAndAwait writes a generation and waits until it is served. Without the wait the site would expect values of
// generations that the daemon has never read.
func (e *editor) writeAndAwait(ctx context.Context, generation int) error {
	const shown = "derived.gen.first"
	begin := time.Now()
	if err := e.write(); err != nil {
		return err
	}
	c, err := rig.Open(ctx, e.pmcd, shown)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // nothing is lost with it
	for time.Since(begin) < maxReload {
		f, err := c.Fetch(ctx)
		if err != nil {
			return err
		}
		if now, ok := f.Bits(0); ok && int(now) == generation {
			e.reloads.Add(1)
			return nil
		}
		if !rig.Sleep(ctx, 10*time.Millisecond) {
			return ctx.Err()
		}
	}
	return fmt.Errorf("generation %d is not served", generation)
}
