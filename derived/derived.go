package derived

import (
	"pmdaderived/derived/check"
	"pmdaderived/derived/column"
	"pmdaderived/derived/engine"
	"pmdaderived/derived/group"
	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// Language has the options of a site for the meaning of definitions: see [check.Language]. The zero value is
// PCP's defaults.
type Language check.Language

// NewSet checks and compiles definitions, in the language as the site has configured it. They should have distinct
// names; of several with one name the last one counts. The set keeps the catalog, whose answers should stay the same.
// prefix, if not empty, is the name that the metrics are served below: "derived" lets an expression use the definition
// a.b as derived.a.b, and keeps such names from being looked up in the catalog.
func (l Language) NewSet(defs []*Definition, cat Catalog, prefix string) *Set {
	return engine.NewSet(check.NewSet(check.Language(l), defs, cat, prefix))
}

// Definitions, and the results of checking them; see package check.
type (
	Definition = check.Definition
	Part       = check.Part
	Catalog    = check.Catalog
	CatalogMap = check.CatalogMap
	InDomMaps  = check.InDomMaps
	Error      = check.Error
	Rule       = check.Rule
	Node       = check.Node
	Line       = check.Line
)

// Rules that other packages treat specially; package check has all of them.
const (
	RuleUnknownOperand    = check.RuleUnknownOperand
	RuleOperandMetadata   = check.RuleOperandMetadata
	RuleTernaryUnknown    = check.RuleTernaryUnknown
	RuleTernaryGuardInDom = check.RuleTernaryGuardInDom
	RuleDimensionRange    = check.RuleDimensionRange
)

// MaxHistory is the largest number of earlier samples that a metric may need.
const MaxHistory = check.MaxHistory

// Parse reads the expression of a definition. An error is a *syntax.Error.
func Parse(name, text string) (*Definition, error) { return check.Parse(name, text) }

// ParseInDomMaps reads an instance domain configuration file: see [check.ParseInDomMaps].
func ParseInDomMaps(text string) (*InDomMaps, error) { return check.ParseInDomMaps(text) }

// TypeNamed returns the type of values that a word stands for, in any mix of cases; pdu.TypeUnknown if it is none.
func TypeNamed(word string) pdu.Type { return check.TypeNamed(word) }

// SemanticsNamed returns the semantics that a word stands for, in any mix of cases; 0 if it is none.
func SemanticsNamed(word string) pdu.Semantics { return check.SemanticsNamed(word) }

// Sets of metrics, and how they are computed; see package engine.
type (
	Set        = engine.Set
	Metric     = engine.Metric
	Needs      = engine.Needs
	Selector   = engine.Selector
	Sample     = engine.Sample
	Window     = engine.Window
	Results    = engine.Results
	Evaluation = engine.Evaluation
)

// BoundForm is how the instances of agents tell the bounds of their buckets: see [engine.BoundForm].
type BoundForm = engine.BoundForm

// NoBound is the form of an instance that is no bucket.
const NoBound = engine.NoBound

// BoundLabelName is the name of the label with the upper bound of a bucket.
const BoundLabelName = engine.BoundLabelName

// BoundOf returns how an instance tells the bound of its bucket.
func BoundOf(names *NameTable, id pdu.Inst) BoundForm { return engine.BoundOf(names, id) }

// Reduce computes an aggregate of at least one number: see [engine.Reduce].
func Reduce(f syntax.Func, t pdu.Type, numbers []uint64, n float64) uint64 {
	return engine.Reduce(f, t, numbers, n)
}

// Groups of instances, as in sum(x) by (KEY); see package group.
type (
	Groups      = group.Groups
	GroupHolder = group.Holder
	Group       = group.Group
	GroupDomain = group.Domain
	Missed      = group.Missed
)

// NewGroups returns Groups without a group.
func NewGroups() *Groups { return group.NewGroups() }

// Values and their instances; see package column.
type (
	Vector    = column.Vector
	InstSet   = column.InstSet
	NameTable = column.NameTable
	Births    = column.Births
)

// RememberedFor is how long [Births] knows a number: see [column.RememberedFor].
const RememberedFor = column.RememberedFor

// NewInstSet makes a set of the given instances and keeps ids.
func NewInstSet(ids []pdu.Inst) *InstSet { return column.NewInstSet(ids) }

// NewNameTable makes a table of the external names of a domain: see [column.NewNameTable].
func NewNameTable(names map[pdu.Inst]string, selectors map[string]pdu.Inst) *NameTable {
	return column.NewNameTable(names, selectors)
}

// Finite reports whether a number of a type, as in Vector.Bits, is neither infinite nor NaN.
func Finite(t pdu.Type, bits uint64) bool { return column.Finite(t, bits) }

// FormatNumber returns a number of type t as text, with the fewest digits that distinguish it, and with an exponent where
// C's %.16g has one.
func FormatNumber(t pdu.Type, v uint64) string { return column.FormatNumber(t, v) }

// Factor converts values to another scale of the same dimension: see [units.Factor].
type Factor = units.Factor

// One is the factor that changes nothing.
var One = units.One //nolint:gochecknoglobals // a constant in all but syntax
