package unittest

import "pmdaderived/config"

// Coverage is how many definitions of a file tests look at.
type Coverage struct {
	File     string
	All      int
	Untested []*config.Definition // in the order of the file
}

// Cover tells which definitions are tested, for each of their files in their order.
func Cover(defs []*config.Definition, tested map[string]bool) []Coverage {
	var all []Coverage
	at := map[string]int{}
	for _, d := range defs {
		i, ok := at[d.Pos.File]
		if !ok {
			i = len(all)
			at[d.Pos.File] = i
			all = append(all, Coverage{File: d.Pos.File})
		}
		all[i].All++
		if !tested[d.Name] {
			all[i].Untested = append(all[i].Untested, d)
		}
	}
	return all
}
