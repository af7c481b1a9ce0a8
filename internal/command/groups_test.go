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
		"user = sum(proc.memory.rss) by (proc.id.uid_nm)\n"+
		"looked = count(network.interface.in.drops) by (/^(e)/ -> disk.dev.avactive by (/(.)v$/), "+
		"owner=/([0-9])$/ -> proc.id.uid_nm by (/^0*([0-9])/))\n"+
		"first = count(network.interface.in.drops) by (/(1)/ -> proc.id.uid_nm by (/(1) /))\n")
	out, errs, exit := s.run("test", "--record", "1", path)
	assert.Empty(t, errs)
	assert.Equal(t, commandline.ExitOK, exit)
	for _, line := range []string{
		`label  60.3 type "loopback" "ethernet" "ethernet"`, `    expect net.kind[eth]`,
		`    expect net.type[ethernet]`, `    expect user[root]`, `indom  60.5 1:"000001 /sbin/init"`, `indom  60.1 0:"sda" 1:"sdb"`,
		`    expect first[root]`,
	} {
		assert.Contains(t, out, line)
	}
	assert.NotContains(t, out, "indom  510")
}
