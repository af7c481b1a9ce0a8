package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Counts are the numbers of a set of cases, by outcome.
type Counts struct {
	Cases, Agree, Wanted, Failures int
}

// Tally counts the cases of one run. It is not for concurrent use.
type Tally struct {
	run  string
	sets map[string]*Counts
	seen map[string]bool // of the wanted differences
	why  map[string]string
}

// NewTally starts a tally. run is its name, one word: the table has a group of columns for it. list has differences
// besides [Differences].
func NewTally(run string, list ...Difference) *Tally {
	t := &Tally{run: run, sets: map[string]*Counts{}, seen: map[string]bool{}, why: map[string]string{}}
	for _, d := range append(Differences(), list...) {
		for _, name := range d.Cases {
			t.why[name] = d.ID
		}
	}
	return t
}

func (t *Tally) of(set string) *Counts {
	if t.sets[set] == nil {
		t.sets[set] = &Counts{}
	}
	return t.sets[set]
}

// Judge counts a case of the corpus. different is the difference of the answer from that of libpcp, "" without one. An
// unwanted difference fails the test, and so does a wanted one that is missing. Judge returns the id of the wanted
// difference that explains the answer, "" without one.
func (t *Tally) Judge(tb testing.TB, c *Case, different string) (id string) {
	tb.Helper()
	counts := t.of(c.Set)
	counts.Cases++
	id, wanted := t.why[c.Name]
	t.seen[c.Name] = true
	switch {
	case wanted && different != "" && c.Class == "ok" && Extension(id):
		counts.Failures++
		assert.Fail(tb, "means something else", "%s %s: libpcp accepts %s%s", c.Name, id, c.Expr, different)
	case wanted && different != "":
		counts.Wanted++
		return id
	case wanted:
		counts.Failures++
		assert.Fail(tb, "no longer different", "%s %s: %s", c.Name, id, c.Expr)
	case different != "":
		counts.Failures++
		assert.Fail(tb, "differs", "%s %s: %s%s", c.Name, c.Quirk, c.Expr, different)
	default:
		counts.Agree++
	}
	return ""
}

// Count counts a case of a set that has its own comparison.
func (t *Tally) Count(set string, wanted, failed bool) {
	counts := t.of(set)
	counts.Cases++
	switch {
	case failed:
		counts.Failures++
	case wanted:
		counts.Wanted++
	default:
		counts.Agree++
	}
}

// attribute is the key of the test attributes that hold a tally.
const attribute = "conformance"

// Report attaches the tally to the test, for [Table].
func (t *Tally) Report(tb testing.TB) {
	tb.Helper()
	for _, set := range slices.Sorted(maps.Keys(t.sets)) {
		c := t.sets[set]
		tb.Attr(attribute, fmt.Sprint(t.run, " ", set, " ", c.Cases, " ", c.Agree, " ", c.Wanted, " ", c.Failures))
	}
}

// ReportCorpus is [Tally.Report] for a run over the whole corpus. Every difference on the list must have occurred.
func (t *Tally) ReportCorpus(tb testing.TB) {
	tb.Helper()
	for name, id := range t.why {
		assert.True(tb, t.seen[name] || strings.HasPrefix(name, configPrefix),
			"%s: %s is on the list, but not in the corpus", id, name)
	}
	t.Report(tb)
}

// parseReport reads what Report writes.
func parseReport(value string) (run, set string, c Counts, err error) {
	words := strings.Fields(value)
	if len(words) != 6 {
		return "", "", c, fmt.Errorf("attribute %q is no tally", value)
	}
	for i, n := range []*int{&c.Cases, &c.Agree, &c.Wanted, &c.Failures} {
		if *n, err = strconv.Atoi(words[2+i]); err != nil {
			return "", "", c, fmt.Errorf("attribute %q: %w", value, err)
		}
	}
	return words[0], words[1], c, nil
}
