package syntax

// Span is a part of the expression text: the bytes from offset Start up to, not including, End.
type Span struct{ Start, End int }

// Expr is one node of the tree: a *Name, *Number, *Unary, *Binary, *Ternary, *Call, *Select or *Paren. The
// arguments of a *Call may be a *Literal or a *Tag, too. There is nothing else.
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

// Call is a function with its arguments, which are what its row in the table of functions says.
//
//	delta(disk.dev.total)   matchinst(!/^lo/, network.interface.in.bytes)   mkconst(10, type=u64, units="Kbyte")
//	sum(proc.memory.rss) by (proc.id.uid_nm)
//
// A NoValue is the Then or the Else of a Ternary, never both, never inside parentheses, and nowhere else. As the Else it
// ends the ternary: an operator behind it has the whole ternary as its operand. Language of PCP 7.
type Call struct {
	node
	Func Func
	Args []Expr
	By   *By // behind an aggregate; nil: there is none
}

// Literal is an argument with a language of its own, without what is around it in the text, which its Span has:
// quotes, or slashes.
//
//	"Kbyte / sec"   /^lo/   PM_TYPE_U32   "5 min"
type Literal struct {
	node
	Kind   ArgKind
	Text   string // of a Pattern a POSIX extended regular expression, each \x of the text being x here; of a LabelName the name
	Negate bool   // of a Pattern: "!" stands before it, outside the Span
}

// Tag is one piece of metadata; of several with one key the last one counts. Its Span is that of the value, quotes included.
// Parse has checked the value: that of type is 32, u32, 64, u64, float or double, that of semantics counter, instant or
// discrete, that of indom null or a pair domain.serial within range, all in any mix of cases; that of units passed
// Literals; that of meta is the name of a metric.
//
//	semantics=counter
type Tag struct {
	node
	Key    string // type, semantics, units, meta or indom
	Value  string // without quotes
	Quoted bool   // written between double quotes; has to be set unless Value is one token
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

	opQuest // of a Ternary
	opColon
)

// Binding powers: a higher one binds tighter. Operators of one power fold to the left.
const (
	powerTernary = iota + 1
	powerBool
	powerRel
	powerSum
	powerTerm
)

// operators is a row for each operator.
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

// String is the operator as written: "+", "<=", "!".
func (op Op) String() string { return operators[op].text }

// power is the binding power of a binary operator. Of a prefix operator it is the least power its
// operand may have, whatever stands before it; its own place is anywhere an operand may stand.
func (op Op) power() int { return operators[op].power }

// Relation reports whether op compares: < <= == >= > !=.
func (op Op) Relation() bool { return op >= Lt && op <= Neq }

// Boolean reports whether op is && or ||.
func (op Op) Boolean() bool { return op == And || op == Or }

// Arithmetic reports whether op is + - * or /.
func (op Op) Arithmetic() bool { return op >= Add && op <= Div }
