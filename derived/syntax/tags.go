package syntax

import (
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
func (p *parser) tag() (*Tag, error) {
	t := &Tag{Key: p.tok.text}
	if p.tok.kind != tokKey && !p.newKey() {
		return nil, p.refuse()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect(tokAssign); err != nil {
		return nil, err
	}
	t.Value, t.at = p.tok.text, p.tok.at
	switch {
	case p.tok.kind == tokString:
		t.Quoted = true
	case p.tok.kind == tokName, p.tok.kind == tokInt, p.tok.kind == tokDouble && t.Key == "indom":
	default:
		return nil, p.refuse()
	}
	if err := p.judge(t); err != nil { // before the next token is read: this mistake comes first
		return nil, err
	}
	return t, p.advance()
}

// newKey reports whether the current token is a key that PCP 7 introduced.
func (p *parser) newKey() bool {
	return p.tok.kind == tokName && (p.tok.text == "meta" || p.tok.text == "indom")
}

// judge refuses a tag, being the current token, whose value is none for its key.
func (p *parser) judge(t *Tag) error {
	good := false
	switch t.Key {
	case "type":
		good = isType(t.Value)
	case "semantics":
		switch strings.ToLower(t.Value) {
		case "counter", "instant", "discrete":
			good = true
		}
	case "units":
		return p.judgeUnits(t.Value)
	case "meta":
		if !isMetric(t.Value) {
			return p.refuse()
		}
		good = true
	case "indom":
		if !isInDom(t.Value) {
			return p.fail("Illegal indom: '" + t.Value + "'")
		}
		good = true
	}
	if !good {
		return p.fail(unrecognized(t.Key, t.Value))
	}
	return nil
}

func (p *parser) judgeUnits(text string) error {
	if p.lits.Units == nil {
		return nil
	}
	if err := p.lits.Units(text); err != nil {
		return p.fail("Illegal units: '" + err.Error() + "'")
	}
	return nil
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
	switch strings.ToLower(s) {
	case "32", "u32", "64", "u64", "float", "double":
		return true
	}
	return false
}

// isAnonType reports whether anon() takes the word. It spells types as pmapi.h does.
func isAnonType(s string) bool {
	switch s {
	case "PM_TYPE_32", "PM_TYPE_U32", "PM_TYPE_64", "PM_TYPE_U64", "PM_TYPE_FLOAT", "PM_TYPE_DOUBLE":
		return true
	}
	return false
}

func isMetric(s string) bool {
	if s == "" || !isLetter(s[0]) {
		return false
	}
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return true
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
