package derived

import "strings"

// Root is the name of the subtree of the PMNS that derived metrics are served in.
const Root = "derived"

// FullName returns the name that a definition is served with.
func FullName(name string) string { return Root + "." + name }

// ShortName returns the name of a definition as its file has it, whether it is given like that or as it is served.
func ShortName(name string) string { return strings.TrimPrefix(name, Root+".") }
