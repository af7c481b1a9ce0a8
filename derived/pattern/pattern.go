package pattern

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Regexp is a compiled pattern. Several goroutines may use it at once.
type Regexp struct {
	pattern string
	re      *regexp.Regexp
}

// Compile parses a pattern, which ends at its first NUL. Its error is an [Error].
func Compile(pattern string) (*Regexp, error) {
	pattern = cString(pattern)
	text, err := translate(pattern)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, ErrSize // the text is well formed, so it exceeds one of Go's limits
	}
	re.Longest() // POSIX wants the longest match; Find returns it
	return &Regexp{pattern, re}, nil
}

// Check returns the error of [Compile] for a pattern.
func Check(pattern string) error {
	_, err := Compile(pattern)
	return err
}

// String returns the pattern.
func (re *Regexp) String() string { return re.pattern }

// MatchString reports whether the pattern matches any part of s, also an empty one. A NUL ends s.
func (re *Regexp) MatchString(s string) bool { return re.re.MatchString(latin1(cString(s))) }

// Find returns a part of the leftmost longest match in s: the part of the first sub-expression in parentheses that
// matched, or the whole match if there is none. It returns "" if the pattern does not match. A NUL ends s.
func (re *Regexp) Find(s string) string {
	s = cString(s)
	wide := latin1(s)
	found := re.find(wide)
	if len(wide) == len(s) {
		return found
	}
	narrow := make([]byte, 0, len(found))
	for _, r := range found {
		narrow = append(narrow, byte(r))
	}
	return string(narrow)
}

func (re *Regexp) find(s string) string {
	if re.re.NumSubexp() == 0 {
		return re.re.FindString(s)
	}
	at := re.re.FindStringSubmatchIndex(s)
	if at == nil {
		return ""
	}
	for k := 2; k < len(at); k += 2 {
		if at[k] >= 0 {
			return s[at[k]:at[k+1]]
		}
	}
	return s[at[0]:at[1]]
}

// cString returns s up to its first NUL.
func cString(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

// latin1 returns s with each byte as the character of that number, so that a character of Go's regexp is a byte.
// It returns ASCII, as nearly all names are, unchanged.
func latin1(s string) string {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii {
		return s
	}
	wide := make([]rune, len(s))
	for i := range wide {
		wide[i] = rune(s[i])
	}
	return string(wide)
}
