package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// output is where a command prints to people. It replaces control characters, because names of files, titles of tests
// and names of instances may have escape sequences, which would reach the terminal. It remembers the first error, so
// that callers need not check each write.
type output struct {
	w    io.Writer
	part []byte // the begin of a character, which waits for its rest: encoders write what fits their buffers
	err  error
}

// Write implements [io.Writer]. It always succeeds.
func (o *output) Write(p []byte) (int, error) {
	text := append(o.part, p...)
	end := max(0, len(text)-utf8.UTFMax)
	for end < len(text) && utf8.FullRune(text[end:]) {
		end++
	}
	o.writeExactly(bytes.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, text[:end]))
	o.part = append(o.part[:0], text[end:]...)
	return len(p), nil
}

// writeExactly writes bytes as they are: those of a file, or control sequences of our own.
func (o *output) writeExactly(p []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(p)
	}
}

// json prints a list for scripts.
func (o *output) json(list any) {
	encoder := json.NewEncoder(o)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(list) // it is never wrong, and o remembers errors
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

// Columns returns how many columns a text on w has: those of the terminal, elsewhere $COLUMNS, or 80.
func Columns(w io.Writer, getenv func(string) string) int {
	if f, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
			return int(size.Col)
		}
	}
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return 80
}

// progress shows at a terminal how far a run is: mostly how much of an archive has been read, if that takes long.
type progress struct {
	w          io.Writer // nil: it is no terminal, and nothing is shown
	start, end time.Time // of the selected part
	passes     int       // how often the part will be read
	pass       int       // how often it has been read
	last       time.Time // time of the last record
	began      time.Time
	shown      time.Time // zero: nothing was shown yet
}

// The progress is shown after this time, and updated that often: a short run shows none, and a long one is not slowed
// down.
const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

// progress makes the progress of reading a part of an archive.
func (r *run) progress(start, end time.Time) *progress {
	p := &progress{start: start, end: end, passes: 1, began: time.Now()}
	if r.stderr.isTerminal() {
		p.w = r.stderr.w
	}
	return p
}

// recordRead counts a record that was read, and shows how much of the archive that is. Time that goes back begins a
// pass.
func (p *progress) recordRead(t time.Time) {
	if t.Before(p.last) {
		p.pass++
	}
	p.last = t
	if t.Before(p.start) { // a latch needs what is before the selected part
		p.start = t
	}
	now := time.Now()
	if p.w == nil || now.Sub(p.began) < progressAfter || now.Sub(p.shown) < progressEvery {
		return
	}
	part := max(0, min(1, t.Sub(p.start).Seconds()/max(p.end.Sub(p.start), 1).Seconds()))
	p.show(fmt.Sprintf("%3.0f %% of the archive read", 100*(float64(p.pass)+part)/float64(p.passes)))
}

// show replaces the text that is shown.
func (p *progress) show(text string) {
	if p.w != nil {
		p.shown = time.Now()
		fmt.Fprint(p.w, "\r\033[K"+text)
	}
}

// clear removes the text, so that what is printed next stands alone.
func (p *progress) clear() {
	if !p.shown.IsZero() {
		p.show("")
	}
}
