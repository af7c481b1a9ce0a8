package unittest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
)

// FuzzParse parses any text: there are problems, at positions in the text or of the file, or tests that can be run.
func FuzzParse(f *testing.F) {
	f.Add(host + "test a\n interval 10s\n given total[sda] 0+100x4\n given load PM_ERR_AGAIN _...\n expect x[md 0] _ " +
		"1~0.5x3\n metadata x U32 instant Mbyte / sec 60.1\n error x \"a b\"\n")
	f.Add("definitions \"a b\"\nindom 1.2 7:\"x y\" z\ntest b\n times 0 1 5.5\n without a.b\n expect c @1s 5... " +
		"@5500ms \"q\" \\\n [00]\n")
	defs := defined(f, "x = rate(total)\ny = delta(load[1 minute])\nz = node\nc = matchinst(/s/, total) + ncpu\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return // nothing new, and slow
		}
		file, problems := Parse("x.test", []byte(text))
		for _, p := range problems {
			require.NotEmpty(t, p.Msg)
			if p.Pos.Line == 0 {
				require.Equal(t, "x.test: the file has no test", p.Error())
				continue
			}
			require.Positive(t, p.Pos.Column)
			_, caret := p.Excerpt.Lines()
			require.NotEmpty(t, caret)
		}
		if file == nil {
			require.NotEmpty(t, problems)
			return
		}
		assert.Empty(t, problems)
		for _, test := range file.Tests {
			if test.samples*(len(test.given.series)+len(test.expect.series)+1) < 1000 {
				_ = Run(derived.Language{}, defs, nil, test).String()
			}
		}
	})
}
