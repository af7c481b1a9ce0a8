package bench

import (
	"fmt"
	"strings"
)

// The agents in C serve the same metrics, below a root of their own: singular ones, and families over
// domains of each size in each mode. Package documentation of c/bulk.c tells what the modes are.
const (
	singular    = 20_000 // metrics
	perCluster  = 1000
	perGroup    = 100 // metrics below one node of the name space
	stallParts  = 10  // metrics of 10,000 instances in the refresh that others wait for
	wideMetrics = 200 // operands over a domain of 10 instances
)

// Modes of families.
const (
	same     = "same"
	shuffled = "shuffled"
	missing  = "missing"
	churning = "churning"
)

// family is metrics over one instance domain.
type family struct {
	mode  string
	size  int // instances
	count int // metrics
}

func (f family) name() string { return fmt.Sprintf("%s%d", f.mode, f.size) }

// metric is the name of the family's metric i below an agent's root.
func (f family) metric(root string, i int) string { return fmt.Sprintf("%s.%s.m%d", root, f.name(), i) }

// families lists all families; the serial of a domain is its place in the list.
func families() []family {
	all := []family{
		{same, 10, wideMetrics}, {same, 100, 4}, {same, 1000, 20}, {same, 10_000, 2 * stallParts}, {same, 100_000, 4},
	}
	for _, mode := range []string{shuffled, missing, churning} {
		for _, size := range sizes() {
			all = append(all, family{mode, size, 4})
		}
	}
	return all
}

// sizes are the numbers of instances that costs are compared over.
func sizes() []int { return []int{100, 1000, 10_000, 100_000} }

// scalar is the name of singular metric i below a root.
func scalar(root string, i int) string {
	return fmt.Sprintf("%s.s.g%d.m%d", root, i/perGroup, i%perGroup)
}

// layoutFile is what the agents in C read.
func layoutFile() string {
	var b strings.Builder
	cluster := 0
	for ; cluster < singular/perCluster; cluster++ {
		fmt.Fprintf(&b, "%d %d -1 1 same\n", cluster, perCluster)
	}
	for serial, f := range families() {
		fmt.Fprintf(&b, "%d %d %d %d %s\n", cluster+serial, f.count, serial, f.size, f.mode)
	}
	return b.String()
}

// nameSpace is the PMNS of an agent that serves the first n singular metrics and, if wanted, all
// families.
func nameSpace(root string, n int, withFamilies bool) string {
	var b strings.Builder
	macro := strings.ToUpper(root)
	fmt.Fprintf(&b, "%s {\n s\n", root)
	if withFamilies {
		for _, f := range families() {
			fmt.Fprintf(&b, " %s\n", f.name())
		}
	}
	fmt.Fprintf(&b, "}\n%s.s {\n", root)
	for g := range n / perGroup {
		fmt.Fprintf(&b, " g%d\n", g)
	}
	b.WriteString("}\n")
	for i := range n {
		if i%perGroup == 0 {
			fmt.Fprintf(&b, "%s.s.g%d {\n", root, i/perGroup)
		}
		fmt.Fprintf(&b, " m%d %s:%d:%d\n", i%perGroup, macro, i/perCluster, i%perCluster)
		if i%perGroup == perGroup-1 {
			b.WriteString("}\n")
		}
	}
	if !withFamilies {
		return b.String()
	}
	for serial, f := range families() {
		fmt.Fprintf(&b, "%s.%s {\n", root, f.name())
		for i := range f.count {
			fmt.Fprintf(&b, " m%d %s:%d:%d\n", i, macro, n/perCluster+serial, i)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// definition is a derived metric and how many values it has at most.
type definition struct {
	name, expr string
	operands   int
}

// sums are the definitions of n scalars, each the sum of two operands of its own.
func sums(n int) []definition {
	all := make([]definition, n)
	for i := range all {
		all[i] = definition{
			strings.TrimPrefix(scalar("", i), "."), scalar("bulk", 2*i) + " + " + scalar("bulk", 2*i+1), 2,
		}
	}
	return all
}

// over is a definition over metrics 2i and 2i+1 of a family, which stand for a and b in the expression.
func over(f family, i int, kind, expr string) definition {
	operands := 0
	for n, letter := range []string{"A", "B"} {
		if strings.Contains(expr, letter) {
			operands++
			expr = strings.ReplaceAll(expr, letter, f.metric("bulk", 2*i+n))
		}
	}
	return definition{fmt.Sprintf("%s.%s.d%d", kind, f.name(), i), expr, operands}
}

// Expressions that are compared; A and B stand for the operands.
const (
	exprSum   = "A + B"
	exprRate  = "rate(A)"
	exprRatio = "delta(A) / delta(B)"
)

// exprFifty has 50 operators.
func exprFifty() string { return "A" + strings.Repeat(" + B - A", 25) }

// text is a file of definitions, as PCP_DERIVED_CONFIG and the agent take it.
func text(defs []definition) string {
	var b strings.Builder
	for _, d := range defs {
		fmt.Fprintf(&b, "%s = %s\n", d.name, d.expr)
	}
	return b.String()
}

// names are those of the definitions below a prefix, "" or "derived.".
func names(prefix string, defs []definition) []string {
	all := make([]string, len(defs))
	for i, d := range defs {
		all[i] = prefix + d.name
	}
	return all
}

// operands is how many metrics a refresh of the definitions takes; none is shared.
func operands(defs []definition) int {
	n := 0
	for _, d := range defs {
		n += d.operands
	}
	return n
}
