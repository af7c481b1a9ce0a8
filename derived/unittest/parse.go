package unittest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pmdaderived/config"
	"pmdaderived/pdu"
)

// MaxProblems is how many problems of one file are told.
const MaxProblems = 100

// Parse reads the text of a file. With problems there is no file to run.
func Parse(path string, content []byte) (*File, []*config.Problem) {
	p := &parser{
		file: &File{Path: path}, shared: newDeclared(), interval: defaultInterval, names: map[string]int{},
	}
	for _, s := range p.lines(string(content)) {
		p.statement(s)
	}
	for _, t := range p.file.Tests {
		p.complete(t)
	}
	if len(p.problems) > 0 {
		slices.SortStableFunc(p.problems, func(x, y *config.Problem) int { return x.Pos.Line - y.Pos.Line })
		return nil, p.problems
	}
	return p.file, nil
}

// parser reads one file.
type parser struct {
	file     *File
	problems []*config.Problem

	shared   *declared
	interval time.Duration
	test     *Test          // that what is indented belongs to
	names    map[string]int // of tests, and the lines they are in
	ids      int            // metrics so far
}

// report adds a problem.
func (p *parser) report(at place, msg string) {
	if len(p.problems) == MaxProblems {
		return
	}
	problem := &config.Problem{Pos: at.position(p.file.Path), Msg: msg}
	problem.Line, problem.Caret = config.Excerpt(at.source, at.column)
	p.problems = append(p.problems, problem)
}

func (p *parser) statement(s statement) {
	keyword, rest := s.words[0], s.words[1:]
	name := keyword.text
	if name == "test" && !s.indented {
		p.begin(keyword, rest)
		return
	}
	inFile, inTest := p.readers(name)
	switch {
	case inTest == nil && inFile == nil:
		p.report(keyword.at, fmt.Sprintf("%s: no statement; there are definitions, interval, metric, indom and test, "+
			"and in a test given, expect, metadata, error, without, times, interval, metric and indom", config.Clip(name)))
	case s.indented && inTest == nil:
		p.report(keyword.at, name+" belongs to the file, not to a test: put it at the beginning of a line")
	case s.indented && p.test == nil:
		p.report(keyword.at, "no test to belong to: what is indented stands below one")
	case s.indented:
		inTest(keyword, rest)
	case inFile == nil:
		p.report(keyword.at, name+" belongs to a test: indent it below one")
	default:
		inFile(keyword, rest)
	}
}

// reader reads a statement.
type reader = func(keyword token, words []token)

