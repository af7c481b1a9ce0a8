package printable

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"plain text\tof ö": "plain text\tof ö", "a\nb": `a\nb`, "\x1b[2J": `\x1b[2J`, "\xff\ufffd": `\xff` + "\ufffd", "\u202e": `\u202e`, "": "",
	} {
		assert.Equal(t, want, Escaped(text))
	}
	assert.Equal(t, "a\nb\\r", string(Append(nil, "a\nb\r", "\n\t")))
}

func TestLine(t *testing.T) {
	assert.Equal(t, "a b\tö\ufffd\ufffd\ufffd[2J", Line("a\nb\tö\u00a0\xff\x1b[2J"))
}
