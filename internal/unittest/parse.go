package unittest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pmdaderived/config"
	"pmdaderived/pdu"
)

// Limits of a test file. Reading stops at the first one that is exceeded.
const (
	MaxFileSize = 4 << 20 // bytes
	MaxProblems = 100     // reported
	maxTests    = 10_000
	maxMetrics  = 100_000
	maxValues   = 200_000 // given and expected, a repeated one counts once
)

// Parse parses a test file. It returns a File or problems.
func Parse(path string, content []byte) (*File, []*config.Problem) {
	p := &parser{
		file: &File{Path: path}, shared: newDeclarations(), interval: defaultInterval, names: map[string]int{},
		paths: map[string]bool{},
	}
	if len(content) > MaxFileSize {
		return nil, []*config.Problem{{
			Pos: config.Position{File: path}, Msg: fmt.Sprintf("the file is larger than %d bytes", MaxFileSize),
		}}
	}
	p.statements(string(content))
	for _, t := range p.file.Tests {
		p.completeTest(t)
	}
	if len(p.file.Tests)+len(p.problems) == 0 {
		p.problems = append(p.problems, &config.Problem{Pos: config.Position{File: path}, Msg: "the file has no test"})
	}
	if len(p.problems) > 0 {
		slices.SortStableFunc(p.problems, func(x, y *config.Problem) int { return x.Pos.Line - y.Pos.Line })
		return nil, p.problems
	}
	return p.file, nil
}

// parser parses one file.
type parser struct {
	file     *File
	problems []*config.Problem

	shared      *declarations
	interval    time.Duration
	intervalAt  sourcePos       // position of the interval statement
	test        *Test           // the present test
	names       map[string]int  // line of each test, by title
	paths       map[string]bool // of definitions, those of file.Definitions
	metricCount int             // number of metrics so far
	valueCount  int             // number of values so far
}

// report adds a problem. The first ones are enough: many that follow come from these.
func (p *parser) report(pos sourcePos, msg string) {
	if len(p.problems) == MaxProblems {
		return
	}
	problem := &config.Problem{Pos: pos.inFile(p.file.Path), Msg: msg}
	problem.Excerpt = config.NewExcerpt(pos.source, pos.column)
	p.problems = append(p.problems, problem)
}

// statement reads a statement. The same word can mean different things in the file and in a test, so indentation
// decides.
func (p *parser) statement(s statement) {
	if len(s.words) == 0 {
		return
	}
	keyword, rest := s.words[0], s.words[1:]
	name := keyword.text
	if name == "test" && !s.indented {
		p.startTest(keyword, rest)
		return
	}
	inFile, inTest := p.readers(name)
	switch {
	case inTest == nil && inFile == nil:
		p.report(keyword.pos, fmt.Sprintf("%s is not a statement; the statements are definitions, interval, metric, "+
			"indom, label and test, and in a test given, expect, metadata, error, without, start, times, fetches, "+
			"interval, metric, indom and label",
			config.Clip(name)))
	case s.indented && inTest == nil:
		p.report(keyword.pos, name+" applies to the whole file, not to a test: do not indent it")
	case s.indented && p.test == nil:
		p.report(keyword.pos, "an indented statement belongs to a test, and there is no test above it")
	case s.indented:
		inTest(keyword, rest)
	case inFile == nil:
		p.report(keyword.pos, name+" belongs to a test: indent it below the test")
	default:
		inFile(keyword, rest)
	}
}

// reader reads a statement.
type reader = func(keyword token, words []token)

// readers returns the readers of a statement in the file and in a test, nil where the statement is not valid.
func (p *parser) readers(name string) (inFile, inTest reader) {
	switch name {
	case "definitions":
		return p.definitions, nil
	case "interval":
		return p.fileInterval,
			func(k token, words []token) { p.parseInterval(k, words, &p.test.interval, &p.test.intervalAt) }
	case "metric":
		return func(k token, words []token) { p.metric(p.shared, k, words) },
			func(k token, words []token) { p.metric(p.test.own, k, words) }
	case "indom":
		return func(k token, words []token) { p.indom(p.shared, k, words) },
			func(k token, words []token) { p.indom(p.test.own, k, words) }
	case "label":
		return func(k token, words []token) { p.label(p.shared, k, words) },
			func(k token, words []token) { p.label(p.test.own, k, words) }
	case "start":
		return nil, p.start
	case "times":
		return nil, func(k token, words []token) { p.times(k, words, &p.test.times) }
	case "fetches":
		return nil, func(k token, words []token) { p.test.fetchesAt = k.pos; p.times(k, words, &p.test.fetches) }
	case "without":
		return nil, p.without
	case "given":
		return nil, func(k token, words []token) { p.series(&p.test.given, k, words) }
	case "expect":
		return nil, func(k token, words []token) { p.series(&p.test.expect, k, words) }
	case "metadata":
		return nil, p.metadata
	case "error":
		return nil, p.error
	}
	return nil, nil
}

// fileInterval reads the interval of all tests. A test has it from its beginning, so it comes before them.
func (p *parser) fileInterval(keyword token, words []token) {
	if p.parseInterval(keyword, words, &p.interval, &p.intervalAt) && len(p.file.Tests) > 0 {
		p.report(keyword.pos, "interval must come before the first test, or be indented below a test")
	}
}

