package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/derived"
)

// The example of pmRegisterDerived(3) with its table: type, dimension and scale, and conversion at every
// node. Only the delta of a U64 is DOUBLE, as in libpcp 6.0.3, where the page's table has U64.
const worked = `network.interface.speed - delta(network.interface.in.bytes) / delta(sample.milliseconds)`

const workedTable = `
expression                           type    semantics  units            indom     conversion
network.interface.speed - ...        DOUBLE  instant    Mbyte / sec      60.3
├─ network.interface.speed           FLOAT   discrete   Mbyte / sec      60.3
└─ delta(...) / delta(...)           DOUBLE  instant    byte / millisec  60.3      /1048576 *1000
   ├─ delta(...)                     DOUBLE  instant    byte             60.3
   │  └─ network.interface.in.bytes  U64     counter    byte             60.3
   └─ delta(...)                     DOUBLE  instant    millisec         singular
      └─ sample.milliseconds         DOUBLE  counter    millisec         singular

A value needs 1 sample before it.
`

func TestExplainTheWorkedExample(t *testing.T) {
	s := newSite(t)
	out := s.succeeds("explain", worked)
	assert.Equal(t, worked+"\n"+workedTable, out)

	path := s.file("site.conf", "# of the man page\nx = "+worked+"\n")
	for _, name := range []string{"x", "derived.x"} {
		out = s.succeeds("explain", name)
		assert.Equal(t, "x = "+worked+"\n    defined in "+path+":2:1\n"+workedTable, out)
	}
}

