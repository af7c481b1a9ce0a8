package command

import (
	"bytes"
	"io"
	"os"
	"unicode"
	"unicode/utf8"
)

// output is where a command prints to people. It replaces control characters, because names of files, titles of tests and
// names of instances may have escape sequences, which would reach the terminal. It remembers the first error, so that
// callers need not check each write.
type output struct {
	w   io.Writer
	err error
}

// Write implements [io.Writer]. It always succeeds.
func (o *output) Write(p []byte) (int, error) {
	o.writeExactly(bytes.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, p))
	return len(p), nil
}

// writeExactly writes bytes as they are: those of a file, or control sequences of our own.
func (o *output) writeExactly(p []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(p)
	}
}

// isTerminal reports whether the output is a terminal.
func (o *output) isTerminal() bool {
	f, ok := o.w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
