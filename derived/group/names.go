package group

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxGroupName is the largest length of a group's name, in bytes.
const maxGroupName = 1024

// groupName returns the name of the group of a key. A number replaces the end of a name that is too long.
func groupName(key string) string {
	name := legalName(key)
	if len(name) <= maxGroupName {
		return name
	}
	return cut(name, maxGroupName, false)
}

// legalName returns a key without what a name cannot have. PCP requires names that are unique up to their first blank,
// so a blank becomes "_". Characters that are not printable, and invalid UTF-8, become "?".
func legalName(key string) string {
	if isPlain(key) { // most are, and strings.Map takes ten times as long
		return key
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return '_'
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, key)
}

// isPlain reports whether a key consists of printable characters of ASCII other than blanks.
func isPlain(key string) bool {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] >= 0x7f {
			return false
		}
	}
	return true
}

// cut returns the beginning of a name, with a number of the whole: together at most so many bytes. It does not cut an
// escape.
func cut(name string, most int, escaped bool) string {
	const digits = "0123456789abcdef"
	end := []byte("#........")
	for i, h := len(end)-1, uint32(hashOf(name)); i > 0; i, h = i-1, h>>4 {
		end[i] = digits[h&15]
	}
	name = strings.ToValidUTF8(name[:most-len(end)], "")
	if at := strings.LastIndexByte(name, '%'); escaped && at >= 0 && at > len(name)-3 {
		name = name[:at]
	}
	return name + string(end)
}

// A name of several keys has a colon between them. Within a key a percent sign and a colon are escaped, so that the keys
// can be read back.
//
//nolint:gochecknoglobals // never changed
var (
	escaper   = strings.NewReplacer("%", "%25", ":", "%3A")
	unescaper = strings.NewReplacer("%25", "%", "%3A", ":")
)

// appendKey appends one of several keys to a name, at most so many bytes.
func appendKey(name []byte, key string, most int) []byte {
	usual := len(key) <= most
	for i := 0; usual && i < len(key); i++ {
		c := key[i]
		usual = c > ' ' && c <= '~' && c != '%' && c != ':'
	}
	if usual {
		return append(name, key...)
	}
	if key = escaper.Replace(legalName(key)); len(key) > most {
		key = cut(key, most, true)
	}
	return append(name, key...)
}

// AppendValues appends the keys of a group by its name, in the order of [Domain.Labels].
func (d Domain) AppendValues(values []string, name string) []string {
	count := strings.Count(d.Label, ",") + 1
	for at := range count {
		values = append(values, keyIn(name, at, count))
	}
	return values
}

// keyIn returns one of the keys in the name of a group: the one at a position, of so many.
func keyIn(name string, at, count int) string {
	if count == 1 {
		return name
	}
	for range at {
		_, name, _ = strings.Cut(name, ":")
	}
	name, _, _ = strings.Cut(name, ":")
	if !strings.Contains(name, "%") {
		return name
	}
	return unescaper.Replace(name)
}
