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
	NoValue // stands for "no value" as the Then or the Else of a Ternary, and nowhere else
	Rescale
	Anon // a metric of some type without values; PCP uses it for event records
	Abs
	Floor
	Ceil
	Round
	Sqrt
	Log
	Largest // max() of several operands
	Smallest
	Default
	Stdev
	Percentile
	TopK
	BottomK
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
)

// functions is a row for each function: how it is written. What it means is a row of package derived. To add one
// takes a constant above and a row here, and a row there; grammar.txt and docs/language.md are held to these.
//
//nolint:gochecknoglobals // a table
var functions = [...]function{
	Avg:     {word: "avg", synonym: "avg_inst", args: metric, groups: true, help: "mean over all instances"},
	Count:   {word: "count", args: metric, groups: true, help: "number of instances; 0 if x has an error"},
	Max:     {word: "max", synonym: "max_inst", args: metric, groups: true, variadic: Largest, help: "largest value"},
	Min:     {word: "min", synonym: "min_inst", args: metric, groups: true, variadic: Smallest, help: "smallest value"},
	Sum:     {word: "sum", synonym: "sum_inst", args: metric, groups: true, help: "sum over all instances; 0 if there are none"},
	Delta:   {word: "delta", args: newMetric, help: "change since the previous sample"},
	Rate:    {word: "rate", args: newMetric, help: "change per second"},
	Instant: {word: "instant", args: newMetric, help: "x, with semantics instant if it is a counter"},
	Scalar:  {word: "scalar", args: operand, help: "the first value, without its instance"},
	Defined: {word: "defined", args: []Arg{{Kind: MetricName}}, help: "1 if the metric or definition exists, else 0"},
	Match: {word: "matchinst", args: []Arg{
		{Kind: Pattern, expected: "<filter>, <expr>)", nextExpected: ", <expr>)", nextFollows: "<filter>"},
		{Kind: Operand, expected: "<expr>)", follows: "<filter>,"},
	}, help: "the instances whose names match; `!/re/`: do not match"},
	Const: {word: "mkconst", args: []Arg{
		{Kind: Constant},
		{Kind: Metadata, expected: "metadata keyword", follows: "type", afterNewKey: true},
	}, repeats: true, help: "a number with metadata"},
	NoValue: {word: "novalue", since: PCP63, args: []Arg{{Kind: Metadata, expected: "metadata keyword"}}, optional: true, repeats: true, help: "no value; valid only as an operand of `?:`"},
	Rescale: {word: "rescale", args: []Arg{
		{Kind: Operand, expected: "Arithmetic or relational or boolean operator"},
		{Kind: Units, expected: "Units string", follows: "<expr>,"},
	}, help: "x in other units"},
	Anon:  {word: "anon", args: []Arg{{Kind: TypeName, expected: "Metric name"}}},
	Abs:   {word: "abs", since: Nowhere, args: operand, help: "the absolute value"},
	Floor: {word: "floor", since: Nowhere, args: operand, help: "each value rounded down to a whole number"},
	Ceil:  {word: "ceil", since: Nowhere, args: operand, help: "each value rounded up to a whole number"},
	Round: {word: "round", since: Nowhere, args: operand, help: "each value rounded to the nearest whole number; halves away from 0"},

	Sqrt:     {word: "sqrt", since: Nowhere, args: operand, help: "the square root of each value"},
	Log:      {word: "log", since: Nowhere, args: operand, help: "the natural logarithm of each value"},
	Largest:  {word: "max", since: Nowhere, args: several, repeats: true, help: "the largest of the values of each instance"},
	Smallest: {word: "min", since: Nowhere, args: several, repeats: true, help: "the smallest of the values of each instance"},
	Default: {word: "default", since: Nowhere, args: []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: ", <expr>)", nextFollows: "<expr>"},
		{Kind: Operand, expected: "<expr>", follows: "<expr>,"},
	}, help: "x where it has a finite value, else y"},
	Stdev: {word: "stdev_inst", since: Nowhere, args: operand, groups: true, help: "standard deviation of the values of all instances"},
	Percentile: {word: "nth_percentile_inst", since: Nowhere, args: []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: ", <number>)", nextFollows: "<expr>"},
		{Kind: Constant, expected: "Number from 0 to 100", follows: "<expr>,", most: 100},
	}, groups: true, help: "the n-th percentile of the values of all instances"},
	TopK:    {word: "topk_inst", since: Nowhere, args: many, help: "the k instances with the largest values"},
	BottomK: {word: "bottomk_inst", since: Nowhere, args: many, help: "the k instances with the smallest values"},

	MaxSample:   {word: "max_sample", since: Nowhere, args: window, required: 1, help: "the largest value of each instance in the window"},
	MinSample:   {word: "min_sample", since: Nowhere, args: window, required: 1, help: "the smallest value of each instance in the window"},
	AvgSample:   {word: "avg_sample", since: Nowhere, args: window, required: 1, help: "the mean of each instance over the window"},
	SumSample:   {word: "sum_sample", since: Nowhere, args: window, required: 1, help: "the sum of the values of each instance in the window"},
	CountSample: {word: "count_sample", since: Nowhere, args: window, required: 1, help: "how many values each instance had in the window"},
	StdevSample: {word: "stdev_sample", since: Nowhere, args: window, required: 1, help: "standard deviation of the values of each instance in the window"},
	FirstSample: {word: "first_sample", since: Nowhere, args: window, required: 1, help: "the oldest value of each instance in the window"},
	LastSample:  {word: "last_sample", since: Nowhere, args: window, required: 1, help: "the newest value of each instance in the window"},
	PercentileSample: {word: "nth_percentile_sample", since: Nowhere, args: []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: `, <number>, "<window>")`, nextFollows: "<expr>"},
		{Kind: Constant, expected: "Number from 0 to 100", follows: "<expr>,", nextExpected: `, "<window>")`, nextFollows: "<expr>,<number>", most: 100},
		{Kind: Interval, expected: "Interval string", follows: "<expr>,<number>,", nextExpected: `) or , "<interval>")`, nextFollows: `<expr>,<number>,"<window>"`, most: MaxWhole},
		{Kind: Interval, expected: "Interval string", follows: `<expr>,<number>,"<window>",`, nextExpected: ")", nextFollows: `<expr>,<number>,"<window>","<interval>"`},
	}, required: 3, help: "the value below or at which are n percent of the values of each instance in the window"},
	SlopeSample: {word: "slope_sample", since: Nowhere, args: []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: `, "<window>")`, nextFollows: "<expr>"},
		{Kind: Interval, expected: "Interval string", follows: "<expr>,", nextExpected: `) or , "<interval>")`, nextFollows: `<expr>,"<window>"`, most: MaxWhole},
		window[2],
	}, required: 2, help: "how much each instance grew per second in the window, by least squares"},
}

