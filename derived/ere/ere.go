package ere

import (
	"strings"
	"sync"
)

// Regexp is a compiled pattern. Several goroutines may use it at once; they take turns.
type Regexp struct {
	pattern string
	program *program

	mu     sync.Mutex // guards engine
	engine engine
}

// engine decides whether a program matches anywhere in a subject, which ends at its first NUL. It
// remembers things between calls, so there can be only one call at a time.
type engine interface {
	match(subject string) bool
}

// Compile parses a pattern, which ends at its first NUL. Its errors are of type [Error].
func Compile(pattern string) (*Regexp, error) {
	pattern = cString(pattern)
	tree, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	program, err := compile(tree)
	if err != nil {
		return nil, err
	}
	return &Regexp{pattern: pattern, program: program, engine: newEngine(program)}, nil
}

// Check says what is wrong with a pattern, as [Compile] does, for less than it takes to match with it.
func Check(pattern string) error {
	tree, err := parse(cString(pattern))
	if err != nil {
		return err
	}
	_, err = compile(tree)
	return err
}

func newEngine(p *program) engine {
	if p.backrefs {
		return newFiltered(p)
	}
	return newAutomaton(p)
}

// String returns the pattern.
func (re *Regexp) String() string { return re.pattern }

// MatchString says whether the pattern matches any part of s, be it empty. A NUL ends s.
func (re *Regexp) MatchString(s string) bool {
	re.mu.Lock()
	defer re.mu.Unlock()
	return re.engine.match(s)
}

// cString returns s up to its first NUL.
func cString(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}
