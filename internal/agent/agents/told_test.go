package agents

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
)

// What one connection has told is no news when another one repeats it.
func TestChangesAreToldByEachConnection(t *testing.T) {
	var one, other Told
	news, hidden := one.News(pdu.ChangeDropAgent)
	assert.Equal(t, pdu.ChangeDropAgent, news)
	assert.False(t, hidden)
	other.Elsewhere(news)
	news, _ = other.News(pdu.ChangeDropAgent | pdu.ChangeNames)
	assert.Equal(t, pdu.ChangeNames, news)
	news, _ = other.News(pdu.ChangeDropAgent)
	assert.Equal(t, pdu.ChangeDropAgent, news, "again")

	other.Elsewhere(pdu.ChangeNames)
	other.Ended() // the connection that told
	news, _ = other.News(pdu.ChangeNames)
	assert.Equal(t, pdu.ChangeNames, news)
}
