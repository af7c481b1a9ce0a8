package quiet_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pmda/quiet"
)

// A socket of which nobody has to wait: nothing to read, something, and the end.
func TestCallsThatDoNotBlock(t *testing.T) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	near, far := uintptr(ends[0]), uintptr(ends[1])
	t.Cleanup(func() { _ = syscall.Close(ends[0]) })
	into := make([]byte, 8)
	read := func(wantN int, want syscall.Errno) {
		t.Helper()
		n, errno := quiet.Read(near, into)
		assert.Equal(t, want, errno)
		assert.Equal(t, wantN, max(n, 0))
	}

	assert.False(t, quiet.Readable(near))
	read(0, syscall.EAGAIN)

	n, errno := quiet.Write(far, []byte("pdu"))
	assert.Zero(t, errno)
	assert.Equal(t, 3, n)
	for range 2 {
		assert.True(t, quiet.Readable(near), "looking takes nothing")
	}
	read(3, 0)
	assert.Equal(t, "pdu", string(into[:3]))
	assert.False(t, quiet.Readable(near))

	require.NoError(t, syscall.Close(ends[1]))
	assert.True(t, quiet.Readable(near))
	read(0, 0)
	_, errno = quiet.Write(near, []byte("pdu"))
	assert.Equal(t, syscall.EPIPE, errno)
}

func TestBadDescriptor(t *testing.T) {
	none := uintptr(1<<30 - 1)
	_, errno := quiet.Read(none, make([]byte, 1))
	assert.Equal(t, syscall.EBADF, errno)
	assert.True(t, quiet.Readable(none), "a read would return the error")
}
