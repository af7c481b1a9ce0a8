package check

import (
	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// functions is what the functions mean: a row for each of package syntax. Source: docs/language-rules.md 6.2.
//
//nolint:gochecknoglobals // a table
var functions = map[syntax.Func]function{
	syntax.Avg: {numeric: true, result: func(n *Node) {
		n.Type, n.Sem, n.InDom = pdu.TypeFloat, pdu.SemInstant, pdu.NoInDom
	}},
	syntax.Count: {class: Tally, result: func(n *Node) {
		n.Type, n.Sem, n.Units, n.InDom = pdu.TypeU32, pdu.SemInstant, pdu.Units{Count: 1}, pdu.NoInDom
	}},
	syntax.Max:      {numeric: true, result: extreme},
	syntax.Min:      {numeric: true, result: extreme},
	syntax.Sum:      {numeric: true, result: single},
	syntax.Delta:    {numeric: true, class: Change, result: changing},
	syntax.Rate:     {numeric: true, class: Change, check: overTime, result: perSecond},
	syntax.Instant:  {class: Reading, result: reading},
	syntax.Scalar:   {result: single},
	syntax.Defined:  {form: formConstant, class: Query},
	syntax.Match:    {},
	syntax.Const:    {form: formConstant, check: fits},
	syntax.NoValue:  {form: formEmpty},
	syntax.Rescale:  {numeric: true, check: rescaled},
	syntax.Anon:     {form: formEmpty},
	syntax.Abs:      {numeric: true},
	syntax.Floor:    {numeric: true},
	syntax.Ceil:     {numeric: true},
	syntax.Round:    {numeric: true},
	syntax.Sqrt:     {numeric: true, noCounter: true, check: bare, result: double},
	syntax.Log:      {numeric: true, noCounter: true, check: bare, result: double},
	syntax.Largest:  {numeric: true, noCounter: true, check: alike},
	syntax.Smallest: {numeric: true, noCounter: true, check: alike},
	syntax.Stdev: {numeric: true, noCounter: true, result: func(n *Node) {
		n.Type, n.Sem, n.InDom = pdu.TypeDouble, pdu.SemInstant, pdu.NoInDom
	}},
	syntax.Percentile: {numeric: true, noCounter: true, result: extreme},
	syntax.TopK:       {numeric: true, noCounter: true},
	syntax.BottomK:    {numeric: true, noCounter: true},
	syntax.Default:    {numeric: true, check: fallsBack},

	syntax.MaxSample:        {numeric: true, noCounter: true, form: formWindow, result: instant},
	syntax.MinSample:        {numeric: true, noCounter: true, form: formWindow, result: instant},
	syntax.FirstSample:      {numeric: true, noCounter: true, form: formWindow, result: instant},
	syntax.LastSample:       {numeric: true, noCounter: true, form: formWindow, result: instant},
	syntax.AvgSample:        {numeric: true, noCounter: true, form: formWindow, result: instantDouble},
	syntax.SumSample:        {numeric: true, noCounter: true, form: formWindow, result: instantDouble},
	syntax.StdevSample:      {numeric: true, noCounter: true, form: formWindow, result: instantDouble},
	syntax.PercentileSample: {numeric: true, noCounter: true, form: formWindow, result: instant},
	syntax.SlopeSample:      {numeric: true, noCounter: true, form: formWindow, check: inSeconds, result: perSecond},
	syntax.CountSample: {numeric: true, noCounter: true, form: formWindow, class: Tally, result: func(n *Node) {
		n.Type, n.Sem, n.Units = pdu.TypeU32, pdu.SemInstant, pdu.Units{Count: 1}
	}},
}

// function is what a function means. A node begins with the metadata of the first operand; without one with those of
// its arguments: see checker.call.
type function struct {
	numeric   bool                                                 // operands must be numbers
	noCounter bool                                                 // operands must be no counters
	check     func(c *checker, n *Node, e *syntax.Call) (bad Rule) // what else the operands must be, and conversions; nil: nothing
	result    func(n *Node)                                        // metadata of the result; nil: as they are

	form  form
	class Class
}

// form is how the values of a function come about.
type form uint8

const (
	formComputed form = iota // from those of its operands
	formConstant             // known once the definition is checked
	formEmpty                // never a value
	formWindow               // over time: from those that the operand has had
)

// Class is what lint has to know of a function.
type Class uint8

// The classes. Where nothing else is said a result comes from the values of the operands.
const (
	Plain   Class = iota
	Change        // takes a counter, gives what has changed: no counter, and 0 where nothing has
	Reading       // takes a counter, gives its values as no counter
	Tally         // how many values there are, whatever they are
	Query         // about a metric, whose values do not matter
)

// ClassOf is the class of a function.
func ClassOf(f syntax.Func) Class { return functions[f].class }

// single is the result of what has one value, without an instance.
func single(n *Node) { n.InDom = pdu.NoInDom }

func double(n *Node) { n.Type = pdu.TypeDouble }

func instant(n *Node) { n.Sem = pdu.SemInstant }

func instantDouble(n *Node) { n.Type, n.Sem = pdu.TypeDouble, pdu.SemInstant }

func extreme(n *Node) { n.Sem, n.InDom = pdu.SemInstant, pdu.NoInDom }

func reading(n *Node) {
	if n.Sem == pdu.SemCounter {
		n.Sem = pdu.SemInstant
	}
}

// changing is the result of a difference, which may be negative.
func changing(n *Node) {
	n.Sem = pdu.SemInstant
	if n.Type == pdu.TypeU32 {
		n.Type = pdu.Type64
	} else if n.Type == pdu.TypeU64 {
		n.Type = pdu.TypeDouble
	}
}

// overTime wants what has a meaning per second in PCP: no time, or one, whose rate is a share.
func overTime(c *checker, n *Node, e *syntax.Call) Rule {
	if n.Units.Time != 0 && n.Units.Time != 1 {
		return RuleRateDimension
	}
	return inSeconds(c, n, e)
}

// inSeconds converts times to seconds, those that something is per, too.
func inSeconds(_ *checker, n *Node, _ *syntax.Call) Rule {
	from := pdu.Units{Time: n.Units.Time, TimeScale: n.Units.TimeScale}
	to, ok := pdu.Units{Time: n.Units.Time, TimeScale: pdu.TimeSec}, from.Time == 0
	if !ok {
		n.Converter, ok = units.NewConverter(from, to)
	}
	if !ok || from.Time == -8 { // there is no ninth power, see [pdu.Units]
		return RuleRateDimension
	}
	return 0
}

func perSecond(n *Node) {
	n.Type, n.Sem = pdu.TypeDouble, pdu.SemInstant
	n.Units.Time--
	n.Units.TimeScale = 0
	if n.Units.Time != 0 {
		n.Units.TimeScale = pdu.TimeSec
	}
}

func rescaled(_ *checker, n *Node, e *syntax.Call) Rule {
	to, _, _ := pdu.ParseUnits(e.Literal().Text) // judged when the definition was parsed
	ok := false
	if n.Converter, ok = units.NewConverter(n.Units, to); !ok {
		return RuleRescaleDimension
	}
	n.Units = to
	return 0
}

// bare wants an operand without units.
func bare(_ *checker, n *Node, _ *syntax.Call) Rule {
	if !n.Units.Dimensionless() {
		return RuleFunctionDimension
	}
	return 0
}

// fits makes a constant one of the type that its tags ask for.
func fits(_ *checker, n *Node, e *syntax.Call) Rule {
	number := syntax.NumberOf(e)
	switch {
	case n.Type == pdu.TypeFloat:
		n.Value = column.FromFloat(float32(number.Float))
	case n.Type == pdu.TypeDouble:
		n.Value = column.FromDouble(number.Float)
	case !n.Type.Numeric() || number.Double:
		return RuleConstantType
	} // other integers hold the digits' low bits as they are
	return 0
}
