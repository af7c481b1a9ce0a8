package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/archive"
	"pmdaderived/test/rig"
)

// Positions in the list of a client of births. All but the first and the last two are from one sample.
const (
	plainSet = iota
	shownSet // what wave.births is in the sample
	increaseSet
	deltaSet
	groupsSet
	pickedSet
	labelledSet
	clockSet
	lastSet // wave.births at the last tick of a window
	summedSet
	birthSets
)

// birthsText has the definitions of a list, with the increase of births and the time of the sample.
const birthsText = `PREFIX.shown = instant(wave.births)
PREFIX.increase = INCREASE
PREFIX.delta = delta(wave.births)
PREFIX.groups = sum(INCREASE) by (label(kind))
PREFIX.picked = matchinst(/^k1/, INCREASE)
PREFIX.labelled = matchinst(/^k2$/, INCREASE, label(kind))
PREFIX.clock = count(wave.births) > 0 ? CLOCK : CLOCK
PREFIX.last = last_sample(instant(wave.births), "10s")
PREFIX.summed = sum_sample(INCREASE, "10s")
`

// birthsOf is a list of definitions over births. All but the first are wrong on purpose.
type birthsOf struct{ prefix, increase, clock string }

func birthLists() []birthsOf {
	const right, now = "increase(wave.births)", "now()"
	return []birthsOf{
		{"births", right, now},
		{"faulty.unborn", "delta(wave.births)", now},
		{"faulty.reborn", "default(" + right + ", instant(wave.births))", now},
		{"faulty.twice", "2 * " + right, now},
		{"faulty.late", right, `first_sample(now(), "5s")`},
	}
}

// file returns the definitions.
func (b birthsOf) file() string {
	return strings.NewReplacer("PREFIX", b.prefix, "INCREASE", b.increase, "CLOCK", b.clock).Replace(birthsText)
}

// birthDefinitions returns those of all lists.
func birthDefinitions() string {
	var all strings.Builder
	for _, b := range birthLists() {
		all.WriteString(b.file())
	}
	return all.String()
}

// names returns what a client fetches.
func (b birthsOf) names() []string {
	all := []string{plainName}
	for line := range strings.Lines(b.file()) {
		name, _, _ := strings.Cut(line, " ")
		all = append(all, "derived."+name)
	}
	return all
}

// knownAfter returns the time after which a new instance has been sampled and its name and labels are known.
func (j *birthJudge) knownAfter() time.Duration {
	if j.lying {
		return namesKnown
	}
	return 3 * time.Second
}

// maxMarkTime limits the time between two fetches for which a mark of pmcd in the second one tells when it was set. Other
// clients have fetched more often.
const maxMarkTime = 2500 * time.Millisecond

// doubtBefore is how much earlier than an instance the sample before it may be.
const doubtBefore = 3 * time.Second

// birthTally has what the clients of births have added up.
type birthTally struct {
	fresh, again  atomic.Int64 // lives that were sampled, by rig.Life.Again
	born          atomic.Int64 // lives that have counted from 0
	seen          atomic.Int64 // what lives have counted while clients were looking, until they sampled them last
	grown, change atomic.Int64 // of that, what increase() and delta() had
}

// lifeSum is what a client knows of a life.
type lifeSum struct {
	rig.Life
	alone  bool // the first sample with it came after one without values
	counts bool // it has had a value
	born   bool // the first of them was all that it had counted
	sum    float64
}

// birthJudge checks the fetches of a client of births.
type birthJudge struct {
	*shared
	client string
	types  []pdu.Type
	before uint64 // the time of the sample before; 0: there is none, or it had no values
	last   uint64 // likewise, of the last one that had values
	lives  map[pdu.Inst]*lifeSum

	fetched time.Time // of the fetch before
}

func newBirthJudge(s *shared, who string, types []pdu.Type) *birthJudge {
	return &birthJudge{shared: s, client: who, types: types, lives: map[pdu.Inst]*lifeSum{}}
}

func (j *birthJudge) wrong(format string, args ...any) {
	j.tally.addProblem(wrongValue, j.client+": "+format, args...)
}

// values returns the values of a set, by instance.
func (j *birthJudge) values(f rig.Fetched, set int) map[pdu.Inst]float64 {
	all := map[pdu.Inst]float64{}
	for _, v := range f.Sets[set].Values {
		all[v.Inst] = v.TypeOr(j.types[set]).Float64(v.Bits)
	}
	return all
}

