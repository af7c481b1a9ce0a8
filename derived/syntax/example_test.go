package syntax_test

import (
	"fmt"

	"pmdaderived/derived/syntax"
)

// The metrics a definition needs are the names in its tree.
func ExampleWalk() {
	e, err := syntax.Parse("delta(disk.dev.total_bytes)/delta(disk.dev.total)", syntax.Literals{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e)
	syntax.Walk(e, func(e syntax.Expr) bool {
		if name, ok := e.(*syntax.Name); ok {
			fmt.Println("needs", name.Name)
		}
		return true
	})
	// Output:
	// delta(disk.dev.total_bytes) / delta(disk.dev.total)
	// needs disk.dev.total_bytes
	// needs disk.dev.total
}
