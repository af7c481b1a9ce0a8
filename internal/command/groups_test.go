package command

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/commandline"
)

// A test that is recorded has what groups are made from, and can be repeated.
func TestRecordedGroups(t *testing.T) {
	s := newSite(t)
	path := filepath.Join(t.TempDir(), "net.conf")
	writeFile(t, path, "net.kind = max(network.interface.in.drops) by (kind=/^(eth|lo)/)\nnet.type = "+
		"count(network.interface.in.drops) by (label(type))\n"+
		"user = sum(proc.memory.rss) by (proc.id.uid_nm)\n")
	out, errs, exit := s.run("test", "--record", "1", path)
	assert.Empty(t, errs)
	assert.Equal(t, commandline.ExitOK, exit)
	for _, line := range []string{
		`label  60.3 type "loopback" "ethernet" "ethernet"`, `    expect net.kind[eth]`,
		`    expect net.type[ethernet]`, `    expect user[root]`,
	} {
		assert.Contains(t, out, line)
	}
	assert.NotContains(t, out, "indom  510")
}
