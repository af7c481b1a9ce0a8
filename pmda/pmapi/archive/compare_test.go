//go:build archives

package archive_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
)

var (
	archives = flag.String("archives", "", "compare all archives below a folder with what libpcp reads (make archives)")
	only     = flag.String("archive", "", "only those whose path has this in it")
	show     = flag.Int("show", 5, "how many differences of an archive are shown")
)

// line is a value, or why there is none: "mark" or "code N".
type line struct {
	time  int64
	id    pdu.PMID
	inst  pdu.Inst
	typ   pdu.Type
	value string
}

// samples is how many times are compared.
const samples = 200

// All records of the archives below a folder, and the values at ascending times, are those that PCP's own library
// reads.
func TestArchives(t *testing.T) {
	require.NotEmpty(t, *archives, "make archives DIR=folder")
	oracle := filepath.Join(t.TempDir(), "oracle")
	out, err := exec.Command("cc", "-O2", "-Wall", "-o", oracle, "testdata/oracle.c", "-lpcp").CombinedOutput()
	require.NoError(t, err, "%s", out)
	keep := func(*archive.Archive, line) bool { return true }
	if exec.Command(oracle, "nearest").Run() == nil {
		keep = sameRule
		t.Log("between records, only counters and what is not numeric are compared: for other metrics, this libpcp takes the nearest record")
	}
	var total struct{ archives, refused, records, recordValues, fetchedValues, differ int }
	for _, base := range basesBelow(t, *archives) {
		if err := exec.Command(oracle, "values", base, "0", "1", "0").Run(); err != nil {
			total.refused++
			if a, ours := archive.Open(base); ours == nil {
				t.Logf("%s: libpcp does not read it, we do", base)
				a.Close()
			}
			continue
		}
		total.archives++
		a, err := archive.Open(base)
		if err != nil {
			t.Errorf("%s: %v", base, err)
			total.differ++
			continue
		}
		counted := 0
		n, differ := compare(t, base+" records", a, runOracle(t, oracle, "records", base), walk(t, a, &counted))
		total.records += counted
		total.recordValues += n
		total.differ += differ

		start, step := a.Start().UnixNano(), max(1, int64(a.End().Sub(a.Start()))/samples/1000*1000)
		began := time.Now()
		theirs := runOracle(
			t, oracle, "values", base, strconv.FormatInt(start, 10), strconv.FormatInt(step, 10), strconv.Itoa(samples),
		)
		n, differ = compare(t, base+" values", a, theirs.only(a, keep), fetch(t, a, start, step, samples).only(a, keep))
		if took := time.Since(began); took > 5*time.Second {
			t.Logf("%s: %d values in %v", base, n, took)
		}
		total.fetchedValues += n
		total.differ += differ
		a.Close()
	}
	t.Logf("%d archives (%d more that libpcp does not read), %d records with %d values; %d values at %d times each; %d differences",
		total.archives, total.refused, total.records, total.recordValues, total.fetchedValues, samples, total.differ)
}

// Archives that end anywhere in their last two records have everything before that.
func TestTornArchives(t *testing.T) {
	require.NotEmpty(t, *archives, "make archives DIR=folder")
	n := 0
	for _, base := range basesBelow(t, *archives) {
		files, err := filepath.Glob(base + ".*")
		require.NoError(t, err)
		copied := filepath.Join(t.TempDir(), "torn")
		for _, from := range files {
			data, err := os.ReadFile(from)
			require.NoError(t, err)
			if len(data) > 200<<10 || filepath.Ext(strings.TrimPrefix(from, base)) == "" {
				break
			}
			require.NoError(t, os.WriteFile(copied+strings.TrimPrefix(from, base), data, 0o600))
		}
		if _, err := archive.Open(copied); err != nil || !torn(t, copied, 10) {
			continue
		}
		_ = os.Remove(copied + ".index")
		torn(t, copied, 10)
		n++
	}
	t.Logf("%d archives, with and without index", n)
	require.Positive(t, n)
}

// basesBelow returns the base names of the archives below a folder.
func basesBelow(t *testing.T, folder string) (bases []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if i := strings.LastIndex(d.Name(), ".meta"); err == nil && i > 0 && strings.Contains(path, *only) {
			bases = append(bases, filepath.Join(filepath.Dir(path), d.Name()[:i]))
		}
		return nil
	}))
	return bases
}

// groups are lines of one time each.
type groups iter.Seq[[]line]

