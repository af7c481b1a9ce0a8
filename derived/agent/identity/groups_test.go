package identity

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

var disks, processes = pdu.NewInDom(60, 1), pdu.NewInDom(3, 9)

// groupsOf is what a registry remembers, as text.
func groupsOf(r *Registry) []string {
	var all []string
	for g := range r.Groups() {
		all = append(all, fmt.Sprintf("%s %s %d %d", g.InDom, g.Name, g.Inst, g.Day))
	}
	slices.Sort(all)
	return all
}

// note notes some groups.
func note(r *Registry, all []Group) {
	for _, g := range all {
		r.NoteGroup(g)
	}
}

func TestGroupDomains(t *testing.T) {
	r := load(t, stateFile(t))
	kinds := r.GroupInDom(disks, "kind")
	assert.Equal(t, pdu.NewInDom(testDomain, 64), kinds)
	assert.True(t, r.MustSave(), "nobody is told before it is saved")
	users := r.GroupInDom(processes, "uid_nm")
	assert.Equal(t, pdu.NewInDom(testDomain, 65), users)
	assert.Equal(t, pdu.NewInDom(testDomain, 66), r.GroupInDom(disks, "uid_nm"))

	r = saved(t, r)
	assert.Equal(t, kinds, r.GroupInDom(disks, "kind"))
	assert.Equal(t, users, r.GroupInDom(processes, "uid_nm"))
	assert.False(t, r.MustSave())
	assert.Equal(t, pdu.NewInDom(testDomain, 67), r.GroupInDom(processes, "kind"))
}

func TestGroupsSurviveARestart(t *testing.T) {
	r := load(t, stateFile(t))
	d := r.GroupInDom(disks, "kind")
	require.NoError(t, r.Save())
	note(r, []Group{
		{InDom: d, Name: "sd", Inst: 7, Day: 20000},
		{InDom: d, Name: "dm\"\\\u2028ü", Inst: 1<<31 - 1, Day: 20001},
		{InDom: pdu.NewInDom(testDomain, 99), Name: "of no domain", Inst: 1},
	})
	assert.False(t, r.MustSave(), "a number that is lost is found again")
	r = saved(t, r)
	want := []string{"510.64 dm\"\\\u2028ü 2147483647 20001", "510.64 sd 7 20000"}
	assert.Equal(t, want, groupsOf(r))

	note(r, []Group{{InDom: d, Name: "sd", Inst: 7, Day: 20010}, {InDom: d, Name: want[0], Gone: true}, {InDom: d, Name: "dm\"\\\u2028ü", Gone: true}})
	r = saved(t, r)
	assert.Equal(t, []string{"510.64 sd 7 20010"}, groupsOf(r))
	assert.Equal(t, d, r.GroupInDom(disks, "kind"), "the domain stays")
	for range r.Groups() {
		break
	}
}

// A state file that nobody of ours has written is set aside, and what was given out in it is not given out again.
func TestGroupsThatMakeNoSense(t *testing.T) {
	const before, after = `{"version": 1, "domain": 510, "next": 0, "metrics": {}, "nextGroups": 70, "groups": {`, `}}`
	for name, text := range map[string]string{
		"a domain of another agent":      `"60.64": {"of": "60.1", "label": "x"}`,
		"one of ours":                    `"510.3": {"of": "60.1", "label": "x"}`,
		"never assigned":                 `"510.70": {"of": "60.1", "label": "x"}`,
		"two groups with one number":     `"510.69": {"of": "60.1", "label": "x", "names": {"a": [1, 2], "b": [1, 2]}}`,
		"two domains for the same":       `"510.69": {"of": "60.1", "label": "x"}, "510.68": {"of": "60.1", "label": "x"}`,
		"a negative number":              `"510.69": {"of": "60.1", "label": "x", "names": {"a": [-1, 2]}}`,
		"a number that is too large":     `"510.69": {"of": "60.1", "label": "x", "names": {"a": [2147483648, 2]}}`,
		"no number":                      `"510.69": {"of": "60.1", "label": "x", "names": {"a": "b"}}`,
		"more domains than there can be": `}, "nextGroups": 4194305, "x": {"510.69": ""`,
	} {
		t.Run(name, func(t *testing.T) {
			path := stateFile(t)
			require.NoError(t, os.WriteFile(path, []byte(before+text+after), 0o644))
			r, err := Load(path, testDomain)
			require.ErrorIs(t, err, errDamaged)
			assert.Empty(t, slices.Collect(r.Groups()))
			assert.GreaterOrEqual(t, r.GroupInDom(disks, "x").Serial(), 64)
			if name == "never assigned" {
				assert.Equal(t, 71, r.GroupInDom(disks, "x").Serial())
			}
		})
	}
}

// A file from before there were groups, or with a domain that has none, is as good as any.
func TestGroupsOfOlderFiles(t *testing.T) {
	for _, text := range []string{
		`{"version": 1, "domain": 510, "next": 0, "metrics": {}}`,
		`{"version": 1, "domain": 510, "next": 0, "metrics": {}, "nextGroups": 65, "groups": {"510.64": {"of": "60.1", "label": "kind"}}}`,
	} {
		path := stateFile(t)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		r := load(t, path)
		d := r.GroupInDom(disks, "kind")
		note(r, []Group{{InDom: d, Name: "sd", Inst: 7, Day: 1}})
		assert.Equal(t, []string{"510.64 sd 7 1"}, groupsOf(saved(t, r)))
	}
}

// What the names of all groups take is bounded: new ones are not kept then, and others as before.
func TestTooManyGroups(t *testing.T) {
	r := load(t, stateFile(t))
	d := r.GroupInDom(disks, "kind")
	for i := range maxGroupBytes/10_000 + 10 {
		r.NoteGroup(Group{InDom: d, Name: fmt.Sprintf("%010000d", i), Inst: pdu.Inst(i), Day: 1})
	}
	kept := len(groupsOf(r))
	assert.Less(t, kept, maxGroupBytes/10_000)
	r = saved(t, r)
	assert.Len(t, groupsOf(r), kept)
	first := fmt.Sprintf("%010000d", 0)
	r.NoteGroup(Group{InDom: d, Name: "new", Inst: 1 << 20, Day: 1})
	assert.False(t, r.changed, "nothing has to be written for what is not remembered")
	note(r, []Group{{InDom: d, Name: "new", Inst: 1 << 20, Day: 1}, {InDom: d, Name: first, Day: 2}})
	assert.Len(t, groupsOf(r), kept)
	note(r, []Group{{InDom: d, Name: first, Gone: true}, {InDom: d, Name: first, Gone: true}, {InDom: d, Name: "new", Inst: 1 << 20, Day: 1}})
	assert.Contains(t, groupsOf(r), "510.64 new 1048576 1")
}

// There are no more domains than so many.
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
