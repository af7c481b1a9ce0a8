package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readText reads the text of one file. The name of the file only serves positions and messages.
func readText(file string, text []byte, accept func(*Definition) error) Loaded {
	l := newLoader(LoadOptions{Accept: accept})
	l.addFile(file, text, time.Time{}, false)
	return l.finish()
}

// summary writes definitions as "name=expr", texts as "name(attr)=text" and problems as
// "line:column severity: message", in this order.
func summary(l Loaded) []string {
	var s []string
	for _, d := range l.Definitions {
		s = append(s, d.Name+"="+d.Expr)
		if d.OneLine != nil {
			s = append(s, d.Name+"(oneline)="+*d.OneLine)
		}
		if d.Help != nil {
			s = append(s, d.Name+"(helptext)="+*d.Help)
		}
		if d.Labels != nil {
			s = append(s, fmt.Sprintf("%s(labels)=%s %d:%d", d.Name, *d.Labels, d.LabelsPos.Line, d.LabelsPos.Column))
		}
	}
	for _, p := range l.Problems {
		s = append(s, fmt.Sprintf("%d:%d %s: %s", p.Pos.Line, p.Pos.Column, p.Severity, p.Msg))
	}
	return s
}

func TestRead(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"empty lines", "\n\n", nil},
		{"lines of blanks", " \n\t\v\f\n \r\n", nil},
		{"comment", "# a = 1\n#\n", nil},
		{"# behind a blank is no comment", " # a\n", []string{"1:5 error: missing ``='' after derived metric name"}},
		{"definition", "a.b = 1\n", []string{"a.b=1"}},
		{"no newline at the end", "a = 1\nb = 2", []string{"a=1", "b=2"}},
		{"blanks around the parts", "\t a \t=\v 1 \n", []string{"a=1 "}},
		{"no blanks", "a=1\n", []string{"a=1"}},
		{"the first = separates", "a = b == c\n", []string{"a=b == c"}},
		{"== at once", "a == b\n", []string{"a== b"}},
		{"byte order mark", "\ufeffa = 1\n", []string{"a=1"}},
		{"carriage returns", "a = 1\r\na(oneline) = x\r\na(helptext) = 'y\r\nz'\r\n", []string{"a=1", "a(oneline)=x", "a(helptext)=y\nz"}},
		{"carriage return inside a line", "a = 1\rb = 2\n", []string{"a=1\rb = 2"}},

		{"no =", "a 1\n", []string{"1:4 error: missing ``='' after derived metric name"}},
		{"no name", " = 1\n", []string{"1:2 error: derived metric name missing"}},
		{"no name before (", " (oneline) = x\n", []string{"1:2 error: derived metric name missing"}},
		{"no expression", "a =\n", []string{"1:4 error: expression missing"}},
		{"blank expression", "a = \t\r\n", []string{"1:4 error: expression missing"}},
		{"name begins with a digit", "1a = 1\n", []string{"1:1 error: illegal derived metric name (1a)"}},
		{"name begins with _", "_a = 1\n", []string{"1:1 error: illegal derived metric name (_a)"}},
		{"component begins with a digit", " a.1 = 1\n", []string{"1:2 error: illegal derived metric name (a.1)"}},
		{"component begins with _", "a._b = 1\n", []string{"1:1 error: illegal derived metric name (a._b)"}},
		{"name begins with a dot", ".a = 1\n", []string{"1:1 error: illegal derived metric name (.a)"}},
		{"empty component", "a..b = 1\n", []string{"1:1 error: illegal derived metric name (a..b)"}},
		{"name ends in a dot", "a. = 1\n", []string{"1:1 error: illegal derived metric name (a.)"}},
		{"blank in a name", "a b = 1\n", []string{"1:1 error: illegal derived metric name (a b)"}},
		{"dash in a name", "a-b = 1\n", []string{"1:1 error: illegal derived metric name (a-b)"}},
		{"letter beyond ASCII", "é = 1\n", []string{"1:1 error: illegal derived metric name (é)"}},
		{"all that a name may have", "aZ09_.b_9 = 1\n", []string{"aZ09_.b_9=1"}},
		{"the longest name", strings.Repeat("a", MaxName) + " = 1\n", []string{strings.Repeat("a", MaxName) + "=1"}},
		{"a longer name", strings.Repeat("a.", MaxName/2) + "a = 1\n", []string{
			"1:1 error: derived metric name longer than 1016 bytes",
		}},
		{"a longer name of an attribute", strings.Repeat("a", MaxName+1) + "(oneline) = x\n", []string{
			"1:1 error: derived metric name longer than 1016 bytes",
		}},
		{"duplicate", "a = 1\n\na = 2\n", []string{
			"a=1", "3:1 error: Duplicate global derived metric name (first defined in line 1)",
		}},
		{"a bad line does not hurt the others", "a\nb = 2\n= 3\nd = 4\n", []string{
			"b=2", "d=4",
			"1:2 error: missing ``='' after derived metric name",
			"3:1 error: derived metric name missing",
		}},

		{"continuation", "a = 1 + \\\n  2\nb = 3\n", []string{"a=1 +   2", "b=3"}},
		{"continuation inside a word", "ab\\\ncd = 1\\\n2\n", []string{"abcd=12"}},
		{"continuation before an empty line", "a = 1\\\n\nb = 2\n", []string{"a=1", "b=2"}},
		{"continuation at the end of the file", "a = 1\\\n", []string{"a=1"}},
		{"backslash at the end of the file", "a = 1\\", []string{"a=1\\"}},
		{"two backslashes: the last continues", "a = 1\\\\\n2\n", []string{"a=1\\2"}},
		{"backslash and blank do not continue", "a = 1\\ \nb = 2\n", []string{"a=1\\ ", "b=2"}},
		{"continuation with carriage return", "a = 1\\\r\n2\r\n", []string{"a=12"}},
		{"# on a continuation line", "a = 1\\\n# 2\n", []string{"a=1# 2"}},
		{"continued comment", "# x \\\na = 1\nb = 2\n", []string{
			"b=2", "2:1 note: this line is part of the comment above, which ends in a backslash",
		}},
		{"continued blank line", " \\\n \na = 1\n", []string{"a=1"}},
		{"position behind a continuation", "a = \\\n\\\n 1\na = 2", []string{
			"a=1", "4:1 error: Duplicate global derived metric name (first defined in line 1)",
		}},
		{"position on a continuation line", "\\\n  \\\n  a\n", []string{"3:4 error: missing ``='' after derived metric name"}},

		{"one-line text", "a = 1\na(oneline) =  some text \n", []string{"a=1", "a(oneline)=some text "}},
		{"help text", "a = 1\na(helptext) = x\n", []string{"a=1", "a(helptext)=x"}},
		{"blanks in an attribute", "a = 1\n a ( oneline ) = x\n", []string{"a=1", "a(oneline)=x"}},
		{"text with = and #", "a = 1\na(oneline) = b=c # d\n", []string{"a=1", "a(oneline)=b=c # d"}},
		{"backslashes in a bare text", `a = 1` + "\n" + `a(oneline) = \n "x"` + "\n", []string{"a=1", `a(oneline)=\n "x"`}},
		{"continued bare text", "a = 1\na(oneline) = x\\\ny\n", []string{"a=1", "a(oneline)=xy"}},
		{"between ) and = anything goes", "a = 1\na(oneline) x = y\n", []string{"a=1", "a(oneline)=y"}},
		{"quoted text", "a = 1\na(oneline) = \"x 'y' \"\n", []string{"a=1", "a(oneline)=x 'y' "}},
		{"text in single quotes", "a = 1\na(oneline) = 'x \"y\"'\n", []string{"a=1", `a(oneline)=x "y"`}},
		{"escapes", "a = 1\na(oneline) = \"\\\"\\'\\\\\\n\"\n", []string{"a=1", `a(oneline)="'\n`}},
		{"empty quoted text", "a = 1\na(oneline) = \"\"\n", []string{"a=1", "a(oneline)="}},
		{"text of several lines", "a = 1\na(helptext) = \"x\n\n# y\"\nb = 2\n", []string{"a=1", "a(helptext)=x\n\n# y", "b=2"}},
		{"escaped newlines", "a = 1\na(helptext) = '\\\nx \\\ny\\\r\nz'\n", []string{"a=1", "a(helptext)=x yz"}},
		{"escaped backslash before a newline", "a = 1\na(helptext) = 'x\\\\\ny'\n", []string{"a=1", "a(helptext)=x\\\ny"}},
		{"quoted text on a continuation line", "a = 1\na(oneline) = \\\n \\\n 'x'\nb = 2\n", []string{"a=1", "a(oneline)=x", "b=2"}},
		{"lines behind a long text", "a = 1\na(helptext) = 'x\ny\\\nz'\nb\n", []string{
			"a=1", "a(helptext)=x\nyz", "5:2 error: missing ``='' after derived metric name",
		}},
		{"texts at the end of the file", "a = 1\na(helptext) = 'x'\na(oneline) = y", []string{"a=1", "a(oneline)=y", "a(helptext)=x"}},

		{"no )", "a = 1\na(oneline = x\n", []string{"a=1", "2:2 error: missing ')' after attribute"}},
		{") behind the =", "a = 1\na(oneline = x)\n", []string{"a=1", "2:2 error: missing ')' after attribute"}},
		{"no attribute", "a = 1\na(  ) = x\n", []string{"a=1", "2:3 error: attribute name missing"}},
		{"no value", "a = 1\na(oneline) =\n", []string{"a=1", "2:13 error: attribute value missing"}},
		{"a value of blanks", "a = 1\na(oneline) =  \n", []string{"a=1", "2:13 error: attribute value missing"}},
		{"a quote alone does not look further", "a = 1\na(oneline) = '\nb = 2\n", []string{"a=1", "b=2", "2:14 error: attribute value missing"}},
		{"a quote alone at the end of the file", "a = 1\na(oneline) = '", []string{"a=1", "2:14 error: attribute value missing"}},
		{"a quote that never ends", "a = 1\na(oneline) = 'x\\'\nb = 2\n", []string{"a=1", "2:14 error: missing termination (') for value"}},
		{"a backslash that never ends", "a = 1\na(oneline) = \"x\\", []string{"a=1", `2:14 error: missing termination (") for value`}},
		{"unknown metric", "a(oneline) = x\na = 1\n", []string{
			"a=1", "1:1 error: cannot set attribute, derived metric (a) not defined",
		}},
		{"unknown attribute", "a = 1\na( foo) = x\n", []string{"a=1", "2:4 error: attribute (foo) is unknown for metric (a)"}},
		{"attributes know case", "a = 1\na(Oneline) = x\n", []string{"a=1", "2:3 error: attribute (Oneline) is unknown for metric (a)"}},
		{"labels", "a = 1\n a (labels) = {\"team\": \"db\", \"b\": 1} \n", []string{"a=1", `a(labels)={"b":1,"team":"db"} 2:5`}},
		{"labels on several lines", "a = 1\na(labels) = {\"b\": 1, \\\n  \"c\": 2}\n", []string{"a=1", `a(labels)={"b":1,"c":2} 2:3`}},
		{"labels in quotes", "a = 1\na(labels) = '{\"b\": 1,\n\"c\": \"\\'\"}'\n", []string{"a=1", `a(labels)={"b":1,"c":"'"} 2:3`}},
		{"labels of a scrape", "a = 1\na(labels) = {\"job\": \"b\", \"jobs\": \"\\\"instance\\\":\"}\n", []string{
			"a=1", `a(labels)={"job":"b","jobs":"\"instance\":"} 2:3`,
			"2:3 warning: Prometheus gives each series a label job itself, and renames this one or lets it take the place of that",
		}},
		{"wrong labels", "a = 1\na(labels) = {\"a\":1, \\\n \"b.c\": 2}\n", []string{
			"a=1", `3:2 error: "b.c" is not a valid name of a label, which has letters, digits and underscores, and a letter first`,
		}},
		{"wrong labels in quotes", "a = 1\na(labels) = '\\\n{\"a\":1, \"a\": 2}'\n", []string{
			"a=1", "2:13 error: duplicate label a",
		}},
		{"labels after wrong ones", "a = 1\na(labels) = {]\na(labels) = {}\na(labels) = {\"a\":1}\n", []string{
			"a=1", "a(labels)={} 3:3",
			`2:14 error: labels are not a JSON object such as {"team": "db", "tier": 1}`,
			"4:3 error: duplicate value for attribute (labels) of metric (a)",
		}},
		{"text given twice", "a = 1\na(oneline) = \"\"\na(oneline) = y\n", []string{
			"a=1", "a(oneline)=", "3:3 error: duplicate value for attribute (oneline) of metric (a)",
		}},
		{"extra text", "a = 1\na(oneline) = 'x\ny'  z \n", []string{
			"a=1", "a(oneline)=x\ny", "3:5 warning: extra text (z ) after attribute value will be ignored",
		}},
		{"continued extra text", "a = 1\na(oneline) = 'x' y\\\n z\nb = 2\n", []string{
			"a=1", "a(oneline)=x", "b=2", "2:18 warning: extra text (y z) after attribute value will be ignored",
		}},
		{"a refused text is read to its end", "a(foo) = 'x\ny'\nb = 1\n", []string{
			"b=1", "1:1 error: cannot set attribute, derived metric (a) not defined",
		}},
		{"text of the first of two definitions", "a = 1\na = 2\na(oneline) = x\n", []string{
			"a=1", "a(oneline)=x", "2:1 error: Duplicate global derived metric name (first defined in line 1)",
		}},

		{"NUL in an expression", "a = 1\x002\nb = 2\n", []string{"b=2", "1:6 error: NUL byte"}},
		{"NUL in a name", "a\x00 = 1\n", []string{"1:1 error: illegal derived metric name (a\ufffd)"}},
		{"NUL in a text", "a = 1\na(oneline) = x\x00y\na(helptext) = 'x\n\x00'\n", []string{
			"a=1", "2:14 error: NUL byte", "3:15 error: NUL byte",
		}},
		{"NUL in a comment", "#\x00\n", nil},
		{"Latin-1 in an expression", "a = b[\xe9]\n", []string{"a=b[\xe9]", "1:7 warning: invalid UTF-8"}},
		{"Latin-1 in a name", "\xe9 = 1\n", []string{"1:1 error: illegal derived metric name (\ufffd)"}},
		{"Latin-1 in a text", "a = 1\na(oneline) = \xe9\n", []string{"a=1", "a(oneline)=\xe9", "2:14 warning: invalid UTF-8"}},
		{"Latin-1 in a comment", "# \xe9\n", nil},
		{"replacement character", "a = b[\ufffd]\n", []string{"a=b[\ufffd]"}},
		{"escape sequence in a message", "\x1b[2J = 1\n", []string{"1:1 error: illegal derived metric name (\ufffd[2J)"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, summary(readText("f", []byte(row.text), nil)))
		})
	}
}

