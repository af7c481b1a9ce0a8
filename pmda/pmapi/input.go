package pmapi

import (
	"errors"
	"io"
	"net"
	"syscall"

	"pmdaderived/pdu"
	"pmdaderived/pmda/nonblock"
)

// input is the reading end of a connection.
type input struct {
	nc     net.Conn
	raw    syscall.RawConn
	frames *pdu.Splitter

	// readNow is readSocket as a value, made once; the others are its results.
	readNow func(fd uintptr)
	n       int
	err     error
}

// receive reads up to the end of the next frame, which is valid until the next call.
func (in *input) receive() (pdu.Frame, error) {
	for {
		f, ok, err := in.frames.Next()
		if ok || err != nil {
			return f, err
		}
		n, err := in.nc.Read(in.frames.Buffer())
		in.frames.Advance(n)
		if n == 0 && err != nil {
			return pdu.Frame{}, in.midFrame(err)
		}
	}
}

// receiveNow is receive without waiting: ok is false when the socket holds no whole frame.
func (in *input) receiveNow() (f pdu.Frame, ok bool, err error) {
	for {
		if f, ok, err = in.frames.Next(); ok || err != nil {
			return f, ok, err
		}
		if err := in.raw.Control(in.readNow); err != nil {
			return f, false, err
		}
		in.frames.Advance(in.n)
		switch {
		case in.n > 0:
		case in.err == nil:
			return f, false, in.midFrame(io.EOF)
		case errors.Is(in.err, syscall.EAGAIN):
			return f, false, nil
		default:
			return f, false, in.err
		}
	}
}

// readSocket reads once what the socket holds. RawConn.Read would not do: it waits for the lock
// that WaitReadable holds.
func (in *input) readSocket(fd uintptr) {
	in.n, in.err = nonblock.Read(int(fd), in.frames.Buffer())
}

// midFrame tells the end of the stream inside a PDU from the one between two.
func (in *input) midFrame(err error) error {
	if errors.Is(err, io.EOF) && in.frames.Pending() > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
