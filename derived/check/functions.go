package check

import (
	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// functions has the meaning of each function of package syntax. Source: docs/language-rules.md 6.2.
//
//nolint:gochecknoglobals // a table
var functions = map[syntax.Func]function{
	syntax.Avg: {numeric: true, result: func(n *Node) {
		n.Type, n.Sem, n.InDom = pdu.TypeFloat, pdu.SemInstant, pdu.NoInDom
	}},
	syntax.Count: {result: func(n *Node) {
		n.Type, n.Sem, n.Units, n.InDom = pdu.TypeU32, pdu.SemInstant, pdu.Units{Count: 1}, pdu.NoInDom
	}},
	syntax.Max:      {numeric: true, result: asInstantSingular},
	syntax.Min:      {numeric: true, result: asInstantSingular},
	syntax.Sum:      {numeric: true, result: asSingular},
	syntax.Delta:    {numeric: true, result: deltaResult},
	syntax.Rate:     {numeric: true, check: checkRate, result: rateResult},
	syntax.Increase: {numeric: true, check: checkIncrease, result: deltaResult},
	syntax.Instant:  {result: readingResult},
	syntax.Scalar:   {result: asSingular},
	syntax.Defined:  {form: formConstant},
	syntax.Match:    {},
	syntax.Const:    {form: formConstant, check: checkConstant},
	syntax.NoValue:  {form: formEmpty},
	syntax.Rescale:  {numeric: true, check: checkRescale},
	syntax.Anon:     {form: formEmpty},
	syntax.Abs:      {numeric: true},
	syntax.Floor:    {numeric: true},
	syntax.Ceil:     {numeric: true},
	syntax.Round:    {numeric: true},
	syntax.Sqrt:     {numeric: true, noCounter: true, check: checkDimensionless, result: asDouble},
	syntax.Log:      {numeric: true, noCounter: true, check: checkDimensionless, result: asDouble},
	syntax.Largest:  {numeric: true, noCounter: true, check: checkAlike},
	syntax.Smallest: {numeric: true, noCounter: true, check: checkAlike},
	syntax.Stdev: {numeric: true, noCounter: true, result: func(n *Node) {
		n.Type, n.Sem, n.InDom = pdu.TypeDouble, pdu.SemInstant, pdu.NoInDom
	}},
	syntax.Percentile: {numeric: true, noCounter: true, result: asInstantSingular},
	syntax.TopK:       {numeric: true, noCounter: true},
	syntax.BottomK:    {numeric: true, noCounter: true},
	syntax.Default:    {numeric: true, check: checkDefault},

	syntax.PercentileBucket: {numeric: true, check: checkBuckets, result: asInstantDouble},
	syntax.ShareBucket:      {numeric: true, check: checkBuckets, result: asInstantDouble},

	syntax.MaxSample:        {numeric: true, noCounter: true, form: formWindow, result: asInstant},
	syntax.MinSample:        {numeric: true, noCounter: true, form: formWindow, result: asInstant},
	syntax.FirstSample:      {numeric: true, noCounter: true, form: formWindow, result: asInstant},
	syntax.LastSample:       {numeric: true, noCounter: true, form: formWindow, result: asInstant},
	syntax.AvgSample:        {numeric: true, noCounter: true, form: formWindow, result: asInstantDouble},
	syntax.SumSample:        {numeric: true, noCounter: true, form: formWindow, result: asInstantDouble},
	syntax.StdevSample:      {numeric: true, noCounter: true, form: formWindow, result: asInstantDouble},
	syntax.PercentileSample: {numeric: true, noCounter: true, form: formWindow, result: asInstant},
	syntax.SlopeSample: {
		numeric: true, noCounter: true, form: formWindow, check: convertToSeconds, result: rateResult,
	},
	syntax.CountSample: {numeric: true, noCounter: true, form: formWindow, result: func(n *Node) {
		n.Type, n.Sem, n.Units = pdu.TypeU32, pdu.SemInstant, pdu.Units{Count: 1}
	}},
	syntax.Latch: {numeric: true, noCounter: true, form: formWindow, check: checkLatch, result: func(n *Node) {
		n.Type, n.Sem, n.Units = pdu.TypeU32, pdu.SemInstant, pdu.Units{}
	}},
	syntax.Now: {result: func(n *Node) {
		n.Type, n.Sem, n.Units = pdu.TypeDouble, pdu.SemInstant, pdu.Units{Time: 1, TimeScale: pdu.TimeSec}
	}},
}

// function is the meaning of a function. A node begins with the metadata of the first operand, without operands with
// that of its arguments. checker.call then applies form, numeric, noCounter, check and result, in this order.
type function struct {
	numeric   bool // operands must be numbers
	noCounter bool // operands must be no counters
	form      form

	// check returns the rule that the operands break, and sets conversions; nil: there are no other rules.
	check func(c *checker, n *Node, e *syntax.Call) Rule

	// result changes the metadata to that of the result; nil: it is that of the operand.
	result func(n *Node)
}

// form says where the values of a function come from.
type form uint8

const (
	formComputed form = iota // the values of its operands
	formConstant             // the checker: the value is constant
	formEmpty                // nowhere: there is never a value
	formWindow               // the values of its operand over time
)

// asSingular is for functions that return one value without an instance.
func asSingular(n *Node) { n.InDom = pdu.NoInDom }

func asDouble(n *Node) { n.Type = pdu.TypeDouble }

func asInstant(n *Node) { n.Sem = pdu.SemInstant }

func asInstantDouble(n *Node) { n.Type, n.Sem = pdu.TypeDouble, pdu.SemInstant }

func asInstantSingular(n *Node) { n.Sem, n.InDom = pdu.SemInstant, pdu.NoInDom }

func readingResult(n *Node) {
	if n.Sem == pdu.SemCounter {
		n.Sem = pdu.SemInstant
	}
}

// deltaResult gives n a type that can hold a negative difference.
func deltaResult(n *Node) {
	n.Sem = pdu.SemInstant
	switch n.Type {
	case pdu.TypeU32:
		n.Type = pdu.Type64
	case pdu.TypeU64:
		n.Type = pdu.TypeDouble
	}
}

// checkIncrease requires a counter that is a metric, or some instances of one: only the instances of a metric are born.
func checkIncrease(_ *checker, n *Node, _ *syntax.Call) Rule {
	x := n.Kids[0]
	switch {
	case x.Empty:
	case x.Sem != pdu.SemCounter:
		return RuleIncreaseOperand
	case x.Metric() == nil:
		return RuleIncreaseResult
	}
	return 0
}

// checkRate requires an operand whose rate has a meaning in PCP: one without time, or a time, whose rate is a share.
func checkRate(c *checker, n *Node, e *syntax.Call) Rule {
	if n.Units.Time != 0 && n.Units.Time != 1 {
		return RuleRateDimension
	}
	return convertToSeconds(c, n, e)
}

// convertToSeconds sets the conversion of times to seconds, also of times in the denominator.
func convertToSeconds(_ *checker, n *Node, _ *syntax.Call) Rule {
	from := pdu.Units{Time: n.Units.Time, TimeScale: n.Units.TimeScale}
	to, ok := pdu.Units{Time: n.Units.Time, TimeScale: pdu.TimeSec}, from.Time == 0
	if !ok {
		n.Converter, ok = units.NewConverter(from, to)
	}
	if !ok || from.Time == -8 { // the result would have the power -9: see [pdu.Units]
		return RuleRateDimension
	}
	return 0
}

func rateResult(n *Node) {
	n.Type, n.Sem = pdu.TypeDouble, pdu.SemInstant
	n.Units.Time--
	n.Units.TimeScale = 0
	if n.Units.Time != 0 {
		n.Units.TimeScale = pdu.TimeSec
	}
}

func checkRescale(_ *checker, n *Node, e *syntax.Call) Rule {
	to, _, _ := pdu.ParseUnits(e.Literal().Text) // Parse has checked the text
	ok := false
	if n.Converter, ok = units.NewConverter(n.Units, to); !ok {
		return RuleRescaleDimension
	}
	n.Units = to
	return 0
}

// checkDimensionless requires an operand without units.
func checkDimensionless(_ *checker, n *Node, _ *syntax.Call) Rule {
	if !n.Units.Dimensionless() {
		return RuleFunctionDimension
	}
	return 0
}

// checkBuckets requires instances, which are the buckets, and counts of a time, not since the source began. The result
// is singular. It has the units among the arguments, if there are any.
func checkBuckets(_ *checker, n *Node, e *syntax.Call) Rule {
	switch {
	case n.InDom == pdu.NoInDom:
		return RuleBucketSingular
	case n.Sem == pdu.SemCounter:
		return RuleBucketCounter
	}
	n.InDom, n.Units = pdu.NoInDom, pdu.Units{}
	if units := e.Literal(); units != nil {
		n.Units, _, _ = pdu.ParseUnits(units.Text) // Parse has checked the text
	}
	return 0
}

// checkConstant converts a constant to the type of its tags.
func checkConstant(_ *checker, n *Node, e *syntax.Call) Rule {
	number := syntax.NumberOf(e)
	switch {
	case n.Type == pdu.TypeFloat:
		n.Value = column.FromFloat(float32(number.Float))
	case n.Type == pdu.TypeDouble:
		n.Value = column.FromDouble(number.Float)
	case !n.Type.Numeric() || number.Double:
		return RuleConstantType
	} // other integers hold the low bits of the digits
	return 0
}

// checkLatch pairs the conditions by instance, as the operator || does.
func checkLatch(c *checker, n *Node, _ *syntax.Call) Rule {
	x, y := n.Kids[0], n.Kids[1]
	if rule := c.operatorRule(syntax.Or, x, y); rule != 0 {
		return rule
	}
	if n.InDom == pdu.NoInDom || c.set.Pairing(x, y) == PairWithLeftGroups {
		n.InDom = y.InDom
	}
	return 0
}