// readers are what reads a statement of the file and of the test that has begun, each nil where there is no such.
func (p *parser) readers(name string) (inFile, inTest reader) {
	switch name {
	case "definitions":
		return p.definitions, nil
	case "interval":
		return p.fileInterval, func(k token, words []token) { p.pause(k, words, &p.test.interval) }
	case "metric":
		return func(k token, words []token) { p.metric(p.shared, k, words) }, func(k token, words []token) { p.metric(p.test.own, k, words) }
	case "indom":
		return func(k token, words []token) { p.indom(p.shared, k, words) }, func(k token, words []token) { p.indom(p.test.own, k, words) }
	case "times":
		return nil, p.times
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

func (p *parser) fileInterval(keyword token, words []token) {
	if p.pause(keyword, words, &p.interval) && len(p.file.Tests) > 0 {
		p.report(keyword.at, "interval comes before the tests, or belongs to one")
	}
}

// begin begins a test.
func (p *parser) begin(keyword token, words []token) {
	p.test = &Test{
		Pos: keyword.at.position(p.file.Path), interval: p.interval, shared: p.shared, own: newDeclared(),
		given: newTargets(), expect: newTargets(),
	}
	p.file.Tests = append(p.file.Tests, p.test)
	if !p.more(keyword, words, "a title") {
		return
	}
	title := words[0]
	if !p.utf8(title) || !p.end(words[1:]) {
		return
	}
	p.test.Name = title.text
	if line := p.names[title.text]; line > 0 {
		p.report(title.at, fmt.Sprintf("there is a test of that title in line %d", line))
	}
	p.names[title.text] = keyword.at.line
}

// more reports whether there is a word; what says what should be.
func (p *parser) more(before token, words []token, what string) bool {
	if len(words) == 0 {
		p.report(before.at.right(len(before.text)), what+" missing")
	}
	return len(words) > 0
}

// end reports whether there is no word left.
func (p *parser) end(words []token) bool {
	if len(words) > 0 {
		p.report(words[0].at, "unexpected "+config.Clip(words[0].text))
	}
	return len(words) == 0
}

func (p *parser) definitions(keyword token, words []token) {
	p.more(keyword, words, "path")
	for _, w := range words {
		if path, ok := p.unquoted(w); ok {
			p.file.Definitions = append(p.file.Definitions, path)
		}
	}
}

// pause reads an interval.
func (p *parser) pause(keyword token, words []token, into *time.Duration) bool {
	if !p.more(keyword, words, "time") || !p.end(words[1:]) {
		return false
	}
	d, err := parseTime(words[0].text)
	switch {
	case err != nil:
		p.report(words[0].at, err.Error())
	case d == 0:
		p.report(words[0].at, "samples are some time apart")
	default:
		*into = d
	}
	return err == nil
}

func (p *parser) times(keyword token, words []token) {
	p.more(keyword, words, "time")
	for _, w := range words {
		d, err := parseTime(w.text)
		switch n := len(p.test.times); {
		case err != nil:
			p.report(w.at, err.Error())
			return
		case n > 0 && d <= p.test.times[n-1]:
			p.report(w.at, "each time is later than the one before")
			return
		}
		p.test.times = append(p.test.times, d)
	}
}

func (p *parser) name(w token) bool {
	ok := config.LegalName(w.text)
	if !ok {
		p.report(w.at, config.Clip(w.text)+": no name of a metric")
	}
	return ok
}

// metric reads a metric of the collector.
func (p *parser) metric(into *declared, keyword token, words []token) {
	if !p.more(keyword, words, "name of a metric") || !p.name(words[0]) {
		return
	}
	name, rest := words[0], words[1:]
	o := &operand{name: name.text, at: name.at}
	if len(rest) == 1 && codeForm.MatchString(rest[0].text) {
		c, err := pdu.ParseCode(rest[0].text)
		if err != nil {
			p.report(rest[0].at, rest[0].text+": no error of PCP")
			return
		}
		o.code = c
	} else if !p.desc(name, rest, &o.desc) {
		return
	}
	o.desc.PMID = pdu.NewPMID(1+p.ids>>10, 0, p.ids&(1<<10-1))
	p.ids++
	p.declare(into, o)
}

func (p *parser) declare(into *declared, o *operand) {
	if p.ids >= maxMetrics {
		p.report(o.at, fmt.Sprintf("more than %d metrics", maxMetrics))
		return
	}
	if first := into.metrics[o.name]; first != nil {
		p.report(o.at, fmt.Sprintf("%s is there already, in line %d", o.name, first.at.line))
		return
	}
	into.metrics[o.name] = o
}

// maxMetrics is how many metrics a file can declare.
const maxMetrics = 100_000

// without reads names of metrics that the collector lacks.
func (p *parser) without(keyword token, words []token) {
	p.more(keyword, words, "name of a metric")
	for _, w := range words {
		if p.name(w) {
			p.declare(p.test.own, &operand{name: w.text, missing: true, at: w.at})
		}
	}
}

// desc reads metadata: type, semantics, units and instance domain.
func (p *parser) desc(before token, words []token, into *pdu.Desc) bool {
	into.PMID, into.InDom = pdu.NoPMID, pdu.NoInDom
	if !p.more(before, words, "type") {
		return false
	}
	known := false
	for t := pdu.Type32; t <= pdu.TypeAggregateStatic; t++ {
		if strings.EqualFold(words[0].text, t.String()) {
			into.Type, known = t, true
		}
	}
	if !known {
		p.report(words[0].at, config.Clip(words[0].text)+": no type; there are 32, U32, 64, U64, FLOAT, DOUBLE, STRING and AGGREGATE")
		return false
	}
	if !p.more(words[0], words[1:], "semantics") {
		return false
	}
	for _, s := range []pdu.Semantics{pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete} {
		if strings.EqualFold(words[1].text, s.String()) {
			into.Sem = s
		}
	}
	if into.Sem == 0 {
		p.report(words[1].at, config.Clip(words[1].text)+": no semantics; there are counter, instant and discrete")
		return false
	}
	return p.unitsAndInDom(words[2:], into)
}

// unitsAndInDom reads the end of metadata. Units are as many words as they are; both may be missing.
func (p *parser) unitsAndInDom(words []token, into *pdu.Desc) bool {
	if last := len(words) - 1; last >= 0 {
		if text := words[last].text; text == "singular" {
			words = words[:last]
		} else if d, err := pdu.ParseInDom(text); err == nil && strings.Contains(text, ".") {
			into.InDom, words = d, words[:last]
		}
	}
	if len(words) == 0 || len(words) == 1 && words[0].text == "none" {
		return true
	}
	var all []string
	for _, w := range words {
		text, ok := p.unquoted(w)
		if !ok {
			return false
		}
		all = append(all, text)
	}
	u, factor, err := pdu.ParseUnits(strings.Join(all, " "))
	if err != nil || factor != 1 {
		p.report(words[0].at, config.Clip(strings.Join(all, " "))+": no units, no instance domain")
		return false
	}
	into.Units = u
	return true
}

// numbered is an instance with its number: 3:"eth 0".
var numbered = regexp.MustCompile(`^([0-9]{1,9}):(.+)$`)

// indom reads the instances of a domain.
func (p *parser) indom(into *declared, keyword token, words []token) {
	if !p.more(keyword, words, "instance domain") {
		return
	}
	d, err := pdu.ParseInDom(words[0].text)
	if err != nil || d == pdu.NoInDom {
		p.report(words[0].at, config.Clip(words[0].text)+": no instance domain such as 60.1")
		return
	}
	if first := into.indoms[d]; first != nil {
		p.report(words[0].at, fmt.Sprintf("%s is there already, in line %d", d, first.at.line))
		return
	}
	made := &indom{byName: make(map[string]pdu.Inst), at: words[0].at}
	ids := make(map[pdu.Inst]bool)
	next := pdu.Inst(0)
	for _, w := range words[1:] {
		if m := numbered.FindStringSubmatch(w.text); m != nil {
			n, _ := strconv.Atoi(m[1])
			next = pdu.Inst(n)
			w = token{m[2], w.at.right(len(m[1]) + 1)}
		}
		name, ok := p.unquoted(w)
		if !ok {
			return
		}
		if _, twice := made.byName[name]; twice || ids[next] {
			p.report(w.at, fmt.Sprintf("instance %d or %q is there already", next, name))
			return
		}
		made.instances = append(made.instances, pdu.Instance{ID: next, Name: name})
		made.byName[name], ids[next] = next, true
		next++
	}
	into.indoms[d] = made
}

// series reads the values of a metric or of an instance.
func (p *parser) series(into *targets, keyword token, words []token) {
	if !p.more(keyword, words, "name of a metric") {
		return
	}
	s := &series{at: words[0].at}
	if !p.target(words[0], s) || !p.more(words[0], words[1:], "value") || !p.values(words[1:], s) {
		return
	}
	if known := into.add(s); known != nil {
		p.report(s.at, fmt.Sprintf("there are values already, in line %d", known.at.line))
	}
}

// target reads a name with or without an instance.
func (p *parser) target(w token, s *series) bool {
	var rest string
	s.name = w.text
	if i := strings.IndexByte(w.text, '['); i >= 0 {
		s.name, rest, s.instance = w.text[:i], w.text[i+1:], true
	}
	if !p.name(token{s.name, w.at}) {
		return false
	}
	if !s.instance {
		return true
	}
	if n := enclosed(rest, ']'); n != len(rest) {
		p.report(w.at.right(len(s.name)+1+n), "unexpected text after the instance")
		return false
	}
	s.inst = unescaped(rest[:len(rest)-1])
	return p.utf8(w)
}

func (p *parser) metadata(keyword token, words []token) {
	if !p.more(keyword, words, "name of a definition") || !p.name(words[0]) {
		return
	}
	m := metadata{name: words[0].text, at: words[0].at}
	if p.desc(words[0], words[1:], &m.desc) {
		p.test.descs = append(p.test.descs, m)
	}
}

func (p *parser) error(keyword token, words []token) {
	if !p.more(keyword, words, "name of a definition") || !p.name(words[0]) {
		return
	}
	f := fault{name: words[0].text, at: words[0].at}
	if words = words[1:]; len(words) > 0 {
		var ok bool
		if f.text, ok = p.unquoted(words[0]); !ok || !p.end(words[1:]) {
			return
		}
	}
	p.test.faults = append(p.test.faults, f)
}