// doubtful reports whether samples may be missing between two times, or without values.
func (j *birthJudge) doubtful(from, to uint64) bool {
	begin, end := time.Unix(0, int64(from)), time.Unix(0, int64(to))
	_, until, _ := rig.Away(to)
	return until >= from || j.disturbances.affect(begin, end, agentGone, pmcdGone, pmcdSIGHUP, pmcdStill, agentsMarked)
}

// check checks the values of a fetch.
func (j *birthJudge) check(f rig.Fetched) {
	j.tally.fetches.Add(1)
	if f.Answered.Sub(f.Sent) > maxTickDelay {
		j.disturbances.note(pmcdStill, f.Sent, f.Answered)
	}
	marked := f.Changes&(pdu.ChangeAddAgent|pdu.ChangeDropAgent|pdu.ChangeRestartAgent) != 0
	if marked && f.Answered.Sub(j.fetched) < maxMarkTime {
		j.disturbances.note(agentsMarked, j.fetched, f.Answered)
	}
	if j.disturbances.affect(j.fetched, f.Answered, pmcdSIGHUP, pmcdGone) { // the daemon may be another one
		j.before = 0
	}
	j.fetched = f.Answered
	shown, increase, change := f.Sets[shownSet].Values, j.values(f, increaseSet), j.values(f, deltaSet)
	clock := slices.IndexFunc(shown, func(v pdu.Value) bool { return v.Inst == rig.ClockInst })
	if clock < 0 {
		answered := uint64(f.Answered.UnixNano())
		if len(shown) > 0 || len(increase) > 0 {
			j.wrong("%d instances, and increases of %d, without the time", len(shown), len(increase))
		} else if !j.doubtful(answered-uint64(maxSampleAge), answered) && len(f.Sets[plainSet].Values) > 0 {
			j.tally.addProblem(missingValue, "%s: no value of births: %v", j.client, f.Sets[shownSet].Code)
		}
		j.before = 0
		return
	}
	at, told := shown[clock].Bits, uint64(0)
	if span, ok := change[rig.ClockInst]; ok {
		told = at - uint64(span)
	}
	for _, now := range j.values(f, clockSet) {
		if apart := now - float64(at)/1e9; math.Abs(apart) > maxSampleSkew {
			j.tally.addSkew(at, uint64(f.Answered.UnixNano()), math.Abs(apart), "%s at %d: now() is %v s later", j.client, at, apart)
		}
	}
	j.tally.values.Add(int64(len(shown)))
	switch {
	case at == j.before && len(increase) > 0:
		j.wrong("%d increases, and the sample is that of the fetch before", len(increase))
	case at < j.last:
		j.wrong("the sample of %d is served after that of %d", at, j.last)
	case told != 0 && j.before != 0 && told != j.before:
		j.wrong("at %d: the increases are since %d, and have to be since %d", at, told, j.before)
	}
	if at == j.before {
		return
	}
	j.before = told
	for _, v := range shown {
		got, has := increase[v.Inst]
		j.checkLife(at, v, got, has, change[v.Inst])
		if has {
			j.tally.values.Add(1)
			delete(increase, v.Inst)
		}
	}
	if len(increase) > 0 {
		j.wrong("at %d: increases of instances that are not there: %v", at, increase)
	}
	j.before, j.last = at, at
	j.checkSums(f, at)
	j.checkWindow(f)
}

// maxSampleAge is how old the sample of a fetch may be.
const maxSampleAge = 5 * time.Second

