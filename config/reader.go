package config

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"pmdaderived/internal/blank"
	"pmdaderived/internal/printable"
	"pmdaderived/pdu"
)

// reader reads one file into a loader.
type reader struct {
	*loader
	file     string
	scan     scanner
	problems int
	marks    int // masks and control lines
	complete bool
	secret   bool     // not everyone can read the file
	ignored  []string // codes in the comments directly above
}

// readDefinitions reads the text of a file, and reports whether it reached the end.
func (l *loader) readDefinitions(file, text string, secret bool) (complete bool) {
	l.generation++
	r := reader{
		loader: l, file: file, scan: scanner{text: strings.TrimPrefix(text, byteOrderMark), number: 1},
		complete: true, secret: secret,
	}
	for r.complete && !r.scan.atEnd() {
		r.readLine(r.scan.line())
	}
	return r.complete
}

// readLine reads a line with its continuations. The order of the checks is libpcp's.
func (r *reader) readLine(l line) {
	if strings.HasPrefix(l.text, "#") {
		r.readComment(l)
		return
	}
	ignored := r.ignored
	r.ignored = nil
	start := l.skipBlanks(0)
	if start == len(l.text) {
		return
	}
	if l.tooLong {
		r.reportError(l, start, "", "line longer than %d bytes or %d continuations", MaxLine, MaxContinuations)
		return
	}
	equals := strings.IndexByte(l.text, '=')
	if equals < 0 {
		r.reportError(l, len(strings.TrimRight(l.text, blank.All)), "", "missing ``='' after derived metric name")
		return
	}
	nameEnd := equals
	paren := strings.IndexByte(l.text[:equals], '(')
	if paren >= 0 {
		nameEnd = paren
	}
	name := strings.TrimRight(l.text[min(start, nameEnd):nameEnd], blank.All)
	if name == "" {
		r.reportError(l, start, "", "derived metric name missing")
		return
	}
	if !pdu.LegalName(name) {
		r.reportError(l, start, "", "illegal derived metric name (%s)", Clip(name))
		return
	}
	if len(name) > MaxName {
		r.reportError(l, start, "", "derived metric name longer than %d bytes", MaxName)
		return
	}
	if paren >= 0 {
		before := len(r.out.Problems)
		r.readAttribute(l, name, start, paren, equals)
		for _, p := range r.out.Problems[before:] {
			p.Attribute = true
		}
	} else {
		r.readDefinition(l, name, start, equals, ignored)
	}
}

func (r *reader) readDefinition(l line, name string, start, equals int, ignored []string) {
	expr := strings.TrimLeft(l.text[equals+1:], blank.All)
	if expr == "" {
		r.reportError(l, equals+1, name, "expression missing")
		return
	}
	exprAt := len(l.text) - len(expr)
	if n, p := checkText(expr); p != nil {
		p.Name = name
		r.reportProblem(l, exprAt+n, p)
		if p.Severity == Error {
			return
		}
	}
	d := &Definition{
		Name: name, Pos: r.position(l, start), Expr: expr, Ignored: ignored, Secret: r.secret,
		ExprLocation: newExprLocation(r.file, l, expr),
	}

	old := r.names[name]
	if old != nil && old.generation == r.generation {
		r.reportError(l, start, name, "Duplicate global derived metric name (first defined in line %d)",
			old.definition.Pos.Line)
		return
	}
	if old == nil && len(r.names) >= MaxDefinitions {
		r.complete = false
		r.reportError(l, start, name, "more than %d definitions; the rest of the file is not read", MaxDefinitions)
		return
	}
	if r.Accept != nil {
		if err := r.Accept(d); err != nil {
			r.reportRefused(l, exprAt, d, err)
			return
		}
	}
	if old != nil && (old.definition.Pos != d.Pos || old.definition.Expr != d.Expr) {
		msg := "replaces the definition at " + old.definition.Pos.String()
		r.reportProblem(l, start, &Problem{
			Severity: Note, Code: "replaced-definition", Msg: msg, Name: name, Replaced: old.definition.Pos,
		})
	}
	r.names[name] = &namedDefinition{definition: d, generation: r.generation}
	r.out.Definitions = append(r.out.Definitions, d)
}

// reportRefused reports an error of Accept.
func (r *reader) reportRefused(l line, exprAt int, d *Definition, err error) {
	offset := max(0, min(Offset(err), len(d.Expr)))
	r.reportProblem(l, exprAt+offset, &Problem{Msg: cmp.Or(err.Error(), "syntax error"), Name: d.Name, Err: err})
}

// checkText returns the first problem of a text that is sent to clients, with its offset: a NUL byte is an error,
// since the protocol has C strings; invalid UTF-8 is a warning, since some clients can show it.
func checkText(text string) (offset int, p *Problem) {
	if n := strings.IndexByte(text, 0); n >= 0 {
		return n, &Problem{Msg: "NUL byte"}
	}
	for i, c := range text {
		if c != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
			return i, &Problem{Severity: Warning, Code: "invalid-text", Msg: "invalid UTF-8"}
		}
	}
	return 0, nil
}

const (
	controlWord = "#control"
	ignoreWord  = "pmdaderived:ignore"
	maskWord    = "pmdaderived:mask"
)

// wordsAfter returns what follows a word at the beginning of a comment, and whether it is there.
func wordsAfter(word, comment string) (words []string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(comment[1:], blank.All), word)
	if !ok || rest != "" && !blank.Is(rest[0]) {
		return nil, false
	}
	separates := func(c rune) bool { return c == ',' || strings.ContainsRune(blank.All, c) }
	return strings.FieldsFunc(strings.Clone(rest), separates), true
}

