package pmda

import (
	"io"
	"os"
	"syscall"

	"pmdaderived/pmda/quiet"
)

// quietFile reads and writes a file that has O_NONBLOCK and is in Go's poller, which waits. The system calls are those of
// package quiet.
type quietFile struct {
	raw syscall.RawConn

	// The call under way. step is a value, made once, so that a request allocates none.
	call  func(fd uintptr, b []byte) (int, syscall.Errno) // quiet.Read or quiet.Write
	once  bool                                            // whatever has arrived is enough
	rest  []byte                                          // to read into, or to write
	n     int                                             // bytes read or written
	errno syscall.Errno
	step  func(fd uintptr) (done bool)
}

func newQuietFile(f *os.File) (*quietFile, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	q := &quietFile{raw: raw}
	q.step = q.transfer
	return q, nil
}

// Read waits until something has arrived.
func (q *quietFile) Read(b []byte) (int, error) {
	q.begin(quiet.Read, true, b)
	err := q.end("read", q.raw.Read(q.step))
	if err == nil && q.n == 0 && len(b) > 0 {
		err = io.EOF
	}
	return q.n, err
}

// Write waits until everything is written.
func (q *quietFile) Write(b []byte) (int, error) {
	q.begin(quiet.Write, false, b)
	return q.n, q.end("write", q.raw.Write(q.step))
}

func (q *quietFile) begin(call func(uintptr, []byte) (int, syscall.Errno), once bool, b []byte) {
	q.call, q.once, q.rest, q.n, q.errno = call, once, b, 0, 0
}

func (q *quietFile) end(op string, err error) error {
	q.rest = nil
	if err == nil && q.errno != 0 {
		err = os.NewSyscallError(op, q.errno)
	}
	return err
}

// transfer makes a call, and others as long as there is something to write and room. It reports false when the poller has
// to wait.
func (q *quietFile) transfer(fd uintptr) (done bool) {
	for {
		n, errno := q.call(fd, q.rest)
		switch errno {
		case 0:
			q.n += n
			q.rest = q.rest[n:]
			if q.once || len(q.rest) == 0 {
				return true
			}
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			q.errno = errno
			return true
		}
	}
}
