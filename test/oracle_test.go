//go:build pcp

package test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
	"pmdaderived/test/conformance"
	"pmdaderived/test/pmcdtest"
)

var (
	oracleTime  = flag.Duration("oracle", 0, "how long TestOracle compares random expressions; 0: -oracle-count of them")
	oracleCount = flag.Int("oracle-count", 300, "how many random expressions TestOracle compares")
	oracleSeed  = flag.Uint64("oracle-seed", 1, "seed of TestOracle; 0: a random one, which it prints")
)

const (
	oracleBatch = 60

	// maxExpression is the length of the longest random expression, in bytes.
	maxExpression = 1000

	// oracleLife is the number of expressions for one pmcd: the agent never forgets a name.
	oracleLife = 6000
)

// outcome is the answer of libpcp or of the daemon to a definition, in libpcp's words.
type outcome struct {
	Class   string // ok, syntax, semantic, unbound, crash
	Message string // of a syntax error with its caret
	Shown   string // descriptor and values, as pminfo prints them
}

// TestOracle asks libpcp itself, in pminfo, and the daemon on the same pmcd for random expressions. They must agree
// unless a wanted difference may explain the answer.
func TestOracle(t *testing.T) {
	seed := *oracleSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -args -oracle-seed %d", seed)
	program := must(daemonProgram())(t)
	run := &oracleRun{
		t: t, program: program, gen: &generator{Rand: rand.New(rand.NewPCG(seed, 0))},
		classes: map[string]int{}, explanations: map[string]int{},
	}
	run.open()
	end := time.Now().Add(*oracleTime)
	for more := func() bool {
		if *oracleTime > 0 {
			return time.Now().Before(end)
		}
		return run.asked < *oracleCount
	}; more(); {
		n := oracleBatch
		if *oracleTime == 0 {
			n = min(n, *oracleCount-run.asked)
		}
		run.batch(n)
	}
	t.Logf("seed %d: %s", seed, run.summary())
	assert.Zero(t, run.unexplained, "differences that nothing explains")
	assert.Greater(t, run.classes["ok"], run.asked/3, "expressions that are good")
	assert.NotZero(t, run.classes["semantic"])
	assert.NotZero(t, run.classes["syntax"])
}

type oracleRun struct {
	t       *testing.T
	program string
	gen     *generator
	station *station
	file    string
	named   bool // the libpcp that is asked tells which operand is not there
	seven   bool // and has the language of PCP 7
	catalog derived.CatalogMap
	served  int // by this station
	batches int

	asked        int
	classes      map[string]int // libpcp's answers
	unexplained  int            // differences
	explained    int            // differences that a wanted one may explain
	explanations map[string]int // how often each came into question
	clean        int            // expressions that might differ but do not
}

// open starts a pmcd, in place of the one before.
func (r *oracleRun) open() {
	if r.station != nil {
		require.NoError(r.t, r.station.pmcd.Stop())
	}
	r.file = filepath.Join(worldReadableDir(r.t), "oracle.conf")
	require.NoError(r.t, os.WriteFile(r.file, nil, 0o644))
	s := &station{pmcd: pmcdtest.Start(r.t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{derivedAgent(r.t, "--interval=0", "--non-finite=serve", "-c", r.file)},
		Env:    []string{"PCP_DERIVED_CONFIG="},
	})}
	s.recorder = recorder{t: r.t, ctx: context.WithoutCancel(r.t.Context()), conn: dial(r.t, s.pmcd)}
	s.awaitControl("upstream.connected", 1)
	r.station, r.served = s, 0
	r.catalog = derived.CatalogMap{}
	for _, name := range slices.Concat(singular, sets, otherSets, sparse, texts) {
		desc, code := s.desc(name)
		require.Zero(r.t, code, name)
		r.catalog[name] = desc
	}
	for _, name := range extraUnits {
		if desc, code := s.desc(name); code == 0 {
			r.catalog[name] = desc
			r.gen.extra = true
		}
	}
	names := []string{"orc.named", "orc.seven"}
	answers := r.stock(names, []*expression{{text: "nosuch + 1"}, {text: "1 ? 1 : novalue()"}})
	r.named, r.seven = answers[names[0]].Message != "", answers[names[1]].Class == "ok"
	r.gen.novalue = r.seven
}

