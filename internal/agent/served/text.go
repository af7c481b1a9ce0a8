package served

import (
	"strconv"
	"strings"
	"unicode"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Text is what a metric's help says: the definition's own, or the expression and where it stands. A definition whose file not
// everybody may read has no text but where it stands.
func (m *Entry) Text(short bool) string {
	def := escapeForProxy(m.Def.Name + " = " + m.Def.PublicText())
	switch {
	case m.Def.Secret:
		if def = m.Def.Name + ": " + HiddenText; short {
			return def
		}
	case short && m.Def.OneLine != nil:
		return *m.Def.OneLine
	case short:
		return def
	case m.Def.Help != nil:
		return *m.Def.Help
	case m.Def.OneLine != nil:
		def = *m.Def.OneLine + "\n\n" + def
	}
	return def + "\n\nDefined in " + escapeForProxy(m.Def.File) + ", line " + strconv.Itoa(m.Def.Line) + "."
}

// escapeForProxy is a line that pmproxy can write into a page for Prometheus, where it escapes nothing: control characters become
// blanks, and a backslash, as in patterns, is written as a word.
func escapeForProxy(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.ReplaceAll(text, `\`, "<backslash>")
}

// Labels are those of a metric: derived_file, which file defines it. It does not identify a metric: that stays the same
// when its definition moves to another file. The name has no dot: pmproxy writes names of labels into OpenMetrics as
// they are, and one that Prometheus cannot read costs it the metrics of the whole host.
func (m *Entry) Labels() []pdu.LabelSet {
	return singleLabel(pdu.LabelItem, pdu.LabelOptional, derived.Root+"_file", m.Def.File)
}

// DomainLabels are those of the agent's domain: the label that agents usually have.
func DomainLabels() []pdu.LabelSet { return singleLabel(pdu.LabelDomain, 0, "agent", derived.Root) }

// singleLabel makes a set of one label. A value that is too long, which no path is, has none.
func singleLabel(level pdu.LabelType, flags pdu.LabelFlags, name, value string) []pdu.LabelSet {
	set, err := pdu.NewLabelSet(pdu.NoInst, level, map[string]any{name: value})
	if err != nil {
		return nil
	}
	set.Labels[0].Flags |= flags
	return []pdu.LabelSet{set}
}
