package pmda

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// mayNice reports whether we have CAP_SYS_NICE, which root has not in every container.
func mayNice(t *testing.T) bool {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(status), "\nCapEff:")
	require.True(t, found)
	capabilities, err := strconv.ParseUint(strings.Fields(rest)[0], 16, 64)
	require.NoError(t, err)
	return capabilities&(1<<unix.CAP_SYS_NICE) != 0
}

func TestQuietMonitor(t *testing.T) {
	err := QuietMonitor()
	threads, readErr := os.ReadDir("/proc/self/task")
	require.NoError(t, readErr)
	assert.Greater(t, len(threads), spareThreads, "the monitor need not make any")
	if !mayNice(t) {
		require.ErrorIs(t, err, fs.ErrPermission)
		return
	}
	require.NoError(t, err)
	monitor, err := monitorThread()
	require.NoError(t, err)
	assert.NotEqual(t, strconv.Itoa(os.Getpid()), monitor, "the main thread is the first one")
	for _, thread := range threads {
		text, err := os.ReadFile("/proc/" + thread.Name() + "/timerslack_ns")
		require.NoError(t, err)
		slack, err := strconv.Atoi(strings.TrimSpace(string(text)))
		require.NoError(t, err)
		assert.Equal(t, thread.Name() == monitor, slack == int(monitorSlack), "thread %s: %d ns", thread.Name(), slack)
	}
}
