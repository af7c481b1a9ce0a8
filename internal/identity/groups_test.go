package identity

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

var disks, processes = pdu.NewInDom(60, 1), pdu.NewInDom(3, 9)

func TestGroupDomains(t *testing.T) {
	r := load(t, stateFile(t))
	kinds := r.GroupInDom(disks, "kind")
	assert.Equal(t, pdu.NewInDom(testDomain, 64), kinds)
	assert.True(t, r.changed, "nobody is told before it is saved")
	users := r.GroupInDom(processes, "uid_nm")
	assert.Equal(t, pdu.NewInDom(testDomain, 65), users)
	assert.Equal(t, pdu.NewInDom(testDomain, 66), r.GroupInDom(disks, "uid_nm"))

	r = saved(t, r)
	assert.Equal(t, kinds, r.GroupInDom(disks, "kind"))
	assert.Equal(t, users, r.GroupInDom(processes, "uid_nm"))
	assert.False(t, r.changed)
	assert.Equal(t, pdu.NewInDom(testDomain, 67), r.GroupInDom(processes, "kind"))
}

// A state file with inconsistent groups is set aside, and no number in it is given out again.
func TestGroupsThatMakeNoSense(t *testing.T) {
	const before, after = `{"version": 1, "domain": 510, "next": 0, "metrics": {}, "nextGroups": 70, "groups": {`, `}}`
	for name, text := range map[string]string{
		"a domain of another agent":      `"60.64": {"of": "60.1", "label": "x"}`,
		"one of ours":                    `"510.3": {"of": "60.1", "label": "x"}`,
		"never assigned":                 `"510.70": {"of": "60.1", "label": "x"}`,
		"two domains for the same":       `"510.69": {"of": "60.1", "label": "x"}, "510.68": {"of": "60.1", "label": "x"}`,
		"more domains than there can be": `}, "nextGroups": 4194305, "x": {"510.69": ""`,
	} {
		t.Run(name, func(t *testing.T) {
			path := stateFile(t)
			require.NoError(t, os.WriteFile(path, []byte(before+text+after), 0o644))
			r, err := Load(path, testDomain)
			require.ErrorIs(t, err, errDamaged)
			assert.GreaterOrEqual(t, r.GroupInDom(disks, "x").Serial(), 64)
			if name == "never assigned" {
				assert.Equal(t, 71, r.GroupInDom(disks, "x").Serial())
			}
		})
	}
}

// Load accepts files of versions without groups, and of versions that kept the numbers of groups.
func TestGroupsOfOlderFiles(t *testing.T) {
	const before, metrics = `{"version": 1, "domain": 510, `, `"next": 3, "metrics": {"kinds": {"pmid": "510.1.2", "expression": "sum(x) by (kind=/./)",
		"descriptor": {"type": 3, "semantics": 3, "indom": "510.65", "units": "00000000"}}}`
	for name, text := range map[string]string{
		"no groups": before + metrics + `}`,
		"groups with numbers": before + metrics + `, "nextGroups": 66, "groups": {"510.64": {"of": "60.1", "label": "other"},
			"510.65": {"of": "60.1", "label": "kind", "names": {"sd": [7, 20780], "dm": [2147483647, 20781]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			path := stateFile(t)
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
			r := load(t, path)
			if name != "no groups" {
				assert.Equal(t, pdu.NewInDom(testDomain, 65), r.GroupInDom(disks, "kind"))
				assert.Equal(t, pdu.NewInDom(testDomain, 66), r.GroupInDom(processes, "kind"))
			}
			assert.Equal(t, pdu.NewPMID(testDomain, 1, 2), pmid(t, r, "kinds"))
			kind := r.GroupInDom(disks, "kind")
			r = saved(t, r)
			assert.Equal(t, kind, r.GroupInDom(disks, "kind"))
			assert.Equal(t, pdu.NewPMID(testDomain, 1, 2), pmid(t, r, "kinds"))
			assert.Equal(t, pdu.NewPMID(testDomain, 1, 3), pmid(t, r, "new"))
		})
	}
}

// No more than maxGroupDomains instance domains of groups are given out.
func TestTooManyGroupDomains(t *testing.T) {
	r := load(t, "")
	for i := range maxGroupDomains {
		require.NotEqual(t, pdu.NoInDom, r.GroupInDom(disks, fmt.Sprint("l", i)))
	}
	assert.Equal(t, pdu.NoInDom, r.GroupInDom(disks, "one too many"))
	assert.Equal(t, pdu.NewInDom(testDomain, 64), r.GroupInDom(disks, "l0"))
	n := 0
	for d, of := range r.GroupDomains() {
		n++
		assert.Equal(t, d, r.GroupInDom(of.Of, of.Label))
		if n == 3 {
			break
		}
	}
}