// Every kind of node, each with its metadata, and conversions before the operator that needs them.
func TestExplain(t *testing.T) {
	s := newSite(t)
	for _, row := range []struct{ name, args, want string }{
		{"a metric", "hinv.ncpu", `
hinv.ncpu  U32   discrete   none   singular
`},
		{"rescale", `rescale(mem.physmem, "byte")`, `
rescale(..., "byte")  U64   discrete   byte   singular
└─ mem.physmem        U64   discrete   Kbyte  singular  *1024
`},
		{"utilisation", "rate(kernel.all.cpu.user)", `
rate(...)               DOUBLE  instant    none      singular
└─ kernel.all.cpu.user  U64     counter    millisec  singular  /1000

A value needs 1 sample before it.
`},
		{"selection and pattern", `matchinst(!/a\/b/, (-disk.dev.total)[sda])`, `
matchinst(!/a\/b/, ...)   64    instant    count  60.1
└─ (...)[sda]             64    instant    count  60.1
   └─ -disk.dev.total     64    instant    count  60.1
      └─ disk.dev.total   U64   counter    count  60.1
`},
		{"ternary", "hinv.ncpu[x] > 1.5 ? mkconst(1, type=32) : novalue()", `
... ? mkconst(1, type=32) : novalue()  32      discrete   none   singular
├─ ... > 1.5                           U32     discrete   none   singular
│  ├─ hinv.ncpu[x]                     U32     discrete   none   singular
│  │  └─ hinv.ncpu                     U32     discrete   none   singular
│  └─ 1.5                              DOUBLE  discrete   none   singular
├─ mkconst(1, type=32)                 32      discrete   none   singular
└─ novalue()                           32      discrete   none   singular
`},
		{"what was selected", "defined(no.such) ? no.such : !defined(hinv.ncpu)", `
!defined(hinv.ncpu)    U32   discrete   none   singular
└─ defined(hinv.ncpu)  U32   discrete   none   singular
`},
		{"scales", "swap.used + mem.physmem", `
swap.used + mem.physmem  DOUBLE  instant    Kbyte  singular
├─ swap.used             U64     instant    byte   singular  /1024
└─ mem.physmem           U64     discrete   Kbyte  singular
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			out := s.succeeds("explain", row.args)
			_, table, _ := strings.Cut(out, "conversion\n")
			assert.Equal(t, squeezed(row.want), squeezed("\n"+table))
		})
	}
}

// squeezed is a table without the width of its columns.
func squeezed(table string) string {
	lines := strings.Split(table, "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

// The tree of a definition takes the place of its name. What is used twice is shown once.
func TestExplainDefinitions(t *testing.T) {
	s := newSite(t)
	path := s.file("site.conf", "net = disk.dev.total + disk.dev.total\ntwice = rate(net) / rate(derived.net)\nalias = (derived.net)\n")
	out := s.succeeds("explain", "twice", "alias")
	assert.Equal(t, `twice = rate(net) / rate(derived.net)
    defined in `+path+`:2:1

expression                                                      type    semantics  units        indom  conversion
rate(...) / rate(...)                                           DOUBLE  instant    none         60.1
├─ rate(...)                                                    DOUBLE  instant    count / sec  60.1
│  └─ net = disk.dev.total + disk.dev.total                     U64     counter    count        60.1
│     ├─ disk.dev.total                                         U64     counter    count        60.1
│     └─ disk.dev.total                                         U64     counter    count        60.1
└─ rate(...)                                                    DOUBLE  instant    count / sec  60.1
   └─ derived.net = disk.dev.total + disk.dev.total (as above)  U64     counter    count        60.1

A value needs 1 sample before it.

alias = (derived.net)
    defined in `+path+`:3:1

expression                                     type  semantics  units  indom  conversion
derived.net = disk.dev.total + disk.dev.total  U64   counter    count  60.1
├─ disk.dev.total                              U64   counter    count  60.1
└─ disk.dev.total                              U64   counter    count  60.1
`, out)
}

func TestExplainMistakes(t *testing.T) {
	s := newSite(t)
	path := s.file("site.conf", "good = 1\ntypo = 1 +\nwrong = good + disk.dev.total\n")
	for _, row := range []struct {
		name string
		args []string
		errs string
		exit int
	}{
		{"syntax", []string{"1 +\n * 2"}, `pmdaderived explain: syntax error: Arithmetic expression expected to follow PLUS
1 +  * 2
     ^
`, exitFailure},
		{"at the end", []string{"1 +"}, `pmdaderived explain: syntax error: Arithmetic expression expected to follow PLUS
1 +
  ^
`, exitFailure},
		{"semantics", []string{"1 + no.such"}, `pmdaderived explain: semantic error: operand no.such: Unknown operand metric
1 + no.such
    ^
`, exitFailure},
		{"no metric", []string{"no.such"}, `pmdaderived explain: semantic error: operand no.such: Unknown operand metric
no.such
^
`, exitFailure},
		{"a definition's syntax", []string{"typo"}, path + `:2:10: syntax error: Arithmetic expression expected to follow PLUS
typo = 1 +
         ^
`, exitFailure},
		{"a definition's semantics", []string{"derived.wrong"}, "pmdaderived explain: this pmcd has no agent for derived metrics\n" + path +
			`:3:9: Semantic error: derived metric wrong: good + disk.dev.total: Illegal operator for non-counter and counter
wrong = good + disk.dev.total
        ^
`, exitFailure},
		{"nothing", nil, "pmdaderived explain: name a metric, or give an expression\nTry \"pmdaderived explain --help\".\n", exitUsage},
		{"no pmcd", []string{"--pmcd", "unix:/nonexistent/socket", "1"}, "pmdaderived explain: pmcd does not run: nothing listens at unix:/nonexistent/socket.", exitFailure},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, errs, exit := s.run(append([]string{"explain"}, row.args...)...)
			assert.Equal(t, row.exit, exit)
			assert.Empty(t, out)
			if row.name == "no pmcd" {
				errs = errs[:min(len(errs), len(row.errs))]
			}
			assert.Equal(t, row.errs, errs)
		})
	}
	_, errs := s.fails("explain", "sum(kernel.all.laod)")
	assert.Contains(t, errs, "pmdaderived explain: there is no kernel.all.laod on this host, but kernel.all.load\n")
	_, errs, _ = s.run("explain", "mem.fere + mem.phsymem") // the other one is like none
	assert.Contains(t, errs, "there is no mem.phsymem on this host, but mem.physmem\n")
	assert.Equal(t, 1, strings.Count(errs, "there is no "))
	out, _ := s.fails("explain", "no.such", "good")
	assert.Contains(t, out, "good = 1\n", "what is good is shown all the same")
}

// A line without = gives no name; who asks for the first word of it may have meant it.
func TestExplainABrokenLine(t *testing.T) {
	s := newSite(t)
	path := s.file("site.conf", "my.load kernel.all.load\nmy-load = 1\nfine = 1\n")
	for _, sub := range []string{"explain", "eval"} {
		for _, row := range []struct{ given, want string }{
			{"my.load", path + ":1:24: missing"},
			{"derived.my.load", path + ":1:24: missing"},
			{"my-load", path + ":2:1: illegal derived metric name (my-load)"},
			{"kernel.all.load", ""},
			{"my.lo", ""},
		} {
			_, errs, exit := s.run(sub, row.given)
			if row.want == "" {
				assert.NotContains(t, errs, "this line may be meant", row.given)
				continue
			}
			assert.Equal(t, exitFailure, exit)
			assert.Contains(t, errs, "pmdaderived "+sub+": this line may be meant to define "+row.given+":\n"+row.want)
		}
	}
}

// A tree may be higher than a terminal is wide, and definitions may double with each level.
func TestExplainLargeTrees(t *testing.T) {
	s := newSite(t)
	out := s.succeeds("explain", "hinv.ncpu"+strings.Repeat("-1", 5000))
	assert.Contains(t, out, "└─ ...\n")
	assert.Less(t, strings.Count(out, "\n"), 3*maxShownDepth)

	var file strings.Builder
	file.WriteString("d0 = hinv.ncpu\n")
	for i := range 40 {
		fmt.Fprintf(&file, "d%d = d%d + d%d\n", i+1, i, i)
	}
	s.file("site.conf", file.String())
	out = s.succeeds("explain", "d40")
	assert.Less(t, strings.Count(out, "\n"), 100)
}

// Definitions come from where the command line says, and from nowhere else.
func TestExplainWithPaths(t *testing.T) {
	s := newSite(t)
	s.file("site.conf", "x = 1\n")
	elsewhere := s.dir + "/elsewhere"
	writeFile(t, elsewhere, "x = 2\n")
	out := s.succeeds("explain", "-c", elsewhere, "x")
	assert.Contains(t, out, "x = 2\n    defined in "+elsewhere+":1:1\n")
	_, errs := s.fails("explain", "--config=", "x")
	assert.Contains(t, errs, "operand x: Unknown operand metric")
}

func TestConversionText(t *testing.T) {
	for _, row := range []struct {
		f      derived.Factor
		offset float64
		want   string
	}{
		{derived.One, 0, ""},
		{derived.Factor{}, 0, ""},
		{derived.Factor{Divisor: 1048576, Multiplier: 1000}, 0, "/1048576 *1000"},
		{derived.Factor{Divisor: 1, Multiplier: 60}, 0, "*60"},
		{derived.Factor{Divisor: 1 << 60, Multiplier: 1}, 0, "/1.152921504606847e+18"},
		{derived.Factor{Divisor: 5, Multiplier: 9}, 32, "/5 *9 +32"},
		{derived.Factor{Divisor: 9, Multiplier: 5}, -160.0 / 9, "/9 *5 -17.7778"},
		{derived.One, -273.15, "-273.15"},
	} {
		assert.Equal(t, row.want, conversion(row.f, row.offset))
	}
}
