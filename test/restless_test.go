//go:build pcp

package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/test/pmcdtest"
)

// restlessVariable makes this program an agent whose metadata changes without a word, as the file orders.
const restlessVariable = "PMDADERIVED_TEST_RESTLESS"

// restless has a metric with one instance. It has no name space of its own, so no change of names is announced.
type restless struct{ orders string }

// ordered reports whether the file has a word.
func (r *restless) ordered(word string) bool {
	text, _ := os.ReadFile(r.orders)
	return strings.Contains(string(text), word)
}

func (r *restless) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	d := pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NewInDom(400, 0), Sem: pdu.SemInstant}
	if r.ordered("type") {
		d.Type = pdu.TypeString
	}
	if r.ordered("units") {
		d.Units = pdu.Units{Space: 1}
	}
	return d, nil
}

func (r *restless) Instances(pmda.Client, pdu.InDom) ([]pdu.Instance, error) {
	if r.ordered("name") {
		return []pdu.Instance{{ID: 7, Name: "new"}}, nil
	}
	return []pdu.Instance{{ID: 7, Name: "old"}}, nil
}

// Labels implements pmda.Labeler.
func (r *restless) Labels(_ pmda.Client, _ uint32, t pdu.LabelType, _ *pdu.Profile) ([]pdu.LabelSet, error) {
	if t != pdu.LabelInstances {
		return nil, nil
	}
	kind := "a"
	if r.ordered("label") {
		kind = "b"
	}
	set, err := pdu.NewLabelSet(7, pdu.LabelInstances, map[string]any{"kind": kind})
	return []pdu.LabelSet{set}, err
}

func (r *restless) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	for _, id := range req.PMIDs {
		w.Numbers(id, pdu.TypeU64, []pdu.Inst{7}, []uint64{20})
	}
	return nil
}

// startRestless runs a private pmcd with the daemon and restless, which has orders. shows polls until pminfo's output has
// a text.
func startRestless(t *testing.T, definitions, words string) (order func(words string), shows func(metric, want string)) {
	t.Helper()
	work := worldReadableDir(t)
	conf, orders := writeFile(t, work, "derived.conf", definitions), filepath.Join(work, "orders")
	writeFile(t, work, "orders", words)
	p := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{
			derivedAgent(t, "-c", conf),
			{
				Name: "restless", Domain: 400, Command: []string{copySelf(t, work, "restless-agent")},
				PMNS: "restless {\n\tvalue 400:0:0\n}\n",
			},
		},
		Env: []string{restlessVariable + "=" + orders},
	})
	order = func(words string) {
		t.Helper()
		require.NoError(t, os.Rename(writeFile(t, work, "next", words), orders))
	}
	return order, func(metric, want string) {
		t.Helper()
		var got string
		await.Until(t, metric+" is "+want, func() bool {
			got, _, _ = p.Run(t, "pminfo", "-fd", metric)
			return strings.Contains(got, want)
		})
	}
}

// An instance that keeps its number and gets another name or label has them in definitions, too.
func TestRestlessInstances(t *testing.T) {
	order, shows := startRestless(t, `group = sum(restless.value) by (/.*/)
label = sum(restless.value) by (label(kind))
match = matchinst(/new/, restless.value)
select = restless.value[new]
`, "")
	shows("derived.group", `"old"] value 20`)
	shows("derived.label", `"a"] value 20`)
	order("name label")
	shows("derived.group", `"new"] value 20`)
	shows("derived.match", `"new"] value 20`)
	shows("derived.select", `"new"] value 20`)
	shows("derived.label", `"b"] value 20`)
}

// A descriptor that was told wrong once is right a moment later, and one that changes without a word is known: also of a
// definition that could not be computed with it.
func TestRestlessDescriptors(t *testing.T) {
	order, shows := startRestless(t, "plain = restless.value\ntwice = 2 * restless.value\n", "type")
	shows("derived.plain", "Type: string")
	order("")
	shows("derived.plain", `"old"] value 20`)
	shows("derived.twice", `"old"] value 40`)
	order("units")
	shows("derived.plain", "Units: byte")
	shows("derived.twice", "Units: byte")
	order("type")
	shows("derived.plain", "Type: string")
	order("")
	shows("derived.plain", `"old"] value 20`)
}
