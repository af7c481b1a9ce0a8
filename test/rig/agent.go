package rig

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/test/liar"
	"pmdaderived/test/pmcdtest"
)

// Metric is a metric of the agent: a function of the time of day of pmcd's request, and of nothing else. So values
// tell when they were sampled, and stay right when the agent is started again.
type Metric struct {
	Name  string
	Desc  pdu.Desc                              // the domain is not in it
	Value func(at uint64, inst pdu.Inst) uint64 // at ns since the Epoch
}

// Serials of the agent's instance domains.
const (
	memberSerial    = 0
	burstSerial     = 1 // its instances come and go
	histogramSerial = 2 // its instances are buckets
	unreadySerial   = 3 // likewise; they get other names, and at times their labels are refused
	swappedSerial   = 4 // its instances exchange their numbers
	birthSerial     = 5 // its instances come, most of them for the first time, and go
)

// Members is the number of instances of the domain that never changes.
const Members = 8

// Metrics returns the metrics of the agent, by item.
func Metrics() []Metric {
	count := pdu.Units{Count: 1}
	all, some := pdu.NewInDom(0, memberSerial), pdu.NewInDom(0, burstSerial)
	metric := func(name string, sem pdu.Semantics, d pdu.InDom, u pdu.Units, value func(uint64, pdu.Inst) uint64) Metric {
		return Metric{name, pdu.Desc{Type: pdu.TypeU64, InDom: d, Sem: sem, Units: u}, value}
	}
	singular := func(name string, sem pdu.Semantics, u pdu.Units, value func(uint64) uint64) Metric {
		return metric(name, sem, pdu.NoInDom, u, func(at uint64, _ pdu.Inst) uint64 { return value(at) })
	}
	typed := func(t pdu.Type, m Metric) Metric {
		m.Desc.Type = t
		return m
	}
	return []Metric{
		singular("nanos", pdu.SemCounter, count, func(at uint64) uint64 { return at }),
		singular("phase", pdu.SemInstant, pdu.Units{}, Phase),
		singular("slope", pdu.SemInstant, pdu.Units{}, Slope),
		singular("size", pdu.SemInstant, pdu.Units{Space: 1}, Size),
		metric("member", pdu.SemInstant, all, pdu.Units{}, Member),
		metric("load", pdu.SemCounter, all, count, Load),
		metric("burst", pdu.SemInstant, some, pdu.Units{}, Member),
		metric("surge", pdu.SemCounter, some, count, Load),
		typed(pdu.TypeU32, singular("word", pdu.SemInstant, pdu.Units{}, Slope)),
		typed(pdu.TypeDouble, singular("share", pdu.SemInstant, pdu.Units{},
			func(at uint64) uint64 { return math.Float64bits(float64(Slope(at))) })),
		typed(pdu.TypeU32, metric("words", pdu.SemInstant, all, pdu.Units{},
			func(_ uint64, inst pdu.Inst) uint64 { return uint64(inst) })),
		metric("histogram", pdu.SemCounter, pdu.NewInDom(0, histogramSerial), count, Bucket),
		metric("unready", pdu.SemInstant, pdu.NewInDom(0, unreadySerial), pdu.Units{}, Unready),
		metric("swapped", pdu.SemInstant, pdu.NewInDom(0, swappedSerial), pdu.Units{}, Swapped),
		metric("unswapped", pdu.SemInstant, all, pdu.Units{}, Swapped),                 // the same values below names that stay
		singular("aside", pdu.SemCounter, count, func(at uint64) uint64 { return at }), // nanos once more
		metric("births", pdu.SemCounter, pdu.NewInDom(0, birthSerial), count, Birth),
	}
}

// PhaseLength is the number of microseconds after which phase begins anew.
const PhaseLength = 1_000_000_000

// Phase returns the microseconds of a time, modulo PhaseLength.
func Phase(at uint64) uint64 { return at / 1000 % PhaseLength }

// Slope returns the seconds of a time, modulo 1000, plus 1: it is never 0.
func Slope(at uint64) uint64 { return at/1e9%1000 + 1 }

