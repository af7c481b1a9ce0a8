package syntax

import (
	"math"
	"slices"
)

// Func is a function. The zero value is none.
type Func uint8

// The functions.
const (
	Avg Func = iota + 1
	Count
	Max
	Min
	Sum
	Delta
	Rate
	Instant
	Scalar
	Defined
	Match
	Const
	NoValue // "no value" as the Then or the Else of a Ternary
	Rescale
	Anon // a metric of a type and without values; PCP uses it for event records
	Abs
	Floor
	Ceil
	Round
	Sqrt
	Log
	Largest  // max() of several operands
	Smallest // min() of several operands
	Default
	Stdev
	Percentile
	TopK
	BottomK
	PercentileBucket
	ShareBucket
	MaxSample
	MinSample
	AvgSample
	SumSample
	CountSample
	StdevSample
	FirstSample
	LastSample
	PercentileSample
	SlopeSample
	Latch
	Now
	Increase
)

// functions has a row for each function: how it is written. Its columns are the fields of function and [Arg]; the words
// after "expected to follow" in a message are in their comments.
//
// A new function takes a constant above, a row here, a row in derived/check/functions.go (its meaning) and one in
// derived/engine/functions.go (its computation). Tests name a row that is missing, and ask for a line of grammar.txt
// and of docs/language.md. package derived has the recipe.
//
//nolint:gochecknoglobals // a table
var functions = [...]function{
	Avg: {word: "avg", synonym: "avg_inst", args: metric, groups: true, help: "mean over all instances"},
	Count: {
		word: "count", args: metric, groups: true,
		help: "number of instances; 0 if x has an error, no value if all values are missing",
	},
	Max: {word: "max", synonym: "max_inst", args: metric, groups: true, variadic: Largest, help: "largest value"},
	Min: {
		word: "min", synonym: "min_inst", args: metric, groups: true, variadic: Smallest,
		help: "smallest value",
	},
	Sum: {
		word: "sum", synonym: "sum_inst", args: metric, groups: true,
		help: "sum over all instances; 0 if there are none, no value if all values are missing",
	},
	Delta:   {word: "delta", args: newMetric, help: "change since the previous sample"},
	Rate:    {word: "rate", args: newMetric, help: "change per second"},
	Instant: {word: "instant", args: newMetric, help: "x, with semantics instant if it is a counter"},
	Scalar:  {word: "scalar", args: operand, help: "the first value, without its instance"},
	Defined: {word: "defined", args: []Arg{{Kind: MetricName}}, help: "1 if the metric or definition exists, else 0"},
	Match: {word: "matchinst", args: []Arg{
		{Kind: Pattern, expected: "<filter>, <expr>)", nextExpected: ", <expr>)", nextFollows: "<filter>"},
		{Kind: Operand, expected: "<expr>)", follows: "<filter>,"},
		{Kind: InstanceKey, nextExpected: ")", nextFollows: "<filter>,<expr>,KEY"},
	}, required: 2, help: "the instances whose names or keys match; `!/re/`: do not match"},
	Const: {word: "mkconst", args: []Arg{
		{Kind: Constant},
		{Kind: Metadata, expected: "metadata keyword", follows: "type", afterNewKey: true},
	}, repeats: true, help: "a number with metadata"},
	NoValue: {word: "novalue", since: PCP63, args: []Arg{
		{Kind: Metadata, expected: "metadata keyword"},
	}, optional: true, repeats: true, help: "no value; valid only as an operand of `?:`"},
	Rescale: {word: "rescale", args: []Arg{
		{Kind: Operand, expected: "Arithmetic or relational or boolean operator"},
		{Kind: Units, expected: "Units string", follows: "<expr>,"},
	}, help: "x in other units"},
	Anon:  {word: "anon", args: []Arg{{Kind: TypeName, expected: "Metric name"}}},
	Abs:   {word: "abs", since: Nowhere, args: operand, help: "the absolute value"},
	Floor: {word: "floor", since: Nowhere, args: operand, help: "each value rounded down to a whole number"},
	Ceil:  {word: "ceil", since: Nowhere, args: operand, help: "each value rounded up to a whole number"},
	Round: {
		word: "round", since: Nowhere, args: operand,
		help: "each value rounded to the nearest whole number; halves away from 0",
	},

	Sqrt: {word: "sqrt", since: Nowhere, args: operand, help: "the square root of each value"},
	Log:  {word: "log", since: Nowhere, args: operand, help: "the natural logarithm of each value"},
	Largest: {
		word: "max", since: Nowhere, args: several, repeats: true,
		help: "the largest of the values of each instance",
	},
	Smallest: {
		word: "min", since: Nowhere, args: several, repeats: true,
		help: "the smallest of the values of each instance",
	},
	Default: {word: "default", since: Nowhere, args: []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: ", <expr>)", nextFollows: "<expr>"},
		{Kind: Operand, expected: "<expr>", follows: "<expr>,"},
	}, help: "x where it has a finite value, else y"},
	Stdev: {
		word: "stdev_inst", since: Nowhere, args: operand, groups: true,
		help: "standard deviation of the values of all instances",
	},
	Percentile: {word: "nth_percentile_inst", since: Nowhere, args: []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: ", <number>)", nextFollows: "<expr>"},
		{Kind: Constant, expected: "Number from 0 to 100", follows: "<expr>,", most: 100},
	}, groups: true, help: "the n-th percentile of the values of all instances"},
	TopK:    {word: "topk_inst", since: Nowhere, args: many, help: "the k instances with the largest values"},
	BottomK: {word: "bottomk_inst", since: Nowhere, args: many, help: "the k instances with the smallest values"},
	PercentileBucket: {word: "nth_percentile_bucket", since: Nowhere, args: []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: ", <number>)", nextFollows: "<expr>"},
		{
			Kind: Constant, expected: "Number from 0 to 100", follows: "<expr>,",
			nextExpected: `) or , "<units>")`, nextFollows: "<expr>,<number>", most: 100,
		},
		{
			Kind: Units, expected: "Units string", follows: "<expr>,<number>,",
			nextExpected: ")", nextFollows: `<expr>,<number>,"<units>"`,
		},
	}, required: 2, groups: true, help: "the n-th percentile of what was counted in buckets, which are the instances"},
	ShareBucket: {word: "share_bucket", since: Nowhere, args: []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: ", <bound>)", nextFollows: "<expr>"},
		{
			Kind: Constant, expected: "Number", follows: "<expr>,",
			nextExpected: ")", nextFollows: "<expr>,<bound>", signed: true,
		},
	}, groups: true, help: "the share, 0 to 1, of what was counted in buckets at or below a bound"},

	MaxSample: {
		word: "max_sample", since: Nowhere, args: window, required: 1,
		help: "the largest value of each instance in the window",
	},
	MinSample: {
		word: "min_sample", since: Nowhere, args: window, required: 1,
		help: "the smallest value of each instance in the window",
	},
	AvgSample: {
		word: "avg_sample", since: Nowhere, args: window, required: 1,
		help: "the mean of each instance over the window",
	},
	SumSample: {
		word: "sum_sample", since: Nowhere, args: window, required: 1,
		help: "the sum of the values of each instance in the window",
	},
	CountSample: {
		word: "count_sample", since: Nowhere, args: window, required: 1,
		help: "how many values each instance had in the window",
	},
	StdevSample: {
		word: "stdev_sample", since: Nowhere, args: window, required: 1,
		help: "standard deviation of the values of each instance in the window",
	},
	FirstSample: {
		word: "first_sample", since: Nowhere, args: window, required: 1,
		help: "the oldest value of each instance in the window",
	},
	LastSample: {
		word: "last_sample", since: Nowhere, args: window, required: 1,
		help: "the newest value of each instance in the window",
	},
	PercentileSample: {word: "nth_percentile_sample", since: Nowhere, args: []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: `, <number>, "<window>")`, nextFollows: "<expr>"},
		{
			Kind: Constant, expected: "Number from 0 to 100", follows: "<expr>,",
			nextExpected: `, "<window>")`, nextFollows: "<expr>,<number>", most: 100,
		},
		{
			Kind: Interval, expected: "Interval string", follows: "<expr>,<number>,",
			nextExpected: `) or , "<interval>")`, nextFollows: `<expr>,<number>,"<window>"`, most: MaxWhole,
		},
		{
			Kind: Interval, expected: "Interval string", follows: `<expr>,<number>,"<window>",`,
			nextExpected: ")", nextFollows: `<expr>,<number>,"<window>","<interval>"`,
		},
	}, required: 3, help: "the value below or at which are n percent of the values of each instance in the window"},
	SlopeSample: {word: "slope_sample", since: Nowhere, args: []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: `, "<window>")`, nextFollows: "<expr>"},
		{
			Kind: Interval, expected: "Interval string", follows: "<expr>,",
			nextExpected: `) or , "<interval>")`, nextFollows: `<expr>,"<window>"`, most: MaxWhole,
		},
		window[2],
	}, required: 2, help: "how much each instance grew per second in the window, by least squares"},
	Latch: {word: "latch", since: Nowhere, args: []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: ", <expr>)", nextFollows: "<expr>"},
		{
			Kind: Operand, expected: "<expr>", follows: "<expr>,",
			nextExpected: `) or , "<interval>")`, nextFollows: "<expr>,<expr>",
		},
		{
			Kind: Interval, expected: "Interval string", follows: "<expr>,<expr>,",
			nextExpected: ")", nextFollows: `<expr>,<expr>,"<interval>"`,
		},
	}, required: 2, help: "1 from the sample at which x is true to one at which y is true and x is not, else 0"},
	Now: {
		word: "now", since: Nowhere, args: []Arg{{Kind: Nothing, expected: ")"}}, optional: true,
		help: "the time of the sample, in seconds since 1970",
	},
	Increase: {
		word: "increase", since: Nowhere, args: operand,
		help: "change of a counter since the previous sample; what is new counts from 0, and so does what was reset",
	},
}

