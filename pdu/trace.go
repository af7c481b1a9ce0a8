package pdu

import (
	"fmt"
	"strconv"
	"strings"
)

// Trace gives a frame on one line, for logs: kind, from, length and what Message.String gives.
// A body that cannot be decoded is shown with the reason and its first bytes, except
// that of an ATTR, which may be a secret.
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

// traceItems is how many items of a list a line shows, traceText how many bytes of a text.
const (
	traceItems = 16
	traceText  = 64
)

// line collects "name=value" items of one message.
type line struct{ b []byte }

func (l *line) item(name string, v any) {
	if len(l.b) > 0 {
		l.b = append(l.b, ' ')
	}
	l.b = append(l.b, name...)
	l.b = append(l.b, '=')
	l.b = fmt.Append(l.b, v)
}

// text adds a quoted text, cut when it is long.
func (l *line) text(name, s string) { l.item(name, quoted(s)) }

// list adds the number of items and the first of them.
func (l *line) list(name string, n int, item func(i int) string) {
	l.item(name, n)
	if n == 0 {
		return
	}
	l.b = append(l.b, '[')
	for i := range min(n, traceItems) {
		if i > 0 {
			l.b = append(l.b, ' ')
		}
		l.b = append(l.b, item(i)...)
	}
	if n > traceItems {
		l.b = append(l.b, " ..."...)
	}
	l.b = append(l.b, ']')
}

func (l *line) String() string { return string(l.b) }

// quoted returns s in quotes, those of JSON texts in backquotes, cut when it is long.
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