// Size returns the milliseconds of a time, modulo 2^30.
func Size(at uint64) uint64 { return at / 1e6 % (1 << 30) }

// Member returns Phase, plus 1000 for each instance before this one.
func Member(at uint64, inst pdu.Inst) uint64 { return Phase(at) + 1000*uint64(inst) }

// Load returns a counter of microseconds, which grows faster for higher instances.
func Load(at uint64, inst pdu.Inst) uint64 { return (uint64(inst) + 1) * (at / 1000) }

// AllMembers returns the instances of the domain that never changes.
func AllMembers(uint64) []pdu.Inst { return instancesFrom(0, Members) }

// BurstMembers returns the instances of the other domain: the first and 2 to 6 of 9, others every 5 s.
func BurstMembers(at uint64) []pdu.Inst {
	era := at / 5e9
	return append(instancesFrom(0, 1), instancesFrom(1+era%4, 2+era%5)...)
}

// AllBuckets returns the buckets.
func AllBuckets(uint64) []pdu.Inst { return instancesFrom(0, uint64(len(Bounds()))) }

func instancesFrom(first, n uint64) []pdu.Inst {
	insts := make([]pdu.Inst, n)
	for i := range insts {
		insts[i] = pdu.Inst(first) + pdu.Inst(i)
	}
	return insts
}

// Bounds returns the bounds of the buckets of histogram and unready, as the label le has them.
func Bounds() []string { return []string{"0.5", "1", "2", "+Inf"} }

// TickOf returns the number of the second of a sample that was taken at most a quarter of a second before it, and less
// than three quarters after it.
func TickOf(at uint64) uint64 { return (at + 250e6) / 1e9 }

// BucketLife is the number of ticks after which histogram begins at 0 again.
const BucketLife = 15

// BucketGrowth returns what a bucket of histogram has counted more at a tick than at the one before. At the first
// tick of a life it has counted as much since 0.
func BucketGrowth(tick uint64, inst pdu.Inst) uint64 {
	if tick/BucketLife%2 == 1 {
		return 300 // all of it is in the first bucket
	}
	return []uint64{10, 5400, 5400, 5400}[inst]
}

// Bucket returns what a bucket of histogram has counted, with those below it. It grows between ticks. At every other reset the first bucket has more than
// before, and the others have less.
func Bucket(at uint64, inst pdu.Inst) uint64 {
	tick := TickOf(at)
	return BucketGrowth(tick, inst) * (tick%BucketLife + 1)
}

// Unready returns a cumulative bucket.
func Unready(at uint64, inst pdu.Inst) uint64 { return Phase(at) + PhaseLength/5*uint64(inst) }

// Times of unready: its instances get other names after each RenameTime, and with every other one the agent refuses
// labels for RefusedTime.
const (
	RenameTime  = 30 * time.Second
	RefusedTime = 13 * time.Second
)

// Refuses reports whether the agent refuses the labels of unready at any time from one until another.
func Refuses(from, until uint64) bool {
	cycle := uint64(2 * RenameTime)
	return from%cycle < uint64(RefusedTime) || from/cycle != until/cycle
}

// SwapTime is the time between two exchanges of the numbers of swapped.
const SwapTime = 45 * time.Second

// Swaps returns the number of exchanges before a time. They are between ticks.
func Swaps(at uint64) uint64 { return (at + 250e6) / uint64(SwapTime) }

// SwapNumber returns the number that an instance has at a time, by the number in its name.
func SwapNumber(at, name uint64) pdu.Inst { return pdu.Inst((name + Swaps(at)) % Members) }

// Swapped returns the value of a number: what its instance always has, 100 for the first and 100 more for each
// other. So a number has 100 less after each exchange, or the most of all after the least.
func Swapped(at uint64, inst pdu.Inst) uint64 {
	return 100 * (1 + (uint64(inst)+Members-Swaps(at)%Members)%Members)
}

// agentWord is the first argument of a process that is the agent.
const agentWord = "rig-agent"