// Arguments that several functions have. A function of libpcp that accepts the name of a metric only has metric or
// newMetric: this language accepts any expression there.
//
//nolint:gochecknoglobals // never changed
var (
	operand   = []Arg{{Kind: Operand, expected: "<expr>"}}
	metric    = []Arg{{Kind: Operand, expected: "Metric name", exprSince: Nowhere}} // libpcp: a name
	newMetric = []Arg{{Kind: Operand, expected: "Metric name", exprSince: PCP63}}   // libpcp 6.0: a name
	several   = []Arg{metric[0], {Kind: Operand, expected: "<expr>", follows: "<expr>,"}}
	many      = []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: ", <number>)", nextFollows: "<expr>"},
		{Kind: Constant, expected: "Whole number above 0", follows: "<expr>,", whole: true, least: 1, most: math.MaxUint32},
	}
	window = []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: `) or , "<window>")`, nextFollows: "<expr>"},
		{
			Kind: Interval, expected: "Interval string", follows: "<expr>,",
			nextExpected: `) or , "<interval>")`, nextFollows: `<expr>,"<window>"`,
		},
		{
			Kind: Interval, expected: "Interval string", follows: `<expr>,"<window>",`,
			nextExpected: ")", nextFollows: `<expr>,"<window>","<interval>"`,
		},
	}
)

