package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/operand"
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
	absent := shown()["d"]
	assert.NotEmpty(t, absent)
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
	b.metric("b").Def.Secret = true
	assert.Equal(t, "it needs something that is not shown: not everyone can read its file", shown()["b"])
}
