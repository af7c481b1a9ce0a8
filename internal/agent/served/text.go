package served

import (
	"strconv"
	"strings"
	"unicode"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Text returns the help text of a metric: that of the definition, or its expression, file and line. A definition in a
// file that not everyone can read shows its file and line only.
func (e *Entry) Text(short bool) string {
	def := escapeForProxy(e.Def.Name + " = " + e.Def.PublicText())
	switch {
	case e.Def.Secret:
		if def = e.Def.Name + ": " + HiddenText; short {
			return def
		}
	case short && e.Def.OneLine != nil:
		return *e.Def.OneLine
	case short:
		return def
	case e.Def.Help != nil:
		return *e.Def.Help
	case e.Def.OneLine != nil:
		def = *e.Def.OneLine + "\n\n" + def
	}
	return def + "\n\nDefined in " + escapeForProxy(e.Def.File) + ", line " + strconv.Itoa(e.Def.Line) + "."
}

// escapeForProxy returns a text that pmproxy can write into a page for Prometheus, where it escapes nothing: control
// characters become blanks, and a backslash, as in patterns, becomes a word.
func escapeForProxy(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.ReplaceAll(text, `\`, "<backslash>")
}

// Labels returns the label derived_file, with the file of the definition. It is optional, since the metric stays the
// same when its definition moves to another file. Its name has no dot: pmproxy writes names of labels into
// OpenMetrics as they are, and Prometheus rejects the metrics of the whole host because of a name that it cannot
// read.
func (e *Entry) Labels() []pdu.LabelSet {
	return singleLabel(pdu.LabelItem, pdu.LabelOptional, derived.Root+"_file", e.Def.File)
}

// DomainLabels returns the label of the agent's domain, which agents usually have.
func DomainLabels() []pdu.LabelSet { return singleLabel(pdu.LabelDomain, 0, "agent", derived.Root) }

// singleLabel returns a set of one label. It returns no set if the value is too long, which no path is.
func singleLabel(level pdu.LabelType, flags pdu.LabelFlags, name, value string) []pdu.LabelSet {
	set, err := pdu.NewLabelSet(pdu.NoInst, level, map[string]any{name: value})
	if err != nil {
		return nil
	}
	set.Labels[0].Flags |= flags
	return []pdu.LabelSet{set}
}
