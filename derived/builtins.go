package derived

import (
	"math"

	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// builtins is what the functions mean: a row for each of package syntax. To add one of one operand takes a row there
// and one here, with its kernel, and a section in docs/language.md and docs/pmdaderived.5. Source: docs/language-rules.md 6.2.
//
//nolint:gochecknoglobals // a table
var builtins = [...]builtin{
	syntax.Avg: {numeric: true, step: opAggregate, reduce: average, result: func(n *Node) {
		n.Type, n.Sem, n.InDom = pdu.TypeFloat, pdu.SemInstant, pdu.NoInDom
	}},
	syntax.Count: {step: opCount, class: Tally, result: func(n *Node) {
		n.Type, n.Sem, n.Units, n.InDom = pdu.TypeU32, pdu.SemInstant, pdu.Units{Count: 1}, pdu.NoInDom
	}},
	syntax.Max:      {numeric: true, step: opAggregate, reduce: largest, result: extreme},
	syntax.Min:      {numeric: true, step: opAggregate, reduce: smallest, result: extreme},
	syntax.Sum:      {numeric: true, step: opAggregate, reduce: total, ofNone: true, result: single},
	syntax.Delta:    {numeric: true, step: opDelta, class: Change, result: changing},
	syntax.Rate:     {numeric: true, step: opRate, class: Change, check: overTime, result: perSecond},
	syntax.Instant:  {class: Reading, result: reading},
	syntax.Scalar:   {step: opScalar, result: single},
	syntax.Defined:  {step: opConst, class: Query},
	syntax.Match:    {step: opMatch},
	syntax.Const:    {step: opConst, check: fits},
	syntax.NoValue:  {step: opNothing},
	syntax.Rescale:  {numeric: true, step: opRescale, check: rescaled},
	syntax.Anon:     {step: opNothing},
	syntax.Abs:      {numeric: true, step: opEach, each: absolute},
	syntax.Floor:    {numeric: true, step: opEach, each: rounded(math.Floor)},
	syntax.Ceil:     {numeric: true, step: opEach, each: rounded(math.Ceil)},
	syntax.Round:    {numeric: true, step: opEach, each: rounded(math.Round)},
	syntax.Sqrt:     {numeric: true, noCounter: true, check: bare, step: opEach, each: doubles(math.Sqrt), result: double},
	syntax.Log:      {numeric: true, noCounter: true, check: bare, step: opEach, each: doubles(math.Log), result: double},
	syntax.Largest:  {numeric: true, noCounter: true, check: alike, step: opPair, pair: larger},
	syntax.Smallest: {numeric: true, noCounter: true, check: alike, step: opPair, pair: smaller},
	syntax.Stdev: {numeric: true, noCounter: true, step: opAggregate, reduce: deviation, result: func(n *Node) {
		n.Type, n.Sem, n.InDom = pdu.TypeDouble, pdu.SemInstant, pdu.NoInDom
	}},
	syntax.Percentile: {numeric: true, noCounter: true, step: opAggregate, reduce: percentile, sorts: true, result: extreme},
	syntax.TopK:       {numeric: true, noCounter: true, step: opTop},
	syntax.BottomK:    {numeric: true, noCounter: true, step: opTop},
	syntax.Default:    {numeric: true, check: fallsBack, step: opDefault},

	syntax.MaxSample:        {numeric: true, noCounter: true, step: opWindow, result: instant},
	syntax.MinSample:        {numeric: true, noCounter: true, step: opWindow, result: instant},
	syntax.FirstSample:      {numeric: true, noCounter: true, step: opWindow, result: instant},
	syntax.LastSample:       {numeric: true, noCounter: true, step: opWindow, result: instant},
	syntax.AvgSample:        {numeric: true, noCounter: true, step: opWindow, result: instantDouble},
	syntax.SumSample:        {numeric: true, noCounter: true, step: opWindow, result: instantDouble},
	syntax.StdevSample:      {numeric: true, noCounter: true, step: opWindow, result: instantDouble},
	syntax.PercentileSample: {numeric: true, noCounter: true, step: opWindow, result: instant},
	syntax.SlopeSample:      {numeric: true, noCounter: true, step: opWindow, check: inSeconds, result: perSecond},
	syntax.CountSample: {numeric: true, noCounter: true, step: opWindow, class: Tally, result: func(n *Node) {
		n.Type, n.Sem, n.Units = pdu.TypeU32, pdu.SemInstant, pdu.Units{Count: 1}
	}},
}

// builtin is what a function means. A node begins with the metadata of the first operand; without one with those of
// its arguments: see checker.call.
type builtin struct {
	numeric   bool                                                 // operands must be numbers
	noCounter bool                                                 // operands must be no counters
	check     func(c *checker, n *Node, e *syntax.Call) (bad Rule) // what else the operands must be, and conversions; nil: nothing
	result    func(n *Node)                                        // metadata of the result; nil: as they are

	step   stepOp                                    // that computes it; 0: it is its operand
	each   func(t pdu.Type, dst, a []uint64)         // of opEach: value by value, of the type of the result, as Vector.Bits holds them
	pair   func(t pdu.Type) func(dst, a, b []uint64) // of opPair: the loop for two operands, of a type that is not FLOAT
	ofNone bool                                      // of opAggregate: 0 is the result of no values
	sorts  bool                                      // of opAggregate: reduce changes the order of the values

	// Of opAggregate: of one value at least, and the number among the arguments, if there is one.
	reduce func(t pdu.Type, a []uint64, n float64) (value uint64)

	class Class
}

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
func ClassOf(f syntax.Func) Class { return builtins[f].class }

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
		n.convert, ok = NewConverter(from, to)
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
	if n.convert, ok = NewConverter(n.Units, to); !ok {
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
		n.value = fromFloat(float32(number.Float))
	case n.Type == pdu.TypeDouble:
		n.value = fromDouble(number.Float)
	case !n.Type.Numeric() || number.Double:
		return RuleConstantType
	} // other integers hold the digits' low bits as they are
	return 0
}

// absolute takes the sign away. What has no counterpart in its type becomes the largest number.
func absolute(t pdu.Type, dst, a []uint64) {
	for i, v := range a {
		switch t {
		case pdu.TypeFloat:
			v &^= 1 << 31
		case pdu.TypeDouble:
			v &^= 1 << 63
		case pdu.Type32:
			n := int32(uint32(v))
			v = uint64(max(n, -max(n, -math.MaxInt32)))
		case pdu.Type64:
			n := int64(v)
			v = uint64(max(n, -max(n, -math.MaxInt64)))
		default:
		}
		dst[i] = v
	}
}

// doubles is the loop for a function of DOUBLE.
func doubles(f func(float64) float64) func(t pdu.Type, dst, a []uint64) {
	return func(_ pdu.Type, dst, a []uint64) {
		for i, v := range a {
			dst[i] = fromDouble(f(toDouble(v)))
		}
	}
}

// rounded is the loop for what leaves whole numbers as they are, and makes no minus zero.
func rounded(f func(float64) float64) func(t pdu.Type, dst, a []uint64) {
	return func(t pdu.Type, dst, a []uint64) {
		for i, v := range a {
			switch t {
			case pdu.TypeFloat:
				v = fromFloat(float32(f(float64(toFloat(v))) + 0))
			case pdu.TypeDouble:
				v = fromDouble(f(toDouble(v)) + 0)
			default:
			}
			dst[i] = v
		}
	}
}
