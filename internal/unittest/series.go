package unittest

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
)

// maxSamples is the largest number of samples in a test, which x and a count can ask for in one word.
const maxSamples = 1_000_000

// series has the values of a metric, or of one instance, over the samples of a test. A value that is repeated is one
// item.
type series struct {
	name string
	part
	items   []item
	pos     sourcePos // position of the metric's name
	fetches bool      // an item has a time
}

// item returns the item for a sample, nil if there is none.
func (s *series) item(sample int) *item {
	if s == nil {
		return nil
	}
	i := sort.Search(len(s.items), func(i int) bool { return s.items[i].end > sample })
	if i == len(s.items) || s.items[i].first > sample {
		return nil
	}
	return &s.items[i]
}

// label returns the name of the metric, with the instance.
func (s *series) label() string {
	if s.instance {
		return s.name + "[" + s.inst + "]"
	}
	return s.name
}

// target has all series of a metric.
type target struct {
	name   string    // without the root
	series []*series // at least one
	byPart map[part]*series
}

// part is one instance of a metric, or the whole metric.
type part struct {
	inst     string
	instance bool // inst is valid
}

func (t *target) whole() *series { return t.byPart[part{}] }

func (t *target) instance(name string) *series { return t.byPart[part{name, true}] }

// targets has the series in the order of the file, and by metric.
type targets struct {
	series   []*series
	byMetric []*target
	byName   map[string]*target
}

func newTargets() targets { return targets{byName: map[string]*target{}} }

// add adds a series. If there is one of the same part, which would leave open what counts, add returns that instead.
func (t *targets) add(s *series) (known *series) {
	to := t.byName[derived.ShortName(s.name)]
	if to == nil {
		to = &target{name: derived.ShortName(s.name), byPart: map[part]*series{}}
		t.byName[to.name] = to
		t.byMetric = append(t.byMetric, to)
	}
	if known := to.byPart[s.part]; known != nil {
		return known
	}
	to.byPart[s.part] = s
	to.series, t.series = append(to.series, s), append(t.series, s)
	return nil
}

// series reads a given or expect statement.
func (p *parser) series(into *targets, keyword token, words []token) {
	if !p.expectWord(keyword, words, "name of a metric") {
		return
	}
	s := &series{pos: words[0].pos}
	if !p.target(words[0], s) || !p.expectWord(words[0], words[1:], "value") || !p.values(words[1:], s) {
		return
	}
	if known := into.add(s); known != nil {
		p.report(s.pos, fmt.Sprintf("these values are already in line %d", known.pos.line))
	}
}

// target reads a name with or without an instance.
func (p *parser) target(w token, s *series) bool {
	var rest string
	s.name = w.text
	if i := strings.IndexByte(w.text, '['); i >= 0 {
		s.name, rest, s.instance = w.text[:i], w.text[i+1:], true
	}
	if !p.name(token{s.name, w.pos}) {
		return false
	}
	if !s.instance {
		return true
	}
	if n := enclosed(rest, ']'); n != len(rest) {
		p.report(w.pos.right(len(s.name)+1+n), "unexpected text after the instance")
		return false
	}
	s.inst = syntax.Unescape(rest[:len(rest)-1])
	return p.utf8(w)
}

// values reads the values of a series.
func (p *parser) values(words []token, s *series) bool {
	var when *time.Duration
	for _, w := range words {
		switch {
		case w.text == "..." && when == nil && len(s.items) > 0 && s.items[len(s.items)-1].count == 1:
			s.items[len(s.items)-1].count = endless
			continue
		case w.text[0] == '@':
			t, err := parseTime(w.text[1:])
			if err != nil {
				p.report(w.pos.right(1), err.Error())
				return false
			}
			when, s.fetches = &t, true
			continue
		}
		if p.valueCount++; p.valueCount > maxValues {
			p.report(w.pos, fmt.Sprintf("more than %d values in a file: repeat one with x or ...", maxValues))
			return false
		}
		it := item{pos: w.pos, when: when, count: 1}
		when = nil
		if msg := it.parse(w.text); msg != "" {
			p.report(w.pos, msg)
			return false
		}
		if last := len(s.items) - 1; it.when == nil && last >= 0 && s.items[last].count == endless {
			p.report(w.pos, "only a value with a time, such as @10s, can follow ...")
			return false
		}
		s.items = append(s.items, it)
	}
	if when != nil || len(s.items) == 0 {
		last := words[len(words)-1]
		p.report(last.pos.right(len(last.text)), "value missing")
		return false
	}
	return true
}

// parseTime reads "10s", "5m" or a plain number of seconds.
func parseTime(text string) (time.Duration, error) {
	given := text
	if strings.Trim(text, "0123456789.") == "" {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time such as 10s, 5m or 0", given)
	}
	return d, nil
}

// timeText formats a time without zeros at the end: "1m30s", "10m", "0s".
func timeText(d time.Duration) string {
	shown := d.String()
	for _, unit := range []string{"m0s", "h0m"} {
		if short, ok := strings.CutSuffix(shown, unit); ok {
			shown = short + unit[:1]
		}
	}
	return shown
}
