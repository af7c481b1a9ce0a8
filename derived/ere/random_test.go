package ere

import (
	"math/rand/v2"
	"strings"
)

// randomValid makes a pattern that is never refused; a group is inside at most depth others. The
// C library takes exponential time when there are many intervals inside each other.
func randomValid(r *rand.Rand, depth int) string {
	kind := r.IntN(12)
	if depth == 0 {
		kind = r.IntN(5)
	}
	switch {
	case kind < 4:
		return pick(r, strings.Fields(`a b c . [ab] [^a] _ - [[:alpha:]] \w \W \s`))
	case kind < 5:
		return pick(r, strings.Fields(`^ $ \b \B \< \> \' \`+"`"))
	case kind < 8:
		return randomValid(r, depth-1) + randomValid(r, depth-1)
	case kind < 9:
		return randomValid(r, depth-1) + "|" + randomValid(r, depth-1)
	case kind < 10:
		return "(" + randomValid(r, depth-1) + "|" + randomValid(r, depth-1) + ")"
	case kind < 11:
		return "()"
	default:
		return "(" + randomValid(r, depth-1) + ")" + pick(r, strings.Fields("* + ? {2} {,2} {1,3} {2,} {0}"))
	}
}

func randomSubject(r *rand.Rand) string {
	const alphabet = "aaabbbccc__-- ]1.\n\xc3\xe9"
	b := make([]byte, r.IntN(8))
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }
