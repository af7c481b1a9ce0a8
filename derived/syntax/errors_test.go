package syntax

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMessages runs testdata/errors.txt: a text, below it its caret, behind that the message. Lines
// that begin with # and empty ones are comments.
func TestMessages(t *testing.T) {
	file, err := os.ReadFile("testdata/errors.txt")
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") {
			lines = append(lines, line)
		}
	}
	require.Zero(t, len(lines)%2, "a text without its caret, or the other way round")
	require.Greater(t, len(lines), 200)

	refuse := func(reason string) func(string) error {
		return func(text string) error {
			if strings.HasPrefix(text, "bad") {
				return errors.New(reason)
			}
			return nil
		}
	}
	lits := Literals{Units: refuse("no unit"), Pattern: refuse("no pattern")}

	for i := 0; i < len(lines); i += 2 {
		text, below := lines[i], lines[i+1]
		t.Run(text, func(t *testing.T) {
			e, err := Parse(text, lits)
			assert.Nil(t, e)
			got := fault(t, err)
			blanks, _, _ := strings.Cut(below, "^")
			shown := blanks + "^"
			if got.Msg != "" {
				shown += " " + got.Msg
			}
			assert.Equal(t, below, shown, "wrong message")
			assert.Equal(t, len(blanks), got.At, "wrong place for %q", got.Msg)
		})
	}
}

// TestMistakeAtTheEnd has texts whose trailing blanks matter: the caret is below the last one.
func TestMistakeAtTheEnd(t *testing.T) {
	for _, tt := range []struct {
		text   string
		offset int
		msg    string
	}{
		{"", 0, ""},
		{" ", 0, ""},
		{" \t ", 2, ""},
		{"1 +", 2, "Arithmetic expression expected to follow PLUS"},
		{"1 +   ", 5, "Arithmetic expression expected to follow PLUS"},
		{"1 +\n\t", 4, "Arithmetic expression expected to follow PLUS"},
		{"foo( ", 4, "Unexpected '('"},
		{"mkconst(1,type=32 ", 17, ""},
	} {
		t.Run(tt.text, func(t *testing.T) {
			_, err := Parse(tt.text, Literals{})
			got := fault(t, err)
			assert.Equal(t, Error{At: tt.offset, Msg: tt.msg}, Error{At: got.At, Msg: got.Msg})
		})
	}
}

// TestIllegalBytes tries each byte where an operand may begin: it begins a token, or it is illegal.
func TestIllegalBytes(t *testing.T) {
	const known = " \t\n\v\f\r" + "!\"()*+,-./0123456789:<=>?[" +
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for c := range 256 {
		text := "1+" + string([]byte{byte(c)})
		_, err := Parse(text, Literals{})
		illegal := err != nil && fault(t, err).Msg == "Illegal character"
		assert.Equal(t, strings.IndexByte(known, byte(c)) < 0, illegal, "%q", text)
		if illegal {
			assert.Equal(t, 2, fault(t, err).At, "%q", text)
		}
	}
}

func TestErrorText(t *testing.T) {
	_, err := Parse("1 + * 2", Literals{})
	assert.EqualError(t, err, "syntax error: Arithmetic expression expected to follow PLUS")
	_, err = Parse("1 2", Literals{})
	assert.EqualError(t, err, "syntax error")
}
