package check

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// Results of PCP 7.2.2 for instance domain configuration files: sample.bin (29.2) and sampledso.bin (30.2),
// sample.colour (29.1) and sampledso.colour (30.1) were added beside each. An error made it forget the whole file.
func TestInDomMaps(t *testing.T) {
	bin, bin2 := pdu.NewInDom(29, 2), pdu.NewInDom(30, 2)
	colour, colour2 := pdu.NewInDom(29, 1), pdu.NewInDom(30, 1)
	for _, tt := range []struct {
		text   string
		same   bool   // bin and bin2
		across bool   // bin and colour2
		within bool   // bin and colour
		err    string // "" none
	}{
		{text: "29.2 30.2\n", same: true},
		{text: "30.2 29.2\n", same: true},
		{text: " 29.2   30.2\n", same: true},
		{text: "29.2\t30.2\n", same: true},
		{text: "029.2 30.02\n", same: true},
		{text: "# comment\n\n  # another\n29.2 30.2\n\n   \n", same: true},
		{text: "29.2 30.2 60.0\n", same: true},
		{text: "29.2 31.2\n29.2 30.1\n29.2 30.2\n", same: true, across: true},
		{text: "29.* 30.*\n", same: true, across: true, within: true},
		{text: "29.2 30.*\n", same: true, across: true},
		{text: "29.*\n", within: true},
		{text: "29.* 60.0\n", within: true},
		{text: "29.2\n"},
		{text: "60.0 30.2\n60.0 29.2\n"}, // not by way of a third
		{text: ""},
		{text: "29.2 30.2 \n", same: true}, // PCP forgets a last line that ends so
		{text: "29.2 30.2", same: true},
		{text: "29.2 30.2\n29.2 512.3\n", err: `line 2: instance domain "512.3": 512 is larger than 511`},
		{text: "29.2 30.4194304\n", err: `line 1: instance domain "30.4194304": 4194304 is larger than 4194303`},
		{text: "29.2,30.2\n", err: `line 1: instance domain "29.2,30.2": invalid syntax`},
		{text: "29.2 30.2 foo\n", err: `line 1: instance domain "foo": want domain.serial`},
		{text: "*.2 30.2\n", err: `line 1: instance domain "*.2": invalid syntax`},
		{text: "29. 30.2\n", err: `line 1: instance domain "29.": invalid syntax`},
		{text: "29.*x 30.2\n", err: `line 1: instance domain "29.*x": invalid syntax`},
	} {
		m, err := ParseInDomMaps(tt.text)
		if tt.err != "" {
			assert.EqualError(t, err, tt.err, tt.text)
		} else {
			require.NoError(t, err, tt.text)
		}
		assert.Equal(t, tt.same, m.Equivalent(bin, bin2), tt.text)
		assert.Equal(t, tt.same, m.Equivalent(bin2, bin), tt.text)
		assert.Equal(t, tt.across, m.Equivalent(bin, colour2), tt.text)
		assert.Equal(t, tt.within, m.Equivalent(bin, colour), tt.text)
		assert.True(t, m.Equivalent(bin, bin), tt.text)
	}
}

