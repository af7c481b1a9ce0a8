package pmda_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pmda"
)

// Whatever is done meanwhile, the end of the pipe and that of the context are the end.
func TestUntilHangup(t *testing.T) {
	in, to, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	ran := false
	require.NoError(t, pmda.UntilHangup(t.Context(), in, time.Minute, func() { ran = true }))
	assert.True(t, ran)

	stuck := make(chan struct{})
	defer close(stuck)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("told to end")
	begun := make(chan struct{})
	go func() {
		<-begun
		cancel(reason)
	}()
	require.ErrorIs(t, pmda.UntilHangup(ctx, in, 0, func() {
		close(begun)
		<-stuck
	}), reason)

	_, err = to.WriteString("a request that nobody has read")
	require.NoError(t, err)
	require.ErrorIs(t, pmda.UntilHangup(t.Context(), in, time.Millisecond, func() {
		assert.NoError(t, to.Close())
		<-stuck
	}), pmda.ErrHangup)

	require.NoError(
		t, pmda.UntilHangup(t.Context(), in, time.Minute, func() {}),
		"requests may be left to answer",
	)
}
