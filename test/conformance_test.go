//go:build pcp

package test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/conformance"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

const corpusDir = "../derived/testdata/corpus"

// stations divide the sets of the corpus among private pmcds: a case may store into the sample agent and
// so needs it for itself. Every other set goes to the first.
var stations = []string{
	"",
	"arith arithedge bool booledge mkconst neg rel reledge rescale ternary",
	"delta func",
	"indom inst live",
	"rate",
}

// stepping has the cases whose operands step at every fetch by any client. The agent may sample them more often than
// its client fetches, so values are not compared.
const stepping = "delta.c021 delta.c023 delta.c029 delta.c030"

// TestConformance asks the daemon, under real pmcds, everything in the corpus: each definition over a
// connection of its own, with the stores, pauses and fetches that libpcp's answer was recorded with.
func TestConformance(t *testing.T) {
	all := conformance.ReadCorpus(t, corpusDir)
	different := make([]map[string]string, len(stations))
	passed := t.Run("stations", func(t *testing.T) {
		for i, sets := range stations {
			var cases []*conformance.Case
			for _, c := range all {
				at := slices.IndexFunc(stations, func(s string) bool { return slices.Contains(strings.Fields(s), c.Set) })
				if max(at, 0) == i {
					cases = append(cases, c)
				}
			}
			t.Run(sets, func(t *testing.T) {
				t.Parallel()
				different[i] = openStation(t, cases).ask(cases)
			})
		}
	})
	require.True(t, passed)

	tally := conformance.NewTally("end-to-end")
	for _, c := range all {
		for _, found := range different {
			if text, ok := found[c.Name]; ok {
				tally.Judge(t, c, text)
			}
		}
	}
	tally.ReportCorpus(t)
}

// station is a private pmcd whose agent has loaded some sets of the corpus.
type station struct {
	recorder
	pmcd      *pmcdtest.PMCD
	texts     map[string]string   // the lines of the files, from the name on, by case
	log       string              // of the agent, when it had read the files
	instances map[string]pdu.Inst // of the definitions, by name
	ageID     pdu.PMID            // of derived.control.definition.age
	problems  map[string]string   // derived.control.definition.error, by name
}

// definitionLine matches a definition in cases.conf.
var definitionLine = regexp.MustCompile(`^dmc\.([a-z0-9.]*?) *=`)