// grouped puts lines of one time together, sorted.
func grouped(lines iter.Seq[line]) groups {
	return func(yield func([]line) bool) {
		var group []line
		for l := range lines {
			if len(group) > 0 && group[0].time != l.time {
				if !yield(sorted(group)) {
					return
				}
				group = group[:0]
			}
			group = append(group, l)
		}
		if len(group) > 0 {
			yield(sorted(group))
		}
	}
}

// only leaves out lines.
func (g groups) only(a *archive.Archive, keep func(*archive.Archive, line) bool) groups {
	return func(yield func([]line) bool) {
		for group := range g {
			group = slices.DeleteFunc(group, func(l line) bool { return !keep(a, l) })
			if len(group) > 0 && !yield(group) {
				return
			}
		}
	}
}

// sameRule reports whether every generation of PCP has the same rule for the values of a metric between records:
// docs/archives.md 5.
func sameRule(a *archive.Archive, l line) bool {
	desc, err := a.Desc(context.Background(), l.id)
	return err != nil || desc.Sem == pdu.SemCounter || !desc.Type.Numeric()
}

// runOracle runs testdata/oracle.c.
func runOracle(t *testing.T, oracle string, args ...string) groups {
	return grouped(func(yield func(line) bool) {
		cmd := exec.Command(oracle, args...)
		cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG=")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		defer func() { require.NoError(t, cmd.Wait()) }()
		s := bufio.NewScanner(out)
		s.Buffer(nil, 1<<26)
		for s.Scan() {
			words := strings.SplitN(s.Text(), " ", 5)
			var l line
			if words[0] == "end" {
				continue
			}
			l.time, _ = strconv.ParseInt(words[0], 10, 64)
			if words[1] == "mark" {
				l.value = "mark"
				if !yield(l) {
					return
				}
				continue
			}
			id, _ := strconv.ParseUint(words[1], 10, 32)
			l.id = pdu.PMID(id)
			if words[2] == "code" {
				l.value = "code " + words[3]
			} else {
				inst, _ := strconv.ParseInt(words[2], 10, 32)
				typ, _ := strconv.Atoi(words[3])
				l.inst, l.typ, l.value = pdu.Inst(inst), pdu.Type(typ), words[4]
			}
			if l.typ != pdu.TypeEvent && l.typ != pdu.TypeHighResEvent && !yield(l) {
				return
			}
		}
		require.NoError(t, s.Err())
	})
}

// walk gives all records, and counts them.
func walk(t *testing.T, a *archive.Archive, n *int) groups {
	return grouped(func(yield func(line) bool) {
		c := a.NewContext(time.Time{}, time.Time{})
		defer c.Close()
		for {
			r, err := c.Next(t.Context())
			if errors.Is(err, io.EOF) {
				return
			}
			var damage *archive.DamageError
			if errors.As(err, &damage) {
				continue
			}
			require.NoError(t, err)
			*n++
			if r.Mark && !yield(line{time: r.Time.UnixNano(), value: "mark"}) {
				return
			}
			for _, l := range linesOf(t, a, r.Time, r.Sets) {
				if !yield(l) {
					return
				}
			}
		}
	})
}

// fetch gives the values of all metrics at times.
func fetch(t *testing.T, a *archive.Archive, start, step int64, n int) groups {
	return grouped(func(yield func(line) bool) {
		c := a.NewContext(time.Time{}, time.Unix(0, start+step*int64(n)))
		defer c.Close()
		ids := metrics(t, a)
		for i := range n {
			c.SetTime(time.Unix(0, start+step*int64(i)))
			res, err := c.FetchColumns(t.Context(), ids)
			require.NoError(t, err)
			for _, l := range linesOf(t, a, res.Time, res.Sets) {
				if !yield(l) {
					return
				}
			}
		}
	})
}

