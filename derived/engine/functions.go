package engine

import (
	"math"

	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// functions says how each function of package syntax is computed.
//
//nolint:gochecknoglobals // a table
var functions = [...]function{
	syntax.Avg:        {step: opAggregate, reduce: average},
	syntax.Count:      {step: opCount},
	syntax.Max:        {step: opAggregate, reduce: largest},
	syntax.Min:        {step: opAggregate, reduce: smallest},
	syntax.Sum:        {step: opAggregate, reduce: total, ofNone: true},
	syntax.Delta:      {step: opDelta},
	syntax.Rate:       {step: opRate},
	syntax.Instant:    {step: opSame},
	syntax.Scalar:     {step: opScalar},
	syntax.Defined:    {step: opConst},
	syntax.Match:      {step: opMatch},
	syntax.Const:      {step: opConst},
	syntax.NoValue:    {step: opNothing},
	syntax.Rescale:    {step: opRescale},
	syntax.Anon:       {step: opNothing},
	syntax.Abs:        {step: opEach, each: absolute},
	syntax.Floor:      {step: opEach, each: rounded(math.Floor)},
	syntax.Ceil:       {step: opEach, each: rounded(math.Ceil)},
	syntax.Round:      {step: opEach, each: rounded(math.Round)},
	syntax.Sqrt:       {step: opEach, each: doubles(math.Sqrt)},
	syntax.Log:        {step: opEach, each: doubles(math.Log)},
	syntax.Largest:    {step: opPair, pair: larger},
	syntax.Smallest:   {step: opPair, pair: smaller},
	syntax.Stdev:      {step: opAggregate, reduce: deviation},
	syntax.Percentile: {step: opAggregate, reduce: percentile, sorts: true},
	syntax.TopK:       {step: opTop},
	syntax.BottomK:    {step: opTop},
	syntax.Default:    {step: opDefault},

	syntax.PercentileBucket: {step: opBuckets, buckets: (*histogram).percentile},
	syntax.ShareBucket:      {step: opBuckets, buckets: (*histogram).share},

	syntax.MaxSample:        {step: opWindow},
	syntax.MinSample:        {step: opWindow},
	syntax.FirstSample:      {step: opWindow},
	syntax.LastSample:       {step: opWindow},
	syntax.AvgSample:        {step: opWindow},
	syntax.SumSample:        {step: opWindow},
	syntax.StdevSample:      {step: opWindow},
	syntax.PercentileSample: {step: opWindow},
	syntax.SlopeSample:      {step: opWindow},
	syntax.CountSample:      {step: opWindow},
	syntax.Latch:            {step: opWindow},

	syntax.Now:      {step: opNow},
	syntax.Increase: {step: opIncrease},
}

// function says how a function is computed.
type function struct {
	step stepOp // the operation that computes it

	// each is the loop of opEach: it computes dst from a, value by value. t is the type of both, and of the result.
	each func(t pdu.Type, dst, a []uint64)

	// pair returns the loop of opPair for two operands of a type, which is not FLOAT.
	pair func(t pdu.Type) func(dst, a, b []uint64)

	ofNone bool // of opAggregate: the result of no values is 0
	sorts  bool // of opAggregate: reduce changes the order of the values

	// reduce is the loop of opAggregate, for at least one value. n is the number among the arguments, if the function
	// has one.
	reduce func(t pdu.Type, a []uint64, n float64) (value uint64)

	// buckets computes opBuckets from the buckets of a group. It returns NaN if there is no value.
	buckets func(h *histogram, n float64) float64
}

// absolute removes the sign. The smallest integer of a type becomes the largest.
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

// doubles returns the loop for a function of DOUBLE.
func doubles(f func(float64) float64) func(t pdu.Type, dst, a []uint64) {
	return func(_ pdu.Type, dst, a []uint64) {
		for i, v := range a {
			dst[i] = column.FromDouble(f(column.ToDouble(v)))
		}
	}
}

// rounded returns the loop for a function that leaves integers as they are. The result is never minus zero.
func rounded(f func(float64) float64) func(t pdu.Type, dst, a []uint64) {
	return func(t pdu.Type, dst, a []uint64) {
		for i, v := range a {
			switch t {
			case pdu.TypeFloat:
				v = column.FromFloat(float32(f(float64(column.ToFloat(v))) + 0))
			case pdu.TypeDouble:
				v = column.FromDouble(f(column.ToDouble(v)) + 0)
			default:
			}
			dst[i] = v
		}
	}
}