func TestReadTellsHowFarItGot(t *testing.T) {
	for _, row := range []struct {
		name, text string
		incomplete bool
	}{
		{"all of it", "a = 1\nb", false},
		{"a quote swallows the rest", "a = 1\na(oneline) = 'x\nb = 2\n", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			loaded := readText("f", []byte(row.text), nil)
			require.Len(t, loaded.Sources, 1)
			s := loaded.Sources[0]
			assert.Equal(t, "f", s.Path)
			assert.EqualValues(t, len(row.text), s.Size)
			assert.Equal(t, row.incomplete, s.Incomplete)
			assert.Equal(t, row.incomplete, loaded.Unread.Find("f") == 0)
		})
	}
}

func TestReadIdentifiesContent(t *testing.T) {
	sum := func(text string) [32]byte { return readText("f", []byte(text), nil).Sources[0].Sum }
	assert.Equal(t, sum("a = 1"), sum("a = 1"))
	assert.NotEqual(t, sum("a = 1"), sum("a = 2"))
}

func TestControlLines(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []Control
		problems   []string
	}{
		{"option and value", "#control a=b\n", []Control{{"a", "b", Position{"f", 1, 10}}}, nil},
		{"blanks", "#control\t NOVALUE  =  on off \n", []Control{{"NOVALUE", "on off", Position{"f", 1, 11}}}, nil},
		{"value with =", "#control a==b\n", []Control{{"a", "=b", Position{"f", 1, 10}}}, nil},
		{"empty value", "#control a=\n", []Control{{"a", "", Position{"f", 1, 10}}}, nil},
		{"continued", "#control \\\na=b\n", []Control{{"a", "b", Position{"f", 2, 1}}}, []string{
			"2:1 note: this line is part of the comment above, which ends in a backslash",
		}},
		{"a longer word", "#controls a=b\n", nil, nil},
		{"a blank before", "# control a=b\n", nil, nil},
		{"the word alone", "#control\n", nil, nil},
		{"no =", "#control of disks\n", nil, []string{
			"1:10 note: control line without option=value is treated as a comment",
		}},
		{"no option", "#control = x\n", nil, []string{
			"1:10 note: control line without option=value is treated as a comment",
		}},
		{"prose", "#control of x = y\n", nil, []string{
			"1:10 note: control line without option=value is treated as a comment",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			loaded := readText("f", []byte(row.text), nil)
			assert.Equal(t, row.want, loaded.Controls)
			assert.Equal(t, row.problems, summary(loaded))
		})
	}
}