// Arguments that several functions have.
//
//nolint:gochecknoglobals // never changed
var (
	operand   = []Arg{{Kind: Operand, expected: "<expr>"}}
	metric    = []Arg{{Kind: Operand, expected: "Metric name", exprSince: Nowhere}} // for PCP, the name of one
	newMetric = []Arg{{Kind: Operand, expected: "Metric name", exprSince: PCP63}}   // for PCP 6
	several   = []Arg{metric[0], {Kind: Operand, expected: "<expr>", follows: "<expr>,"}}
	many      = []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: ", <number>)", nextFollows: "<expr>"},
		{Kind: Constant, expected: "Whole number above 0", follows: "<expr>,", whole: true, least: 1, most: math.MaxUint32},
	}
	window = []Arg{
		{Kind: Operand, expected: "<expr>", nextExpected: `) or , "<window>")`, nextFollows: "<expr>"},
		{Kind: Interval, expected: "Interval string", follows: "<expr>,", nextExpected: `) or , "<interval>")`, nextFollows: `<expr>,"<window>"`},
		{Kind: Interval, expected: "Interval string", follows: `<expr>,"<window>",`, nextExpected: ")", nextFollows: `<expr>,"<window>","<interval>"`},
	}
)

// Support is which libpcp understands something.
type Support uint8

// The versions that are known. Source: docs/language-rules.md 3.4.
const (
	Everywhere Support = iota // that of PCP 6.0 and all later ones
	PCP63                     // that of PCP 6.3, not that of 6.0
	PCP7                      // that of PCP 7.2, not that of 6.3
	Nowhere                   // none: it is of this language only
)

