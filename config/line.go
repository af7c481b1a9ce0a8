package config

import (
	"slices"
	"strings"

	"pmdaderived/internal/blank"
)

// line is a logical line: physical lines that end in a backslash are joined with the next one.
type line struct {
	text    string
	parts   []part
	tooLong bool // text is over a limit, and is only the beginning
}

// part says where a part of a line's text comes from. It ends where the next part begins.
type part struct {
	at     int    // offset of its first byte in the line's text
	number int    // of the physical line, from 1
	column int    // of its first byte in the physical line, from 1
	start  int    // of the physical line in the file, a byte offset
	source string // the physical line, without its end
}

// locate returns the part at an offset of the text, and the column in its physical line. The offset may be the length
// of the text.
func (l line) locate(offset int) (p part, column int) {
	next, _ := slices.BinarySearchFunc(l.parts[1:], offset+1, func(p part, offset int) int { return p.at - offset })
	p = l.parts[next]
	return p, p.column + offset - p.at
}

// skipBlanks returns the first offset from offset on that is not a blank.
func (l line) skipBlanks(offset int) int {
	return blank.Skip(l.text, offset)
}

// scanner splits a file into lines.
type scanner struct {
	text   string
	pos    int // of the next byte
	number int // of the physical line that pos is in, from 1
	start  int // of that line, a byte offset
}

const byteOrderMark = "\ufeff"

func (s *scanner) atEnd() bool { return s.pos >= len(s.text) }

// line returns the rest of the current line with its continuations, and moves behind it.
func (s *scanner) line() line {
	first, more := s.physical()
	l := line{parts: []part{first}}
	if !more {
		l.text = first.source[first.column-1:]
		l.tooLong = len(l.text) > MaxLine
		return l
	}
	var joined strings.Builder
	for p := first; ; {
		text := p.source[p.column-1:]
		if more {
			text = text[:len(text)-1]
		}
		if !l.tooLong {
			joined.WriteString(text)
		}
		if !more || s.atEnd() {
			break
		}
		p, more = s.physical()
		if joined.Len() > MaxLine || len(l.parts) > MaxContinuations {
			l.tooLong = true
		} else {
			p.at = joined.Len()
			l.parts = append(l.parts, p)
		}
	}
	l.text = joined.String()
	l.tooLong = l.tooLong || len(l.text) > MaxLine
	return l
}

// physical returns the rest of the current physical line, and moves behind it. more: the line ends in a backslash and
// a newline.
func (s *scanner) physical() (p part, more bool) {
	end := len(s.text)
	next := end
	if n := strings.IndexByte(s.text[s.pos:], '\n'); n >= 0 {
		end = s.pos + n
		next = end + 1
		if end > s.pos && s.text[end-1] == '\r' {
			end--
		}
		more = end > s.pos && s.text[end-1] == '\\'
	}
	p = part{number: s.number, column: 1 + s.pos - s.start, start: s.start, source: s.text[s.start:end]}
	s.pos = next
	if next > end { // there was a newline
		s.number++
		s.start = next
	}
	return p, more
}

// rewind moves back to a column of a physical line.
func (s *scanner) rewind(to part, column int) {
	s.pos = to.start + column - 1
	s.number = to.number
	s.start = to.start
}

// quoted returns a text in quotes, and moves behind its last quote. The scanner must be at the first quote. Without a
// last quote it moves to the end of the file, and ok is false.
func (s *scanner) quoted() (text string, ok bool) {
	quote := s.text[s.pos]
	s.pos++
	var b strings.Builder
	for !s.atEnd() {
		c := s.text[s.pos]
		s.pos++
		switch {
		case c == quote:
			return b.String(), true
		case c == '\\' && s.atEnd():
		case c == '\\':
			if !s.newline() {
				b.WriteByte(s.text[s.pos])
				s.pos++
			}
		default:
			s.pos--
			if s.newline() {
				c = '\n'
			} else {
				s.pos++
			}
			b.WriteByte(c)
		}
	}
	return "", false
}

// newline moves behind a line end, if the scanner is at one, and reports whether it is.
func (s *scanner) newline() bool {
	rest := s.text[s.pos:]
	switch {
	case strings.HasPrefix(rest, "\n"):
		s.pos++
	case strings.HasPrefix(rest, "\r\n"):
		s.pos += 2
	default:
		return false
	}
	s.number++
	s.start = s.pos
	return true
}
