package pdu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Trace returns a frame on one line, for logs: its kind, from, its length in bytes, and the text of
// Message.String. For a body that cannot be decoded it has the error and the first bytes, except for an
// ATTR, whose value may be a secret.
func Trace(f Frame) string {
	head := fmt.Sprintf("%v from=%d len=%d", f.Kind, f.From, HeaderSize+len(f.Body))
	m, err := Decode(f)
	switch {
	case err == nil:
		return head + " " + m.String()
	case f.Kind == KindAttr:
		return head + " (" + err.Error() + ")"
	}
	const shown = 32
	return fmt.Sprintf("%s (%v) %x", head, err, f.Body[:min(shown, len(f.Body))])
}

// traceItems is the number of items of a list that Trace shows, traceText the number of bytes of a text.
const (
	traceItems = 16
	traceText  = 64
)

// items returns "name=value" for each pair of arguments, joined by blanks.
func items(pairs ...any) string {
	var parts []string
	for pair := range slices.Chunk(pairs, 2) {
		parts = append(parts, fmt.Sprintf("%v=%v", pair[0], pair[1]))
	}
	return strings.Join(parts, " ")
}

// list returns the number of items and the first of them: "3[7 8 9]".
func list[T any](all []T, text func(item T) string) string {
	if len(all) == 0 {
		return "0"
	}
	var parts []string
	for _, item := range all[:min(len(all), traceItems)] {
		parts = append(parts, text(item))
	}
	if len(all) > traceItems {
		parts = append(parts, "...")
	}
	return fmt.Sprintf("%d[%s]", len(all), strings.Join(parts, " "))
}

// quoted returns s in quotes, shortened to traceText bytes. A text that has quotes itself, as JSON, is in backquotes.
func quoted(s string) string {
	more := ""
	if len(s) > traceText {
		s, more = s[:traceText], "..."
	}
	if strings.Contains(s, `"`) && strconv.CanBackquote(s) {
		return "`" + s + "`" + more
	}
	return strconv.Quote(s) + more
}

func itoa[T ~int32](n T) string { return strconv.Itoa(int(n)) }

func hex32(w uint32) string { return fmt.Sprintf("0x%08x", w) }
