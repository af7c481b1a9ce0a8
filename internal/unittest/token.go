package unittest

import (
	"strings"
	"unicode/utf8"

	"pmdaderived/config"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/blank"
)

// token is a word of a line. Quotes and brackets belong to it, with the blanks in them.
type token struct {
	text string // as it is written
	pos  sourcePos
}

// sourcePos is a position in a test file.
type sourcePos struct {
	line   int    // from 1
	column int    // in bytes, from 1
	source string // the line
}

// statement is a line with its continuations.
type statement struct {
	words    []token
	indented bool
}

// statements reads the statements of a file one after the other, until there are too many problems. It skips blank
// lines and comments.
func (p *parser) statements(text string) {
	var s statement
	number, more := 0, false
	for raw := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		source := strings.TrimRight(strings.TrimSuffix(raw, "\n"), "\r")
		line, continued := strings.CutSuffix(source, `\`)
		if !more {
			p.statement(s)
			if len(p.problems) == MaxProblems {
				return
			}
			s = statement{indented: line != "" && blank.Is(line[0])}
		}
		words, comment := p.words(line, sourcePos{line: number, source: source})
		s.words = append(s.words, words...)
		more = continued && !comment
	}
	p.statement(s)
}

// words splits a line into tokens. comment means that the line ends with a comment.
func (p *parser) words(line string, pos sourcePos) (tokens []token, comment bool) {
	title := false // the rest of the line is one token
	for i := 0; ; {
		i = blank.Skip(line, i)
		pos.column = i + 1
		switch {
		case i == len(line):
			return tokens, false
		case title:
			return append(tokens, token{strings.TrimRight(line[i:], blank.All), pos}), false
		case line[i] == '#':
			return tokens, true
		}
		end := i
		for end < len(line) && !blank.Is(line[end]) {
			closing, ok := closings[line[end]]
			end++
			if !ok {
				continue
			}
			n := enclosed(line[end:], closing)
			if n < 0 {
				pos.column = end
				p.report(pos, "missing "+string(rune(closing)))
				return tokens, false
			}
			end += n
		}
		tokens = append(tokens, token{line[i:end], pos})
		title = len(tokens) == 1 && tokens[0].text == "test"
		i = end
	}
}

// closings has the closing bytes of quotes and brackets, in which blanks do not end a word.
var closings = map[byte]byte{'"': '"', '[': ']'} //nolint:gochecknoglobals // a table

// enclosed returns the length of text up to and including the first closing byte without a backslash before it, -1 if
// there is none.
func enclosed(text string, closing byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case closing:
			return i + 1
		}
	}
	return -1
}

// unquoted returns the text of a word that may be in quotes. Nothing may follow the closing quote.
func (p *parser) unquoted(t token) (string, bool) {
	if !strings.HasPrefix(t.text, `"`) {
		return t.text, p.utf8(t)
	}
	n := enclosed(t.text[1:], '"')
	if n+1 != len(t.text) {
		p.report(t.pos.right(n+1), "unexpected text after the quote")
		return "", false
	}
	return syntax.Unescape(t.text[1:n]), p.utf8(t)
}

func (p *parser) utf8(t token) bool {
	ok := utf8.ValidString(t.text) && strings.IndexByte(t.text, 0) < 0
	if !ok {
		p.report(t.pos, "invalid UTF-8 or a NUL byte")
	}
	return ok
}

// right returns the position n bytes to the right.
func (pos sourcePos) right(n int) sourcePos {
	pos.column += n
	return pos
}

// inFile returns the position as one of package config.
func (pos sourcePos) inFile(file string) config.Position {
	return config.Position{File: file, Line: pos.line, Column: pos.column}
}
