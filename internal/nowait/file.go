package nowait

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// File is a pipe or a socket that has O_NONBLOCK. One goroutine at a time may read, and one may write. Another one may be
// in WaitReadable meanwhile, if no Read is called. The owner of the descriptor may close it, and set its deadlines, at
// any time.
type File struct {
	raw      syscall.RawConn
	in, out  transfer
	count    func(fd uintptr) // sets unread and countErr
	unread   int
	countErr syscall.Errno
}

// New returns the file of an *os.File or a net.Conn. It fails if the descriptor may block.
func New(of any) (*File, error) {
	c, ok := of.(syscall.Conn)
	if !ok {
		return nil, errors.New("it has no descriptor")
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	flags := 0
	controlErr := raw.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	if err := errors.Join(controlErr, os.NewSyscallError("fcntl", err)); err != nil {
		return nil, err
	}
	if flags&unix.O_NONBLOCK == 0 {
		return nil, errors.New("its descriptor may block")
	}
	f := &File{raw: raw}
	f.in.init("read", unix.SYS_READ)
	f.out.init("write", unix.SYS_WRITE)
	f.count = func(fd uintptr) { f.unread, f.countErr = unread(fd) }
	return f, nil
}

// ReadNow reads bytes that have arrived. It returns EAGAIN if there are none.
func (f *File) ReadNow(b []byte) (int, error) {
	f.in.buf = b
	return f.in.readResult(f.raw.Control(f.in.once))
}

// Read waits for bytes and reads them.
func (f *File) Read(b []byte) (int, error) {
	f.in.buf = b
	return f.in.readResult(f.raw.Read(f.in.ready))
}

// WriteNow writes as many bytes as there is space for. It returns EAGAIN if there is none.
func (f *File) WriteNow(b []byte) (int, error) {
	f.out.buf = b
	return f.out.result(f.raw.Control(f.out.once))
}

// Write writes all bytes, and waits for space.
func (f *File) Write(b []byte) (written int, err error) {
	for {
		f.out.buf = b[written:]
		n, err := f.out.result(f.raw.Write(f.out.ready))
		written += n
		if err != nil || written == len(b) {
			return written, err
		}
	}
}

// Unread returns the number of bytes that are in a pipe.
func (f *File) Unread() (int, error) {
	if err := f.raw.Control(f.count); err != nil {
		return 0, err
	}
	if f.countErr != 0 {
		return 0, os.NewSyscallError("ioctl", f.countErr)
	}
	return f.unread, nil
}

// Control calls use with the descriptor, which is not closed meanwhile.
func (f *File) Control(use func(fd uintptr)) error { return f.raw.Control(use) }

// WaitReadable waits until there is something to read from a socket, its connection has ended, or the deadline has
// passed.
func (f *File) WaitReadable() error { return f.raw.Read(readable) }

// readable reports whether a read from a socket would return at once, also with an error or the end.
func readable(fd uintptr) bool {
	var first [1]byte
	_, errno := call(unix.SYS_RECVFROM, fd, first[:], unix.MSG_PEEK)
	return errno != unix.EAGAIN
}

// transfer is the current read or write of a file. It has the argument and the results of the system call as fields,
// so that a call does not allocate closures.
type transfer struct {
	name  string
	once  func(fd uintptr)      // makes the call
	ready func(fd uintptr) bool // makes the call, and reports whether it need not be waited for

	buf   []byte
	n     int
	errno syscall.Errno
}

func (t *transfer) init(name string, number uintptr) {
	t.name = name
	t.once = func(fd uintptr) {
		for t.errno = unix.EINTR; t.errno == unix.EINTR; {
			t.n, t.errno = call(number, fd, t.buf, 0)
		}
	}
	t.ready = func(fd uintptr) bool {
		t.once(fd)
		return t.errno != unix.EAGAIN
	}
}

// result returns what the call has transferred. err is the reason why the call was not made, or not waited for.
func (t *transfer) result(err error) (int, error) {
	t.buf = nil
	switch {
	case err != nil:
		return 0, err
	case t.errno == unix.EAGAIN:
		return 0, t.errno
	case t.errno != 0:
		return 0, os.NewSyscallError(t.name, t.errno)
	}
	return t.n, nil
}

// readResult is the result of a read. No bytes are the end of the stream.
func (t *transfer) readResult(err error) (int, error) {
	wanted := len(t.buf)
	n, err := t.result(err)
	if n == 0 && wanted > 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}
