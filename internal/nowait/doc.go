// Package nowait reads and writes pipes and sockets with system calls that Go's scheduler is not told of. Such a call
// must not block, because it keeps the processor of its goroutine. So it is made only for descriptors that have
// O_NONBLOCK, and all waiting is left to Go's poller.
//
//	ReadNow, WriteNow, Unread ──► RawSyscall ──► bytes, or EAGAIN
//	Read, Write ──► RawSyscall ──► bytes
//	                    └─ EAGAIN ──► Go's poller waits ──► RawSyscall
//
// A call through package syscall wakes the scheduler's monitor thread when the process was idle before, and an agent is
// idle before each request: the naps of that thread were more than half of the context switches of a small fetch.
// docs/decisions/0018-calls-that-cannot-block.md has the figures.
//
// The file call.go has the only unsafe of the product. The race detector knows the calls of package syscall only, so
// call_race.go has the same call for it.
package nowait