// checkLife checks the increase of an instance.
func (j *birthJudge) checkLife(at uint64, v pdu.Value, got float64, has bool, change float64) {
	life, ok := rig.LifeOf(v.Inst, at)
	if !ok || life.Shows(at) != v.Bits {
		j.wrong("instance %d shows %d at %d, which it does not", v.Inst, v.Bits, at)
		return
	}
	s := j.lives[v.Inst]
	if s == nil || s.Comes != life.Comes {
		s = &lifeSum{Life: life, alone: j.before == 0}
		j.lives[v.Inst] = s
		if life.Again {
			j.births.again.Add(1)
		} else {
			j.births.fresh.Add(1)
		}
	}
	known, step := j.before != 0 && life.Comes <= j.before, v.Bits
	was, there := rig.LifeOf(v.Inst, j.before) // perhaps a former life: samples need not show that it was away
	if there = there && j.before != 0; there && v.Bits >= was.Shows(j.before) {
		step -= was.Shows(j.before)
	}
	never := !s.counts && j.neverBorn(&life)
	switch {
	case !has && !j.mayLack(s, at, known, never):
		j.tally.addProblem(missingValue, "%s at %d since %d: no increase of instance %d, which came at %d", j.client, at,
			j.before, v.Inst, life.Comes)
	case !has:
		j.tally.excused.Add(1)
	case !s.counts && !never && equal(got, float64(v.Bits), false):
		j.births.born.Add(1)
		s.born = true
	case !there || !equal(got, float64(step), false):
		j.wrong("at %d since %d: the increase of instance %d is %v, not %d of %d, and it came at %d", at, j.before, v.Inst, got,
			step, v.Bits, life.Comes)
	case !s.counts && !never && !s.alone && !j.unsureBirth(&life):
		j.tally.addProblem(missingValue, "%s at %d: instance %d, which came at %d, has lost its birth", j.client, at, v.Inst, life.Comes)
	}
	s.counts = s.counts || has
	if s.sum += got; s.sum > float64(life.Counted(at)) {
		j.wrong("at %d: the increases of instance %d add up to %v, of %d", at, v.Inst, s.sum, life.Counted(at))
	}
	if v.Inst == rig.ClockInst {
		return
	}
	seen := uint64(got) // of a number that comes back, all may be counted, or nothing
	if known || j.before != 0 && !life.Again {
		seen = max(seen, step)
	}
	j.births.seen.Add(int64(seen))
	j.births.grown.Add(int64(got))
	j.births.change.Add(int64(max(0, change)))
}

// mayLack reports whether an instance may have no increase in a sample.
func (j *birthJudge) mayLack(s *lifeSum, at uint64, known, never bool) bool {
	switch {
	case j.before == 0 || j.doubtful(j.before-uint64(doubtBefore), at):
		return true
	case s.counts:
		return false
	case !known && (never || j.unsureBirth(&s.Life)): // since this sample
		return true
	}
	return at-s.Comes < uint64(j.knownAfter())
}

// started returns the time at which the daemon was surely there, before the last fetch.
func (j *birthJudge) started() uint64 {
	return uint64(j.disturbances.lastEnd(j.tally.begin, j.fetched, pmcdGone, pmcdSIGHUP).Add(Grace).UnixNano())
}

// neverBorn reports whether a life must not count from 0: the daemon has seen its number before.
func (j *birthJudge) neverBorn(l *rig.Life) bool {
	return l.Again && (l.Inst == rig.ClockInst || slices.ContainsFunc(l.LivesBefore(20), func(former rig.Life) bool {
		return former.Comes > j.started() && !j.doubtful(former.Comes, former.Comes+uint64(rig.LeastLife))
	}))
}

// unsureBirth reports whether it is not known whether a life is born. Because of an agent that lies pmcd may lose values in
// any sample.
func (j *birthJudge) unsureBirth(l *rig.Life) bool {
	return j.lying || l.Again || l.Comes < j.started() || j.doubtful(l.Comes-uint64(doubtBefore), l.Comes+uint64(j.knownAfter()))
}

// checkSums checks what is added up and selected of the increases of the same sample. An instance that has not counted
// from 0 has values before its name and its labels are known.
func (j *birthJudge) checkSums(f rig.Fetched, at uint64) {
	names, increase := birthLists()[0].names(), j.values(f, increaseSet)
	unnamed := func(inst pdu.Inst) bool {
		s := j.lives[inst]
		return s != nil && !s.born && at-s.Comes < uint64(j.knownAfter())
	}
	sums, mayLack := map[string]float64{}, false
	for inst, got := range increase {
		sums[rig.KindOf(inst)] += got
		mayLack = mayLack || unnamed(inst)
	}
	for set, kind := range map[int]string{groupsSet: "", pickedSet: "k1", labelledSet: "k2"} {
		got := j.values(f, set)
		if code := f.Sets[set].Code; code < 0 {
			if !j.lying && !j.doubtful(at-uint64(namesKnown), at) { // labels are known
				j.tally.addProblem(missingValue, "%s at %d: no value of %s: %v", j.client, at, names[set], code)
			}
			continue
		}
		want := maps.Clone(increase)
		maps.DeleteFunc(want, func(inst pdu.Inst, _ float64) bool {
			_, has := got[inst]
			return rig.KindOf(inst) != kind || !has && unnamed(inst)
		})
		if kind != "" && !maps.EqualFunc(want, got, exactly) {
			j.wrong("at %d: %s is %v, want %v", at, names[set], got, want)
		}
	}
	want, got := slices.Sorted(maps.Values(sums)), slices.Sorted(maps.Values(j.values(f, groupsSet)))
	if f.Sets[groupsSet].Code >= 0 && !mayLack && !slices.EqualFunc(want, got, exactly) {
		j.wrong("at %d: the groups are %v, want %v", at, got, want)
	}
}

