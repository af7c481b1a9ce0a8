package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/lint"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/served"
)

// Codes of problems that only check finds or treats. They stay what they are, because people write them in scripts and
// in definition files.
const (
	codeNoCode   = "unknown-code"
	codeReplaced = "replaced-definition"
	codeWaiting  = "shipped-unbound"
)

// fileCodes returns the codes of warnings and notes about files, most of which package config finds.
func fileCodes() []string {
	return []string{
		codeReplaced, "replaced-text", "extra-text", "invalid-text", "continued-comment", "control-line",
		definitions.CodeControlOption,
		"ignored-nothing", "masks-nothing", codeNoCode, "more-problems", "group-writable", "linked-directory",
		"not-regular", "left-out", "unread",
	}
}

// unboundCodes returns the codes of errors that depend on the host: on another host, which has the metrics, the
// definition is served.
func unboundCodes() []string { return []string{definitions.CodeUnknown, definitions.CodeUnavailable} }

// warningCodes returns the codes that people can ignore or turn into errors: those of all warnings and notes, and of
// errors that depend on the host.
func warningCodes() []string {
	codes := slices.Concat(fileCodes(), unboundCodes(), []string{
		codeWaiting, definitions.CodeUnclosed, definitions.CodeNoFunction, definitions.CodeHint,
	})
	for _, c := range lint.Codes() {
		codes = append(codes, string(c))
	}
	slices.Sort(codes)
	return codes
}

// treatment says which problems are ignored, and which become errors, by the options of a run and by comments in the
// files.
type treatment struct {
	ignored   []string                 // codes of problems to remove
	errors    []string                 // codes of problems that become errors
	allErrors bool                     // every warning becomes an error
	promoted  map[*config.Problem]bool // problems that have become errors, which are still printed with their code
}

// parseCodes reads a list of codes separated by commas.
func parseCodes(arg string, into *[]string) error {
	known := warningCodes()
	for code := range strings.SplitSeq(arg, ",") {
		if !slices.Contains(known, code) {
			return fmt.Errorf("%q is not a valid code; the codes are %s", code, strings.Join(known, ", "))
		}
		*into = append(*into, code)
	}
	return nil
}

// apply removes ignored problems, and turns others into errors. An error that no host would forgive cannot be ignored.
func (t *treatment) apply(problems []*config.Problem, defs map[string]*config.Definition) []*config.Problem {
	var kept []*config.Problem
	t.promoted = map[*config.Problem]bool{}
	for _, p := range problems {
		code := definitions.CodeOf(p)
		fixed := p.Severity == config.Error && !slices.Contains(unboundCodes(), code)
		d := defs[p.Name]
		if !fixed && (slices.Contains(t.ignored, code) || d != nil && slices.Contains(d.Ignored, code)) {
			continue
		}
		if p.Severity != config.Error && slices.Contains(t.errors, code) ||
			t.allErrors && p.Severity == config.Warning {
			promoted := *p
			promoted.Severity, promoted.Code = config.Error, code
			p = &promoted
			t.promoted[p] = true
		}
		kept = append(kept, p)
	}
	return kept
}

// maxUnknownCodes is the number of codes of a definition that are reported, since each problem of a definition is
// compared with all its codes.
const maxUnknownCodes = 100

// unknownCodes finds comments that ignore a code that does not exist: with a misspelt code they have no effect.
func unknownCodes(defs []*config.Definition) []*config.Problem {
	known := warningCodes()
	var found []*config.Problem
	for _, d := range defs {
		unknown := 0
		for _, code := range d.Ignored {
			if !slices.Contains(known, code) {
				if unknown++; unknown > maxUnknownCodes {
					break
				}
				p := definitions.ProblemAt(d, -1)
				p.Severity, p.Code, p.Msg = config.Warning, codeNoCode, fmt.Sprintf("the comment above ignores %q, "+
					"which is not a valid code", code)
				found = append(found, p)
			}
		}
	}
	return found
}

// waitingProblem returns the note that some definitions of a file wait for metrics, which are absent or masked.
func waitingProblem(file string, defs []served.Definition, metrics []string, masked map[string]string) *config.Problem {
	verb := map[bool]string{true: "waits", false: "wait"}[len(defs) == 1]
	var absent, hidden []string
	for _, m := range metrics {
		if masked[derived.ShortName(m)] != "" {
			hidden = append(hidden, m)
		} else {
			absent = append(absent, m)
		}
	}
	const lacks, masks = "this host does not have", "are masked"
	var reasons []string
	if len(absent) > 0 {
		reasons = append(reasons, lacks+" ("+metricsText(absent)+")")
	}
	if len(hidden) > 0 {
		reasons = append(reasons, masks+" ("+metricsText(hidden)+")")
	}
	text := fmt.Sprintf("%s %s for metrics that %s", plural.Of(len(defs), "definition"), verb,
		cmp.Or(strings.Join(reasons, " or that "), lacks))
	return &config.Problem{Pos: config.Position{File: file}, Severity: config.Note, Code: codeWaiting, Msg: text}
}

// metricsText returns the name of one metric, or the first components of several names: they say which agents are
// missing.
func metricsText(metrics []string) string {
	const most = 4
	if len(metrics) == 1 {
		return metrics[0]
	}
	var roots []string
	for _, m := range metrics {
		root, _, _ := strings.Cut(m, ".")
		roots = append(roots, root+".…")
	}
	roots = slices.Compact(roots)
	if len(roots) > most {
		roots = append(roots[:most], "…")
	}
	return strings.Join(roots, ", ")
}
