//go:build pcp

package test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/test/pmcdtest"
)

// keyedVariable makes this program an agent of keys, the lines of this file.
const keyedVariable = "PMDADERIVED_TEST_KEYED"

const keyedDomain = 402

// keyed has an instance for each line of a file, with the line and the number 1.
type keyed struct{ file string }

func (*keyed) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	d := pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NewInDom(keyedDomain, 0), Sem: pdu.SemInstant}
	if id.Item() == 1 {
		d.Type = pdu.TypeString
	}
	return d, nil
}

func (k *keyed) Instances(pmda.Client, pdu.InDom) ([]pdu.Instance, error) {
	text, err := os.ReadFile(k.file)
	var all []pdu.Instance
	for i := range strings.Count(string(text), "\n") {
		all = append(all, pdu.Instance{ID: pdu.Inst(i), Name: fmt.Sprint("i", i)})
	}
	return all, err
}

func (k *keyed) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	text, err := os.ReadFile(k.file)
	var insts []pdu.Inst
	var lines [][]byte
	var ones []uint64
	for line := range strings.Lines(string(text)) {
		insts, ones = append(insts, pdu.Inst(len(insts))), append(ones, 1)
		lines = append(lines, []byte(strings.TrimSuffix(line, "\n")))
	}
	for _, id := range req.PMIDs {
		if id.Item() == 1 {
			w.Strings(id, pdu.TypeString, insts, lines)
		} else {
			w.Numbers(id, pdu.TypeU64, insts, ones)
		}
	}
	return err
}

// startKeyed runs a private pmcd with the daemon and the agent, and returns what replaces the keys.
func startKeyed(t *testing.T, definitions string) (p *pmcdtest.PMCD, change func(keys ...string)) {
	t.Helper()
	dir := worldReadableDir(t)
	change = func(keys ...string) {
		t.Helper()
		next := writeFile(t, dir, "next", strings.Join(keys, "\n")+"\n")
		require.NoError(t, os.Rename(next, dir+"/keys"))
	}
	change("first")
	return pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{
			derivedAgent(t, "-c", writeFile(t, dir, "derived.conf", definitions)),
			{
				Name: "keyed", Domain: keyedDomain, Command: []string{copySelf(t, dir, "keyed-agent")},
				PMNS: fmt.Sprintf("keyed {\n\tone %d:0:0\n\ttext %d:0:1\n}\n", keyedDomain, keyedDomain),
			},
		},
		Env: []string{keyedVariable + "=" + dir + "/keys"},
	}), change
}

// A tool that starts just after a group has come shows it: the group is among the instances that the tool has asked
// for before it fetches, although it has no rate yet.
func TestNewGroupIsKnownToTools(t *testing.T) {
	p, change := startKeyed(t, `
g = count(keyed.one) by (keyed.text)
r = sum(rate(instant(keyed.one))) by (other=keyed.text)
`)
	await.Until(t, "the groups are served", func() bool {
		out, _, _ := p.Run(t, "pminfo", "-f", "derived.g")
		return strings.Contains(out, `"first"] value 1`)
	})
	for i := range 5 {
		key := fmt.Sprint("key", i)
		change(key)
		out := combined(t, p.Command(t.Context(), "pmval", "-s", "2", "-t", "0.1", "derived.g"))
		assert.NotContains(t, out, "is unknown")
		assert.Contains(t, out, key)
		key += "x"
		change(key)
		out = printed(t, p, "pmval", "-s", "1", "-i", key, "derived.g")
		assert.Regexp(t, `\n\s+1\s*$`, out)
		change(append(slices.Repeat([]string{""}, i+1), key+"z")...)
		out = printedUntil(t, p, key+"z", "pmval", "-t", "0.1", "derived.r") // how many samples have no rate is up to the machine
		assert.NotContains(t, out, "is unknown")
		change(key + "y")
		out = printed(t, p, "pminfo", "-fl", "derived.g")
		assert.Regexp(t, `"`+key+`y"\] value 1\n(.*\n)*.*"`+key+`y"\] labels .*"text":"`+key+`y"`, out)
	}
}

// printedUntil returns what a command prints until a line has a text. Then it ends the command.
func printedUntil(t *testing.T, p *pmcdtest.PMCD, text string, command ...string) (out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	cmd := p.Command(ctx, "stdbuf", append([]string{"-o", "L"}, command...)...)
	lines := bufio.NewScanner(must(cmd.StdoutPipe())(t))
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	for !strings.Contains(out, text) && lines.Scan() {
		out += lines.Text() + "\n"
	}
	cancel()
	_ = cmd.Wait() // it was killed
	require.Contains(t, out, text)
	return out
}

// Groups with more names than one list may have: a request for all of them fails at once, whoever asks. Values, and
// look-ups of one group, go on.
func TestListOfGroupsThatIsTooLong(t *testing.T) {
	p, change := startKeyed(t, "g = count(keyed.one) by (keyed.text)")
	keys := make([]string, 9000)
	for i := range keys {
		keys[i] = fmt.Sprintf("%05d%s", i, strings.Repeat("x", 1000))
	}
	change(keys...)
	client := dial(t, p)
	var id pdu.PMID
	var values []pdu.Value
	await.Until(t, "the groups are as they should be", func() bool {
		id = must(client.LookupNames(t.Context(), []string{"derived.g"}))(t)[0].PMID // it may not be bound yet
		values = must(client.Fetch(t.Context(), []pdu.PMID{id}))(t).Sets[0].Values
		return len(values) == len(keys)
	})
	d := must(client.Descs(t.Context(), []pdu.PMID{id}))(t)[0].Desc.InDom
	_, err := client.Instances(t.Context(), d)
	assert.ErrorIs(t, err, pdu.ErrTooBig)
	_, err = client.Labels(t.Context(), uint32(d), pdu.LabelInstances)
	assert.ErrorIs(t, err, pdu.ErrTooBig)
	assert.Equal(t, values[7].Inst, must(client.InstanceID(t.Context(), d, keys[7]))(t))
	assert.Contains(t, printed(t, p, "pmval", "-s", "1", "-i", keys[7], "derived.g"), "\n          1 \n")
}
