package pmapitest

import (
	"fmt"
	"slices"
)

// TB is the part of testing.TB that a pmcd needs. Every *testing.T, *testing.B and *testing.F is one;
// *[Example] is one for Example functions. Errorf is called from several goroutines.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Example is a [TB] for Example functions, which have no testing.T. The zero value is ready. It panics where a
// test fails. An example calls Close at its end, after it has closed its client.
type Example struct{ cleanups []func() }

// Helper does nothing.
func (e *Example) Helper() {}

// Cleanup adds f to the functions that Close calls.
func (e *Example) Cleanup(f func()) { e.cleanups = append(e.cleanups, f) }

// Errorf panics.
func (e *Example) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Fatalf panics.
func (e *Example) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Close calls the functions of Cleanup, the last first. It ends the servers that [Listen] has started.
func (e *Example) Close() {
	for _, f := range slices.Backward(e.cleanups) {
		f()
	}
}
