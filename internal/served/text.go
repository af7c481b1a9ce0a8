package served

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Text returns the help text of a metric: that of the definition, or its expression, file and line. A definition in a
// file that not everyone can read shows its file and line only.
func (e *Served) Text(short bool) string {
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

// fileLabel is the label with the file of a definition. Its name has no dot: see config.ParseLabels.
const fileLabel = derived.Root + "_file"

// Labels returns the labels of the definition, and the label derived_file with its file, unless the definition has a
// label of this name. derived_file is optional, since the metric stays the same when its definition moves to another
// file.
func (e *Served) Labels() []pdu.LabelSet {
	labels := map[string]any{fileLabel: e.Def.File}
	var own map[string]json.RawMessage
	if text := e.Def.publicLabels(); text != "" && json.Unmarshal([]byte(text), &own) == nil {
		for name, value := range own {
			labels[name] = value
		}
	}
	return labelSet(pdu.LabelItem, labels)
}

// DomainLabels returns the label of the agent's domain, which agents usually have.
func DomainLabels() []pdu.LabelSet {
	return labelSet(pdu.LabelDomain, map[string]any{"agent": derived.Root})
}

// labelSet returns a set of labels. It returns no set if they are too long, which no path is.
func labelSet(level pdu.LabelType, labels map[string]any) []pdu.LabelSet {
	set, err := pdu.NewLabelSet(pdu.NoInst, level, labels)
	if err != nil {
		return nil
	}
	for i, l := range set.Labels {
		if set.Name(l) == fileLabel {
			set.Labels[i].Flags |= pdu.LabelOptional
		}
	}
	return []pdu.LabelSet{set}
}
