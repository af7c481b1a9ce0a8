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
// test fails; Close ends what [Listen] has started. The client is closed before.
type Example struct{ cleanups []func() }

// Helper does nothing.
func (e *Example) Helper() {}

// Cleanup has Close call f.
func (e *Example) Cleanup(f func()) { e.cleanups = append(e.cleanups, f) }

// Errorf panics.
func (e *Example) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Fatalf panics.
func (e *Example) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Close calls what Cleanup was given, the last first.
func (e *Example) Close() {
	for _, f := range slices.Backward(e.cleanups) {
		f()
	}
}