// function is how a function is written.
type function struct {
	word     string
	since    Support
	synonym  string // as pmseries(1) has it
	args     []Arg
	optional bool   // there may be no arguments
	required int    // so many arguments are enough; 0: all are needed
	repeats  bool   // the last one may come again
	variadic Func   // of the same word, with more arguments
	groups   bool   // by (KEY) may follow: there is a value for each group then
	help     string // what it gives; empty: only PCP itself writes it
}

// Arg is what an argument of a function can be.
type Arg struct {
	Kind ArgKind

	// What PCP says is "expected to follow" the word, its parenthesis and some more, when a token does not fit. Empty:
	// what is around the function has the word.
	expected, follows         string
	nextExpected, nextFollows string // likewise where the argument is complete; empty: as before
	afterNewKey               bool   // wants is said only once a key of PCP 7 has come

	exprSince Support // of what is no metric's name; where not everywhere, such a name may come with anything behind it

	least, most float64 // of a Constant; 0, 0: any number. Of an Interval most is how many samples it has at most; 0: MaxTicks
	whole       bool    // of a Constant: without a point
}

// ArgKind is a kind of argument.
type ArgKind uint8

// The kinds. Those that are no expressions are a *Number, a *Tag, a *Name, or a *Literal.
const (
	Operand    ArgKind = iota // any expression
	MetricName                // a metric that is not fetched: a *Name
	TypeName                  // PM_TYPE_U32: a *Literal, as what follows
	Units                     // "Kbyte / sec"
	Pattern                   // /^lo/ or !/^lo/
	Constant                  // a *Number
	Metadata                  // type=u64: a *Tag
	LabelName                 // label(device_type), as the key of a [By] only
	Interval                  // "5 min": a *Literal, see [ParseInterval]
)

// String is the function's word: "avg".
func (f Func) String() string { return functions[f].word }

// Help is what the function gives, in a line; empty for those that only PCP itself writes.
func (f Func) Help() string { return functions[f].help }

// Functions calls yield for every function that people write.
func Functions(yield func(Func) bool) {
	for f := range functions {
		if f := Func(f); f.Help() != "" && !yield(f) {
			return
		}
	}
}

// Since is which libpcp has the function.
func (f Func) Since() Support { return functions[f].since }

// Groups reports whether by (KEY) may follow the function.
func (f Func) Groups() bool { return functions[f].groups }

// Args are what the arguments can be. Of some functions the last one may come again.
func (f Func) Args() []Arg { return functions[f].args }

// arg is what argument i can be.
func (f Func) arg(i int) *Arg { return &f.Args()[min(i, len(f.Args())-1)] }

// functionOf finds the function of a word, the one with the fewest arguments, 0 if there is none.
func functionOf(word string) Func {
	for f := range functions {
		if functions[f].word == word || functions[f].synonym == word {
			return Func(f)
		}
	}
	return 0
}

// Kind is what argument i is.
func (e *Call) Kind(i int) ArgKind { return e.Func.arg(i).Kind }

// Operands are the arguments that are expressions. They stand side by side.
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

// X is the first of the operands, nil if there are none.
func (e *Call) X() Expr {
	if operands := e.Operands(); len(operands) > 0 {
		return operands[0]
	}
	return nil
}

// Literal is the first argument that is one, nil if there is none.
func (e *Call) Literal() *Literal {
	for _, x := range e.Args {
		if l, ok := x.(*Literal); ok {
			return l
		}
	}
	return nil
}

// Number is the argument that is one, nil if there is none.
func (e *Call) Number() *Number {
	for i, x := range e.Args {
		if e.Kind(i) == Constant {
			return x.(*Number)
		}
	}
	return nil
}

// Tags calls yield for the metadata among the arguments.
func (e *Call) Tags(yield func(*Tag) bool) {
	for _, x := range e.Args {
		if t, ok := x.(*Tag); ok && !yield(t) {
			return
		}
	}
}

// Is reports whether e is a call of one of some functions.
func Is(e Expr, functions ...Func) bool {
	call, ok := e.(*Call)
	return ok && slices.Contains(functions, call.Func)
}

// NumberOf is the number that a number or an mkconst() consists of, nil for everything else.
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