// expressions makes n texts, most of them good, small and large ones. It leaves out those that would harm libpcp, and
// most of those that may differ.
func (r *oracleRun) expressions(n int) []*expression {
	made := make([]*expression, n)
	for i := range made {
		depth := 1 + r.gen.IntN(4)
		wrong, damaged, may := r.gen.chance(25), r.gen.chance(8), r.gen.chance(10)
		for made[i] == nil {
			text := r.gen.expr(depth)
			if damaged {
				text = r.gen.damage(text)
			}
			x := newExpression(text, r.catalog)
			good := x.tree != nil && x.problem == ""
			if text == "" || len(text) > maxExpression || good == wrong && !damaged || good && x.size() < 2*depth {
				continue
			}
			ids := x.explanations(r.seven)
			if len(ids) == 0 || may && !slices.ContainsFunc(ids, harmful) {
				made[i] = x
			}
		}
	}
	return made
}

func harmful(id string) bool { return slices.Contains(strings.Fields(unaskable), id) }

// batch compares n expressions.
func (r *oracleRun) batch(n int) {
	if r.served >= oracleLife {
		r.open()
	}
	r.batches++
	all := r.expressions(n)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("orc.b%d.c%d", r.batches, i)
	}
	stock := r.stock(names, all)
	ours := r.ours(names, all)
	for i, x := range all {
		r.asked++
		r.served++
		r.classes[stock[names[i]].Class]++
		ids := x.explanations(r.seven)
		if stock[names[i]].Class == "ok" { // what libpcp accepts keeps its meaning
			ids = slices.DeleteFunc(ids, conformance.Extension)
		}
		same := stock[names[i]] == ours[names[i]]
		switch {
		case same && len(ids) == 0:
		case same:
			r.clean++
		case len(ids) > 0:
			r.explained++
			for _, id := range ids {
				r.explanations[id]++
			}
		default:
			r.unexplained++
			r.t.Logf("%s\n  libpcp: %+v\n  ours:   %+v", x.text, stock[names[i]], ours[names[i]])
		}
	}
}

func (r *oracleRun) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d expressions: %d differ unexplained, %d differ as wanted, %d might have differed so but do not",
		r.asked, r.unexplained, r.explained, r.clean)
	list := func(what string, counts map[string]int) {
		fmt.Fprintf(&b, "\n%s:", what)
		for _, key := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&b, "\n  %-26s %d", key, counts[key])
		}
	}
	list("libpcp says", r.classes)
	list("the wanted differences that came into question", r.explanations)
	return b.String()
}

func (r *oracleRun) write(file string, names []string, all []*expression) {
	var b strings.Builder
	for i, x := range all {
		fmt.Fprintf(&b, "%s = %s\n", names[i], x.text)
	}
	require.NoError(r.t, os.WriteFile(file, []byte(b.String()), 0o644))
}

var (
	stockSyntax   = regexp.MustCompile(`(?m)^\[[^\n]*\] Error: pmRegisterDerived\((\S+), \.\.\.\) syntax error\n`)
	stockSemantic = regexp.MustCompile(`(?m)^Semantic error: derived metric (\S+): .*$`)
)

// stock asks libpcp. If it crashes, stock finds the culprit by halves.
func (r *oracleRun) stock(names []string, all []*expression) map[string]outcome {
	file := r.file + ".stock"
	r.write(file, names, all)
	stdout, stderr, ok := r.pminfo(append([]string{"-c", file}, names...))
	if !ok {
		if len(all) == 1 {
			return map[string]outcome{names[0]: {Class: "crash"}}
		}
		half := len(all) / 2
		answers := r.stock(names[:half], all[:half])
		maps.Copy(answers, r.stock(names[half:], all[half:]))
		return answers
	}
	answers := map[string]outcome{}
	for _, name := range names {
		answers[name] = outcome{Class: "unbound"}
	}
	for name, shown := range described(stdout) {
		answers[name] = outcome{Class: "ok", Shown: shown}
	}
	for _, m := range stockSemantic.FindAllStringSubmatch(stderr, -1) {
		answers[m[1]] = semantic(m[0])
	}
	for _, m := range stockSyntax.FindAllStringSubmatchIndex(stderr, -1) {
		lines := strings.SplitN(stderr[m[1]:], "\n", 4)
		message := strings.Join(lines[:2], "\n")
		if reason := lines[2]; !strings.HasPrefix(reason, "[") && !stockNext.MatchString(reason) {
			message += "\n" + reason
		}
		answers[stderr[m[2]:m[3]]] = outcome{Class: "syntax", Message: message}
	}
	return answers
}

// stockNext matches the line that begins another message, below a syntax error without a reason.
var stockNext = regexp.MustCompile(`^$|^Error: |^Semantic error: |^pminfo`)

