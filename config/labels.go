package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"pmdaderived/pdu"
)

// ParseLabels reads the labels of a metric, a JSON object without other objects or arrays in it. It returns the object
// without blanks and sorted by name, as clients get it. offset is the byte of text that an error is about.
//
// The limits are below those of libpcp, whose clients merge these labels with those of the host and of the agent. A
// name has no dot, since pmproxy would write the dot into the names of labels for Prometheus, which then rejects all
// metrics of the host.
func ParseLabels(text string) (labels string, offset int, err error) {
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber() // numbers stay as they are written
	refuse := func(offset int, format string, args ...any) (string, int, error) {
		return "", offset, fmt.Errorf(format, args...)
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
	all := map[string]any{}
	for in.More() {
		token, nameAt, err := next()
		name, ok := token.(string)
		if err != nil || !ok {
			return refuse(nameAt, malformed)
		}
		value, valueAt, err := next()
		_, nested := value.(json.Delim)
		_, twice := all[name]
		switch {
		case err != nil:
			return refuse(valueAt, malformed)
		case !pdu.LegalName(name) || strings.Contains(name, "."):
			return refuse(nameAt, "%q is not a valid name of a label, which has letters, digits and underscores, and a "+
				"letter first", Clip(name))
		case pdu.ReservedLabel(name):
			return refuse(nameAt, "label %s would take the place of the instance in /metrics for Prometheus", name)
		case len(name) > pdu.MaxLabelName:
			return refuse(nameAt, "name of a label longer than %d bytes", pdu.MaxLabelName)
		case twice:
			return refuse(nameAt, "duplicate label %s", name)
		case nested:
			return refuse(valueAt, "value of label %s is not a string, number, true, false or null", name)
		case len(all) == MaxLabels:
			return refuse(nameAt, "more than %d labels", MaxLabels)
		}
		all[name] = value
	}
	if _, offset, err = next(); err != nil {
		return refuse(offset, malformed)
	}
	if _, offset, err = next(); !errors.Is(err, io.EOF) {
		return refuse(offset, "text after the labels")
	}
	set, err := pdu.NewLabelSet(pdu.NoInst, pdu.LabelItem, all)
	if err != nil || len(set.JSON) > MaxLabelText {
		return refuse(0, "labels longer than %d bytes", MaxLabelText)
	}
	return cmp.Or(set.JSON, "{}"), 0, nil
}
