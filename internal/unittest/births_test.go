package unittest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Sources of histograms are born, go, and are reset. The histogram that adds those of a route has all that they counted
// since the sample before, from 0 on if they were born. It has nothing if a bucket of one of them went back, but then the
// other route loses nothing.
func TestBirthsBesideResets(t *testing.T) {
	const samples, sources = 6, 3
	values, beside := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 17))
		names, given, expect := "", "", [2]string{"_", "_"}
		var counts [2][sources][samples][2]int // at or below 1, and all; -1: it is not there
		for route := range counts {
			for s := range counts[route] {
				begin, end, now := r.IntN(samples), r.IntN(2*samples), [2]int{}
				if s == 0 { // the metric always has an instance: else nothing is born
					begin, end = 0, samples
				}
				text := [2]string{}
				for n := range samples {
					if r.IntN(6) == 0 {
						now = [2]int{} // it is reset
					}
					fast, slow := r.IntN(9), r.IntN(9)
					now = [2]int{now[0] + fast, now[1] + fast + slow}
					counts[route][s][n] = now
					if n < begin || n > max(begin, end) {
						counts[route][s][n] = [2]int{-1, -1}
					}
					for k, v := range counts[route][s][n] {
						text[k] += strings.Replace(fmt.Sprintf(" %d", v), "-1", "_", 1)
					}
				}
				for k, bound := range []string{"1", "+Inf"} {
					name := fmt.Sprintf("%d%d%d le:%s r:%c", route, s, k, bound, 'a'+route)
					names += fmt.Sprintf(" %q", name)
					given += " given h[" + name + "]" + text[k] + "\n"
				}
			}
		}
		for n := 1; n < samples; n++ {
			var reset [2]bool
			var born [2]int
			for route := range counts {
				sums := [2]int{}
				for s := range counts[route] {
					now, before := counts[route][s][n], counts[route][s][n-1]
					switch {
					case now[0] < 0:
						continue
					case before[0] < 0:
						before = [2]int{}
						born[route]++
					}
					reset[route] = reset[route] || now[0] < before[0] || now[1] < before[1]
					sums = [2]int{sums[0] + now[0] - before[0], sums[1] + now[1] - before[1]}
				}
				if reset[route] || sums[1] == 0 || sums[0] > sums[1] {
					expect[route] += " _"
					continue
				}
				values++
				expect[route] += fmt.Sprintf(" %.12f", float64(sums[0])/float64(sums[1]))
			}
			if reset[0] && !reset[1] && born[1] > 0 || reset[1] && !reset[0] && born[0] > 0 {
				beside++
			}
		}
		require.Empty(t, outcome(t, "x = share_bucket(sum(increase(h)) by (le=/le:([^ ]*)/, r=/r:(.)/), 1) by (label(r))\n",
			"metric h U64 counter none 60.9\nindom 60.9"+names+"\ntest a\n"+given+
				" expect x[a] "+expect[0]+"\n expect x[b] "+expect[1]+"\n"), "world %d", seed)
	}
	assert.Greater(t, values, 1000)
	assert.Greater(t, beside, 100)
}
