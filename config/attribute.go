package config

import (
	"fmt"
	"strings"
)

// The attributes.
const (
	attrOneLine = "oneline"
	attrHelp    = "helptext"
)

// attribute reads a line NAME(ATTR)=text; paren and equals are offsets of its text. What stands
// between ) and = means nothing to libpcp, nor here.
func (r *reader) attribute(l line, name string, start, paren, equals int) {
	inside := l.text[paren+1 : equals]
	end := strings.IndexByte(inside, ')')
	if end < 0 {
		r.report(l, paren, &Problem{Msg: "missing ')' after attribute", Name: name})
		return
	}
	attr := strings.Trim(inside[:end], blanks)
	if attr == "" {
		r.report(l, paren+1, &Problem{Msg: "attribute name missing", Name: name})
		return
	}
	attrAt := l.skipBlanks(paren + 1)

	valueAt := l.skipBlanks(equals + 1)
	if valueAt == len(l.text) {
		r.report(l, equals+1, &Problem{Msg: "attribute value missing", Name: name})
		return
	}
	text := l.text[valueAt:]
	if text[0] == '"' || text[0] == '\'' {
		var ok bool
		if text, ok = r.quoted(l, name, valueAt); !ok {
			return
		}
	} else {
		text = strings.Clone(text) // a piece of the file would keep all of it in memory
	}

	entry := r.names[name]
	if entry == nil {
		r.report(l, start, &Problem{Msg: "cannot set attribute, derived metric (" + name + ") not defined", Name: name})
		return
	}
	given, at := &entry.definition.OneLine, &entry.oneLine
	switch attr {
	case attrOneLine:
	case attrHelp:
		given, at = &entry.definition.Help, &entry.help
	default:
		r.report(l, attrAt, &Problem{
			Msg:  fmt.Sprintf("attribute (%s) is unknown for metric (%s)", Clip(attr), name),
			Name: name,
		})
		return
	}
	if *given != nil && at.generation == r.generation {
		r.report(l, attrAt, &Problem{
			Msg:  fmt.Sprintf("duplicate value for attribute (%s) of metric (%s)", attr, name),
			Name: name,
		})
		return
	}
	if _, p := checkText(text); p != nil {
		p.Name = name
		r.report(l, valueAt, p)
		if p.Severity == Error {
			return
		}
	}
	if *given != nil && **given != text {
		r.report(l, attrAt, &Problem{
			Severity: Note, Code: "replaced-text", Msg: "replaces the text at " + at.pos.String(), Name: name, Replaced: at.pos,
		})
	}
	*given = &text
	*at = origin{generation: r.generation, pos: r.position(l, attrAt)}
}

// quoted reads a text that begins with the quote at an offset of l, which may go on behind l, or
// end before l does where l ends in a backslash.
func (r *reader) quoted(l line, name string, offset int) (string, bool) {
	part, column := l.locate(offset)
	if column == len(part.source) { // a quote alone; libpcp does not look on the next line
		r.report(l, offset, &Problem{Msg: "attribute value missing", Name: name})
		return "", false
	}
	r.scan.rewind(part, column)
	text, ok := r.scan.quoted()
	if !ok {
		r.complete = false
		r.report(l, offset, &Problem{
			Msg:  fmt.Sprintf("missing termination (%c) for value", l.text[offset]),
			Name: name,
		})
		return "", false
	}
	rest := r.scan.line()
	if extra := rest.skipBlanks(0); extra < len(rest.text) {
		r.report(rest, extra, &Problem{
			Severity: Warning,
			Code:     "extra-text",
			Msg:      fmt.Sprintf("extra text (%s) after attribute value will be ignored", Clip(rest.text[extra:])),
			Name:     name,
		})
	}
	if len(text) > MaxLine {
		r.report(l, offset, &Problem{Msg: fmt.Sprintf("text longer than %d bytes", MaxLine), Name: name})
		return "", false
	}
	return text, true
}
