package reload

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/sampler"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// Names that have changed are announced twice: a pmlogger that starts ignores an announcement that comes while it reads
// its configuration. Names that have not changed are not announced.
func TestChangedNamesAreAnnouncedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := logtest.NewNullLogger()
		var figures control.Figures
		var changes atomic.Uint32
		var names operand.InstanceCache
		u := upstream.New(upstream.Options{Names: &names, Figures: &figures, Log: log, Now: time.Now})
		r := New(Options{
			Domain: 510, Load: func() served.Config { return served.Config{} }, Poll: time.Minute, Upstream: u,
			Sampler:   sampler.New(sampler.Options{Upstream: u, Figures: &figures, Log: log, Now: time.Now}),
			Instances: &names, Figures: &figures, Log: log, Now: time.Now,
			Snapshot: new(atomic.Pointer[Snapshot]), Changes: &changes,
		})
		with := func(name string) *Snapshot {
			space, err := pmda.NewNamespace(derived.Root, []pmda.Entry{{Name: name, PMID: pdu.NewPMID(510, 1, 1)}})
			require.NoError(t, err)
			return &Snapshot{Snapshot: &served.Snapshot{Namespace: space}}
		}
		a, b := with("derived.a"), with("derived.b")
		r.announceChanges(a, a)
		assert.Zero(t, changes.Load())

		r.announceChanges(b, a)
		assert.Equal(t, uint32(pdu.ChangeNames), changes.Swap(0))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		for _, want := range []pdu.Change{0, pdu.ChangeNames, 0, 0} {
			assert.Equal(t, uint32(want), changes.Swap(0))
			time.Sleep(repeatNamesAfter)
			synctest.Wait()
		}
		cancel()
		running.Wait()
	})
}
