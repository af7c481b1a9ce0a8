package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
)

// A definition that is bound says what it lacks.
func TestProblemOfADefinition(t *testing.T) {
	b := newBench(t, conf("a = up.count", "b = derived.a + 0 * up.count", "c = 42", "d = no.such"))
	shown := func() map[string]string {
		problems := make(map[string]string)
		b.agent.controlDefinitions(func(d *control.Definition) bool {
			problems[d.Name] = d.Problem()
			return true
		})
		return problems
	}
	fails := func(code pdu.Code) {
		set := pdu.ValueSet{PMID: countID, Code: code}
		asked := operand.NewList(b.site.catalog["up.count"])
		b.agent.upstream.Store(sampleOf(b.maker, result(t, b.now, set), b.now, b.now, asked), b.site.before.Series...)
	}
	const absent = "" // this host lacks a metric, which is no error
	const lost = "no connection to pmcd"
	assert.Equal(t, map[string]string{"a": lost, "b": lost, "c": "", "d": absent}, shown())
	b.agent.figures.Connected.Store(true)
	assert.Equal(t, map[string]string{"a": "", "b": "", "c": "", "d": absent}, shown())
	fails(pdu.ErrAgain)
	why := "operand up.count: " + pdu.ErrAgain.Error()
	assert.Equal(t, map[string]string{"a": why, "b": why, "c": "", "d": absent}, shown())
	b.sample(7, "a", "b")
	assert.Equal(t, map[string]string{"a": "", "b": "", "c": "", "d": absent}, shown())
	b.serve(conf("a = up.count", "b = derived.a"))
	fails(pdu.ErrNoAgent)
	assert.Equal(t, "operand of a definition that it uses: "+pdu.ErrNoAgent.Error(), shown()["b"], "which may be secret")
	b.metric("b").Served.Def.Secret = true
	assert.Equal(t, "it needs something that is not shown: not everyone can read its file", shown()["b"])
}

// costs returns derived.control.definition.time, and .memory, by name.
func (b *bench) costs() (times map[string]time.Duration, memory map[string]int) {
	times, memory = make(map[string]time.Duration), make(map[string]int)
	b.agent.controlDefinitions(func(d *control.Definition) bool {
		times[d.Name], memory[d.Name] = d.Time, d.Memory
		return true
	})
	return times, memory
}

// steppingClock makes each evaluation last for a step: between any two readings of the clock it passes once.
func steppingClock(step *time.Duration) func(*Options) {
	return func(o *Options) {
		now, passed := o.Now, time.Duration(0)
		o.Now = func() time.Time {
			passed += *step
			return now().Add(passed)
		}
	}
}

// The time of a definition grows with each evaluation for a client. Short ones are measured once in a while.
func TestTimeOfADefinition(t *testing.T) {
	step := time.Microsecond
	b := newBench(t, conf("a = up.count", "b = up.count"), steppingClock(&step))
	b.sample(7, "a", "b")
	fetch := func(times int) time.Duration {
		for range times {
			b.value(1, 0, "a")
		}
		spent, _ := b.costs()
		assert.Zero(t, spent["b"])
		return spent["a"]
	}
	assert.Zero(t, fetch(0))
	assert.Equal(t, time.Microsecond, fetch(1))
	step = time.Millisecond
	assert.Equal(t, (1+unmeasuredEvaluations)*time.Microsecond, fetch(unmeasuredEvaluations), "as the first one")
	assert.Equal(t, (1+unmeasuredEvaluations)*time.Microsecond+3*time.Millisecond, fetch(3), "all are measured")
}

// Evaluations for functions over time count for each definition that uses them, and so does the memory of their values.
func TestCostOfFunctionsOverTime(t *testing.T) {
	step := time.Microsecond
	b := newBench(t, conf(
		`a = max_sample(instant(up.count), "4s")`, `b = max_sample(instant(up.count), "4s") - min_sample(instant(up.count), "2s")`,
		`c = stdev_sample(instant(up.count), "3s")`, `d = nth_percentile_sample(instant(up.count), 50, "3s")`, "e = max_sample(instant(up.count))", "f = up.count",
		"g = no.such", `h = latch(min_sample(instant(up.count), "2s") > 2, 0)`,
	), steppingClock(&step))
	for n := range uint64(5) {
		b.tick(n)
	}
	times, memory := b.costs()
	assert.Equal(t, map[string]time.Duration{
		"a": 5 * step, "b": 10 * step, "c": 5 * step, "d": 5 * step, "e": step, "f": 0, "g": 0, "h": 10 * step,
	}, times)
	const tick = 40 + 8 // a column and its value
	assert.Equal(t, map[string]int{
		"a": 4 * tick, "b": 4*tick + 2*tick, "c": 3 * tick, "d": 3 * tick, "e": tick, "f": 0, "g": 0, "h": 2*tick + 8,
	}, memory)
	b.serve(conf(`a = min_sample(instant(up.count), "10s")`, `d = nth_percentile_sample(instant(up.count), 50, "3s")`))
	times, memory = b.costs()
	assert.Equal(t, map[string]time.Duration{"a": 5 * step, "d": 5 * step}, times, "it never falls")
	assert.Equal(t, map[string]int{"a": 0, "d": 3 * tick}, memory)
}
