package config

import (
	"fmt"
	"strings"

	"pmdaderived/internal/blank"
)

// The attributes.
const (
	attrOneLine = "oneline"
	attrHelp    = "helptext"
	attrLabels  = "labels"
)

// readAttribute reads a line NAME(ATTR)=text. paren and equals are offsets in its text. It ignores the text between )
// and =, as libpcp does.
func (r *reader) readAttribute(l line, name string, start, paren, equals int) {
	inside := l.text[paren+1 : equals]
	end := strings.IndexByte(inside, ')')
	if end < 0 {
		r.reportError(l, paren, name, "missing ')' after attribute")
		return
	}
	attr := strings.Trim(inside[:end], blank.All)
	if attr == "" {
		r.reportError(l, paren+1, name, "attribute name missing")
		return
	}
	attrAt := l.skipBlanks(paren + 1)

	valueAt := l.skipBlanks(equals + 1)
	if valueAt == len(l.text) {
		r.reportError(l, equals+1, name, "attribute value missing")
		return
	}
	text := l.text[valueAt:]
	quoted := text[0] == '"' || text[0] == '\''
	if quoted {
		var ok bool
		if text, ok = r.readQuoted(l, name, valueAt); !ok {
			return
		}
	} else {
		text = strings.Clone(text) // a substring would keep the whole file in memory
	}

	entry := r.names[name]
	if entry == nil {
		r.reportError(l, start, name, "cannot set attribute, derived metric (%s) not defined", name)
		return
	}
	given, at := &entry.definition.OneLine, &entry.oneLine
	switch attr {
	case attrOneLine:
	case attrHelp:
		given, at = &entry.definition.Help, &entry.help
	case attrLabels:
		given, at = &entry.definition.Labels, &entry.labels
	default:
		r.reportError(l, attrAt, name, "attribute (%s) is unknown for metric (%s)", Clip(attr), name)
		return
	}
	if *given != nil && at.generation == r.generation {
		r.reportError(l, attrAt, name, "duplicate value for attribute (%s) of metric (%s)", attr, name)
		return
	}
	if _, p := checkText(text); p != nil {
		p.Name = name
		r.reportProblem(l, valueAt, p)
		if p.Severity == Error {
			return
		}
	}
	if attr == attrLabels {
		labels, offset, err := ParseLabels(text)
		if err != nil {
			if !quoted { // in quotes a byte of the text can be anywhere, because of escapes
				valueAt += offset
			}
			r.reportProblem(l, valueAt, &Problem{Msg: err.Error(), Name: name, Err: err})
			return
		}
		for _, own := range []string{"instance", "job"} {
			if strings.Contains(labels, `"`+own+`":`) {
				r.reportProblem(l, attrAt, &Problem{
					Severity: Warning, Code: "scrape-label", Name: name, Msg: "Prometheus gives each series a label " + own +
						" itself, and renames this one or lets it take the place of that",
				})
			}
		}
		text = labels
		entry.definition.LabelsPos = r.position(l, attrAt)
	}
	if *given != nil && **given != text {
		r.reportProblem(l, attrAt, &Problem{
			Severity: Note, Code: "replaced-text", Msg: "replaces the text at " + at.pos.String(), Name: name, Replaced: at.pos,
		})
	}
	entry.definition.Secret = entry.definition.Secret || r.secret
	*given = &text
	*at = origin{generation: r.generation, pos: r.position(l, attrAt)}
}

// readQuoted reads a text that begins with the quote at an offset of l. The text may continue on the lines after l,
// or end before the end of l if l has continuation lines. false: the text has no end.
func (r *reader) readQuoted(l line, name string, offset int) (string, bool) {
	part, column := l.locate(offset)
	if column == len(part.source) { // a quote alone: libpcp does not read on in the next line
		r.reportError(l, offset, name, "attribute value missing")
		return "", false
	}
	r.scan.rewind(part, column)
	text, ok := r.scan.quoted()
	if !ok {
		r.complete = false
		r.reportError(l, offset, name, "missing termination (%c) for value", l.text[offset])
		return "", false
	}
	rest := r.scan.line()
	if extra := rest.skipBlanks(0); extra < len(rest.text) {
		msg := fmt.Sprintf("extra text (%s) after attribute value will be ignored", Clip(rest.text[extra:]))
		r.reportProblem(rest, extra, &Problem{Severity: Warning, Code: "extra-text", Msg: msg, Name: name})
	}
	if len(text) > MaxLine {
		r.reportError(l, offset, name, "text longer than %d bytes", MaxLine)
		return "", false
	}
	return text, true
}
