package syntax

import (
	"slices"
	"strconv"
	"strings"
)

// Largest numbers of an instance domain, domain and serial, which have 9 and 22 bits on the wire. The domain
// 511 is not accepted: it belongs to libpcp's derived metrics, which have no instance domains of their own.
const (
	maxDomain = 1<<9 - 2
	maxSerial = 1<<22 - 1
)

// tag = KEY "=" ( STRING | NAME | INTEGER ), or a DOUBLE if the key is indom.
//
// meta and indom are keys only in a tag. PCP 6.0.3 does not have them, so there may be metrics with these names.
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
	p.checkTag(t) // before the next token is read: its mistake would come later
	p.advance()
	return t
}

// atNewKey reports whether the current token is a key that PCP 7 introduced.
func (p *parser) atNewKey() bool {
	return p.tok.kind == tokName && (p.tok.text == "meta" || p.tok.text == "indom")
}

// checkTag fails if the value of a tag is wrong for its key. The value is the current token.
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

// lastType returns the value of the last type tag, "" if there is none.
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

// isAnonType reports whether s is a type for anon(), in the spelling of pmapi.h: PM_TYPE_U32.
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
