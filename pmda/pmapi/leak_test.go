package pmapi_test

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// However a connection ends, no goroutine and no file descriptor stays behind.
func TestNothingLeaks(t *testing.T) {
	endings := map[string]func(t *testing.T){
		"closed": func(t *testing.T) {
			c := serve(t, func(p *pmapitest.Peer) { p.WaitClosed() })
			require.NoError(t, c.Close())
		},
		"failed": func(t *testing.T) {
			c := serve(t, func(p *pmapitest.Peer) { p.Expect(pdu.KindDescReq) })
			_, err := c.Desc(t.Context(), longOne)
			require.Error(t, err)
		},
		"timed out": func(t *testing.T) {
			c := serve(t, func(p *pmapitest.Peer) {
				for ok := true; ok; {
					_, ok = p.Next()
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			_, err := c.Desc(ctx, longOne)
			require.Error(t, err)
		},
		"refused": func(t *testing.T) {
			address := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) { p.Challenge(pdu.ErrConnLimit, 0) })
			_, err := pmapi.Dial(t.Context(), "unix", address)
			require.Error(t, err)
		},
		"closed while waiting": func(t *testing.T) {
			c := serve(t, func(p *pmapitest.Peer) { p.WaitClosed() })
			result := make(chan error)
			go func() { result <- c.WaitReadable(context.Background()) }()
			require.NoError(t, c.Close())
			require.Error(t, <-result)
		},
		"wait cancelled": func(t *testing.T) {
			c := serve(t, func(p *pmapitest.Peer) { p.WaitClosed() })
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			require.Error(t, c.WaitReadable(ctx))
			require.NoError(t, c.Close())
		},
	}
	for name, ending := range endings {
		t.Run(name, func(t *testing.T) {
			t.Run("once", ending) // opens what the runtime keeps
			goroutines, descriptors := runtime.NumGoroutine(), openFiles(t)
			for range 10 {
				t.Run("again", ending)
			}
			await.Until(t, "goroutines and descriptors are as many as before", func() bool {
				return runtime.NumGoroutine() <= goroutines && openFiles(t) <= descriptors
			})
		})
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}