// None stands for no file.
const None = "-"

// AgentSpec is an agent of the rig. Several can run, each in a domain of its own.
type AgentSpec struct {
	Name   string // of its metrics' root, and of its program in the folder: a copy of one that calls Helper
	Domain int
	Lies   string // path of the file with its orders to lie, see package liar; None: it never lies
}

// dynamicNode is the node below which a liar answers lookups itself.
const dynamicNode = "dyn"

// In returns the agent as pmcd starts it from a folder.
func (s AgentSpec) In(f Folder) pmcdtest.Agent {
	var pmns strings.Builder
	for item, m := range Metrics() {
		fmt.Fprintf(&pmns, "\t%s\t%s:0:%d\n", m.Name, strings.ToUpper(s.Name), item)
	}
	if s.Lies != None {
		fmt.Fprintf(&pmns, "\t%s\t%s:*:*\n", dynamicNode, strings.ToUpper(s.Name))
	}
	return pmcdtest.Agent{
		Name: s.Name, Domain: s.Domain, PMNS: s.Name + " {\n" + pmns.String() + "}",
		Command: []string{f.Path(s.Name), agentWord, s.Name, strconv.Itoa(s.Domain), s.Lies},
	}
}

// Helper reports whether the arguments, without the program's name, make this process an agent. If so, it serves until
// the agent ends. The program then ends with the status.
func Helper(args []string) (status int, helper bool) {
	if len(args) != 4 || args[0] != agentWord {
		return 0, false
	}
	if err := serveAgent(args[1], args[2], args[3]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", agentWord, err)
		return 1, true
	}
	return 0, true
}

func serveAgent(name, domain, lies string) error {
	a, err := newAgent(domain)
	if err != nil {
		return err
	}
	in, out, err := pmda.Stdio()
	if err != nil {
		return err
	}
	pmda.IgnoreSIGPIPE()
	if lies == None {
		return (&pmda.Server{Agent: a}).Serve(context.Background(), in, out)
	}
	named, err := a.withNames(name)
	if err != nil {
		return err
	}
	return liar.Between(in, out, func(in,
		out *os.File,
	) error {
		return (&pmda.Server{Agent: named}).Serve(context.Background(), in, out)
	}, lies)
}

// Numbered is the number of further metrics of a liar, dyn.n0 and so on. All have the value of nanos.
const Numbered = 1000

// numberedCluster is the cluster of the metrics that Numbered counts.
const numberedCluster = 1

// withNames returns an agent that answers lookups itself: each metric has a name below dyn, too.
func (a *agent) withNames(name string) (pmda.Agent, error) {
	root := name + "." + dynamicNode
	var entries []pmda.Entry
	for item, m := range a.metrics {
		entries = append(entries, pmda.Entry{Name: root + "." + m.Name, PMID: pdu.NewPMID(a.domain, 0, item)})
	}
	for item := range Numbered {
		entries = append(entries, pmda.Entry{
			Name: fmt.Sprintf("%s.n%d", root, item),
			PMID: pdu.NewPMID(a.domain, numberedCluster, item),
		})
	}
	names, err := pmda.NewNamespace(root, entries)
	return struct {
		*agent
		*pmda.Namespace
	}{a, names}, err
}

func newAgent(domain string) (*agent, error) {
	n, err := strconv.Atoi(domain)
	return &agent{domain: n, metrics: Metrics()}, err
}

// agent serves the metrics.
type agent struct {
	domain  int
	metrics []Metric
}

func (a *agent) metric(id pdu.PMID) (m Metric, ok bool) {
	switch item := id.Item(); {
	case id.Cluster() == 0 && item < len(a.metrics):
		return a.metrics[item], true
	case id.Cluster() == numberedCluster && item < Numbered:
		return a.metrics[slices.IndexFunc(a.metrics, func(m Metric) bool { return m.Name == "nanos" })], true
	}
	return Metric{}, false
}