// exactly compares, except for rounding.
func exactly(a, b float64) bool { return equal(a, b, false) }

// checkWindow checks what a window adds up.
func (j *birthJudge) checkWindow(f rig.Fetched) {
	last := slices.IndexFunc(f.Sets[lastSet].Values, func(v pdu.Value) bool { return v.Inst == rig.ClockInst })
	summed := j.values(f, summedSet)
	span, ok := summed[rig.ClockInst]
	if last < 0 || !ok {
		return
	}
	at := f.Sets[lastSet].Values[last].Bits
	before := at - uint64(span)
	doubt := j.doubtful(at-uint64(12*time.Second), at)
	for inst, sum := range summed {
		life, ok := rig.LifeOf(inst, at)
		if !ok {
			if !j.doubtful(at-uint64(maxSampleAge), at) {
				j.wrong("at %d: the window has instance %d, which has gone", at, inst)
			}
			continue
		}
		most, exact := life.Counted(at), !doubt && !life.Again && (life.Reset == 0 || life.Reset <= before || life.Reset > at)
		for _, former := range life.LivesBefore(2) {
			if life.Again {
				most += former.Counted(former.Goes)
			}
		}
		want := life.Shows(at)
		switch {
		case life.Comes > before:
			exact = exact && !j.unsureBirth(&life) && at-life.Comes > uint64(j.knownAfter())
		case before-life.Comes > uint64(namesKnown) || !equal(sum, float64(want), false): // else its name was not known before
			want -= life.Shows(before)
		}
		if sum > float64(most) || exact && !equal(sum, float64(want), false) {
			j.wrong("at %d since %d: the window of instance %d, which came at %d, has %v, want %d", at, before, inst, life.Comes, sum, want)
		}
	}
}

// birthClient is a client of births.
type birthClient struct {
	*shared
	name string
	of   birthsOf
	pace rig.Pace
}

func (c *birthClient) run(ctx context.Context) {
	c.reconnect(ctx, c.name, func(ctx context.Context, conn *pmapi.Conn) error {
		fetcher, err := rig.LookUp(ctx, conn, c.of.names()...)
		if err != nil {
			return err
		}
		asked := time.Now()
		descs, err := fetcher.Describe(ctx)
		switch {
		case c.causedByKill(asked, time.Now(), err):
			c.tally.excused.Add(1)
			rig.Sleep(ctx, redial)
			return nil
		case err != nil:
			return err
		}
		j := newBirthJudge(c.shared, c.name, typesOf(descs))
		return fetcher.FetchAt(ctx, c.pace, func(f rig.Fetched) bool {
			j.check(f)
			return true
		})
	})
}

func typesOf(descs []pdu.Desc) (all []pdu.Type) {
	for _, d := range descs {
		all = append(all, d.Type)
	}
	return all
}

// birthIntervals returns the intervals of the clients of births. A pmlogger is another client.
func birthIntervals() (all []time.Duration) {
	for _, ms := range []int{250, 700, 1000, 1500, 2000, 3000, 5000, 10_000} {
		all = append(all, time.Duration(ms)*time.Millisecond)
	}
	return all
}

// birthClients returns the clients of births, and those of the definitions that are wrong.
func (r *run) birthClients() (all, misled []*birthClient) {
	lists := birthLists()
	for _, interval := range birthIntervals() {
		all = append(all, &birthClient{r.shared, fmt.Sprintf("client of births every %v", interval), lists[0], rig.Every(interval)})
	}
	for _, b := range lists[1:] {
		s := &shared{
			pmcd: r.pmcd, model: r.model, disturbances: r.disturbances, lying: r.lying, births: &birthTally{},
			tally: &tally{begin: r.tally.begin, log: io.Discard},
		}
		misled = append(misled, &birthClient{s, "client of " + b.prefix, b, rig.Every(time.Second)})
	}
	return all, misled
}

