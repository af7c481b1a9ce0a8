package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// numberedLabels returns labels l100, l101, ... as JSON.
func numberedLabels(n int, value string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"l%d":%s`, 100+i, value)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// longLabel returns a label as JSON with a number of bytes.
func longLabel(size int) string { return `{"a":"` + strings.Repeat("x", size-len(`{"a":""}`)) + `"}` }

func TestParseLabels(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"the example", `{"team":"db", "tier":1}`, `{"team":"db","tier":1}`},
		{"none", ` { } `, `{}`},
		{"sorted, without blanks", "{ \"b\" :\t2 ,\r\n\"a\": 1 } \n", `{"a":1,"b":2}`},
		{
			"all values", `{"a":"", "b":true, "c":false, "d":null, "e":-1.50, "f":1e400}`,
			`{"a":"","b":true,"c":false,"d":null,"e":-1.50,"f":1e400}`,
		},
		{"special characters", `{"a":"\u00fc\"\\\n<&>/ {[,:"}`, `{"a":"ü\"\\\n<&>/ {[,:"}`},
		{"names", `{"A1_b":1,"a":2}`, `{"A1_b":1,"a":2}`},
		{"the longest name", `{"` + strings.Repeat("n", 255) + `":1}`, `{"` + strings.Repeat("n", 255) + `":1}`},
		{"as many as possible", numberedLabels(200, "1"), numberedLabels(200, "1")},
		{"as long as possible", longLabel(MaxLabelText), longLabel(MaxLabelText)},
	} {
		got, _, err := ParseLabels(row.text)
		require.NoError(t, err, row.name)
		assert.Equal(t, row.want, got, row.name)
	}
}

func TestParseLabelsRefuses(t *testing.T) {
	const malformed = `labels are not a JSON object such as {"team": "db", "tier": 1}`
	const named = " is not a valid name of a label, which has letters, digits and underscores, and a letter first"
	const valued = " is not a string, number, true, false or null"
	for _, row := range []struct {
		name, text string
		offset     int
		want       string
	}{
		{"no JSON", `team=db`, 0, malformed},
		{"nothing", ``, 0, malformed},
		{"a string", `"team"`, 0, malformed},
		{"an array", `[1]`, 0, malformed},
		{"null", `null`, 0, malformed},
		{"a name without quotes", `{team: "db"}`, 1, malformed},
		{"a value without quotes", `{"team": db}`, 9, malformed},
		{"no value", `{"team"}`, 7, malformed},
		{"no name", `{1: 2}`, 1, malformed},
		{"no comma", `{"a": 1 "b": 2}`, 8, malformed},
		{"a comma at the end", `{"a": 1, }`, 9, malformed},
		{"no end", `{"a": 1`, 7, malformed},
		{"no end of a string", `{"a": "1`, 6, malformed},
		{"a number that is none", `{"a": 01}`, 7, malformed},
		{"more", `{"a": 1} x`, 9, "text after the labels"},
		{"two objects", `{"a": 1}{}`, 8, "text after the labels"},
		{"a nested object", `{"a": 1, "b": {"c": 1}}`, 14, "value of label b" + valued},
		{"a nested array", `{"b": []}`, 6, "value of label b" + valued},
		{"twice", `{"a": 1, "a": 1}`, 9, "duplicate label a"},
		{"a name with a dot", `{"a.b": 1}`, 1, `"a.b"` + named},
		{"a name that begins with a digit", `{"1": 1}`, 1, `"1"` + named},
		{"a name that begins with an underscore", `{"_a": 1}`, 1, `"_a"` + named},
		{"an empty name", `{"": 1}`, 1, `""` + named},
		{"the name of the instance", `{"a": 1, "instname": "x"}`, 9, "label instname would take the place of the instance in /metrics for Prometheus"},
		{"the number of the instance", `{"instid": 1}`, 1, "label instid would take the place of the instance in /metrics for Prometheus"},
		{"a long name", `{"` + strings.Repeat("n", 256) + `":1}`, 1, "name of a label longer than 255 bytes"},
		{"many", numberedLabels(201, "1"), 1 + 200*9, "more than 200 labels"},
		{"long", longLabel(MaxLabelText + 1), 0, "labels longer than 32768 bytes"},
		{"very long", numberedLabels(3, `"`+strings.Repeat("x", MaxLabelText)+`"`), 0, "labels longer than 32768 bytes"},
	} {
		_, offset, err := ParseLabels(row.text)
		require.EqualError(t, err, row.want, row.name)
		assert.Equal(t, row.offset, offset, row.name)
	}
}