func openStation(t *testing.T, cases []*conformance.Case) *station {
	s := &station{texts: map[string]string{}}
	dir := worldReadableDir(t)
	var files []string
	for _, c := range cases {
		file := filepath.Join(dir, c.Set+".conf")
		if slices.Contains(files, file) {
			continue
		}
		files = append(files, file)
		text := must(os.ReadFile(filepath.Join(corpusDir, c.Set, "cases.conf")))(t)
		require.NoError(t, os.WriteFile(file, text, 0o644))
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if name := definitionLine.FindStringSubmatch(line); name != nil {
				s.texts[name[1]] = fmt.Sprintf("%s:%d\n%s", file, n, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	s.pmcd = startDerived(t, "--interval=0", "--non-finite=serve", "-c", strings.Join(files, ":"))
	s.recorder = recorder{t: t, ctx: t.Context(), conn: dial(t, s.pmcd)}
	s.awaitControl("upstream.connected", 1)
	found := must(s.conn.LookupNames(s.ctx, []string{"derived.control.definition.age"}))(t)
	s.ageID = found[0].PMID
	log := must(os.ReadFile(filepath.Join(s.pmcd.Dir, "log", "pmcd", "derived.log")))(t)
	s.log = string(log) + strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(string(log)) // quoted or not
	return s
}

// control returns the values of a metric of the agent itself.
func (s *station) control(name string) []pdu.Value {
	found := must(s.conn.LookupNames(s.ctx, []string{"derived.control." + name}))(s.t)
	require.Zero(s.t, found[0].Code)
	res := must(s.conn.Fetch(s.ctx, []pdu.PMID{found[0].PMID}))(s.t)
	require.Zero(s.t, res.Sets[0].Code)
	return res.Sets[0].Values
}

func (s *station) awaitControl(name string, least uint64) {
	await.Until(s.t, fmt.Sprintf("derived.control.%s reaches %d", name, least), func() bool { return s.control(name)[0].Bits >= least })
}

// prepare brings the sample agent into the state at the begin of cases, and makes the agent look its operands up again:
// some stores change their descriptors.
func (s *station) prepare(setup [][]string) {
	s.reset(setup)
	before := s.control("reload")[0].Bits
	s.store([]string{"derived.control.reload", "1"})
	s.awaitControl("reload", before+1)

	s.problems = s.definitionProblems()
}

// definitionProblems returns derived.control.definition.error by name, empty for bound definitions (for these it says
// what they lack now), and stores the instances of the names.
func (s *station) definitionProblems() map[string]string {
	texts := func(name string) map[pdu.Inst]string {
		values := s.control(name)
		texts := make(map[pdu.Inst]string, len(values))
		for _, v := range values {
			texts[v.Inst] = string(v.Bytes)
		}
		return texts
	}
	problem, state := texts("definition.error"), texts("definition.state")
	instances := must(s.conn.Instances(s.ctx, pdu.NewInDom(domain, 0)))(s.t)
	problems := make(map[string]string, len(instances))
	s.instances = make(map[string]pdu.Inst, len(instances))
	for _, i := range instances {
		s.instances[i.Name] = i.ID
		problems[i.Name] = ""
		if state[i.ID] != string(served.Bound) {
			problems[i.Name] = problem[i.ID]
		}
	}
	return problems
}

func (s *station) reset(setup [][]string) {
	for _, store := range slices.Concat(defaults, setup) {
		s.store(store)
	}
}

// ask returns how the answers differ from those of libpcp, "" where they do not.
func (s *station) ask(cases []*conformance.Case) map[string]string {
	bySetup := map[string][]*conformance.Case{}
	var order []string
	for _, c := range cases {
		key := fmt.Sprint(c.Setup)
		if bySetup[key] == nil {
			order = append(order, key)
		}
		bySetup[key] = append(bySetup[key], c)
	}
	if controlIsString(s.t, s.conn) {
		for _, c := range cases {
			if c.Expr == sampleControl {
				c.Type, (*c.Fetches[0].Values)[0][2] = pdu.TypeString.String(), ""
			}
		}
	}
	different := map[string]string{}
	for _, key := range order {
		s.prepare(bySetup[key][0].Setup)
		for _, c := range bySetup[key] {
			for range attempts(c) {
				different[c.Name] = s.compare(c)
				if c.Stores() {
					s.reset(c.Setup)
				}
				if different[c.Name] == "" {
					break
				}
			}
		}
	}
	return different
}

// attempts returns how often a case may be tried. On a busy machine a sample can be milliseconds older than its fetch,
// which matters to rates.
func attempts(c *conformance.Case) int {
	if _, wanted := conformance.Wanted(c.Name); wanted || c.Compare != "per-elapsed" {
		return 1
	}
	return 8
}

// compare does the steps of a case over a connection of its own.
func (s *station) compare(c *conformance.Case) string {
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Second)
	defer cancel()
	conn := must(pmapi.Dial(ctx, "unix", s.pmcd.Socket))(s.t)
	defer conn.Close()
	client := &client{station: s, c: c, ctx: ctx, conn: conn, names: map[pdu.Inst]any{}}
	found := must(conn.LookupNames(ctx, []string{"derived.dmc." + c.Name}))(s.t)
	problem, _, _ := strings.Cut(s.problems["dmc."+c.Name], "\n")
	switch {
	case c.Class == "semantic" && found[0].Code < 0:
		return conformance.Different("lookup", pdu.ErrName, found[0].Code) +
			conformance.Different("message", c.Message(), problem)
	case c.Class == "unbound" && found[0].Code < 0:
		return conformance.Different("lookup", pdu.ErrName, found[0].Code)
	case c.Refused():
		if found[0].Code == 0 {
			return "want a syntax error, got none"
		}
		return conformance.Different("lookup", pdu.ErrName, found[0].Code) + s.differentRefusal(c)
	case found[0].Code < 0:
		return "lookup: " + found[0].Code.Error()
	}
	desc, err := conn.Desc(ctx, found[0].PMID)
	code := pdu.CodeOf(err)
	// It was bound to other operands, and pmlogger needs its descriptor.
	if want := map[string]pdu.Code{"unbound": pdu.ErrAgain, "semantic": pdu.ErrBadDerive}[c.Class]; code == 0 && want < 0 {
		client.desc = desc
		answer, _ := client.fetch()
		different := conformance.Different("fetch", want, answer.Code)
		if c.Class == "semantic" {
			different += conformance.Different("message", c.Message(), problem)
		}
		return different
	}
	if code < 0 {
		return "descriptor: " + code.Error() + "\n" + problem
	}
	client.desc = desc
	if c.Class == "crash" {
		client.fetch()
		return "\nwant a crash"
	}
	return c.DifferentDesc(desc) + client.steps()
}

// differentRefusal searches the agent's log for libpcp's message: it has the same text and column, but names the place
// as file:line:column.
func (s *station) differentRefusal(c *conformance.Case) string {
	place, line, ok := strings.Cut(s.texts[c.Name], "\n")
	require.True(s.t, ok, "%s is not in the file", c.Name)
	if c.Class == "config" {
		return "" // package config compares the messages of its own
	}
	_, below, _ := strings.Cut(strings.TrimSuffix(c.Message(), "\n"), "\n")
	caret, reason, _ := strings.Cut(below, "\n")
	wanted := fmt.Sprintf("%s:%d: syntax error", place, strings.IndexByte(line, '=')+1+strings.IndexByte(caret, '^')+1)
	if reason != "" {
		wanted += ": " + reason
	}
	if strings.Contains(s.log, wanted+"\n") {
		return ""
	}
	return "\nthe log lacks " + wanted
}

// client does the steps of one case.
type client struct {
	station *station
	c       *conformance.Case
	ctx     context.Context
	conn    *pmapi.Conn
	desc    pdu.Desc
	names   map[pdu.Inst]any
	last    time.Time // the last store or fetch
}

// settle is the time between stores and fetches: the agent takes fetches of a context that are less than 10 ms apart
// for one step of its history.
const settle = 25 * time.Millisecond

func (k *client) steps() string {
	different := ""
	fetches := 0
	var before time.Time
	for _, step := range k.c.Steps {
		switch step[0] {
		case "store":
			k.station.store(step[1:])
			k.last = time.Now()
		case "sleep":
			seconds := must(strconv.ParseFloat(step[1], 64))(k.station.t)
			rig.Sleep(k.ctx, time.Duration(seconds*float64(time.Second)))
		case "fetch":
			answer, at := k.fetch()
			for deadline := at.Add(namesArrive); k.selectsNewNames() && k.c.DifferentValues(fetches, answer, 0) != "" &&
				time.Now().Before(deadline); {
				answer, at = k.fetch()
			}
			elapsed := 0.0
			if !before.IsZero() {
				elapsed = at.Sub(before).Seconds()
			}
			before = at
			if !slices.Contains(strings.Fields(stepping), k.c.Name) {
				different += k.c.DifferentValues(fetches, answer, elapsed)
			}
			fetches++
		}
	}
	return different
}

// fetch fetches the metric, from a sample that is newer than all that was done before: a name lookup makes the agent
// sample. The lookup comes from another client, to which no earlier sample is good enough. It also returns the time of
// the sample: on a busy machine that is milliseconds before the fetch.
func (k *client) fetch() (conformance.Answer, time.Time) {
	t := k.station.t
	rig.Sleep(k.ctx, time.Until(k.last.Add(settle)))
	k.sample()
	res := must(k.conn.Fetch(k.ctx, []pdu.PMID{k.desc.PMID, k.station.ageID}))(t)
	k.last = time.Now()
	at, set := res.Time, res.Sets[0]
	if age, ok := k.station.ageIn(k.c.Name, res.Sets[1].Values); ok {
		at = at.Add(-age)
	}
	answer := conformance.Answer{Code: set.Code}
	for _, v := range set.Values {
		answer.Values = append(answer.Values, conformance.Value{
			Inst: v.Inst, Text: conformance.Text(k.desc.Type, v.Bits, bytes.Clone(v.Bytes)),
		})
	}
	for i := range answer.Values { // lookups reuse the memory of the result
		answer.Values[i].Name = k.name(answer.Values[i].Inst)
	}
	return answer, at
}

// sample makes the agent sample the operands. Between the fetches of a case it waits for a sample that is newer than
// the last fetch: the agent rarely samples slow operands, and on a busy machine all are slow.
func (k *client) sample() {
	t := k.station.t
	look := func() {
		must(k.station.conn.LookupNames(k.ctx, []string{"derived.dmc." + k.c.Name}))(t)
	}
	look()
	if _, sampled := k.station.age(k.c.Name); !sampled || k.last.IsZero() && !k.c.Stores() {
		return // a constant, or nothing has changed yet
	}
	await.Until(t, k.c.Name+" is sampled again", func() bool {
		age, ok := k.station.age(k.c.Name)
		if ok && age < time.Since(k.last) {
			return true
		}
		look()
		return false
	})
}

// age returns the age of the newest sample for a case.
func (s *station) age(name string) (time.Duration, bool) {
	return s.ageIn(name, s.control("definition.age"))
}

// ageIn returns it from the values of derived.control.definition.age.
func (s *station) ageIn(name string, values []pdu.Value) (time.Duration, bool) {
	for _, v := range values {
		if s.instances["dmc."+name] == v.Inst {
			return time.Duration(math.Float64frombits(v.Bits) * float64(time.Millisecond)), true
		}
	}
	return 0, false
}

// namesArrive limits the wait for the names of instances that have come. The agent learns of these from a sample, and
// asks for their names then.
const namesArrive = 10 * time.Second

// looksBack matches the functions whose values depend on earlier fetches.
var looksBack = regexp.MustCompile(`\b(rate|delta)\(`)

// selectsNewNames reports whether the case may select, by their names, instances that have just come. An answer lacks
// them until their names arrive. Its fetches can be repeated.
func (k *client) selectsNewNames() bool { return k.appearing() && !looksBack.MatchString(k.c.Expr) }

// appearing reports whether instances come and go in the case.
func (k *client) appearing() bool {
	return slices.ContainsFunc(k.c.Steps, func(step []string) bool {
		return step[0] == "store" && step[1] == "sample.many.count"
	})
}

// name returns the name of an instance as it was when it was first seen, nil if it has none. It waits for the names
// of new instances.
func (k *client) name(id pdu.Inst) any {
	if k.desc.InDom == pdu.NoInDom {
		return nil
	}
	if len(k.names) == 0 {
		if instances, err := k.conn.Instances(k.ctx, k.desc.InDom); err == nil {
			for _, i := range instances {
				k.names[i.ID] = i.Name
			}
		}
	}
	if _, known := k.names[id]; !known {
		k.names[id] = nil
		for deadline := time.Now().Add(namesArrive); ; rig.Sleep(k.ctx, pollInterval) {
			name, err := k.conn.InstanceName(k.ctx, k.desc.InDom, id)
			if err == nil {
				k.names[id] = name
			}
			if err == nil || !k.appearing() || time.Now().After(deadline) {
				break
			}
		}
	}
	return k.names[id]
}
