package syntax

import (
	"slices"
	"strconv"
	"strings"
)

// Ranges of the two halves of an instance domain identifier, whose wire form has 9 and 22 bits. The largest domain
// is that of derived metrics, which have no instance domains of their own.
const (
	maxDomain = 1<<9 - 2
	maxSerial = 1<<22 - 1
)

// tag = KEY "=" ( STRING | NAME | INTEGER ), or a DOUBLE if the key is indom.
//
// Only here are meta and indom keys: PCP 6.0.3 has neither, so metrics may be called that.
func (p *parser) tag() *Tag {
	t := &Tag{Key: p.tok.text}
	if p.tok.kind != tokKey && !p.atNewKey() {
		p.failUnexpected()
	}
	p.advance()
	p.expect(tokAssign)
	t.Value, t.at = p.tok.text, p.tok.at
	switch {
	case p.tok.kind == tokString:
		t.Quoted = true
	case p.tok.kind == tokName, p.tok.kind == tokInt, p.tok.kind == tokDouble && t.Key == "indom":
	default:
		p.failUnexpected()
	}
	p.checkTag(t) // before the next token is read: this mistake comes first
	p.advance()
	return t
}

// atNewKey reports whether the current token is a key that PCP 7 introduced.
func (p *parser) atNewKey() bool {
	return p.tok.kind == tokName && (p.tok.text == "meta" || p.tok.text == "indom")
}

// checkTag refuses a tag, being the current token, whose value is none for its key.
func (p *parser) checkTag(t *Tag) {
	good := true
	switch t.Key {
	case "type":
		good = isType(strings.ToLower(t.Value))
	case "semantics":
		good = slices.Contains([]string{"counter", "instant", "discrete"}, strings.ToLower(t.Value))
	case "units":
		p.checkUnits(t.Value)
	case "meta":
		if !isMetric(t.Value) {
			p.failUnexpected()
		}
	case "indom":
		if !isInDom(t.Value) {
			p.fail("Illegal indom: '" + t.Value + "'")
		}
	}
	if !good {
		p.fail(unrecognized(t.Key, t.Value))
	}
}

func (p *parser) checkUnits(text string) {
	if p.lits.Units == nil {
		return
	}
	if err := p.lits.Units(text); err != nil {
		p.fail("Illegal units: '" + err.Error() + "'")
	}
}

func unrecognized(key, value string) string {
	return "Unrecognized value for " + key + " '" + value + "'"
}

// lastType is the value of the type tag that counts, "" without one.
func (e *Call) lastType() string {
	value := ""
	for t := range e.Tags {
		if t.Key == "type" {
			value = t.Value
		}
	}
	return value
}

func isType(s string) bool {
	return slices.Contains([]string{"32", "u32", "64", "u64", "float", "double"}, s)
}

// isAnonType reports whether anon() takes the word. It spells types as pmapi.h does.
func isAnonType(s string) bool {
	word, ok := strings.CutPrefix(s, "PM_TYPE_")
	return ok && word == strings.ToUpper(word) && isType(strings.ToLower(word))
}

func isMetric(s string) bool {
	return s != "" && isLetter(s[0]) && !strings.ContainsFunc(s, func(r rune) bool { return !isNameRune(r) })
}

func isInDom(s string) bool {
	if strings.EqualFold(s, "null") {
		return true
	}
	domain, serial, ok := strings.Cut(s, ".")
	return ok && isNumber(domain, maxDomain) && isNumber(serial, maxSerial)
}

func isNumber(digits string, limit uint64) bool {
	n, err := strconv.ParseUint(digits, 10, 32)
	return err == nil && n <= limit
}