func TestAcceptJudgesEachDefinitionOnce(t *testing.T) {
	var seen []string
	readText("f", []byte("a = 1\n#b = 2\nc =\n a = 3\nd= 4 \\\n 5"), func(d *Definition) error {
		seen = append(seen, d.Name+"="+d.Expr+" "+d.Pos.String())
		return nil
	})
	assert.Equal(t, []string{"a=1 f:1:1", "d=4  5 f:5:1"}, seen)
}

func TestRefusedDefinitions(t *testing.T) {
	refuse := func(offset int) func(*Definition) error {
		return func(d *Definition) error {
			if d.Name != "bad" {
				return nil
			}
			return fmt.Errorf("%w", &refusal{offset, "no good"})
		}
	}
	for _, row := range []struct {
		name, text string
		offset     int
		want       []string
	}{
		{"first byte", "bad =  x + y\n", 0, []string{"1:8 error: no good"}},
		{"inside", "bad =  x + y\n", 4, []string{"1:12 error: no good"}},
		{"behind the end", "bad =  x + y\n", 99, []string{"1:13 error: no good"}},
		{"negative", "bad =  x + y\n", -1, []string{"1:8 error: no good"}},
		{"on a continuation line", "bad =  x + \\\n y\n", 5, []string{"2:2 error: no good"}},
		{"does not exist for attributes", "bad = 1\nbad(oneline) = x\n", 0, []string{
			"1:7 error: no good", "2:1 error: cannot set attribute, derived metric (bad) not defined",
		}},
		{"does not exist for later definitions", "bad = 1\nbad = 2\n", 0, []string{
			"1:7 error: no good", "2:7 error: no good",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			loaded := readText("f", []byte(row.text), refuse(row.offset))
			assert.Equal(t, row.want, summary(loaded))
			assert.Equal(t, "bad", loaded.Problems[0].Name)
			var cause *refusal
			assert.ErrorAs(t, loaded.Problems[0], &cause)
		})
	}
}

