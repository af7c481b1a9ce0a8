package derived

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// moment is a Sample made by hand.
type moment struct {
	at      time.Time
	values  map[pdu.PMID]*Vector
	names   map[pdu.InDom]*NameTable
	members map[pdu.InDom]*InstSet

	tables map[pdu.InDom]table // the content of names
}

// table has the content of a NameTable.
type table struct {
	names     map[pdu.Inst]string
	selectors map[string]pdu.Inst
	labels    map[string]map[pdu.Inst]string
	refused   error // what is not in the table is unknown because of it; nil: it does not exist
}

func (m *moment) Time() time.Time              { return m.at }
func (m *moment) Names(d pdu.InDom) *NameTable { return m.names[d] }
func (m *moment) Members(d pdu.InDom) *InstSet { return m.members[d] }
func (m *moment) Values(id pdu.PMID, _ *int32) *Vector {
	if v := m.values[id]; v != nil {
		return v
	}
	return &Vector{Code: pdu.ErrAgain}
}

// definition parses a text that is known to be good.
func definition(tb testing.TB, name, text string) *Definition {
	tb.Helper()
	d, err := Parse(name, text)
	require.NoError(tb, err, "%s = %s", name, text)
	return d
}

// only binds a single definition.
func only(tb testing.TB, text string, cat Catalog) (*Set, *Metric) {
	tb.Helper()
	set := Language{}.NewSet([]*Definition{definition(tb, "it", text)}, cat, "derived")
	return set, set.Metrics()[0]
}

// addValue appends a value in written form to a vector; "hex:" stands for bytes.
func addValue(tb testing.TB, v *Vector, text string) {
	tb.Helper()
	if v.Type.Numeric() {
		v.Bits = append(v.Bits, derivedtest.ScanNumber(tb, v.Type, text))
		return
	}
	blob := []byte(text)
	if digits, ok := strings.CutPrefix(text, "hex:"); ok {
		var err error
		blob, err = hex.DecodeString(digits)
		require.NoError(tb, err)
	}
	v.Blobs = append(v.Blobs, blob)
}

// valueAt writes value i of a vector.
func valueAt(v *Vector, i int) string {
	switch {
	case v.Type.Numeric():
		return strings.Replace(strings.ToLower(FormatNumber(v.Type, v.Bits[i])), "+inf", "inf", 1)
	case v.Type == pdu.TypeString:
		return string(v.Blobs[i])
	}
	return "hex:" + hex.EncodeToString(v.Blobs[i])
}