func linesOf(t *testing.T, a *archive.Archive, at time.Time, sets []pdu.Column) (lines []line) {
	for _, s := range sets {
		l := line{time: at.UnixNano(), id: s.PMID}
		if s.Code < 0 {
			l.value = "code " + strconv.Itoa(int(s.Code))
			lines = append(lines, l)
			continue
		}
		desc, err := a.Desc(t.Context(), s.PMID)
		if err != nil {
			continue
		}
		l.typ = desc.Type
		for i, inst := range s.Insts {
			l.inst = inst
			switch {
			case s.Bits == nil && l.typ == pdu.TypeString:
				l.value = escaped(s.Blobs[i])
			case s.Bits == nil && s.Blobs != nil:
				l.value = "bytes " + strconv.Itoa(len(s.Blobs[i]))
			case s.Bits == nil:
				l.value = "nothing"
			case l.typ == pdu.TypeFloat, l.typ == pdu.TypeDouble:
				l.value = strconv.FormatFloat(l.typ.Float64(s.Bits[i]), 'g', -1, 64)
			case l.typ == pdu.TypeU64:
				l.value = strconv.FormatUint(s.Bits[i], 10)
			default:
				n, _ := l.typ.Int64(s.Bits[i])
				l.value = strconv.FormatInt(n, 10)
			}
			if l.typ != pdu.TypeEvent && l.typ != pdu.TypeHighResEvent {
				lines = append(lines, l)
			}
		}
	}
	return lines
}

func escaped(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		if c <= ' ' || c == '\\' || c >= 0x7f {
			fmt.Fprintf(&s, "\\%03o", c)
		} else {
			s.WriteByte(c)
		}
	}
	return s.String()
}

func sorted(lines []line) []line {
	slices.SortStableFunc(lines, line.compare)
	return lines
}

// same reports whether two values are the same; numbers but for the last digits, which depend on the order of
// operations.
func (l line) same(other line) bool {
	if l.time != other.time || l.id != other.id || l.inst != other.inst || l.typ != other.typ {
		return false
	}
	if l.value == other.value {
		return true
	}
	x, err := strconv.ParseFloat(strings.Replace(l.value, "-nan", "nan", 1), 64)
	y, err2 := strconv.ParseFloat(other.value, 64)
	if err != nil || err2 != nil || !l.typ.Numeric() {
		return false
	}
	slack := 1e-9 * max(math.Abs(x), math.Abs(y))
	switch l.typ {
	case pdu.TypeDouble:
	case pdu.TypeFloat:
		slack = 2e-7 * max(math.Abs(x), math.Abs(y))
	default:
		slack = max(slack, 1)
	}
	return x == y || math.Abs(x-y) <= slack || math.IsNaN(x) && math.IsNaN(y)
}

// compare says where two readings differ, how often, and how many lines libpcp has.
func compare(t *testing.T, what string, a *archive.Archive, want, have groups) (n, differ int) {
	t.Helper()
	say := func(format string, l line) {
		differ++
		if differ <= *show {
			names, _ := a.NameAll(context.Background(), l.id)
			desc, _ := a.Desc(context.Background(), l.id)
			t.Logf("%s: "+format+" %d %v %v %v %d: %s", what, l.time, names, l.typ, desc.Sem, l.inst, l.value)
		}
	}
	next, stop := iter.Pull(iter.Seq[[]line](have))
	defer stop()
	ours, ok := next()
	for theirs := range want {
		n += len(theirs)
		for ok && ours[0].time < theirs[0].time {
			for _, l := range ours {
				say("more", l)
			}
			ours, ok = next()
		}
		if !ok || ours[0].time > theirs[0].time {
			for _, l := range theirs {
				say("less", l)
			}
			continue
		}
		for len(theirs) > 0 || len(ours) > 0 {
			order := 0
			switch {
			case len(theirs) == 0:
				order = 1
			case len(ours) == 0:
				order = -1
			default:
				order = theirs[0].compare(ours[0])
			}
			switch {
			case order < 0:
				say("less", theirs[0])
				theirs = theirs[1:]
			case order > 0:
				say("more", ours[0])
				ours = ours[1:]
			default:
				if !theirs[0].same(ours[0]) {
					say("want", theirs[0])
					differ--
					say("have", ours[0])
				}
				theirs, ours = theirs[1:], ours[1:]
			}
		}
		ours, ok = next()
	}
	for ; ok; ours, ok = next() {
		for _, l := range ours {
			say("more", l)
		}
	}
	base := strings.TrimSuffix(strings.TrimSuffix(what, " values"), " records")
	switch why := whyDifferent(base); {
	case differ > 0 && why != "":
		t.Logf("%s: %d of %d differ: %s", what, differ, n, why)
	case differ > 0:
		t.Errorf("%s: %d of %d differ", what, differ, n)
	}
	return n, differ
}

// compare orders lines by what they are of.
func (l line) compare(other line) int {
	return cmp.Or(cmp.Compare(l.time, other.time), cmp.Compare(l.id, other.id), cmp.Compare(l.inst, other.inst))
}
