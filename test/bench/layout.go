package bench

import (
	"fmt"
	"strings"
)

// The agents in C serve the same metrics, below a root of their own: singular ones, and families over
// domains of several sizes.
const (
	singular   = 20_000 // metrics
	perCluster = 1000
	perGroup   = 100 // metrics below one node of the name space
	stallParts = 10  // metrics of 10,000 instances in the refresh of the line stall
)

// family is metrics over one instance domain.
type family struct{ size, count int } // instances, metrics

// families returns all families. The serial of a domain is its position in the list.
func families() []family {
	return []family{{10, 200}, {1000, 20}, {10_000, 2 * stallParts}, {100_000, 4}}
}

// member returns the name of metric i over a domain of a size, below an agent's root.
func member(root string, size, i int) string { return fmt.Sprintf("%s.same%d.m%d", root, size, i) }

// scalar returns the name of singular metric i below a root.
func scalar(root string, i int) string {
	return fmt.Sprintf("%s.s.g%d.m%d", root, i/perGroup, i%perGroup)
}

// layoutFile returns the file that the agents in C read.
func layoutFile() string {
	var b strings.Builder
	cluster := 0
	for ; cluster < singular/perCluster; cluster++ {
		fmt.Fprintf(&b, "%d %d -1 1\n", cluster, perCluster)
	}
	for serial, f := range families() {
		fmt.Fprintf(&b, "%d %d %d %d\n", cluster+serial, f.count, serial, f.size)
	}
	return b.String()
}

// nameSpace returns the PMNS of an agent.
func nameSpace(root string) string {
	var b strings.Builder
	macro := strings.ToUpper(root)
	fmt.Fprintf(&b, "%s {\n s\n", root)
	for _, f := range families() {
		fmt.Fprintf(&b, " same%d\n", f.size)
	}
	fmt.Fprintf(&b, "}\n%s.s {\n", root)
	for g := range singular / perGroup {
		fmt.Fprintf(&b, " g%d\n", g)
	}
	b.WriteString("}\n")
	node := func(name string, n, cluster, item int) {
		fmt.Fprintf(&b, "%s.%s {\n", root, name)
		for i := range n {
			fmt.Fprintf(&b, " m%d %s:%d:%d\n", i, macro, cluster, item+i)
		}
		b.WriteString("}\n")
	}
	for g := range singular / perGroup {
		node(fmt.Sprintf("s.g%d", g), perGroup, g*perGroup/perCluster, g*perGroup%perCluster)
	}
	for serial, f := range families() {
		node(fmt.Sprintf("same%d", f.size), f.count, singular/perCluster+serial, 0)
	}
	return b.String()
}

// definition is a derived metric, and the number of its operands.
type definition struct {
	name, expr string
	operands   int
}

// sums returns definitions of n scalars, each the sum of two operands of its own.
func sums(n int) []definition {
	all := make([]definition, n)
	for i := range all {
		all[i] = definition{
			strings.TrimPrefix(scalar("", i), "."), scalar("bulk", 2*i) + " + " + scalar("bulk", 2*i+1), 2,
		}
	}
	return all
}

// over returns a definition over metrics 2i and 2i+1 of a family, for A and B in the expression.
func over(size, i int, kind, expr string) definition {
	operands := 0
	for n, letter := range []string{"A", "B"} {
		if strings.Contains(expr, letter) {
			operands++
			expr = strings.ReplaceAll(expr, letter, member("bulk", size, 2*i+n))
		}
	}
	return definition{fmt.Sprintf("%s.same%d.d%d", kind, size, i), expr, operands}
}

// sumsOver returns n sums over a family.
func sumsOver(size, n int) []definition {
	all := make([]definition, n)
	for i := range all {
		all[i] = over(size, i, "sum", "A + B")
	}
	return all
}

// fiveThousand returns sums and a marker, whose value is the version of the definitions.
func fiveThousand(version int) []definition {
	return append(sums(4999), definition{"marker", fmt.Sprintf("mkconst(%d, type=u32)", version), 0})
}

// text returns a file of definitions, in the form of PCP_DERIVED_CONFIG and the agent.
func text(defs []definition) string {
	var b strings.Builder
	for _, d := range defs {
		fmt.Fprintf(&b, "%s = %s\n", d.name, d.expr)
	}
	return b.String()
}

// names returns the names of the definitions, with a prefix: "" or "derived.".
func names(prefix string, defs []definition) []string {
	all := make([]string, len(defs))
	for i, d := range defs {
		all[i] = prefix + d.name
	}
	return all
}

// nameList returns n names.
func nameList(n int, name func(i int) string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = name(i)
	}
	return all
}

// operands returns the number of metrics that a refresh of the definitions samples. None is shared.
func operands(defs []definition) (n int) {
	for _, d := range defs {
		n += d.operands
	}
	return n
}
