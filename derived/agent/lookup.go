package agent

import (
	"context"
	"slices"

	"pmdaderived/derived/agent/operand"
	"pmdaderived/derived/agent/served"
	"pmdaderived/pmda/pmapi"
)

// LookUp asks pmcd for the names that definitions use, and for more, and for the descriptors of those it knows.
// Names below [served.Root] are not asked for. An error means that the catalog is not known at all; a metric that does
// not exist is none.
func LookUp(ctx context.Context, conn *pmapi.Conn, defs []served.Definition, more ...string) (*operand.Catalog, error) {
	names, _ := operand.NamesIn(served.Texts(served.Pointers(defs)), served.Root, func(string) bool { return true })
	names = append(names, more...)
	slices.Sort(names)
	return operand.LookUp(ctx, conn, slices.Compact(names))
}
