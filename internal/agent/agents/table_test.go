package agents

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
)

func TestAgentsTable(t *testing.T) {
	all := make(Table)
	all.Add([]int{29, 60})
	all.Add([]int{60})
	bad := pdu.NewPMID(60, 0, 1)
	assert.True(t, all.CountError(bad, pdu.ErrAgain))
	assert.False(t, all.CountError(bad, pdu.ErrAgain), "the log has it")
	assert.True(t, all.CountError(pdu.NewPMID(60, 0, 2), pdu.ErrPermission))
	assert.False(t, all.CountError(bad, pdu.ErrAgain), "by turns")
	all.Add([]int{3})
	list := all.List(map[int]string{3: "proc", 29: "sample", 60: "sample"})
	for i, want := range []Agent{
		{Domain: 3, Name: "proc"},
		{Domain: 29, Name: "sample"},
		{Domain: 60, Name: "60", Figures: Figures{
			Errors: 4, metric: bad, code: pdu.ErrAgain, logged: []pdu.Code{pdu.ErrAgain, pdu.ErrPermission},
		}},
	} {
		assert.Equal(t, want, list[i])
	}
	assert.Equal(t, "60.0.1: "+pdu.ErrAgain.Error(), list[2].Error())
	assert.Empty(t, list[0].Error())
	assert.Equal(t, "29", all.List(nil)[1].Name, "of an agent that has no name")
}
