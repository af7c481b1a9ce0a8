package logfile

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each entry of an index that pmlogger wrote leads to a record.
func TestSeek(t *testing.T) {
	for _, name := range []string{"v2a", "v3a", "volumes"} {
		l, err := Open([]string{"../testdata/" + name}, func(*Fields, int) string { return "" })
		require.NoError(t, err)
		defer l.Close()
		require.Greater(t, len(l.positions), 3)
		r := l.NewReader()
		defer r.Close()
		for i := range l.positions {
			assert.Equal(t, i, r.Seek(i), name)
		}
	}
}
