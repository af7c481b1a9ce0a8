package pmda

import (
	"context"
	"io"
	"time"
)

// lastReply is how long a reply may still be written after the context of Serve has ended.
const lastReply = time.Second

// interruptWhenDone makes blocked reads from in and writes to out return when ctx ends. The caller
// calls release when it needs neither any more; nothing happens after that.
func interruptWhenDone(ctx context.Context, in io.Reader, out io.Writer) (release func()) {
	released, done := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		interruptReads(in)
		interruptWrites(out, released)
	})
	return func() {
		close(released)
		if !stop() {
			<-done
		}
	}
}

// interruptReads gives up a stream of requests.
func interruptReads(in io.Reader) {
	switch in := in.(type) {
	case *pipe:
		_ = in.interrupt() // if it fails nothing can be done
	case interface{ SetReadDeadline(time.Time) error }:
		if in.SetReadDeadline(time.Now()) != nil {
			closeStream(in)
		}
	default:
		closeStream(in)
	}
}

// interruptWrites gives up a stream of replies after lastReply, or does nothing when that is released
// before.
func interruptWrites(out io.Writer, released <-chan struct{}) {
	switch out := out.(type) {
	case *pipe:
		timer := time.NewTimer(lastReply)
		defer timer.Stop()
		select {
		case <-released:
		case <-timer.C:
			_ = out.interrupt() // likewise
		}
	case interface{ SetWriteDeadline(time.Time) error }:
		if out.SetWriteDeadline(time.Now().Add(lastReply)) != nil {
			closeStream(out)
		}
	default:
		closeStream(out)
	}
}

func closeStream(stream any) {
	if c, ok := stream.(io.Closer); ok {
		_ = c.Close() // nothing is left to be told about a stream that is given up
	}
}
