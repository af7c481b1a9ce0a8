package agents

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
)

// A change that one connection has reported is not new when another one repeats it.
func TestChangesAreToldByEachConnection(t *testing.T) {
	var one, other SeenChanges
	news, hidden := one.Unseen(pdu.ChangeDropAgent)
	assert.Equal(t, pdu.ChangeDropAgent, news)
	assert.False(t, hidden)
	other.AddSeen(news)
	news, _ = other.Unseen(pdu.ChangeDropAgent | pdu.ChangeNames)
	assert.Equal(t, pdu.ChangeNames, news)
	news, _ = other.Unseen(pdu.ChangeDropAgent)
	assert.Equal(t, pdu.ChangeDropAgent, news, "again")

	other.AddSeen(pdu.ChangeNames)
	other.ForgetSeen() // the connection that told
	news, _ = other.Unseen(pdu.ChangeNames)
	assert.Equal(t, pdu.ChangeNames, news)
}
