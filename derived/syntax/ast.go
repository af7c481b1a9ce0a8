package syntax

// Span is a part of the expression text: the bytes from offset Start up to, not including, End.
type Span struct{ Start, End int }

// Expr is one node of the tree: a *Name, *Number, *Unary, *Binary, *Ternary, *Call, *Select or *Paren. The
// arguments of a *Call may be a *Literal, a *Tag or a *Key, too. There is nothing else.
//
// Parse never returns a tree with more than MaxDepth nodes on a path from the root to a leaf, so its
// users may walk it recursively. A tree is never changed after Parse.
type Expr interface {
	// Span returns the node's part of the text it was parsed from. It is zero for a node made by hand.
	Span() Span

	// String returns the canonical text: one blank around binary operators and after commas, none
	// elsewhere. Parsing it returns the same tree, which prints the same text. In a tree made by
	// hand parentheses can be missing that precedence needs: String adds them.
	String() string

	depth() int
}

// node is the common part of all nodes. A struct that embeds it is an Expr.
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

// Number is a constant without metadata of its own: of type U32 if it has no point, otherwise DOUBLE.
//
//	42   1.5   .5
type Number struct {
	node
	Text   string  // the digits as written, and the minus if it is part of the number; semantic errors show them
	Double bool    // it has a point
	Int    uint32  // the value without the minus, 0 if Double
	Float  float64 // the value, also of an integer; +Inf if it is too large
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

// Call is a function with its arguments. The kind of each argument is in the function's row of the table functions.
//
//	delta(disk.dev.total)   matchinst(!/^lo/, network.interface.in.bytes)   mkconst(10, type=u64, units="Kbyte")
//	sum(proc.memory.rss) by (proc.id.uid_nm)
//
// A Call of NoValue is the Then or the Else of a Ternary, never both, never inside parentheses, and nowhere else. If
// it is the Else, it ends the ternary: the operand of an operator after it is the whole ternary.
type Call struct {
	node
	Func Func
	Args []Expr
	By   *By // the by (KEY) of an aggregate; nil: there is none
}

// Literal is an argument with a language of its own. Its Text is without the quotes or slashes around it, its Span
// includes them.
//
//	"Kbyte / sec"   /^lo/   PM_TYPE_U32   "5 min"
type Literal struct {
	node
	Kind ArgKind

	// Text is, for a Pattern, a POSIX extended regular expression in which each \x of the definition has become x. For a
	// LabelName it is the name of the label.
	Text   string
	Negate bool // for a Pattern: "!" is before it, outside of the Span
}

// Tag is one piece of metadata. If several have the same key, the last one is used. Its Span is that of the value,
// quotes included.
//
//	semantics=counter
//
// Parse has checked the value. In upper or lower case, type is 32, u32, 64, u64, float or double, semantics is counter,
// instant or discrete, and indom is null or domain.serial within their ranges. Literals has accepted units. meta is
// a legal name of a metric.
type Tag struct {
	node
	Key    string // type, semantics, units, meta or indom
	Value  string // without quotes
	Quoted bool   // the value is in double quotes; must be true unless Value is one token
}

// Select is the one instance of X with an external name. X is a *Name or a *Paren.
//
//	kernel.all.load[1 minute]   (a + b)[eth0]
type Select struct {
	node
	X            Expr
	Instance     string // the name; each \x of the text has become x
	InstanceSpan Span   // brackets included
}

// Paren is an expression between parentheses. It is a node so that a tree prints as it was written.
//
//	(a + b)
type Paren struct {
	node
	X Expr
}

// Unparen returns the expression inside of all parentheses around e.
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

	opQuest // of a Ternary
	opColon
)

// Powers of operators, their precedence: an operator of a higher power binds tighter. Operators of the same power
// fold to the left: a-b-c is (a-b)-c.
const (
	powerTernary = iota + 1
	powerBool
	powerRel
	powerSum
	powerTerm
)

// operators has a row for each operator: its text, the name of its token in messages of libpcp, and its power.
//
//nolint:gochecknoglobals // a table
var operators = [...]struct {
	text, name string
	power      int
}{
	Neg: {"-", "NEG", powerTerm},
	Not: {"!", "NOT", powerRel},
	Add: {"+", "PLUS", powerSum},
	Sub: {"-", "MINUS", powerSum},
	Mul: {"*", "STAR", powerTerm},
	Div: {"/", "SLASH", powerTerm},
	Lt:  {"<", "LT", powerRel},
	Leq: {"<=", "LEQ", powerRel},
	Eq:  {"==", "EQ", powerRel},
	Geq: {">=", "GEQ", powerRel},
	Gt:  {">", "GT", powerRel},
	Neq: {"!=", "NEQ", powerRel},
	And: {"&&", "AND", powerBool},
	Or:  {"||", "OR", powerBool},

	opQuest: {"?", "QUEST", powerTernary},
	opColon: {":", "COLON", powerTernary},
}

// String returns the operator as it is written: "+", "<=", "!".
func (op Op) String() string { return operators[op].text }

// power returns the power of a binary operator. For a prefix operator it returns the least power that an operator in
// its operand may have. A prefix operator itself may be anywhere where an operand may be, whatever is before it.
func (op Op) power() int { return operators[op].power }

// Relation reports whether op compares: < <= == >= > !=.
func (op Op) Relation() bool { return op >= Lt && op <= Neq }

// Boolean reports whether op is && or ||.
func (op Op) Boolean() bool { return op == And || op == Or }

// Arithmetic reports whether op is + - * or /.
func (op Op) Arithmetic() bool { return op >= Add && op <= Div }