// languageCatalog has sets of two agents with equivalent instance domains, and one of another.
var languageCatalog = CatalogMap{
	"one":    {PMID: 1, Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
	"float":  {PMID: 2, Type: pdu.TypeFloat, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
	"rate":   {PMID: 3, Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemInstant, Units: pdu.Units{Space: 1}},
	"text":   {PMID: 4, Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
	"bin":    {PMID: 5, Type: pdu.Type32, InDom: pdu.NewInDom(29, 2), Sem: pdu.SemInstant},
	"dso":    {PMID: 6, Type: pdu.Type32, InDom: pdu.NewInDom(30, 2), Sem: pdu.SemInstant},
	"colour": {PMID: 7, Type: pdu.Type32, InDom: pdu.NewInDom(29, 1), Sem: pdu.SemInstant},
}

// bound returns the descriptor of a definition over languageCatalog, or the reason why it cannot be used.
func bound(t *testing.T, l Language, text string) string {
	t.Helper()
	def, err := Parse("x", text)
	require.NoError(t, err, text)
	m := NewSet(l, []*Definition{def}, languageCatalog, "").Metrics()[0]
	if m.Err != nil {
		return m.Err.What + ": " + m.Err.Rule.String()
	}
	return written(m.Desc)
}

// As PCP 7.2.2 with PCP_INDOM_CONFIG: domains that are equivalent meet in operators, the result has that of the left
// operand, and the operands of a ternary must have the very same.
func TestEquivalentInDoms(t *testing.T) {
	maps, err := ParseInDomMaps("29.2 30.2\n")
	require.NoError(t, err)
	configured := Language{InDoms: maps}
	for _, tt := range []struct{ text, want, without string }{
		{"bin + dso", "32 instant none 29.2", "bin + dso: Operands should have the same instance domain"},
		{"dso + bin", "32 instant none 30.2", "dso + bin: Operands should have the same instance domain"},
		{"bin == dso", "U32 instant none 29.2", "bin == dso: Operands should have the same instance domain"},
		{"bin && dso", "U32 instant none 29.2", "bin && dso: Operands should have the same instance domain"},
		{"bin + mkconst(1, indom=30.2)", "U32 instant none 29.2", "bin + 1: Operands should have the same instance domain"},
		{"dso > 3 ? bin : bin", "32 instant none 29.2", "<expr> ? bin : bin: Operands should have the same instance domain"},
		{"one ? bin : dso", "bin : dso: Different instance domains for ternary operands", "bin : dso: Different instance domains for ternary operands"},
		{"bin + colour", "bin + colour: Operands should have the same instance domain", "bin + colour: Operands should have the same instance domain"},
	} {
		assert.Equal(t, tt.want, bound(t, configured, tt.text), tt.text)
		assert.Equal(t, tt.without, bound(t, Language{}, tt.text), tt.text)
	}
}

// As PCP 7.2.2 with "#control option_novalue=1".
func TestOptionNoValue(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"no.such", "32 discrete none"},
		{"no.such + 1", "U32 discrete none"},
		{"bin + no.such", "32 instant none 29.2"},
		{"no.such + bin", "32 instant none 29.2"},
		{"count(no.such)", "U32 instant count"},
		{"avg(no.such)", "FLOAT instant none"},
		{"rate(no.such)", "DOUBLE instant / sec"},
		{"defined(no.such) ? 1 : 2", "U32 discrete none"},
		{"one ? one : no.such", "32 instant none"},
		{"one ? no.such : bin", "32 instant none 29.2"},
		{"one > 5 ? no.such : float", "FLOAT instant none"},
		{"no.such ? one : bin", "32 instant none 29.2"},
		{"0 ? float : no.such", "32 discrete none"},
		{"scalar(no.such)", "32 discrete none"},
		{"sum(bin) by (no.such)", "32 instant none 510.64"},
		{"sum(bin) by (no.such -> other)", "32 instant none 510.64"},
		{"sum(bin) by (/x/ -> no.such by (bin))", "32 instant none 510.64"},
		{"count(bin) by (no.such -> other by (no.such2))", "U32 instant count 510.64"},
		{"matchinst(!/x/, bin, no.such)", "32 instant none 29.2"},
		{"sum(bin) by (one)", "operand one: Key and operand should have the same instance domain"},
		{"-no.such", "32 instant none"},
		{"mkconst(1, meta=no.such, type=float)", "FLOAT discrete none"},
		{"rate + no.such", "rate + no.such: Dimensions are not the same"},
		{"no.such + text", "no.such + text: Non-arithmetic type for right operand"},
	} {
		assert.Equal(t, tt.want, bound(t, Language{NoValue: true}, tt.text), tt.text)
	}
	assert.Equal(t, "operand no.such: Unknown operand metric", bound(t, Language{}, "no.such + 1"))
}

func TestCatalogMap(t *testing.T) {
	c := CatalogMap{"a": {PMID: 1}}
	d, err := c.Desc("a")
	require.NoError(t, err)
	assert.Equal(t, pdu.PMID(1), d.PMID)
	_, err = c.Desc("b")
	require.ErrorIs(t, err, pdu.ErrName)
}