// birthLogger returns a pmlogger of births.
func (r *run) birthLogger() (*tool, error) {
	config, err := r.folder.Write("births.conf",
		fmt.Sprintf("log mandatory on 2 sec { %s }\n", strings.Join(birthLists()[0].names(), " ")))
	base := r.folder.Path("births-" + startMark) // another one at each start
	return &tool{
		shared: r.shared, pause: redial, line: func(string) string { return "" },
		args: []string{"pmlogger", "-c", config, "-l", base + ".log", base},
	}, err
}

// birthArchives checks the archives of that pmlogger, and returns the number of their records.
func (r *run) birthArchives(ctx context.Context) (records int, err error) {
	found, err := filepath.Glob(r.folder.Path("births-*.meta"))
	for _, path := range found {
		n, readErr := r.birthArchive(ctx, strings.TrimSuffix(path, ".meta"))
		records, err = records+n, errors.Join(err, readErr)
	}
	return records, err
}

func (r *run) birthArchive(ctx context.Context, path string) (records int, err error) {
	a, err := archive.Open(path)
	if err != nil {
		return 0, err
	}
	defer a.Close() //nolint:errcheck // nothing is lost with it
	found, err := a.LookupNames(ctx, birthLists()[0].names())
	ids := make([]pdu.PMID, len(found))
	for i := range found {
		if ids[i] = found[i].PMID; found[i].Code < 0 { // its pmlogger was started while there were no metrics
			r.tally.excused.Add(1)
			return 0, nil
		}
	}
	described, descErr := a.Descs(ctx, ids)
	if err = errors.Join(err, descErr); err != nil {
		return 0, err
	}
	var descs []pdu.Desc
	for _, d := range described {
		descs = append(descs, d.Desc)
	}
	j := newBirthJudge(r.shared, "pmlogger of births", typesOf(descs))
	all := a.NewContext(time.Time{}, time.Time{})
	defer all.Close() //nolint:errcheck // likewise
	for {
		record, err := all.Next(ctx, ids...)
		switch {
		case errors.Is(err, io.EOF):
			return records, nil
		case err != nil:
			return records, err
		case record.Mark:
			j.before = 0
			continue
		}
		f := rig.Fetched{Sent: record.Time, Answered: record.Time, Sets: make([]pdu.ValueSet, len(ids))}
		for i := range record.Sets {
			f.Sets[slices.Index(ids, record.Sets[i].PMID)] = valueSet(&record.Sets[i])
		}
		j.check(f)
		records++
	}
}

// valueSet returns the values of a column.
func valueSet(c *pdu.Column) pdu.ValueSet {
	set := pdu.ValueSet{PMID: c.PMID, Code: c.Code}
	for i, inst := range c.Insts {
		set.Values = append(set.Values, pdu.Value{Inst: inst, Type: c.Type, Bits: c.Bits[i]})
	}
	return set
}

// birthRows returns the rows about births.
func (r *run) birthRows(records int) []rig.Row {
	b := r.births
	share := func(n *atomic.Int64) string {
		return fmt.Sprintf("%.2f %%", 100*float64(n.Load())/float64(max(1, b.seen.Load())))
	}
	var found []string
	for _, c := range r.misborn {
		if c.tally.problems[wrongValue].Load()+c.tally.problems[missingValue].Load() > 0 {
			found = append(found, strings.TrimPrefix(c.of.prefix, "faulty."))
		}
	}
	faulty := rig.Row{What: "definitions of births and ages that are wrong, found so", Target: "any", OK: true}
	faulty.Measured = fmt.Sprintf("%d of %d: %s", len(found), len(r.misborn), strings.Join(found, ", "))
	if r.options.Plan.reachesAll() {
		faulty.Target, faulty.OK = "all", len(found) == len(r.misborn)
	}
	return []rig.Row{
		rig.Some("lives of new numbers that clients of increase() sampled", b.fresh.Load()),
		rig.Some("lives of numbers that come back", b.again.Load()),
		rig.Some("lives that counted from 0", b.born.Load()),
		rig.Some("records of births in pmlogger's archives checked", int64(records)),
		{What: "of all that was counted in these lives, increase() and delta() had", Measured: share(&b.grown) + " and " + share(&b.change), OK: true},
		faulty,
	}
}
