package unittest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/internal/plural"
	"pmdaderived/pdu"
)

// declarations has the declared metrics and instance domains of the collector.
type declarations struct {
	metrics map[string]*metricDecl
	indoms  map[pdu.InDom]*indomDecl
}

func newDeclarations() *declarations {
	return &declarations{metrics: map[string]*metricDecl{}, indoms: map[pdu.InDom]*indomDecl{}}
}

// metricDecl is a metric of the collector.
type metricDecl struct {
	name    string
	desc    pdu.Desc
	code    pdu.Code // < 0: the error of its descriptor
	missing bool     // declared by without
	pos     sourcePos
}

// indomDecl is an instance domain of the collector. Its instances are in the order of the file.
type indomDecl struct {
	instances []pdu.Instance
	byName    map[string]pdu.Inst
	names     *derived.NameTable
	labels    map[string]map[pdu.Inst]string // of the table
	pos       sourcePos
}

// metric reads a metric statement. A PMID only has to differ from those of the other metrics, as nobody sees it.
func (p *parser) metric(into *declarations, keyword token, words []token) {
	if !p.expectWord(keyword, words, "name of a metric") || !p.name(words[0]) {
		return
	}
	name, rest := words[0], words[1:]
	o := &metricDecl{name: name.text, pos: name.pos}
	if len(rest) == 1 && codeForm.MatchString(rest[0].text) {
		c, err := pdu.ParseCode(rest[0].text)
		if err != nil {
			p.report(rest[0].pos, rest[0].text+" is not a PCP error code")
			return
		}
		o.code = c
	} else if !p.desc(name, rest, &o.desc) {
		return
	}
	o.desc.PMID = pdu.NewPMID(1+p.metricCount>>10, 0, p.metricCount&(1<<10-1))
	p.metricCount++
	p.declare(into, o)
}

func (p *parser) declare(into *declarations, o *metricDecl) {
	if p.metricCount >= maxMetrics {
		p.report(o.pos, fmt.Sprintf("more than %d metrics", maxMetrics))
		return
	}
	if first := into.metrics[o.name]; first != nil {
		p.report(o.pos, fmt.Sprintf("%s is already declared in line %d", o.name, first.pos.line))
		return
	}
	into.metrics[o.name] = o
}

// without reads the names of metrics that the collector does not have, although the file declares them for other tests.
func (p *parser) without(keyword token, words []token) {
	p.expectWord(keyword, words, "name of a metric")
	for _, w := range words {
		if p.name(w) {
			p.declare(p.test.own, &metricDecl{name: w.text, missing: true, pos: w.pos})
		}
	}
}

// desc reads metadata: type, semantics, units and instance domain.
func (p *parser) desc(before token, words []token, into *pdu.Desc) bool {
	into.PMID, into.InDom = pdu.NoPMID, pdu.NoInDom
	if !p.expectWord(before, words, "type") {
		return false
	}
	if into.Type = derived.TypeNamed(words[0].text); into.Type == pdu.TypeUnknown {
		p.report(words[0].pos, config.Clip(words[0].text)+" is not a type; the types are 32, U32, 64, U64, FLOAT, "+
			"DOUBLE, STRING and AGGREGATE")
		return false
	}
	if !p.expectWord(words[0], words[1:], "semantics") {
		return false
	}
	if into.Sem = derived.SemanticsNamed(words[1].text); into.Sem == 0 {
		p.report(words[1].pos, config.Clip(words[1].text)+" is not a valid value of semantics; use counter, instant "+
			"or discrete")
		return false
	}
	return p.unitsAndInDom(words[2:], into)
}

// unitsAndInDom reads units, which may be several words, and the instance domain. Both may be missing.
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
	var texts []string
	for _, w := range words {
		text, ok := p.unquoted(w)
		if !ok {
			return false
		}
		texts = append(texts, text)
	}
	u, factor, err := pdu.ParseUnits(strings.Join(texts, " "))
	if err != nil || factor != 1 { // no descriptor has a factor
		p.report(words[0].pos, config.Clip(strings.Join(texts, " "))+" is neither units nor an instance domain")
		return false
	}
	into.Units = u
	return true
}

// numbered is an instance with its number: 3:"eth 0".
var numbered = regexp.MustCompile(`^([0-9]{1,9}):(.+)$`)

// indom reads an indom statement.
func (p *parser) indom(into *declarations, keyword token, words []token) {
	if !p.expectWord(keyword, words, "instance domain") {
		return
	}
	d, err := pdu.ParseInDom(words[0].text)
	if err != nil || d == pdu.NoInDom {
		p.report(words[0].pos, config.Clip(words[0].text)+" is not an instance domain such as 60.1")
		return
	}
	if first := into.indoms[d]; first != nil {
		p.report(words[0].pos, fmt.Sprintf("%s is already declared in line %d", d, first.pos.line))
		return
	}
	declared := &indomDecl{byName: make(map[string]pdu.Inst), pos: words[0].pos}
	names := make(map[pdu.Inst]string)
	next := pdu.Inst(0)
	for _, w := range words[1:] {
		if m := numbered.FindStringSubmatch(w.text); m != nil {
			n, _ := strconv.Atoi(m[1])
			next = pdu.Inst(n)
			w = token{m[2], w.pos.right(len(m[1]) + 1)}
		}
		name, ok := p.unquoted(w)
		if !ok {
			return
		}
		_, sameName := declared.byName[name]
		if _, sameNumber := names[next]; sameName || sameNumber {
			p.report(w.pos, fmt.Sprintf("instance %d or %q is already declared", next, name))
			return
		}
		declared.instances = append(declared.instances, pdu.Instance{ID: next, Name: name})
		declared.byName[name], names[next] = next, name
		next++
	}
	declared.names = derived.NewNameTable(names, declared.byName)
	into.indoms[d] = declared
}

// label reads the values of a label, in the order of the domain's instances. The domain's table of names
// refers to the map of labels, which grows while the file is read.
func (p *parser) label(into *declarations, keyword token, words []token) {
	if !p.expectWord(keyword, words, "instance domain") || !p.expectWord(words[0], words[1:], "name of a label") {
		return
	}
	d, err := pdu.ParseInDom(words[0].text)
	known := into.indoms[d]
	if err != nil || known == nil {
		p.report(words[0].pos, fmt.Sprintf("a label needs an indom statement for %s before it",
			config.Clip(words[0].text)))
		return
	}
	name, values := words[1].text, words[2:]
	if len(values) > len(known.instances) {
		p.report(values[len(known.instances)].pos,
			fmt.Sprintf("%s has %s", d, plural.Of(len(known.instances), "instance")))
		return
	}
	texts := make(map[pdu.Inst]string, len(values))
	for i, w := range values {
		if w.text == "_" {
			continue
		}
		text, ok := p.unquoted(w)
		if !ok {
			return
		}
		texts[known.instances[i].ID] = text
	}
	if known.labels[name] != nil {
		p.report(words[1].pos, config.Clip(name)+" is already declared")
		return
	}
	if known.labels == nil {
		known.labels = make(map[string]map[pdu.Inst]string)
		known.names = known.names.WithLabels(known.labels)
	}
	known.labels[name] = texts
}
