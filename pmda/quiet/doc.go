// Package quiet makes system calls that cannot block, because their descriptor has O_NONBLOCK, and does not tell Go's
// scheduler of them. Told of a call after a pause, the scheduler wakes its monitor thread, which looks every 20 µs whether
// the call has returned. A [Timer] is set with such a call, too, which never blocks. docs/decisions/0018 says what that costs.
package quiet
