package agent

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// soon polls until metadata that has changed without a word is known.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "never: "+what)
	}
}

// Another name or label of an instance that keeps its number is known after a while.
func TestInstanceWithAnotherNameOrLabel(t *testing.T) {
	t.Parallel()
	u := newCollector(t)
	u.labelled("disk", "disk", "disk")
	h := start(t, u, conf("k = sum(up.bin) by (label(kind))", "m = matchinst(/^new/, up.bin)", "n = up.bin[new]")).bound()
	label, match, selected := h.id("derived.k"), h.id("derived.m"), h.id("derived.n")
	h.value(label)
	for _, row := range []struct { // the agent looks instances up when it sees them first: that may be the first row
		name, label string
		groups      map[string]int64
		matches     int
	}{
		{"new", "tape", map[string]int64{"disk": -10, "tape": 30}, 1},
		{"three", "disk", map[string]int64{"disk": 20}, 0},
	} {
		u.labelled("disk", "disk", row.label)
		u.Update(func() {
			u.InDoms[binDom] = pmapitest.InDom{
				Instances: []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}, {ID: 3, Name: row.name}},
			}
		})
		soon(t, "the new name and label", func() bool {
			sets := h.fetch(match, selected)
			return maps.Equal(h.byName(label), row.groups) && len(sets[0].Values) == row.matches &&
				len(sets[1].Values) == row.matches
		})
	}
}
