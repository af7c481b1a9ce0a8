package derivedtest

import (
	"math/rand/v2"
	"slices"

	"pmdaderived/pdu"
)

// InstanceLists are lists of instances of every kind that matters to indexes and joins.
func InstanceLists() map[string][]pdu.Inst {
	r := rand.New(rand.NewPCG(11, 12))
	dense, sparse := make([]pdu.Inst, 1300), make([]pdu.Inst, 1300)
	for i := range dense {
		dense[i], sparse[i] = pdu.Inst(i+5), pdu.Inst(i*1000-300_000)
	}
	lists := map[string][]pdu.Inst{
		"none": nil, "one": {7}, "extremes": {-1 << 31, 1<<31 - 1, 0}, "repeated": {3, 1, 3, 900, 1},
		"dense": dense, "sparse": sparse,
	}
	for name, list := range map[string][]pdu.Inst{"dense": dense, "sparse": sparse} {
		lists[name+", shuffled"] = slices.Clone(list)
		r.Shuffle(len(list), func(i, j int) {
			l := lists[name+", shuffled"]
			l[i], l[j] = l[j], l[i]
		})
		lists[name+", few missing"] = slices.Concat(list[:3], list[4:600], list[601:1299])
		lists[name+", half missing"] = slices.DeleteFunc(slices.Clone(list), func(pdu.Inst) bool { return r.IntN(2) == 0 })
		half := slices.Clone(lists[name+", shuffled"])
		lists[name+", shuffled, half missing"] = slices.DeleteFunc(half, func(pdu.Inst) bool { return r.IntN(2) == 0 })
		lists[name+", second half"] = list[650:]
	}
	return lists
}