// startTest reads a test statement.
func (p *parser) startTest(keyword token, words []token) {
	p.test = &Test{
		Pos: keyword.pos.inFile(p.file.Path), interval: p.interval, start: epoch, shared: p.shared, own: newDeclarations(),
		given: newTargets(), expect: newTargets(),
	}
	if len(p.file.Tests) == maxTests {
		p.report(keyword.pos, fmt.Sprintf("more than %d tests", maxTests))
		return
	}
	p.file.Tests = append(p.file.Tests, p.test)
	if !p.expectWord(keyword, words, "a title") {
		return
	}
	title := words[0]
	if !p.utf8(title) || !p.expectEnd(words[1:]) {
		return
	}
	p.test.Name = title.text
	if line := p.names[title.text]; line > 0 {
		p.report(title.pos, fmt.Sprintf("the test in line %d has the same title", line))
	}
	p.names[title.text] = keyword.pos.line
}

// expectWord reports whether there is another word. noun describes the missing word.
func (p *parser) expectWord(before token, words []token, noun string) bool {
	if len(words) == 0 {
		p.report(before.pos.right(len(before.text)), noun+" missing")
	}
	return len(words) > 0
}

// expectEnd reports whether there are no more words.
func (p *parser) expectEnd(words []token) bool {
	if len(words) > 0 {
		p.report(words[0].pos, "unexpected "+config.Clip(words[0].text))
	}
	return len(words) == 0
}

func (p *parser) definitions(keyword token, words []token) {
	p.expectWord(keyword, words, "path")
	for _, w := range words {
		path, ok := p.unquoted(w)
		switch {
		case !ok:
		case p.paths[path]:
			p.report(w.pos, config.Clip(path)+" is already named")
		default:
			p.paths[path] = true
			p.file.Definitions = append(p.file.Definitions, path)
		}
	}
}

// parseInterval reads an interval. first is the position of an earlier statement, and gets that of this one.
func (p *parser) parseInterval(keyword token, words []token, into *time.Duration, first *sourcePos) bool {
	if first.line > 0 {
		p.report(keyword.pos, fmt.Sprintf("there is already an interval in line %d", first.line))
		return false
	}
	*first = keyword.pos
	if !p.expectWord(keyword, words, "time") || !p.expectEnd(words[1:]) {
		return false
	}
	d, err := parseTime(words[0].text)
	switch {
	case err != nil:
		p.report(words[0].pos, err.Error())
	case d == 0:
		p.report(words[0].pos, "the interval must be longer than 0")
	default:
		*into = d
	}
	return err == nil
}

// start reads the time at which a test begins, in seconds since 1970.
func (p *parser) start(keyword token, words []token) {
	if !p.expectWord(keyword, words, "seconds since 1970") || !p.expectEnd(words[1:]) {
		return
	}
	d, err := parseTime(words[0].text)
	switch {
	case err != nil:
		p.report(words[0].pos, err.Error())
	case !p.test.start.Equal(epoch):
		p.report(keyword.pos, "the test already has a start")
	}
	p.test.start = epoch.Add(d)
}

// times reads times in ascending order, as samples have them.
func (p *parser) times(keyword token, words []token, into *[]time.Duration) {
	p.expectWord(keyword, words, "time")
	for _, w := range words {
		d, err := parseTime(w.text)
		switch n := len(*into); {
		case err != nil:
			p.report(w.pos, err.Error())
			return
		case n > 0 && d <= (*into)[n-1]:
			p.report(w.pos, "each time must be later than the one before it")
			return
		}
		*into = append(*into, d)
	}
}

func (p *parser) name(w token) bool {
	ok := pdu.LegalName(w.text)
	if !ok {
		p.report(w.pos, config.Clip(w.text)+" is not a valid metric name")
	}
	return ok
}

// metadata reads the expected metadata of a definition. Labels are JSON, whose words are one text again.
func (p *parser) metadata(keyword token, words []token) {
	if !p.expectWord(keyword, words, "name of a definition") || !p.name(words[0]) {
		return
	}
	m := metadataCheck{name: words[0].text, pos: words[0].pos}
	if i := slices.IndexFunc(words, func(w token) bool { return w.text[0] == '{' }); i >= 0 {
		var texts []string
		for _, w := range words[i:] {
			texts = append(texts, w.text)
		}
		var err error
		if m.labels, _, err = config.ParseLabels(strings.Join(texts, " ")); err != nil {
			p.report(words[i].pos, err.Error())
			return
		}
		words = words[:i]
	}
	if p.desc(words[0], words[1:], &m.desc) {
		p.test.metadata = append(p.test.metadata, m)
	}
}

// error reads the expected error of a definition. Without a text any error will do.
func (p *parser) error(keyword token, words []token) {
	if !p.expectWord(keyword, words, "name of a definition") || !p.name(words[0]) {
		return
	}
	f := errorCheck{name: words[0].text, pos: words[0].pos}
	if words = words[1:]; len(words) > 0 {
		var ok bool
		if f.text, ok = p.unquoted(words[0]); !ok || !p.expectEnd(words[1:]) {
			return
		}
	}
	p.test.errors = append(p.test.errors, f)
}