func TestRefusalWithoutOffsetPointsAtTheExpression(t *testing.T) {
	loaded := readText("f", []byte("a =  1\n"), func(*Definition) error { return fmt.Errorf("no") })
	assert.Equal(t, []string{"1:6 error: no"}, summary(loaded))
}

func TestDefinitionPositions(t *testing.T) {
	text := "# c\n\ta.b = x\\\n  + \\\n\\\n y"
	d := find(t, readText("f", []byte(text), nil), "a.b")
	require.Equal(t, "x  +  y", d.Expr)
	for offset, want := range []string{"f:2:8", "f:3:1", "f:3:2", "f:3:3", "f:3:4", "f:5:1", "f:5:2", "f:5:3"} {
		assert.Equal(t, want, d.ExprLocation.Problem(d.Expr, offset).Pos.String(), "offset %d", offset)
	}
	for offset, want := range map[int]string{0: "\ta.b = x\\\n\t      ^", 3: "  + \\\n  ^", 6: " y\n ^", 7: " y\n  ^"} {
		p := d.ExprLocation.Problem(d.Expr, offset)
		line, caret := p.Excerpt.Lines()
		assert.Equal(t, want, line+"\n"+caret)
	}
}

func TestProblemText(t *testing.T) {
	loaded := readText("f", []byte("\tä b\tc = 1 \n"), nil)
	require.Len(t, loaded.Problems, 1)
	assert.EqualError(t, loaded.Problems[0], "f:1:2: illegal derived metric name (ä b\tc)\n\tä b\tc = 1 \n\t^")
}

