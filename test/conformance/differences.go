package conformance

import (
	"slices"
	"strings"
)

// Difference is something that we answer otherwise than libpcp 6.0.3 on purpose.
type Difference struct {
	ID      string // Q-…: docs/language-rules.md section 10; others are named here first
	Libpcp  string // what it does
	Ours    string // what we do
	Why     string
	Example string // a definition, and both answers
	Cases   string // of the corpus, separated by blanks
}

// Differences is the whole list; any other difference is a bug. docs/conformance.md shows it, and a
// test compares the two.
func Differences() []Difference {
	return []Difference{
		{
			ID:      "Q-NOT-TYPE",
			Libpcp:  "`!x` has type, semantics and units of `x`, and 0 or 1 as a 32-bit integer in it, whatever the type",
			Ours:    "U32 without units",
			Why:     "man page; for FLOAT, 64 and DOUBLE the value of libpcp is not 0 or 1, a string crashes it",
			Example: "`!sample.float.ten`: FLOAT, U32",
			Cases: `
				booledge.c036 booledge.c037 booledge.c044 booledge.c045 booledge.c048 booledge.c049
				booledge.c052 booledge.c056 booledge.c060 booledge.c062 booledge.c064 booledge.c066
				meta.c089 meta.c104 prec.c060`,
		},
		{
			ID:      "Q-REL-SEM",
			Libpcp:  "a relation or boolean with a counter has the semantics of an operand, often counter",
			Ours:    "instant, discrete if both operands are; never a counter",
			Why:     "man page; tools would convert the rate of a truth value",
			Example: "`sample.milliseconds > 1`: counter, instant",
			Cases: `
				booledge.c033 live.c057 meta.c013 meta.c026 meta.c039 meta.c052 meta.c065 meta.c090
				reledge.c025 reledge.c026 reledge.c028 reledge.c054 sem.c037 sem.c039 sem.c043 sem.c047
				sem.c052 sem.c055 sem.c056 sem.c061 sem.c064 sem.c065 sem.c066`,
		},
		{
			ID:      "Q-MUL-SEM",
			Libpcp:  "a product or quotient with a counter has the semantics of the left operand, or of the right one if the left one is a constant",
			Ours:    "counter, in any order",
			Why:     "man page; tools would not convert the rate",
			Example: "`sample.long.ten * sample.byte_ctr`: instant, counter",
			Cases:   `sem.c025 sem.c088 sem.c089 sem.c090`,
		},
		{
			ID:      "Q-REL-SCALE",
			Libpcp:  "relations compare numbers as they are, whatever their scales",
			Ours:    "convert to the larger scale first, as sums do",
			Why:     "man page",
			Example: "`mkconst(1, units=\"count x 10^3\") == mkconst(1000, units=count)`: 0, 1",
			Cases:   `reledge.c034 reledge.c035 reledge.c036`,
		},
		{
			ID:      "Q-REL-CONST",
			Libpcp:  "of operands with other dimensions a relation takes those of type U32 only",
			Ours:    "and any constant",
			Why:     "man page",
			Example: "`sample.byte_rate > 1.5`: `Dimensions are not the same`, 1 or 0",
			Cases:   `reledge.c039 reledge.c040 reledge.c042`,
		},
		{
			ID:      "Q-CONST-LEFT",
			Libpcp:  "a constant on the left loses its scale in products and quotients; a sum in the larger scale is labelled with the smaller",
			Ours:    "scales are kept, sums labelled as they are",
			Why:     "the units of the result are wrong",
			Example: "`mkconst(2, units=Kbyte) * 10`: 20 byte, 20 Kbyte",
			Cases: `
				meta.c199 meta.c201 units.c075 units.c076 units.c077 units.c078 units.c079 units.c084`,
		},
		{
			ID:      "Q-SCALE-SIGN",
			Libpcp:  "for time and space the sign of the right operand's dimension decides whether the left one is multiplied or divided",
			Ours:    "its own",
			Why:     "the value is wrong",
			Example: "`5 byte/millisec * 2 sec`: 0.01 byte, 10000 byte",
			Cases:   `units.c045 units.c047 units.c063 units.c115`,
		},
		{
			ID:      "Q-SCALE-POWER",
			Libpcp:  "other powers are converted as the first",
			Ours:    "each power is converted",
			Why:     "the value is wrong",
			Example: "`2 Mbyte^2 + 4 Kbyte^2`: 2.0039 Mbyte^2, 2.0000038 Mbyte^2",
			Cases:   `units.c035 units.c037`,
		},
		{
			ID:      "Q-SCALE-OVERFLOW",
			Libpcp:  "scale factors wrap at 32 bits, in rescale() at 64, and rescale() refuses Zbyte and Ybyte",
			Ours:    "conversion is exact at any size",
			Why:     "the value is wrong",
			Example: "`1 Tbyte + 1 byte`: inf, 1.0000000000009095 Tbyte",
			Cases: `
				units.c014 units.c015 units.c019 units.c022 rescale.c051 rescale.c052 rescale.c053`,
		},
		{
			ID:      "Q-DIM-RANGE",
			Libpcp:  "dimensions beyond -8 and 7 wrap",
			Ours:    "semantic error `Dimension out of range`",
			Why:     "the units of the result are wrong",
			Example: "`mkconst(1, units=\"byte^5\") * mkconst(1, units=\"byte^5\")`: byte^-6, refused",
			Cases:   `meta.c182 meta.c185 meta.c188 meta.c189 meta.c190 meta.c191`,
		},
		{
			ID:      "Q-TERN-GUARD",
			Libpcp:  "the instance domain of a guard is not compared with that of the operands",
			Ours:    "semantic error `Operands should have the same instance domain`",
			Why:     "man page; libpcp pairs values that have nothing to do with each other",
			Example: "`sample.bin > 300 ? sample.colour : sample.colour`: values of colour, refused",
			Cases:   `ternary.c068`,
		},
		{
			ID:      "Q-TERN-POS",
			Libpcp:  "a ternary pairs values by their place in the lists",
			Ours:    "by instance",
			Why:     "with different instances values get to wrong instances, or are not values at all",
			Example: "`sample.bin > 300 ? sample.bin : sample.part_bin`: for instance bin-200 300, none",
			Cases:   `inst.c025 ternary.c036 ternary.c038 ternary.c042`,
		},
		{
			ID:      "Q-TERN-BOTH",
			Libpcp:  "an error, or no values, of the operand that is not selected decides",
			Ours:    "only the selected one matters",
			Why:     "man page",
			Example: "`1 ? sample.long.one : sample.bad.novalues`: no value, 1",
			Cases:   `ternary.c073 ternary.c074 ternary.c077 ternary.c078`,
		},
		{
			ID:      "Q-TERN-LAZY",
			Libpcp:  "both operands of a ternary are checked and looked up, even if its guard is known before",
			Ours:    "a guard of constants and defined() selects when operands are looked up; the result has the metadata of the selected operand, and the other one need not exist. Nor need the right operand of `&&` and `||` where the left one decides so",
			Why:     "as PCP 7.2.1, and so that `defined(x) ? x : y` works where there is no x",
			Example: "`0 ? no.such.metric : sample.long.one`: not usable, 1",
			Cases: `
				ternary.c027 ternary.c043 ternary.c047 ternary.c048 ternary.c053 ternary.c054 ternary.c055
				ternary.c057 ternary.c058 ternary.c060 ternary.c061 ternary.c064 ternary.c065 ternary.c067
				ternary.c080 ternary.c082`,
		},
		{
			ID:      "Q-INST-PAREN",
			Libpcp:  "an instance behind a parenthesis crashes the process",
			Ours:    "it selects",
			Why:     "man page, and as PCP 7.2.1",
			Example: "`(sample.bin + sample.bucket)[bin-300]`: crash, 600",
			Cases:   `inst.c034 inst.c036 inst.c038 inst.c039`,
		},
		{
			ID:      "Q-SCALAR-EMPTY",
			Libpcp:  "scalar() of nothing crashes the process",
			Ours:    "no value",
			Why:     "as PCP 7.2.1",
			Example: "`scalar(sample.darkness)`: crash, no value",
			Cases:   `inst.c111 inst.c112 inst.c113`,
		},
		{
			ID:      "Q-AGGR-EMPTY",
			Libpcp:  "max() and min() of nothing are whatever was in memory, avg() is 0",
			Ours:    "no value; sum() is 0",
			Why:     "there is no such value",
			Example: "`avg(sample.darkness)`: 0, no value",
			Cases:   `func.c139`,
		},
		{
			ID:      "Q-STRING",
			Libpcp:  "matchinst() and ternaries of strings free memory twice",
			Ours:    "they work",
			Why:     "nobody wants a crash",
			Example: "`matchinst(/bin-1/, sample.string.bin)`: crash, \"100\"",
			Cases:   `inst.c119`,
		},
		{
			ID:      "Q-DELTA-ERR",
			Libpcp:  "delta() repeats an error of its operand at the next fetch",
			Ours:    "no value then: there is nothing to compare with",
			Why:     "the operand is not in error any more",
			Example: "`delta(x)` one fetch after an error of x: the error, no value",
			Cases:   `delta.c035`,
		},
		{
			ID:      "Q-RATE-WRAP",
			Libpcp:  "the rate of an unsigned metric that went down is huge, of a signed one negative",
			Ours:    "a counter that went down has no rate, of any type; anything else has a negative one",
			Why:     "as PCP 7.2.1 (which leaves out type 32), and as pmval(1)",
			Example: "`rate(x)`, x an unsigned metric down by 100 in 0.5 s: 8.5e9, -200",
			Cases:   `rate.c018 rate.c019 rate.c021 rate.c023`,
		},
		{
			ID:      "Q-MATCH-SLASH",
			Libpcp:  "a slash inside matchinst() begins a pattern, and after an unfinished one in every later definition",
			Ours:    "it divides, except where the pattern stands",
			Why:     "one mistake must not break other definitions",
			Example: "`matchinst(/bin/, sample.bin / 2)`: syntax error, values",
			Cases:   `inst.c089 inst.c090`,
		},
		{
			ID:      "Q-UNKNOWN",
			Libpcp:  "event.flags and event.missed can be operands: they exist inside libpcp",
			Ours:    "unknown operands, with the message that PCP 7.2.1 has for those; libpcp prints nothing",
			Why:     "an agent sees only what pmcd has",
			Example: "`event.flags`: U32 without values, `operand event.flags: Unknown operand metric`",
			Cases:   `names.c068`,
		},
		{
			ID:      "Q-7X",
			Libpcp:  "delta(), rate() and instant() take a name only; mkconst() has no `meta` and `indom`",
			Ours:    "any expression; both keys",
			Why:     "as PCP 7.2.1",
			Example: "`delta(sample.bin + 1)`: syntax error, values",
			Cases: `
				delta.c048 func.c197 func.c209 func.c210 func.c221 func.c222 func.c223 mkconst.c091
				syntax.c116`,
		},
		{
			ID:      "expressions in aggregates",
			Libpcp:  "avg(), count(), max(), min() and sum() take a name only",
			Ours:    "any expression",
			Why:     "`sum(rate(x))` and `max(a / b)` are what one wants to say",
			Example: "`sum(-sample.bin)`: syntax error, -4500",
			Cases: `
				func.c131 func.c132 func.c143 func.c144 func.c156 func.c157 func.c169 func.c170 func.c171
				func.c182 func.c184 func.c244 syntax.c104 syntax.c105 syntax.c109 syntax.c110`,
		},
		{
			ID:      "avg",
			Libpcp:  "avg() adds quotients in single precision",
			Ours:    "computed in double, then rounded",
			Why:     "the average of 100, 200, …, 900 is 500",
			Example: "`avg(sample.bin)`: 499.99997, 500",
			Cases: `
				func.c004 func.c007 func.c009 func.c013 func.c015 func.c018 func.c235 func.c252 func.c262`,
		},
		{
			ID:      "delta of U64",
			Libpcp:  "the operands of delta() become DOUBLE before they are subtracted",
			Ours:    "subtracted exactly, then DOUBLE",
			Why:     "differences below the precision of a double are lost",
			Example: "`delta(x)`, x of type U64 down from 9007199254740993 to 9007199254740992: 0, -1",
			Cases:   `delta.c018 delta.c019`,
		},
		{
			ID:      "Q-BLANK",
			Libpcp:  "a line of blanks is an error, a last line without newline is lost",
			Ours:    "blank lines are ignored, the last line is read",
			Why:     "man page pmLoadDerivedConfig(3)",
			Example: "a file that ends in `b = 2` without newline: no b, b",
			Cases:   `config.02-blankline config.13-crlfblank config.14-nonewline`,
		},
		{
			ID:      "Q-CONT",
			Libpcp:  "no continuation lines",
			Ours:    "a backslash at the end of a line joins it with the next",
			Why:     "the man page's examples have them, and so has PCP 7.2.1",
			Example: "`a = 1 + \\` and `2` on the next line: syntax error, 3",
			Cases:   `config.15-continuation`,
		},
		{
			ID:      "names with a trailing dot",
			Libpcp:  "are taken",
			Ours:    "`illegal derived metric name`",
			Why:     "no client can look up or traverse them",
			Example: "`a. = 1`: loaded, refused",
			Cases:   `config.08-trailingdot`,
		},
		{
			ID:      "line numbers",
			Libpcp:  "are wrong below a quoted text of several lines",
			Ours:    "are right",
			Why:     "nobody wants wrong ones",
			Example: "an error in line 5 below a text of two lines: line 4, line 5",
			Cases:   `config.45-attrlines`,
		},
		{
			ID:      "the same name in several files",
			Libpcp:  "the first definition stays, the second is an error",
			Ours:    "the one later in the path list replaces it, with a note in the log; within a file as libpcp",
			Why:     "a site must be able to replace a definition that PCP ships",
			Example: "`a = 1` in the first file, `a = 2` in the second: 1, 2",
			Cases:   `config.path-dup`,
		},
		{
			ID:      "missing files in a path list",
			Libpcp:  "end the loading",
			Ours:    "the rest of the list is loaded; the missing file is an error in the log",
			Why:     "one mistake must not take away other definitions",
			Example: "`/no/such:/etc/pcp/pmdaderived`: nothing, the second",
			Cases:   `config.path-colon1`,
		},
	}
}

