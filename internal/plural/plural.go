// Package plural writes numbers with what they count.
package plural

import (
	"strconv"
	"strings"
)

// Of formats a number with the things that it counts. Their plural must be regular: 1 value, 2 values, 2 batches.
func Of(n int, what string) string {
	if n != 1 {
		what = strings.Replace(what+"s", "chs", "ches", 1)
	}
	return strconv.Itoa(n) + " " + what
}