// Support says which versions of libpcp understand a part of the language. A greater value means fewer versions.
type Support uint8

// The versions that are known. Source: docs/language-rules.md 3.4.
const (
	Everywhere Support = iota // PCP 6.0 and later
	PCP63                     // PCP 6.3 and later
	PCP7                      // PCP 7.2 and later
	Nowhere                   // no libpcp: only this language has it
)

// function is a row of the table functions.
type function struct {
	word     string // the name; two functions may have the same, see variadic
	since    Support
	synonym  string // the name in pmseries(1), for functions with another name there
	args     []Arg
	optional bool   // the function may have no arguments
	required int    // the number of arguments that must not be left out; 0: all of args
	repeats  bool   // the last argument may be repeated
	variadic Func   // the function of the same word with more operands, which a comma after the first one selects
	groups   bool   // by (KEY) may follow; then there is a value for each group
	help     string // its result, in one line; "": people do not write it, PCP itself does
}

// Arg is a possible argument of a function.
type Arg struct {
	Kind ArgKind

	// expected and follows are for the message when a wrong token comes in place of the argument: "EXPECTED expected to
	// follow WORD(FOLLOWS", where WORD is the function. If expected is "", the construct around the function has the
	// message.
	expected, follows string

	// nextExpected and nextFollows are for the message when a wrong token comes after the argument. If nextExpected is
	// "", the message is the same as before.
	nextExpected, nextFollows string

	// afterNewKey means that the message is used only after meta= or indom=, the keys of PCP 7.
	afterNewKey bool

	// exprSince is the support for an expression where older versions accept the name of a metric only. If it is not
	// Everywhere, the parser does not check the token after a name, because those versions did not.
	exprSince Support

	// least and most are the range of a Constant; 0, 0 is any number. For an Interval, most is the largest number of
	// samples in the window; 0 is MaxTicks.
	least, most float64
	whole       bool // a Constant must have no point
	signed      bool // a minus may be before a Constant, and becomes a part of it
}

// ArgKind is a kind of argument.
type ArgKind uint8

// The kinds. An argument of the kind Operand is any Expr; the comments have the types of the others.
const (
	Operand     ArgKind = iota // any expression
	MetricName                 // *Name: a metric that is not fetched
	TypeName                   // *Literal: PM_TYPE_U32
	Units                      // *Literal: "Kbyte / sec"
	Pattern                    // *Literal: /^lo/ or !/^lo/
	Constant                   // *Number
	Metadata                   // *Tag: type=u64
	LabelName                  // *Literal: label(device_type), only in a [Key]
	Interval                   // *Literal: "5 min", see [ParseInterval]
	InstanceKey                // *Key: label(code), without a name
	Nothing                    // no argument: now()
)

// String returns the function's word: "avg".
func (f Func) String() string { return functions[f].word }

// Help returns a line about the function's result. It is "" for functions that people do not write.
func (f Func) Help() string { return functions[f].help }

// Functions calls yield for every function that has a Help.
func Functions(yield func(Func) bool) {
	for f := range functions {
		if f := Func(f); f.Help() != "" && !yield(f) {
			return
		}
	}
}

// Since returns which versions of libpcp have the function.
func (f Func) Since() Support { return functions[f].since }

// Groups reports whether by (KEY) may follow the function.
func (f Func) Groups() bool { return functions[f].groups }

// Args returns the possible arguments in their order. Some functions accept the last one several times.
func (f Func) Args() []Arg { return functions[f].args }

// arg returns the row of argument i. A repeated argument has the row of the last one.
func (f Func) arg(i int) *Arg { return &f.Args()[min(i, len(f.Args())-1)] }

// functionOf returns the function of a word or synonym, 0 if there is none. If two functions have the word, it returns
// the one with fewer operands.
func functionOf(word string) Func {
	for f := range functions {
		if functions[f].word == word || functions[f].synonym == word {
			return Func(f)
		}
	}
	return 0
}

// Kind returns the kind of argument i.
func (e *Call) Kind(i int) ArgKind { return e.Func.arg(i).Kind }

// Operands returns the arguments of the kind Operand. They are always beside each other.
func (e *Call) Operands() []Expr {
	from := 0
	for from < len(e.Args) && e.Kind(from) != Operand {
		from++
	}
	to := from
	for to < len(e.Args) && e.Kind(to) == Operand {
		to++
	}
	return e.Args[from:to]
}

// X returns the first operand, nil if there is none.
func (e *Call) X() Expr {
	if operands := e.Operands(); len(operands) > 0 {
		return operands[0]
	}
	return nil
}

// Literal returns the first argument that is a *Literal, nil if there is none.
func (e *Call) Literal() *Literal {
	for _, x := range e.Args {
		if l, ok := x.(*Literal); ok {
			return l
		}
	}
	return nil
}

// Number returns the argument of the kind Constant, nil if there is none.
func (e *Call) Number() *Number {
	for i, x := range e.Args {
		if e.Kind(i) == Constant {
			return x.(*Number)
		}
	}
	return nil
}

// Tags calls yield for each argument that is a *Tag.
func (e *Call) Tags(yield func(*Tag) bool) {
	for _, x := range e.Args {
		if t, ok := x.(*Tag); ok && !yield(t) {
			return
		}
	}
}

// Is reports whether e is a *Call of one of the functions.
func Is(e Expr, functions ...Func) bool {
	call, ok := e.(*Call)
	return ok && slices.Contains(functions, call.Func)
}

// NumberOf returns the number of a constant: e itself or the argument of mkconst(), in parentheses or not. It returns
// nil for any other expression.
func NumberOf(e Expr) *Number {
	switch e := Unparen(e).(type) {
	case *Number:
		return e
	case *Call:
		if e.Func == Const {
			return e.Args[0].(*Number)
		}
	}
	return nil
}
