package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pmdaderived/config"
	"pmdaderived/internal/agent/identity"
	"pmdaderived/internal/agent/served"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/lint"
	"pmdaderived/internal/plural"
)

// Codes of problems that only check finds or treats. They stay what they are.
const (
	codeNoCode   = "unknown-code"
	codeReplaced = "replaced-definition"
	codeWaiting  = "shipped-unbound"

	codeNeverServed = "never-served"
	codeOperandGone = "operand-gone"
)

// fileCodes are those of warnings and notes about files, which package config gives.
func fileCodes() []string {
	return []string{
		codeReplaced, "replaced-text", "extra-text", "invalid-text", "continued-comment", "control-line", definitions.CodeControlOption,
		"ignored-nothing", codeNoCode, "more-problems", "group-writable", "linked-directory", "not-regular", "unread",
	}
}

// unboundCodes are those of errors that say more about this host than about the definition: it is served where there are the
// metrics that it uses.
func unboundCodes() []string { return []string{definitions.CodeUnknown, definitions.CodeUnavailable} }

// warningCodes are all codes of warnings and notes, and of errors of which another host may have none: what can be
// silenced, or made an error.
func warningCodes() []string {
	codes := slices.Concat(fileCodes(), unboundCodes(), []string{
		codeNeverServed, codeOperandGone, codeWaiting,
		definitions.CodeUnclosed, definitions.CodeNoFunction, definitions.CodeHint,
	})
	for _, c := range lint.Codes() {
		codes = append(codes, string(c))
	}
	slices.Sort(codes)
	return codes
}

// treatment is what becomes of warnings and notes.
type treatment struct {
	ignored   []string // codes
	errors    []string // likewise
	allErrors bool     // every warning
	promoted  map[*config.Problem]bool
}

// parseCodes reads a list of codes, separated by commas.
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

// apply drops what is ignored and makes errors of what is to be one.
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
			made := *p
			made.Severity, made.Code = config.Error, code
			p = &made
			t.promoted[p] = true
		}
		kept = append(kept, p)
	}
	return kept
}

// unknownCodes finds comments that silence what there is not.
func unknownCodes(defs []*config.Definition) []*config.Problem {
	known := warningCodes()
	var found []*config.Problem
	for _, d := range defs {
		for _, code := range d.Ignored {
			if !slices.Contains(known, code) {
				p := definitions.ProblemAt(d, -1)
				p.Severity, p.Code, p.Msg = config.Warning, codeNoCode, fmt.Sprintf("the comment above ignores %q, "+
					"which is not a valid code", code)
				found = append(found, p)
			}
		}
	}
	return found
}

// minFileAge is how old a file is before it says something that the agent could never serve a definition in it.
const minFileAge = 10 * time.Minute

// rememberedProblem adds to the error of a definition for want of an operand what the agent of this host remembers of it; nil
// if it knows nothing. age is that of the file.
func rememberedProblem(
	p *config.Problem, text string, agents map[string]identity.SavedMetric, age time.Duration,
) *config.Problem {
	known, ok := agents[p.Name]
	if !ok || known.Bound && known.Text != text || !known.Bound && age < minFileAge {
		return nil
	}
	more := *p
	more.Err = nil
	if known.Bound {
		more.Severity, more.Code = config.Note, codeOperandGone
		more.Msg = p.Name + " has been served on this host: the agent of an operand may be missing"
	} else {
		more.Severity, more.Code = config.Warning, codeNeverServed
		more.Msg = "the agent of this host has never been able to serve " + p.Name
	}
	return &more
}

// waitingProblem says of a file that definitions of it are not served for want of metrics.
func waitingProblem(file string, defs []served.Definition, metrics []string) *config.Problem {
	verb := "wait"
	if len(defs) == 1 {
		verb = "waits"
	}
	text := fmt.Sprintf("%s %s for metrics that this host does not have", plural.Of(len(defs), "definition"), verb)
	if len(metrics) > 0 {
		text += " (" + metricsText(metrics) + ")"
	}
	return &config.Problem{Pos: config.Position{File: file}, Severity: config.Note, Code: codeWaiting, Msg: text}
}

// metricsText is a metric, or the beginnings of the names of several.
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