// readComment reads a line that begins with #.
func (r *reader) readComment(l line) {
	if len(l.parts) > 1 {
		r.reportProblem(l, l.parts[1].at, &Problem{
			Severity: Note, Code: "continued-comment",
			Msg: "this line is part of the comment above, which ends in a backslash",
		})
	}
	if codes, ok := wordsAfter(ignoreWord, l.text); ok {
		if len(codes) == 0 {
			r.reportProblem(l, len(l.text), &Problem{
				Severity: Note, Code: "ignored-nothing", Msg: "no code follows pmdaderived:ignore",
			})
		}
		isCode := func(word string) bool { return strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" }
		if r.areAll(l, ignoreWord, codes, isCode, "code: this line ignores nothing") {
			r.ignored = append(r.ignored, codes...)
		}
		return
	}
	if names, ok := wordsAfter(maskWord, l.text); ok {
		r.readMask(l, names)
		return
	}
	rest, ok := strings.CutPrefix(l.text, controlWord)
	if !ok || rest == "" || !blank.Is(rest[0]) {
		return
	}
	at := l.skipBlanks(len(controlWord))
	option, value, ok := strings.Cut(rest, "=")
	option = strings.Trim(option, blank.All)
	value = strings.Trim(value, blank.All)
	if !ok || option == "" || strings.ContainsAny(option, blank.All) || l.tooLong {
		r.reportProblem(l, at, &Problem{
			Severity: Note, Code: "control-line", Msg: "control line without option=value is treated as a comment",
		})
		return
	}
	if r.addMark(l, at) {
		r.out.Controls = append(r.out.Controls, Control{Option: option, Value: value, Pos: r.position(l, at)})
	}
}

// areAll reports whether a function is true of all words after the first one of a comment, and reports an error at the
// one of which it is not: that may be the first of a remark, whose words mean something else.
func (r *reader) areAll(l line, first string, words []string, valid func(string) bool, not string) bool {
	at := strings.Index(l.text, first) + len(first)
	for _, word := range words {
		at += strings.Index(l.text[at:], word)
		if !valid(word) {
			r.reportError(l, at, "", "%q is not a valid %s; write remarks on a line of their own", Clip(word), not)
			return false
		}
		at += len(word)
	}
	return true
}

// addMark counts a mask or a control line at an offset of a line's text. It reports whether there may be one more, and
// the first one that there may not be.
func (r *reader) addMark(l line, at int) bool {
	if r.marks++; r.marks == MaxMarks+1 {
		r.reportError(l, at, "", "more than %d masks and control lines in this file; the rest has no effect", MaxMarks)
	}
	return r.marks <= MaxMarks
}

// readMask adds the masks of a comment. A name may be one that clients see, and a.b.* means what a.b means. A word
// without a dot is a name only if it is the first one: of a remark in plain words, none may mask a whole subtree.
func (r *reader) readMask(l line, names []string) {
	nothing := func(msg string) *Problem { return &Problem{Severity: Warning, Code: masksNothing, Msg: msg} }
	if len(names) == 0 {
		r.reportProblem(l, len(l.text), nothing("no name follows pmdaderived:mask"))
	}
	isName := func(word string) bool { return pdu.LegalName(strings.TrimSuffix(word, ".*")) }
	mayFollow := func(word string) bool { return word == names[0] || strings.Contains(word, ".") }
	if !r.areAll(l, maskWord, names, isName, "name: this line masks nothing") || !r.areAll(l, maskWord, names, mayFollow,
		"name behind another one, because it has no dot: this line masks nothing") {
		return
	}
	at := strings.Index(l.text, maskWord) + len(maskWord)
	for _, name := range names {
		at += strings.Index(l.text[at:], name)
		if !r.addMark(l, at) {
			return
		}
		unused := nothing("masks nothing: no directory before this one has a definition " + name + " or below it")
		r.setPosition(l, at, unused)
		r.addMask(strings.TrimPrefix(strings.TrimSuffix(name, ".*"), "derived."), unused)
		at += len(name)
	}
}

func (r *reader) position(l line, offset int) Position {
	part, column := l.locate(offset)
	return Position{File: r.file, Line: part.number, Column: column}
}

// reportError adds an error at an offset of a line's text. name is the definition; "": none.
func (r *reader) reportError(l line, offset int, name, format string, args ...any) {
	r.reportProblem(l, offset, &Problem{Msg: fmt.Sprintf(format, args...), Name: name})
}

// reportProblem adds a problem at an offset of a line's text.
func (r *reader) reportProblem(l line, offset int, p *Problem) {
	r.problems++
	if r.problems > MaxProblems {
		return
	}
	if r.problems == MaxProblems {
		p = &Problem{
			Severity: Note, Code: "more-problems",
			Msg: fmt.Sprintf("more than %d problems in this file; the rest is not shown", MaxProblems-1),
		}
	}
	r.setPosition(l, offset, p)
	r.out.Problems = append(r.out.Problems, p)
}

// setPosition gives a problem its position, at an offset of a line's text.
func (r *reader) setPosition(l line, offset int, p *Problem) {
	at, column := l.locate(offset)
	p.Pos = Position{File: r.file, Line: at.number, Column: column}
	p.Excerpt = NewExcerpt(at.source, column)
	p.Msg = printable.Escaped(p.Msg)
}
