package bench

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// engine evaluates in this process, with nothing around it: no pmcd, no messages. Its operands are those
// of bulk: two metrics of 64-bit counters over one domain.
type engine struct {
	catalog derived.CatalogMap
	history []derived.Sample
}

// moment is a sample.
type moment struct {
	at     time.Time
	values map[pdu.PMID]*derived.Vector
	names  *derived.NameTable
}

func (m *moment) Time() time.Time                      { return m.at }
func (m *moment) Values(id pdu.PMID) *derived.Vector   { return m.values[id] }
func (m *moment) Names(pdu.InDom) *derived.NameTable   { return m.names }
func (m *moment) Members(d pdu.InDom) *derived.InstSet { return nil }
func operandID(i int) pdu.PMID                         { return pdu.NewPMID(bulkDomain, 100, i) }
func operandNames() []string                           { return []string{"a", "b"} }
func column(insts *derived.InstSet, seed int) *derived.Vector {
	v := &derived.Vector{Type: pdu.TypeU64, Insts: insts, Bits: make([]uint64, insts.Len())}
	for i := range v.Bits {
		v.Bits[i] = uint64(i*16 + seed*(i%64+3))
	}
	return v
}

// newEngine makes operands with n instances each, 0 to n-1, and an earlier sample of them.
func newEngine(n int) *engine {
	e := &engine{catalog: derived.CatalogMap{}}
	for i, name := range operandNames() {
		e.catalog[name] = pdu.Desc{
			PMID: operandID(i), Type: pdu.TypeU64, InDom: pdu.NewInDom(bulkDomain, 1), Sem: pdu.SemCounter,
			Units: pdu.Units{Count: 1},
		}
	}
	insts := instancesFrom(0, n)
	for age := range 2 {
		m := &moment{at: time.Unix(int64(1000-age), 0), values: make(map[pdu.PMID]*derived.Vector)}
		for i := range operandNames() {
			m.values[operandID(i)] = column(insts, 10*(i+1)-age)
		}
		e.history = append(e.history, m)
	}
	return e
}

func instancesFrom(first, n int) *derived.InstSet {
	ids := make([]pdu.Inst, n)
	for i := range ids {
		ids[i] = pdu.Inst(first + i)
	}
	return derived.NewInstSet(ids)
}

func namesFrom(first, n int) *derived.NameTable {
	table := make(map[pdu.Inst]string, n)
	for i := first; i < first+n; i++ {
		table[pdu.Inst(i)] = fmt.Sprintf("inst-%07d", i)
	}
	return derived.NewNameTable(table, nil)
}

// compile binds an expression; A and B stand for the operands.
func (e *engine) compile(expr string) (*derived.Set, *derived.Metric, error) {
	d, err := derived.Parse("x", strings.NewReplacer("A", "a", "B", "b").Replace(expr))
	if err != nil {
		return nil, nil, err
	}
	set := derived.NewSet([]*derived.Definition{d}, e.catalog, "")
	m := set.Metrics()[0]
	if m.Err != nil {
		return nil, nil, m.Err
	}
	return set, m, nil
}

// slice is how long one figure of the engine takes.
const slice = 5 * time.Millisecond

// evaluate returns a function that measures the evaluation of one value, in ns of CPU.
func (e *engine) evaluate(expr string) (func() (float64, error), error) {
	set, m, err := e.compile(expr)
	if err != nil {
		return nil, err
	}
	eval := set.NewEvaluation()
	return func() (float64, error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		values, started := 0, threadCPU()
		for {
			eval.Reset(e.history...)
			v := eval.Value(m)
			if v.Code != 0 || v.Len() == 0 {
				return 0, fmt.Errorf("%s has no values: %w", expr, v.Code)
			}
			values += v.Len()
			if took := threadCPU() - started; took > slice {
				return float64(took.Nanoseconds()) / float64(values), nil
			}
		}
	}, nil
}

const matchExpr = "matchinst(/[02468]$/, A)"

// matchFirst measures in ms how long it takes to match the names of n instances for the first time.
func matchFirst(n int) (func() (float64, error), error) {
	e := newEngine(n)
	set, m, err := e.compile(matchExpr)
	if err != nil {
		return nil, err
	}
	names := namesFrom(0, n)
	for _, s := range e.history {
		s.(*moment).names = names
	}
	return func() (float64, error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		eval := set.NewEvaluation()
		started := threadCPU()
		eval.Reset(e.history...)
		v := eval.Value(m)
		took := threadCPU() - started
		if v.Len() != n/2 {
			return 0, fmt.Errorf("%s: %d of %d instances", matchExpr, v.Len(), n)
		}
		return took.Seconds() * 1e3, nil
	}, nil
}

// matchNew measures in ms how long it takes when a tenth of n instances is new.
func matchNew(n int) (func() (float64, error), error) {
	const windows = 32
	e := newEngine(n)
	set, m, err := e.compile(matchExpr)
	if err != nil {
		return nil, err
	}
	var samples []*moment
	for w := range windows {
		first := w * n / 10
		samples = append(samples, &moment{
			at:     time.Unix(int64(1000+w), 0),
			values: map[pdu.PMID]*derived.Vector{operandID(0): column(instancesFrom(first, n), w)},
			names:  namesFrom(first, n),
		})
	}
	eval := set.NewEvaluation()
	at := 0
	return func() (float64, error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if at%windows == 0 { // nothing is to be known from the last time round
			eval = set.NewEvaluation()
			eval.Reset(samples[0])
			eval.Value(m)
			at = 1
		}
		started := threadCPU()
		eval.Reset(samples[at], samples[at-1])
		v := eval.Value(m)
		took := threadCPU() - started
		at++
		if v.Len() != n/2 {
			return 0, fmt.Errorf("%s: %d of %d instances", matchExpr, v.Len(), n)
		}
		return took.Seconds() * 1e3, nil
	}, nil
}

// parse measures in ms how long it takes to read a file of definitions.
func parse(defs []definition) func() (float64, error) {
	source := []byte(text(defs))
	return func() (float64, error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		started := threadCPU()
		loaded := config.Read("bench.conf", source, func(d *config.Definition) error {
			_, err := derived.Parse(d.Name, d.Expr)
			return err
		})
		took := threadCPU() - started
		if len(loaded.Definitions) != len(defs) || len(loaded.Problems) > 0 {
			return 0, fmt.Errorf("%d of %d definitions read", len(loaded.Definitions), len(defs))
		}
		return took.Seconds() * 1e3, nil
	}
}