// pminfo prints descriptors and values; ok is false if it was ended by a signal.
func (r *oracleRun) pminfo(args []string) (stdout, stderr string, ok bool) {
	ctx, cancel := context.WithTimeout(r.station.ctx, time.Minute)
	defer cancel()
	var out, errs strings.Builder
	cmd := r.station.pmcd.Command(ctx, "pminfo", append([]string{"-d", "-f"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	require.NoError(r.t, ctx.Err())
	if exited := new(*exec.ExitError); err != nil && !errors.As(err, exited) {
		require.NoError(r.t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.Exited()
}

// semantic returns the outcome of a message. A missing operand is a class of its own.
func semantic(message string) outcome {
	message, _, _ = strings.Cut(message, " (") // the reason that we add to a descriptor that cannot be had
	for _, r := range unboundRules {
		if strings.HasSuffix(message, ": "+r.String()) {
			return outcome{Class: "unbound", Message: message}
		}
	}
	return outcome{Class: "semantic", Message: message}
}

// unboundRules are the rules about missing operands.
var unboundRules = []derived.Rule{derived.RuleUnknownOperand, derived.RuleOperandMetadata, derived.RuleTernaryUnknown}

// oursSyntax matches the first line of a syntax error: its place, and the reason if there is one.
var oursSyntax = regexp.MustCompile(`:\d+:\d+: syntax error(: |$)`)

// ours asks the daemon.
func (r *oracleRun) ours(names []string, all []*expression) map[string]outcome {
	r.write(r.file, names, all)
	s := r.station
	before := s.control("reload")[0].Bits
	s.store([]string{"derived.control.reload", "1"})
	s.awaitControl("reload", before+1)
	problems := s.definitionProblems()

	var served []string
	for _, name := range names {
		if problem, loaded := problems[name]; loaded && problem == "" {
			served = append(served, "derived."+name)
		}
	}
	stdout, _, ok := r.pminfo(served)
	require.True(r.t, ok)
	shown := described(stdout)
	answers := map[string]outcome{}
	for i, name := range names {
		problem, loaded := problems[name]
		problem, _, _ = strings.Cut(problem, "\n")
		switch {
		case !loaded, oursSyntax.MatchString(problem):
			answers[name] = outcome{Class: "syntax", Message: syntaxMessage(all[i].text)}
		case problem == "" && shown[name] != "":
			answers[name] = outcome{Class: "ok", Shown: shown[name]}
		case problem == "": // it waits for an operand, and has neither a name nor an error
			answers[name] = semantic(strings.Replace(all[i].problem, " x: ", " "+name+": ", 1))
		default:
			answers[name] = semantic(problem)
		}
		if answers[name].Class == "unbound" && !r.named {
			answers[name] = outcome{Class: "unbound"}
		}
	}
	return answers
}

// syntaxMessage shows a syntax error as libpcp does: the text behind the "=", the caret, the reason.
func syntaxMessage(text string) string {
	_, err := derived.Parse("x", " "+text)
	var fault *syntax.Error
	if !errors.As(err, &fault) {
		return fmt.Sprint("no syntax error: ", err)
	}
	return strings.TrimSuffix(conformance.Shown(" "+text, fault.Offset(), fault.Msg), "\n")
}

// Every explanation has to be one of the wanted differences.
func TestOracleExplanations(t *testing.T) {
	var ids []string
	for _, d := range slices.Concat(conformance.Differences(), conformance.DifferencesSeven()) {
		ids = append(ids, d.ID)
	}
	for _, k := range slices.Concat(known, knownSeven) {
		assert.Contains(t, ids, k.id)
	}
}

// A predicate that never held would explain nothing, one that always did everything.
func TestOraclePredicates(t *testing.T) {
	catalog := derived.CatalogMap{
		"sample.long.one": {Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
		"sample.long.ten": {Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
		"sample.bin":      {Type: pdu.Type32, InDom: pdu.NewInDom(29, 2), Sem: pdu.SemInstant},
		"sample.long.bin_ctr": {
			Type: pdu.Type32, InDom: pdu.NewInDom(29, 2), Sem: pdu.SemCounter,
			Units: pdu.Units{Space: 1, SpaceScale: 1},
		},
		"sample.part_bin":     {Type: pdu.Type32, InDom: pdu.NewInDom(29, 2), Sem: pdu.SemInstant},
		"sample.string.hullo": {Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
	}
	for _, row := range []struct {
		id, yes, no string
		seven       bool
	}{
		{"Q-NOT-TYPE", "!sample.bin", "!(sample.bin > 1)", false},
		{"Q-REL-SEM", "1 < sample.long.bin_ctr", "1 < sample.bin", false},
		{"Q-MUL-SEM", "sample.long.one * sample.long.bin_ctr", "2 * sample.long.bin_ctr", false},
		{
			"Q-REL-SCALE", "sample.long.bin_ctr > mkconst(1, units=byte)", "sample.long.bin_ctr > mkconst(1, units=Kbyte)",
			false,
		},
		{"Q-REL-CONST", "sample.long.bin_ctr > 1.5", "sample.long.bin_ctr > 1", false},
		{"Q-CONST-LEFT", "mkconst(1, units=byte) * sample.bin", "sample.bin * mkconst(1, units=byte)", false},
		{
			"Q-SCALE-SIGN", "instant(sample.long.bin_ctr) * mkconst(1, units=\"/ byte\")",
			"instant(sample.long.bin_ctr) * mkconst(1, units=\"byte\")", false,
		},
		{
			"Q-SCALE-POWER", "instant(sample.long.bin_ctr) * mkconst(1, units=\"byte^2\")",
			"instant(sample.long.bin_ctr) * mkconst(1, units=\"byte\")", false,
		},
		{
			"Q-SCALE-OVERFLOW", "instant(sample.long.bin_ctr) * mkconst(1, units=\"Pbyte\")",
			"instant(sample.long.bin_ctr) * mkconst(1, units=\"Gbyte\")", false,
		},
		{
			"Q-SCALE-OVERFLOW", "rescale(mkconst(1, units=byte) - mkconst(2, type=u64, units=byte), \"Kbyte\")",
			"rescale(mkconst(1, units=byte) - mkconst(2, units=byte), \"Kbyte\")", false,
		},
		{
			"Q-DIM-RANGE", "mkconst(1, units=\"byte^5\") * mkconst(1, units=\"byte^5\")",
			"mkconst(1, units=\"byte^3\") * mkconst(1, units=\"byte^4\")", false,
		},
		{"Q-TERN-POS", "sample.bin > 1 ? sample.bin : sample.part_bin", "sample.bin > 1 ? sample.bin : sample.bin", false},
		{"Q-TERN-BOTH", "sample.bin > 1 ? sample.bin : sample.part_bin", "sample.bin > 1 ? sample.bin : sample.bin", false},
		{"Q-TERN-LAZY", "1 && sample.long.one ? 1 : 2", "sample.long.one > 1 ? 1 : 2", false},
		{"numbers that fit", "sample.long.one ? sample.long.ten : -1", "sample.long.one ? 2 : -1", false},
		{"Q-AGGR-EMPTY", "max(sample.part_bin)", "sum(sample.part_bin)", false},
		{"avg", "avg(sample.bin)", "avg(sample.long.one)", false},
		{"Q-7X", "delta(sample.bin + 1)", "delta( sample.bin ) + 1", false},
		{"expressions in aggregates", "sum((sample.bin))", "sum(sample.bin)", false},
		{"Q-SCALAR-EMPTY", "scalar(sample.part_bin)", "scalar(sample.bin)", false},
		{"Q-INST-PAREN", "(sample.bin)[bin-100]", "sample.bin[bin-100]", false},
		{"Q-STRING", "matchinst(/x/, sample.string.hullo)", "matchinst(/x/, sample.bin)", false},
		{"Q-MATCH-SLASH", "matchinst(/x/, sample.bin / 2)", "matchinst(/x/, sample.bin)", false},
		{"Q-MATCH-SLASH", "matchinst(/x/, sample.bin, sample.part_bin)", "matchinst(/x/, sample.bin)", false},
		{"meta and indom as names", "meta + 1", "sample.meta + 1", true},
		{"Q-NOVALUE", "sample.bin ? novalue() : sample.bin", "1 ? novalue() : sample.bin", true},
		{"Q-META-STAYS", "mkconst(1, meta=sample.bin,)", "mkconst(1, meta=sample.bin)", true},
		{"messages of PCP 7", "mkconst(1)", "mkconst(1, type=32)", true},
		{"messages of PCP 7", "delta(sample.bin", "scalar(sample.bin", true},
		{"missing operands of a ternary", "nosuch ? 1 : 2", "nosuch + 1", true},
	} {
		assert.Contains(t, newExpression(row.yes, catalog).explanations(row.seven), row.id, row.yes)
		assert.NotContains(t, newExpression(row.no, catalog).explanations(row.seven), row.id, row.no)
	}
}
