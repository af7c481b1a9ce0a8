package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRoff(t *testing.T) {
	document := `# page(5)

## Name

page - what it is

## See also

The page [other](other.md#part) has ` + "`--more`" + `:

    $ command -v

| option | argument | meaning |
|---|---|---|
| ` + "`-a\\|-b`" + ` | 1 | first |
| ` + "`-c`" + ` | | last |

    last
`
	want := `.nr HY 0
.ds AD l
.TH PAGE 5 "PCP" "1.2.0~rc1" "Performance Co-Pilot"
.nh
.ad l
.SH NAME
page \- what it is

.SH SEE ALSO
The page other has \fB\-\-more\fR:

.PP
.RS 4
.EX
$ command \-v
.EE
.RE

.TP
\fB\-a|\-b\fR
first (argument: 1)

.TP
\fB\-c\fR
last

.PP
.RS 4
.EX
last
.EE
.RE
`
	assert.Equal(t, want, string(roff(document, "1.2.0~rc1")))
}

// Both pages can be made, and are ASCII, so any locale shows them. TestManualPageFormats gives them to groff and mandoc.
func TestPages(t *testing.T) {
	for _, document := range []string{"reference.md", "language.md"} {
		page := filepath.Join(t.TempDir(), "man", "page")
		require.NoError(t, convert(filepath.Join("..", "..", "docs", document), page, "1.2.0"))
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		assert.Regexp(t, `^[\x00-\x7f]+$`, string(text), document)
	}
}
