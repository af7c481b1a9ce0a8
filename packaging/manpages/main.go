// Manpages makes the manual pages of pmdaderived from its documents:
//
//	docs/reference.md  pmdaderived.1
//	docs/language.md   pmdaderived.5
//
// go-md2man writes the roff. It has no links to other pages, and its tables do not fit on a terminal, so both
// change before:
//
//	# name(section)   the title, as PCP's pages have it
//	## Heading        capitals
//	[text](link)      the text
//	table             a list of definitions: the first cell of a row is the term, the cell below "meaning" (if there
//	                  is none, the second) its text, and the others follow in parentheses with their heads
//
// Usage: manpages FOLDER VERSION, from the top of the repository. The exit status is 0, or 1 if a page cannot be made.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: manpages FOLDER VERSION")
		os.Exit(1)
	}
	for document, page := range map[string]string{"reference.md": "pmdaderived.1", "language.md": "pmdaderived.5"} {
		if err := convert(filepath.Join("docs", document), filepath.Join(os.Args[1], page), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "manpages:", err)
			os.Exit(1)
		}
	}
}

// convert makes the file of a manual page of a version from a document.
func convert(document, page, version string) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(page), 0o755); err != nil {
		return err
	}
	return os.WriteFile(page, roff(string(text), version), 0o644)
}

// roff returns the manual page of a document.
func roff(document, version string) []byte {
	page := string(md2man.Render([]byte(markdown(document, version))))
	page = setup + title.ReplaceAllString(strings.TrimPrefix(page, ".nh\n"), "$0"+setupAfter)
	page = example.ReplaceAllString(page, ".PP\n.RS 4\n.EX\n$1.EE\n.RE\n")
	page = first.ReplaceAllString(page, "$1")
	page = strings.NewReplacer("├─", "|-", "└─", "`-", "│", "|").Replace(page) // explain's trees, on all terminals
	return []byte(verbatim.ReplaceAllStringFunc(page, func(text string) string {
		text = strings.ReplaceAll(text, "-", `\-`)    // a minus, which can be copied, for a hyphen
		return strings.ReplaceAll(text, ":$", `:\:$`) // a list of paths can be divided
	}))
}

// No hyphens, and no blanks to make lines equally long: in new versions of groff before the title, in old ones after it.
const (
	setup      = ".nr HY 0\n.ds AD l\n"
	setupAfter = ".nh\n.ad l\n"
)

var (
	example  = regexp.MustCompile(`(?s)\.EX\n(.*?)\.EE\n`)
	first    = regexp.MustCompile(`(\.S[HS] .*\n)\n*\.PP\n`) // .PP below a heading says nothing
	verbatim = regexp.MustCompile(`(?s)\.EX\n.*?\.EE\n|\\fB.*?\\fR`)
	title    = regexp.MustCompile(`(?m)^\.TH .*\n`)
	name     = regexp.MustCompile(`^# (\w+)\((\d)\)$`)
	link     = regexp.MustCompile(`\[([^][]+)\]\([^)]+\)`)
)

// markdown returns a document as go-md2man is to read it.
func markdown(document, version string) string {
	var lines, table []string
	for line := range strings.Lines(document + "\n") {
		line = strings.TrimSuffix(line, "\n")
		code := strings.HasPrefix(line, "    ")
		if !code {
			line = link.ReplaceAllString(line, "$1")
		}
		if match := name.FindStringSubmatch(line); match != nil {
			line = fmt.Sprintf(`# %s %s "PCP" "%s" "Performance Co-Pilot"`, strings.ToUpper(match[1]), match[2], version)
		} else if strings.HasPrefix(line, "## ") {
			line = strings.ToUpper(line)
		}
		if strings.HasPrefix(line, "|") {
			table = append(table, line)
			continue
		}
		lines = append(lines, definitions(table)...)
		table = nil
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// definitions returns a table as a list of definitions.
func definitions(table []string) []string {
	if len(table) < 2 {
		return nil
	}
	heads := cells(table[0])
	meaning := max(1, slices.Index(heads, "meaning"))
	var lines []string
	for _, row := range table[2:] { // after the head and its line
		var others []string
		row := cells(row)
		for i, cell := range row {
			if i != 0 && i != meaning && cell != "" {
				others = append(others, heads[i]+": "+cell)
			}
		}
		text := row[meaning]
		if others != nil {
			text = strings.TrimSpace(fmt.Sprintf("%s (%s)", text, strings.Join(others, "; ")))
		}
		lines = append(lines, row[0], ": "+text, "")
	}
	return append(lines, "<!-- -->") // else an example that follows would belong to the last definition
}

// separator divides two cells; a backslash before it makes it a part of a cell.
var separator = regexp.MustCompile(`(?:^|[^\\])(\|)`)

// cells returns the cells of a row.
func cells(row string) []string {
	var all []string
	begin := 0
	for _, match := range separator.FindAllStringSubmatchIndex(row, -1) {
		if at := match[2]; at > 0 {
			all = append(all, strings.ReplaceAll(strings.TrimSpace(row[begin:at]), `\|`, "|"))
		}
		begin = match[3]
	}
	return all
}
