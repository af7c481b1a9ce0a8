package syntax

// Span is a part of the expression text: the bytes from offset Start up to, not including, End.
type Span struct{ Start, End int }

// Expr is one node of the tree: a *Name, *Number, *Const, *NoValue, *Unary, *Binary, *Ternary,
// *Call, *Rescale, *Match, *Select or *Paren, and nothing else.
//
// Parse never gives a tree with more than MaxDepth nodes on a path from the root to a leaf, so its
// users may walk it by plain recursion. A tree is not changed once it is parsed.
type Expr interface {
	// Span is the node's part of the text it was parsed from; zero for a node made by hand.
	Span() Span

	// String is the canonical text: one blank around binary operators and after commas, none
	// elsewhere. Parsing it gives the same tree, which prints the same text. Where a tree made by
	// hand lacks parentheses that precedence asks for, they are added.
	String() string

	depth() int
}

// node makes an Expr of the struct that embeds it.
type node struct {
	at     Span
	height int // nodes on the longest path down to a leaf, this one included
}

func (n node) Span() Span { return n.at }
func (n node) depth() int { return n.height }

// Name is a metric: an operand, or the argument of a function.
//
//	disk.dev.total
type Name struct {
	node
	Name string
}

// Number is a constant without metadata of its own: U32 when written without a point, else DOUBLE.
//
//	42   1.5   .5
type Number struct {
	node
	Text   string  // the digits as written; semantic errors show them
	Double bool    // written with a point
	Int    uint32  // the value, 0 if Double
	Float  float64 // the value, of an integer too; +Inf for digits beyond the range
}

// Const is a constant with metadata.
//
//	mkconst(10, type=u64, units="Kbyte")
type Const struct {
	node
	Number *Number
	Tags   []Tag // at least one, in the order written; of several with one key the last one counts
}

// NoValue is the operand of a ternary that stands for "no value". It is the Then or the Else of a
// Ternary, never both, never inside parentheses, and nowhere else. Language of PCP 7. As the Else it ends
// the ternary: an operator behind it has the whole ternary as its operand.
//
//	novalue()   novalue(type=double, units="Kbyte")
type NoValue struct {
	node
	Tags []Tag // may be empty; otherwise as in Const
}

// Tag is one piece of metadata in Const and NoValue. Parse has checked the value: that of type is
// 32, u32, 64, u64, float or double, that of semantics counter, instant or discrete, that of indom
// null or a pair domain.serial within range, all in any mix of cases; that of units passed
// Literals; that of meta is the name of a metric.
//
//	semantics=counter
type Tag struct {
	Key    string // type, semantics, units, meta or indom
	Value  string // without quotes
	Quoted bool   // written between double quotes; has to be set unless Value is one token
	Span   Span   // of the value, quotes included
}

// Unary is a prefix operator, Neg or Not, before its operand.
//
//	-x   !(a > b)
type Unary struct {
	node
	Op Op
	X  Expr
}

// Binary is an arithmetic, relational or boolean operator between its operands.
//
//	a + b   a <= b   a && b
type Binary struct {
	node
	Op    Op
	OpPos int // offset of the operator in the text
	X, Y  Expr
}

// Ternary selects one of two operands.
//
//	guard ? a : b
type Ternary struct {
	node
	Guard, Then, Else Expr
}

// Call is a function of one operand. The operand of Defined and of Anon is a *Name.
//
//	delta(disk.dev.total)   sum(rate(disk.dev.read))
type Call struct {
	node
	Func Func
	X    Expr
}

// Rescale converts its operand to other units of the same dimension.
//
//	rescale(network.interface.total.bytes, "Mbytes/hour")
type Rescale struct {
	node
	X         Expr
	Units     string // without quotes; passed Literals
	UnitsSpan Span   // quotes included
}

// Match keeps the instances whose external name matches a pattern, or does not match it.
//
//	matchinst(!/^lo/, network.interface.in.bytes)
type Match struct {
	node
	Negate      bool
	Pattern     string // a POSIX extended regular expression, each \x of the text being x here
	PatternSpan Span   // slashes included, the "!" not
	X           Expr
}

// Select keeps the one instance of an external name. X is a *Name or a *Paren.
//
//	kernel.all.load[1 minute]   (a + b)[eth0]
type Select struct {
	node
	X            Expr
	Instance     string // each \x of the text being x here
	InstanceSpan Span   // brackets included
}

// Paren is an expression between parentheses. The tree keeps it, so that it prints as written.
//
//	(a + b)
type Paren struct {
	node
	X Expr
}

// Unparen takes the parentheses around e away, however many there are.
func Unparen(e Expr) Expr {
	for {
		p, ok := e.(*Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}

// Op is a prefix or binary operator. The zero value is none.
type Op uint8

// The operators.
const (
	Neg Op = iota + 1 // prefix -
	Not               // prefix !
	Add
	Sub
	Mul
	Div
	Lt
	Leq
	Eq
	Geq
	Gt
	Neq
	And
	Or
)

// String is the operator as written: "+", "<=", "!".
func (op Op) String() string {
	switch op {
	case Neg, Sub:
		return "-"
	case Not:
		return "!"
	case Add:
		return "+"
	case Mul:
		return "*"
	case Div:
		return "/"
	case Lt:
		return "<"
	case Leq:
		return "<="
	case Eq:
		return "=="
	case Geq:
		return ">="
	case Gt:
		return ">"
	case Neq:
		return "!="
	case And:
		return "&&"
	case Or:
		return "||"
	}
	return ""
}

// Name is the operator's name in messages: "PLUS", "LEQ", "NOT".
func (op Op) Name() string {
	switch op {
	case Neg:
		return "NEG"
	case Not:
		return "NOT"
	case Add:
		return "PLUS"
	case Sub:
		return "MINUS"
	case Mul:
		return "STAR"
	case Div:
		return "SLASH"
	case Lt:
		return "LT"
	case Leq:
		return "LEQ"
	case Eq:
		return "EQ"
	case Geq:
		return "GEQ"
	case Gt:
		return "GT"
	case Neq:
		return "NEQ"
	case And:
		return "AND"
	case Or:
		return "OR"
	}
	return ""
}

// Binding powers: a higher one binds tighter. Operators of one power fold to the left.
const (
	powerExpr = iota // anything
	powerTernary
	powerBool
	powerRel
	powerSum
	powerTerm
	powerOperand
)

// power is the binding power of a binary operator. Of a prefix operator it is the least power its
// operand may have, whatever stands before it; its own place is anywhere an operand may stand.
func (op Op) power() int {
	switch op {
	case Mul, Div, Neg:
		return powerTerm
	case Add, Sub:
		return powerSum
	case Lt, Leq, Eq, Geq, Gt, Neq, Not:
		return powerRel
	case And, Or:
		return powerBool
	}
	return powerExpr
}

// Func is a function of one operand. The zero value is none.
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
	Anon // anon(PM_TYPE_U32): a metric of that type without values; PCP uses it for event records
)

// String is the function's word: "avg".
func (f Func) String() string {
	switch f {
	case Avg:
		return "avg"
	case Count:
		return "count"
	case Max:
		return "max"
	case Min:
		return "min"
	case Sum:
		return "sum"
	case Delta:
		return "delta"
	case Rate:
		return "rate"
	case Instant:
		return "instant"
	case Scalar:
		return "scalar"
	case Defined:
		return "defined"
	case Anon:
		return "anon"
	}
	return ""
}