func TestMessagesQuoteLittle(t *testing.T) {
	loaded := readText("f", []byte(strings.Repeat("a.", 10_000)+" = 1"), nil)
	require.Len(t, loaded.Problems, 1)
	assert.Equal(t, "illegal derived metric name ("+strings.Repeat("a.", maxShown/2)+"…)", loaded.Problems[0].Msg)
}

func TestSeverityPrintsAlikeInTextAndJSON(t *testing.T) {
	for severity, want := range map[Severity]string{
		Error: "error", Warning: "warning", Note: "note",
	} {
		text, err := severity.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
		assert.Equal(t, want, severity.String())
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("0123456789", 1000)
	for _, row := range []struct {
		name, source string
		column       int
		line, caret  string
	}{
		{"first column", "abc", 1, "abc", "^"},
		{"behind the end", "abc", 4, "abc", "   ^"},
		{"far behind the end", "abc", 40, "abc", "   ^"},
		{"empty", "", 1, "", "^"},
		{"tabs stay", "a\tb", 3, "a\tb", " \t^"},
		{"two bytes are one place", "éb", 3, "éb", " ^"},
		{"control characters", "a\x00\x1b\u202eb", 7, "a\ufffd\ufffd\ufffdb", "    ^"},
		{"invalid UTF-8", "\xff\xffb", 3, "\ufffd\ufffdb", "  ^"},
		{"beginning of a long line", long, 1, long[:maxShown] + "…", "^"},
		{"middle of a long line", long, 5001, "…" + long[4000:4000+maxShown] + "…", " " + strings.Repeat(" ", 1000) + "^"},
		{"end of a long line", long, 10001, "…" + long[10000-maxShown:], " " + strings.Repeat(" ", maxShown) + "^"},
	} {
		t.Run(row.name, func(t *testing.T) {
			half := len(row.source) / 2
			for _, e := range []Excerpt{
				NewExcerpt(row.source, row.column),
				NewExcerpt(row.source, 1).At(max(1, row.column)),
				{row.source[:half], row.source[half:], max(1, row.column)},
			} {
				line, caret := e.Lines()
				assert.Equal(t, row.line, line)
				assert.Equal(t, row.caret, caret)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	t.Run("a line", func(t *testing.T) {
		atLimit := "a = " + strings.Repeat("1", MaxLine-4)
		assert.Len(t, readText("f", []byte(atLimit+"\nb = 2"), nil).Definitions, 2)
		over := readText("f", []byte(atLimit+"1\nb = 2"), nil)
		assert.Equal(t, []string{"b=2", "1:1 error: line longer than 1048576 bytes or 10000 continuations"}, summary(over))
		line, _ := over.Problems[0].Excerpt.Lines()
		assert.Less(t, len(line), 2*maxShown)
	})
	t.Run("a continued line", func(t *testing.T) {
		half := "a = " + strings.Repeat("1", MaxLine/2)
		over := readText("f", []byte(half+"\\\n"+half+"\nb = 2"), nil)
		assert.Equal(t, []string{"b=2", "1:1 error: line longer than 1048576 bytes or 10000 continuations"}, summary(over))
	})
	t.Run("continuations", func(t *testing.T) {
		atLimit := "a = 1" + strings.Repeat("\\\n", MaxContinuations)
		assert.Equal(t, []string{"a=11", "b=2"}, summary(readText("f", []byte(atLimit+"1\nb = 2"), nil)))
		over := readText("f", []byte(atLimit+"\\\n1\nb = 2"), nil)
		assert.Equal(t, []string{"b=2", "1:1 error: line longer than 1048576 bytes or 10000 continuations"}, summary(over))
	})
	t.Run("a text", func(t *testing.T) {
		text := strings.Repeat("0123456\n", MaxLine/8)
		loaded := readText("f", []byte("a = 1\na(helptext) = '"+text+"'\na(oneline)='"+text+"x'\nb = 2"), nil)
		require.Len(t, loaded.Definitions, 2)
		assert.Equal(t, text, *loaded.Definitions[0].Help)
		require.Len(t, loaded.Problems, 1)
		assert.Equal(t, "text longer than 1048576 bytes", loaded.Problems[0].Msg)
	})
	t.Run("definitions", func(t *testing.T) {
		var b strings.Builder
		for i := range MaxDefinitions + 2 {
			fmt.Fprintf(&b, "a%d=1\n", i)
		}
		loaded := readText("f", []byte(b.String()), nil)
		assert.Len(t, loaded.Definitions, MaxDefinitions)
		require.Len(t, loaded.Problems, 1)
		assert.Equal(t, "more than 100000 definitions; the rest of the file is not read", loaded.Problems[0].Msg)
		assert.True(t, loaded.Sources[0].Incomplete)
	})
	t.Run("problems", func(t *testing.T) {
		loaded := readText("f", []byte(strings.Repeat("a\n", MaxProblems+10)+"b = 1"), nil)
		require.Len(t, loaded.Problems, MaxProblems)
		assert.Equal(t, "more than 9999 problems in this file; the rest is not shown", loaded.Problems[MaxProblems-1].Msg)
		assert.Len(t, loaded.Definitions, 1)
	})
}