// DifferencesSeven are those that there are only beside libpcp of PCP 7.2, whose language is ours. Their cases are those of derived/testdata/novalue.
func DifferencesSeven() []Difference {
	return []Difference{
		{
			ID:      "messages of PCP 7",
			Libpcp:  "other messages for mkconst(), delta() and rate() than 6.0.3 has",
			Ours:    "those of 6.0.3, but for what is new in PCP 7: novalue(), `meta`, `indom`",
			Why:     "one of the two has to be followed",
			Example: "`mkconst(1)`: `metadata keyword expected to follow mkconst(type`, no reason",
			Cases: `
				novalue.c073 novalue.c074 novalue.c075 novalue.c076 novalue.c077 novalue.c082 novalue.c109 novalue.c110 novalue.c111 novalue.c112 novalue.c113 novalue.c114
				novalue.c115 novalue.c116 novalue.c123 novalue.c124 novalue.c128 novalue.c129 novalue.c145`,
		},
		{
			ID:      "missing operands of a ternary",
			Libpcp:  "goes on with metadata that are not there, and tells what comes of it",
			Ours:    "tells which operand is missing",
			Why:     "that is the reason",
			Example: "`no.such ? 1 : 2`: `Non-scalar ternary guard with scalar expressions`, `operand no.such: Unknown operand metric`",
			Cases: `
				novalue.c176 novalue.c187 novalue.c188 novalue.c189 novalue.c190 novalue.c191 novalue.c194 novalue.c195`,
		},
		{
			ID:      "Q-NOVALUE",
			Libpcp:  "a novalue() beside a guard that is decided at each fetch keeps the instance domain of its tags, and may crash the process or show what was in memory; two of them are taken",
			Ours:    "it has the metadata of the other operand; two are refused",
			Why:     "man page",
			Example: "`sample.bin > 300 ? sample.bin : novalue()`: nine values of which some were in memory, six",
			Cases: `
				novalue.c041 novalue.c165`,
		},
		{
			ID:      "constants of another type",
			Libpcp:  "mkconst() of a number with a point cuts it to the whole type of the metric that `meta` names, and crashes where that is a string",
			Ours:    "semantic error `Incompatible constant and type of metric`",
			Why:     "it is refused with `type=32`, too",
			Example: "`mkconst(1.5, meta=sample.bin)`: 1 for each instance, refused",
			Cases: `
				novalue.c066`,
		},
		{
			ID:      "names between quotes",
			Libpcp:  "`meta` takes a bare name only",
			Ours:    "and one between quotes, as the other keys",
			Why:     "man page",
			Example: "`mkconst(1, meta=\"sample.bin\")`: syntax error, 1 for each instance",
			Cases: `
				novalue.c134`,
		},
		{
			ID:      "meta and indom as names",
			Libpcp:  "are reserved words",
			Ours:    "are keys only inside mkconst() and novalue()",
			Why:     "6.0.3 takes metrics with these names",
			Example: "`meta + 1`: syntax error, the metric called meta and 1",
		},
		{
			ID:      "the end of indom.conf",
			Libpcp:  "a last line that ends in a blank, or without a newline, is lost",
			Ours:    "it counts",
			Why:     "a line is a line",
			Example: "`29.2 30.2` without a newline: nothing, equivalent",
		},
	}
}

// configPrefix begins the names of cases that are whole configuration files, which package config reads.
const configPrefix = "config."

// Wanted returns the id of the difference that a case is an example of. Cases are called SET.CASE.
func Wanted(name string) (id string, ok bool) {
	for _, d := range Differences() {
		if slices.Contains(strings.Fields(d.Cases), name) {
			return d.ID, true
		}
	}
	return "", false
}
