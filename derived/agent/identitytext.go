package agent

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"pmdaderived/pdu"
)

// text is the file as json.MarshalIndent makes it with tabs, in a fraction of the time and memory: with
// thousands of definitions it is most of what a new one costs.
func (f *identityFile) text() ([]byte, error) {
	const usual = 300 // bytes of a metric
	w := identityWriter{text: make([]byte, 0, usual*(len(f.Metrics)+1))}
	w.open('{')
	w.key("version").number(f.Version)
	w.key("domain").number(f.Domain)
	w.key("next").number(f.Next)
	w.key("metrics").open('{')
	for _, name := range slices.Sorted(maps.Keys(f.Metrics)) {
		m := f.Metrics[name]
		w.key(name).metric(&m)
	}
	w.close('}')
	if len(f.Files) > 0 {
		w.key("files").open('{')
		for _, path := range slices.Sorted(maps.Keys(f.Files)) {
			w.key(path).number(int(f.Files[path]))
		}
		w.close('}')
	}
	if f.NextFile != 0 {
		w.key("nextFile").number(int(f.NextFile))
	}
	w.close('}')
	return w.text, w.err
}

// identityWriter writes JSON with a line for each value.
type identityWriter struct {
	text  []byte
	depth int
	err   error // the first
}

// open begins an object or a list.
func (w *identityWriter) open(bracket byte) {
	w.text = append(w.text, bracket)
	w.depth++
}

func (w *identityWriter) close(bracket byte) {
	w.depth--
	if last := w.text[len(w.text)-1]; last != '{' && last != '[' {
		w.line()
	}
	w.text = append(w.text, bracket)
}

func (w *identityWriter) line() {
	w.text = append(w.text, '\n')
	for range w.depth {
		w.text = append(w.text, '\t')
	}
}

// item begins a line for what comes next in an object or a list.
func (w *identityWriter) item() {
	if last := w.text[len(w.text)-1]; last != '{' && last != '[' {
		w.text = append(w.text, ',')
	}
	w.line()
}

// key begins a member of an object.
func (w *identityWriter) key(name string) *identityWriter {
	w.item()
	w.string(name)
	w.text = append(w.text, ": "...)
	return w
}

func (w *identityWriter) number(n int) { w.text = strconv.AppendInt(w.text, int64(n), 10) }

// string writes a text; what JSON escapes is left to package json.
func (w *identityWriter) string(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil && w.err == nil {
				w.err = err
			}
			w.text = append(w.text, quoted...)
			return
		}
	}
	w.text = append(append(append(w.text, '"'), s...), '"')
}

func (w *identityWriter) pmid(id pdu.PMID) {
	if id == pdu.NoPMID {
		w.string(id.String())
		return
	}
	w.text = append(w.text, '"')
	w.number(id.Domain())
	w.text = append(w.text, '.')
	w.number(id.Cluster())
	w.text = append(w.text, '.')
	w.number(id.Item())
	w.text = append(w.text, '"')
}

func (w *identityWriter) metric(m *identity) {
	w.open('{')
	w.key("pmid").pmid(m.PMID)
	if m.Text != "" {
		w.key("expression").string(m.Text)
	}
	if m.Desc != nil {
		w.key("descriptor").desc(m.Desc)
	}
	if len(m.Former) > 0 {
		w.key("former").open('[')
		for i := range m.Former {
			w.item()
			w.open('{')
			w.key("pmid").pmid(m.Former[i].PMID)
			w.key("descriptor").desc(&m.Former[i].Desc)
			w.close('}')
		}
		w.close(']')
	}
	w.close('}')
}

func (w *identityWriter) desc(d *identifiedDesc) {
	const hex = "0123456789abcdef"
	w.open('{')
	w.key("type").number(int(d.Type))
	w.key("semantics").number(int(d.Sem))
	w.key("indom").string(d.InDom.String())
	w.key("units")
	w.text = append(w.text, '"')
	for shift := 28; shift >= 0; shift -= 4 {
		w.text = append(w.text, hex[d.Units>>shift&15])
	}
	w.text = append(w.text, '"')
	w.close('}')
}
