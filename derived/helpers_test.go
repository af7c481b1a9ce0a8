package derived

import (
	"encoding/hex"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

var update = flag.Bool("update", false, "write the golden files again")

// moment is a Sample made by hand.
type moment struct {
	at      time.Time
	values  map[pdu.PMID]*Vector
	names   map[pdu.InDom]*NameTable
	members map[pdu.InDom]*InstSet
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

// scanNumber reads what formatNumber writes, as bits.
func scanNumber(tb testing.TB, t pdu.Type, text string) uint64 {
	tb.Helper()
	switch t {
	case pdu.Type32:
		n, err := strconv.ParseInt(text, 10, 32)
		require.NoError(tb, err)
		return uint64(uint32(n))
	case pdu.TypeU32:
		n, err := strconv.ParseUint(text, 10, 32)
		require.NoError(tb, err)
		return n
	case pdu.Type64:
		n, err := strconv.ParseInt(text, 10, 64)
		require.NoError(tb, err)
		return uint64(n)
	case pdu.TypeU64:
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(tb, err)
		return n
	case pdu.TypeFloat:
		f, err := strconv.ParseFloat(text, 32)
		require.NoError(tb, err)
		return fromFloat(float32(f))
	}
	f, err := strconv.ParseFloat(text, 64)
	require.NoError(tb, err)
	return math.Float64bits(f)
}

// addValue appends a value in written form to a vector; "hex:" stands for bytes.
func addValue(tb testing.TB, v *Vector, text string) {
	tb.Helper()
	if v.Type.Numeric() {
		v.Bits = append(v.Bits, scanNumber(tb, v.Type, text))
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

// golden compares text with a file, or writes the file.
func golden(t *testing.T, file, text string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}
