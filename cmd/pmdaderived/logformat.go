package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sirupsen/logrus"
)

// lineFormatter writes each message as one line of printable text. Names of files, texts of definitions and messages of
// other agents cannot begin another line or field, or move a terminal's cursor.
type lineFormatter struct{ logrus.TextFormatter }

func newLineFormatter() *lineFormatter {
	return &lineFormatter{logrus.TextFormatter{DisableColors: true, FullTimestamp: true, DisableQuote: true}}
}

// Format implements logrus.Formatter. It quotes a value as strconv.Quote does if the value could be mistaken for
// something else.
func (f *lineFormatter) Format(e *logrus.Entry) ([]byte, error) {
	quoted := *e
	quoted.Message = quote(e.Message)
	quoted.Data = make(logrus.Fields, len(e.Data))
	for key, value := range e.Data {
		text, ok := value.(string)
		if !ok {
			text = fmt.Sprint(value)
		}
		quoted.Data[key] = quote(text)
	}
	return f.TextFormatter.Format(&quoted)
}

func quote(text string) string {
	odd := func(r rune) bool { return r == '"' || r == '=' || !unicode.IsPrint(r) }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, odd) {
		return text
	}
	return strconv.Quote(text)
}
