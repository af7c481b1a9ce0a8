package unittest

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// Suite has the results of a file.
type Suite struct {
	File      string
	Results   []Result
	Durations []time.Duration // of each result
	Unusable  string          // why the file could not be used; "": it could
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr,omitempty"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes a report in the format of JUnit, which CI servers read. Each file is a test suite, and each test a
// test case.
func WriteJUnit(w io.Writer, suites []Suite) error {
	var report junitSuites
	for i := range suites {
		s := suites[i].junit()
		report.Tests += s.Tests
		report.Failures += s.Failures
		report.Errors += s.Errors
		report.Suites = append(report.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// junit returns the results in JUnit's words. The file itself is a test case if it cannot be used, because servers
// count test cases and would show nothing.
func (s *Suite) junit() junitSuite {
	out := junitSuite{Name: s.File}
	if s.Unusable != "" {
		first, _, _ := strings.Cut(s.Unusable, "\n")
		out.Tests, out.Errors, out.Time = 1, 1, seconds(0)
		out.Cases = []junitCase{{
			Class: s.File, Name: "the file itself", File: s.File, Time: out.Time,
			Error: &junitMessage{first, s.Unusable},
		}}
		return out
	}
	var total time.Duration
	for i, r := range s.Results {
		total += s.Durations[i]
		c := junitCase{
			Class: s.File, Name: r.Test.Name, File: s.File, Line: r.Test.Pos.Line,
			Time: seconds(s.Durations[i]),
		}
		if len(r.Failures) > 0 {
			out.Failures++
			c.Failure = &junitMessage{r.Failures[0].Msg, r.String()}
		}
		out.Cases = append(out.Cases, c)
	}
	out.Tests, out.Time = len(s.Results), seconds(total)
	return out
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }
