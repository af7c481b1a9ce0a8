package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"pmdaderived/pdu"
)

// labelsError is an error in the labels of a definition.
type labelsError struct {
	msg    string
	offset int
}

func (e *labelsError) Error() string { return e.msg }

// Offset returns the byte offset in the text that the error is about.
func (e *labelsError) Offset() int { return e.offset }

// ParseLabels reads the labels of a metric, a JSON object without other objects or arrays in it. It returns the object
// without blanks and sorted by name, as clients get it. An error has an [Offset] in text.
//
// The limits are below those of libpcp, whose clients merge these labels with those of the host and of the agent. A
// name has no dot, since pmproxy would write the dot into the names of labels for Prometheus, which then rejects all
// metrics of the host.
func ParseLabels(text string) (string, error) {
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber() // numbers stay as they are written
	refuse := func(offset int, format string, args ...any) (string, error) {
		return "", &labelsError{fmt.Sprintf(format, args...), min(offset, len(text))}
	}
	next := func() (token json.Token, offset int, err error) {
		offset = len(text) - len(strings.TrimLeft(text[in.InputOffset():], " \t\r\n,:"))
		token, err = in.Token()
		return token, offset, err
	}
	const malformed = `labels are not a JSON object such as {"team": "db", "tier": 1}`
	begin, offset, err := next()
	if err != nil || begin != json.Delim('{') {
		return refuse(offset, malformed)
	}
	labels := map[string]any{}
	for in.More() {
		token, nameAt, err := next()
		name, ok := token.(string)
		if err != nil || !ok {
			return refuse(nameAt, malformed)
		}
		value, valueAt, err := next()
		_, nested := value.(json.Delim)
		_, twice := labels[name]
		switch {
		case err != nil:
			return refuse(valueAt, malformed)
		case !pdu.LegalName(name) || strings.Contains(name, "."):
			return refuse(nameAt, "%q is not a valid name of a label, which has letters, digits and underscores, and a "+
				"letter first", Clip(name))
		case len(name) > pdu.MaxLabelName:
			return refuse(nameAt, "name of a label longer than %d bytes", pdu.MaxLabelName)
		case twice:
			return refuse(nameAt, "duplicate label %s", name)
		case nested:
			return refuse(valueAt, "value of label %s is not a string, number, true, false or null", name)
		case len(labels) == MaxLabels:
			return refuse(nameAt, "more than %d labels", MaxLabels)
		}
		labels[name] = value
	}
	if _, offset, err = next(); err != nil {
		return refuse(offset, malformed)
	}
	if _, offset, err = next(); !errors.Is(err, io.EOF) {
		return refuse(offset, "text after the labels")
	}
	set, err := pdu.NewLabelSet(pdu.NoInst, pdu.LabelItem, labels)
	if err != nil || len(set.JSON) > MaxLabelText {
		return refuse(0, "labels longer than %d bytes", MaxLabelText)
	}
	if len(labels) == 0 {
		return "{}", nil
	}
	return set.JSON, nil
}
