package identity

import (
	"hash/fnv"
	"math"
	"slices"

	"pmdaderived/pdu"
)

// FileNumbers returns the numbers of all files in the domain of files, by index. A number is a hash of the path, which
// needs no memory to be the same again, or the next free number: the first path in order has the hash.
func FileNumbers(paths []string) []pdu.Inst {
	byPath, used := make(map[string]pdu.Inst, len(paths)), make(map[pdu.Inst]bool, len(paths))
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(path)) // never fails
		inst := pdu.Inst(h.Sum32() & math.MaxInt32)
		for used[inst] {
			inst = (inst + 1) & math.MaxInt32
		}
		byPath[path], used[inst] = inst, true
	}
	numbers := make([]pdu.Inst, len(paths))
	for i, path := range paths {
		numbers[i] = byPath[path]
	}
	return numbers
}
