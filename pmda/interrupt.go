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
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		now := time.Now()
		if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); !ok || d.SetReadDeadline(now) != nil {
			closeStream(in)
		}
		if d, ok := out.(interface{ SetWriteDeadline(time.Time) error }); !ok || d.SetWriteDeadline(now.Add(lastReply)) != nil {
			closeStream(out)
		}
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

func closeStream(stream any) {
	if c, ok := stream.(io.Closer); ok {
		_ = c.Close() // nothing is left to be told about a stream that is given up
	}
}
