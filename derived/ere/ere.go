package ere

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

// Compile parses a pattern, which ends at its first NUL. Its errors are of type [Error].
func Compile(pattern string) (*Regexp, error) {
	pattern = cString(pattern)
	text, err := translate(pattern)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, ErrSize // the text is well formed, so it is one of Go's limits
	}
	return &Regexp{pattern, re}, nil
}

// Check says what is wrong with a pattern, as [Compile] does.
func Check(pattern string) error {
	_, err := Compile(pattern)
	return err
}

// String returns the pattern.
func (re *Regexp) String() string { return re.pattern }

// MatchString says whether the pattern matches any part of s, be it empty. A NUL ends s.
func (re *Regexp) MatchString(s string) bool { return re.re.MatchString(latin1(cString(s))) }

// cString returns s up to its first NUL.
func cString(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

// latin1 returns s with each byte as the character of that number, so that Go's regexp sees bytes.
// ASCII, as nearly all names are, stays as it is.
func latin1(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return s
	}
	wide := make([]rune, len(s))
	for i := range wide {
		wide[i] = rune(s[i])
	}
	return string(wide)
}
