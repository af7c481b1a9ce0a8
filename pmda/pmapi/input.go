package pmapi

import (
	"errors"
	"io"
	"syscall"

	"pmdaderived/pdu"
)

// input is the reading end of a connection.
type input struct {
	socket *socket
	frames *pdu.Splitter
}

// receive reads up to the end of the next frame, which is valid until the next call.
func (in *input) receive() (pdu.Frame, error) {
	for {
		f, ok, err := in.frames.Next()
		if ok || err != nil {
			return f, err
		}
		n, err := in.socket.Read(in.frames.Buffer())
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
		n, err := in.socket.readNow(in.frames.Buffer())
		in.frames.Advance(n)
		switch {
		case err == nil:
		case errors.Is(err, syscall.EAGAIN):
			return f, false, nil
		default:
			return f, false, in.midFrame(err)
		}
	}
}

// midFrame tells the end of the stream inside a PDU from the one between two.
func (in *input) midFrame(err error) error {
	if errors.Is(err, io.EOF) && in.frames.Pending() > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
