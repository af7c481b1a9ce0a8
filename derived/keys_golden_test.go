package derived

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

var updateOneKey = flag.Bool("update-one-key", false, "write testdata/keys/one-key.txt, which is that of build 8b7eb1ae")

// Groups of one key have the names, numbers and domains that build 8b7eb1ae gave them: archives and state files have
// these.
func TestGroupsOfOneKeyStay(t *testing.T) {
	names := map[pdu.Inst]string{
		1: "sda", 2: "sdb 100% full", 3: "dm-0:1", 4: "a\x01b", 5: "ü", 6: strings.Repeat("long:%", 300), 7: "", 8: "x y",
	}
	labels := map[pdu.Inst]string{1: "/pay", 2: "/p%61y:8080", 3: "hard disk", 4: "", 5: "%25", 6: strings.Repeat("ö", 600)}
	ids := []pdu.Inst{5, 1, 2, 3, 4, 6, 7, 8, 9}
	m := &moment{values: map[pdu.PMID]*Vector{}, names: map[pdu.InDom]*NameTable{
		derivedtest.BinInDom: NewNameTable(names, nil).WithLabels(map[string]map[pdu.Inst]string{"kind": labels, "a.b": labels}),
	}}
	insts := NewInstSet(ids)
	for i, name := range []string{"x", "y", "some.texts", "whole"} {
		desc := groupCatalog()[name]
		v := &Vector{Type: desc.Type, Insts: insts}
		for k := range ids {
			text := []string{"root", "www data", "a:b", "%", "", "\xff", "x\ty", "costarring", "liquid"}[k]
			if v.Bits = append(v.Bits, uint64(int64(k*i-3))); desc.Type == pdu.TypeString {
				v.Bits, v.Blobs = nil, append(v.Blobs, []byte(text))
			}
		}
		m.values[desc.PMID] = v
	}
	var defs []*Definition
	for i, key := range []string{
		"/^([a-z]+)/", "/.*/", "whole=/.*/", "label(kind)", "label(a.b)", "some.texts", "user=some.texts", "whole", "n=whole",
	} {
		defs = append(defs, definition(t, fmt.Sprint("m", i), "count(x) by ("+key+")"))
		defs = append(defs, definition(t, fmt.Sprint("again", i), "sum(count(x) by ("+key+")) by (again=/^(..?)/)"))
	}
	set := Language{}.NewSet(defs, groupCatalog(), "derived")
	eval, groups := set.NewEvaluation(), NewGroups()
	eval.SetGroups(groups)
	eval.Reset(m)
	var got strings.Builder
	for _, one := range set.Metrics() {
		require.Nil(t, one.Err)
		v := eval.Value(one)
		d := one.Desc.InDom
		fmt.Fprintf(&got, "%s %v %q\n", one.Definition.Text, d, set.GroupDomains()[d].Label)
		for i, bits := range v.Bits {
			in, _ := groups.Find(d, v.At(i), "")
			fmt.Fprintf(&got, "\t%d %q %d\n", in.ID, in.Name, bits)
		}
	}
	const golden = "testdata/keys/one-key.txt"
	if *updateOneKey {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// The trees of definitions stay as they were parsed, also where a histogram's keys are kept with a function over time:
// other sets are made from them.
func TestSetsKeepTrees(t *testing.T) {
	text := `nth_percentile_bucket(sum(sum_sample(x, "1min", "10s")) by (label(le), label(kind)), 95) by (label(kind))`
	for _, text := range []string{text, `nth_percentile_bucket(sum_sample(x, "1min", "10s"), 95) by (label(kind))`} {
		d := definition(t, "m", text)
		for range 2 {
			set := Language{}.NewSet([]*Definition{d}, groupCatalog(), "derived")
			require.Nil(t, set.Metrics()[0].Err)
			require.Equal(t, text, d.Expr.String())
		}
	}
}
