package soak

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pmdaderived/test/liar"
	"pmdaderived/test/rig"
)

// MostLiars is the greatest number of agents that lie.
const MostLiars = 2

// liarOf returns the name of an agent that lies.
func liarOf(i int) string { return [...]string{"evil", "vile"}[i] }

// liarDefinitions returns definitions over an agent that lies. Their names begin with its name.
func liarDefinitions(agent string) string {
	text := `at = evil.nanos
pace = rate(evil.nanos)
step = delta(evil.nanos)
member = evil.member * 2
picked = evil.member[m3]
matched = matchinst(/m[12]/, evil.load)
surge = rate(evil.surge)
sum = sum(evil.load)
word = evil.dyn.word + evil.dyn.share
words = evil.dyn.words[m1]
mixed = evil.phase + wave.phase
choice = defined(evil.dyn.n30) ? evil.dyn.n30 : wave.nanos
`
	for i := range 20 {
		text += fmt.Sprintf("n%d = evil.dyn.n%d\n", i, i)
	}
	var all strings.Builder
	for line := range strings.Lines(text) {
		all.WriteString(agent + "." + strings.ReplaceAll(line, "evil.", agent+"."))
	}
	return all.String()
}

func liarNames(agent string) (names []string) {
	for line := range strings.Lines(liarDefinitions(agent)) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, "derived."+name)
	}
	return names
}

// stuckName is an agent whose values stand still for 4 s each: windows have ticks that their client has had. It always
// tells this lie, and no other.
const stuckName, stuckLie = "stuck", "values-stuck"

// windowsOf returns windows with the operands of another agent than wave.
func windowsOf(agent string) []selection {
	list := windows()
	for i := range list {
		list[i].name = strings.Replace(list[i].name, "derived.", "derived."+agent+".", 1)
	}
	return list
}

// windowDefinitions returns the definitions of these.
func windowDefinitions(agent string) string {
	var all strings.Builder
	for _, c := range windowsOf(agent)[1:] {
		fmt.Fprintf(&all, "%s = %s\n", strings.TrimPrefix(c.name, "derived."),
			strings.ReplaceAll(c.text(), waveName+".", agent+"."))
	}
	return all.String()
}

// deceived returns the client of these. It finds windows wrong, as all clients would find those of theirs that are wrong.
func (r *run) deceived() *client {
	return &client{
		shared: &shared{pmcd: r.pmcd, model: r.model, tally: r.deceptions, disturbances: r.disturbances},
		name:   "client of " + stuckName, list: windowsOf(stuckName), pace: rig.Every(time.Second),
	}
}

// faultOf returns the name of the definition that does as a fault of earlier versions.
func (f *form) faultOf() string { return "faulty." + f.name }

// faults returns the forms that have one.
func faults() []form {
	return slices.DeleteFunc(forms(), func(f form) bool { return f.fault == "" })
}

// faultDefinitions returns the definitions of these.
func faultDefinitions() string {
	var all strings.Builder
	for _, f := range faults() {
		fmt.Fprintf(&all, "%s = %s\n", f.faultOf(), f.fault)
	}
	return all.String()
}

// clientsOfFaults returns a client of each of these, with a tally of its own. Each finds its definition wrong, as all clients
// would find the definitions of that form wrong if the fault came back.
func (r *run) clientsOfFaults() (all []*client) {
	for _, f := range faults() {
		t := trackOf(f.track)
		list := []selection{{name: plainName}}
		for _, role := range t.roles() {
			list = append(list, selection{name: t.metric(role), track: t, role: role})
		}
		all = append(all, &client{
			shared: &shared{
				pmcd: r.pmcd, model: r.model, tally: &tally{begin: time.Now(), log: io.Discard}, disturbances: r.disturbances,
				lying: r.lying,
			},
			name: "client of " + f.faultOf(), pace: rig.Every(time.Second),
			list: append(list, selection{name: "derived." + f.faultOf(), metric: &metric{name: "derived." + f.faultOf(), form: &f, k: 1}}),
		})
	}
	return all
}

// everyRandom is the number of lies of which one changes random words.
const everyRandom = 4

// lies are the lies of the table, in their order in the run. The run repeats them.
type lies []string

func newLies(random *rand.Rand) lies {
	all := liar.Lies()
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// at returns the n-th lie of the run.
func (l lies) at(n int64, random *rand.Rand) string {
	if n%everyRandom == everyRandom-1 {
		return liar.Random(random.Uint64())
	}
	return l[(n-n/everyRandom)%int64(len(l))]
}

// row returns a row with the number of lies. The whole table must be told if there is time for the longest lie of each.
func (l lies) row(told int64, p Plan) rig.Row {
	all := int64(len(l))
	row := rig.Some("lies of two agents, and different ones of the table", told)
	if p.Liars == 0 {
		row.Target, row.OK = "any", true
	}
	different := min(all, told-told/everyRandom)
	row.Measured += fmt.Sprintf(", %d of %d", different, all)
	if cycle := p.Lie * 3 / 2; p.Length*time.Duration(p.Liars) >= cycle*time.Duration(all*everyRandom/(everyRandom-1)+1) {
		row.Target, row.OK = "all of the table", different == all
	}
	return row
}

// lie makes an agent lie until ctx ends, and then tell the truth. A lie lasts from half of the time in the plan to all
// of it; the truth in between lasts half of it at most.
func (r *run) lie(ctx context.Context, agent string) {
	random, half := r.random(), r.options.Plan.Lie/2
	say := func(order string) {
		if _, err := r.folder.Write("lie-"+agent, order); err != nil {
			r.tally.addProblem(failedCall, "%v", err)
		}
	}
	defer say("")
	moment := func() time.Duration { return time.Duration(random.Int64N(int64(half))) }
	for rig.Sleep(ctx, moment()) {
		order := r.lies.at(r.tally.liesTold.Add(1)-1, random)
		honest := r.tally.beginLie(agent + ": " + order)
		say(order)
		rig.Sleep(ctx, half+moment())
		say("")
		honest()
	}
}

// lackingValues returns the metrics without a value at the first and the second fetch.
func (r *run) lackingValues(ctx context.Context, names []string) []string {
	c, err := rig.Open(ctx, r.pmcd, names...)
	if err != nil { // one of the names may not be there yet
		return names
	}
	defer c.Close() //nolint:errcheck // nothing is lost with it
	lack := slices.Clone(names)
	for range 2 {
		f, err := c.Fetch(ctx)
		if err != nil {
			return names
		}
		for i := range f.Sets {
			if len(f.Sets[i].Values) > 0 {
				lack[i] = ""
			}
		}
		rig.Sleep(ctx, secondFetchAfter)
	}
	return slices.DeleteFunc(lack, func(name string) bool { return name == "" })
}
