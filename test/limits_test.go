package test

import (
	"go/ast"
	goconstant "go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// limited are the packages whose limits docs/limits.md lists.
var limited = []string{
	"cmd/pmdaderived", "config", "derived", "derived/agent", "derived/agent/history", "derived/agent/identity", "derived/agent/mmv", "derived/agent/operand", "derived/agent/predict", "derived/agent/served", "derived/agent/slow", "derived/agent/upstream", "derived/ere", "derived/lint", "derived/syntax", "pdu", "pmda", "pmda/pmapi",
	"derived/unittest", "derived/window",
}

// limitName is what limits are called.
var limitName = regexp.MustCompile(`^[mM]ax[A-Z]|[a-z]Limit$`)

// noLimits are constants that are called so and bound nothing that anybody could want more of.
var noLimits = map[string]string{
	"predict.maxLead":        "a time: how early a sample is asked for",
	"operand.maxDrift":       "a tolerance of clocks",
	"operand.maxBatches":     "lists of operands that need not be made again",
	"history.MaxEvaluations": "evaluations whose memory is used again",
	"config.maxRounds":       "attempts before events are waited for",
	"config.delayLimit":      "a time: how long changes are gathered",
	"config.maxShown":        "bytes of a source line in a message",
	"pdu.MaxDomain":          "width of a field",
	"pdu.MaxCluster":         "width of a field",
	"pdu.MaxItem":            "width of a field",
	"pdu.MaxSerial":          "width of a field",
	"pdu.maxPower":           "width of a field",
	"pdu.ErrConnLimit":       "an error",
	"syntax.maxDomain":       "width of a field",
	"syntax.maxSerial":       "width of a field",
	"syntax.MaxSample":       "a function",
	"pmda.maxPipeSize":       "what the kernel allows: longer replies take turns",
	"pmapi.maxLookup":        "requests are parted: more takes more of them",
	"pmapi.maxDescBatch":     "requests are parted: more takes more of them",
	"main.maxShownDepth":     "indentation of explain",
	"queue.MaxValues":        "fetches are parted: more takes more of them",
	"agent.maxLookedUp":      "samples asked for in advance: beyond it they come with the fetch",
	"pmda.maxProcessors":     "threads made in advance",
	"predict.maxEntries":     "samples asked for in advance: beyond it they come with the fetch",
	"identity.maxAside":      "damaged files that are kept for inspection",
	"pmda.maxComplaints":     "different complaints that are remembered, not to repeat them",
}

// packages evaluates the constants of packages of the module, as far as they need nothing from outside.
type packages struct {
	fset  *token.FileSet
	known map[string]*types.Package
}

// Import implements types.Importer. What is not of the module is empty.
func (p *packages) Import(path string) (*types.Package, error) {
	if known := p.known[path]; known != nil {
		return known, nil
	}
	dir, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		p.known[path] = types.NewPackage(path, filepath.Base(path))
		p.known[path].MarkComplete()
		return p.known[path], nil
	}
	names, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_other.go") {
			continue
		}
		file, err := parser.ParseFile(p.fset, name, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	config := types.Config{Importer: p, Error: func(error) {}, IgnoreFuncBodies: true}
	made, _ := config.Check(path, p.fset, files, nil) // what comes from outside is missing
	p.known[path] = made
	return made, nil
}

// limitsOf returns the limits of a package by name, with a value where it can be told.
func limitsOf(t *testing.T, p *packages, path string) map[string]goconstant.Value {
	t.Helper()
	pkg := must(p.Import(module + "/" + path))(t)
	found := make(map[string]goconstant.Value)
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if full := pkg.Name() + "." + name; ok && limitName.MatchString(name) && noLimits[full] == "" {
			found[full] = c.Val()
		}
	}
	return found
}

// amount reads a number of the table: "4,096", "64 KiB", "16 MiB an hour".
func amount(t *testing.T, text string) int64 {
	t.Helper()
	digits, unit, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(strings.ReplaceAll(digits, ",", ""), 10, 64)
	require.NoError(t, err, "%q is no number", text)
	for shift, name := range []string{"", "KiB", "MiB", "GiB"} {
		if name != "" && strings.HasPrefix(unit, name) {
			n <<= 10 * shift
		}
	}
	return n
}

// Every limit of the code is in the table of docs/limits.md with its value, and nothing else is.
func TestLimitsAreDocumented(t *testing.T) {
	p := &packages{fset: token.NewFileSet(), known: make(map[string]*types.Package)}
	limits := make(map[string]goconstant.Value)
	for _, path := range limited {
		maps.Copy(limits, limitsOf(t, p, path))
	}
	require.Greater(t, len(limits), 30, "the constants are found")

	page := must(os.ReadFile("../docs/limits.md"))(t)
	row := regexp.MustCompile("(?m)^\\| [^|]+ \\| ([^|]+) \\|[^|]*\\| [^|]+ \\| `([a-z]+\\.\\w+)` \\|$")
	var documented []string
	for _, match := range row.FindAllStringSubmatch(string(page), -1) {
		value, name := match[1], match[2]
		documented = append(documented, name)
		is, exists := limits[name]
		if assert.True(t, exists, "docs/limits.md has %s, which does not exist", name) && is.Kind() == goconstant.Int {
			n, exact := goconstant.Int64Val(is)
			require.True(t, exact)
			assert.Equal(t, n, amount(t, value), "%s is not %s", name, value)
		}
	}
	assert.Equal(t, slices.Sorted(maps.Keys(limits)), slices.Sorted(slices.Values(documented)))
}