// Desc implements pmda.Agent.
func (a *agent) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	m, ok := a.metric(id)
	if !ok {
		return pdu.Desc{}, pdu.ErrPMID
	}
	d := m.Desc
	if d.InDom != pdu.NoInDom {
		d.InDom = pdu.NewInDom(a.domain, d.InDom.Serial())
	}
	return d, nil
}

// Instances implements pmda.Agent. It also names past instances: clients ask for names after the values.
func (a *agent) Instances(_ pmda.Client, d pdu.InDom) ([]pdu.Instance, error) {
	at := uint64(time.Now().UnixNano())
	named := func(n int, name func(inst int) string) (all []pdu.Instance) {
		for inst := range n {
			all = append(all, pdu.Instance{ID: pdu.Inst(inst), Name: name(inst)})
		}
		return all
	}
	member := func(inst int) string { return fmt.Sprintf("m%d", inst) }
	switch d.Serial() {
	case memberSerial:
		return named(Members, member), nil
	case burstSerial:
		return named(10, member), nil
	case histogramSerial:
		return named(len(Bounds()), member), nil
	case unreadySerial: // each name is also a bound, and a wrong one
		return named(len(Bounds()), func(inst int) string { return fmt.Sprint(10*(inst+1) + int(at/uint64(RenameTime)%2)) }), nil
	case swappedSerial:
		all := make([]pdu.Instance, Members)
		for name := range uint64(Members) {
			inst := SwapNumber(at, name)
			all[inst] = pdu.Instance{ID: inst, Name: fmt.Sprintf("s%d", name)}
		}
		return all, nil
	case birthSerial:
		return birthInstances(at), nil
	}
	return nil, pdu.ErrInDom
}

// Labels implements pmda.Labeler: buckets have their bounds, and the instances of births their kinds.
func (a *agent) Labels(_ pmda.Client, ident uint32, t pdu.LabelType, _ *pdu.Profile) (all []pdu.LabelSet, err error) {
	serial, at := pdu.InDom(ident).Serial(), uint64(time.Now().UnixNano())
	switch {
	case t == pdu.LabelInstances && serial == birthSerial:
		for _, in := range birthInstances(at) {
			set, err := pdu.NewLabelSet(in.ID, t, map[string]any{"kind": KindOf(in.ID)})
			if err != nil {
				return nil, err
			}
			all = append(all, set)
		}
		return all, nil
	case t != pdu.LabelInstances || serial != histogramSerial && serial != unreadySerial:
		return nil, nil
	case serial == unreadySerial && Refuses(at, at):
		return nil, pdu.ErrAgain
	}
	for inst, bound := range Bounds() {
		set, err := pdu.NewLabelSet(pdu.Inst(inst), t, map[string]any{"le": bound})
		if err != nil {
			return nil, err
		}
		all = append(all, set)
	}
	return all, nil
}

// Fetch implements pmda.Agent. All values are of one moment.
func (a *agent) Fetch(req *pmda.FetchRequest, out *pdu.ResultWriter) error {
	at := uint64(time.Now().UnixNano())
	for _, id := range req.PMIDs {
		d, err := a.Desc(req.Client, id)
		if err != nil {
			out.Fail(id, pdu.ErrPMID)
			continue
		}
		m, _ := a.metric(id)
		value := m.Value
		if d.InDom == pdu.NoInDom {
			out.Number(id, d.Type, value(at, pdu.NoInst))
			continue
		}
		list := AllMembers
		switch d.InDom.Serial() {
		case burstSerial:
			list = BurstMembers
		case histogramSerial, unreadySerial:
			list = AllBuckets
		case birthSerial:
			if _, until, failed := Away(at); failed && at < until {
				out.Fail(id, pdu.ErrAgain)
				continue
			}
			list = BirthMembers
		}
		var insts []pdu.Inst
		var bits []uint64
		for _, inst := range list(at) {
			if req.Profile.Includes(d.InDom, inst) {
				insts, bits = append(insts, inst), append(bits, value(at, inst))
			}
		}
		out.Numbers(id, d.Type, insts, bits)
	}
	return nil
}
