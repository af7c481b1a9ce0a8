package archive_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/archive"
)

// Archives in testdata were recorded by pmlogger of PCP 6.0.3 from the agents sample and linux: v2a and v2b after
// each other, v3a and v3b, too; marks2 and marks3 are what pmlogextract made of both, and volumes has five volumes.

// open opens archives of testdata, or others.
func open(tb testing.TB, paths ...string) *archive.Archive {
	tb.Helper()
	for i, path := range paths {
		if !filepath.IsAbs(path) {
			paths[i] = filepath.Join("testdata", path)
		}
	}
	a, err := archive.Open(paths...)
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, a.Close()) })
	return a
}

// metrics are the PMIDs of all metrics, each once.
func metrics(t *testing.T, a *archive.Archive) []pdu.PMID {
	names, err := a.Traverse(t.Context(), "")
	require.NoError(t, err)
	found, err := a.LookupNames(t.Context(), names)
	require.NoError(t, err)
	var ids []pdu.PMID
	seen := make(map[pdu.PMID]bool)
	for _, f := range found {
		if !seen[f.PMID] {
			seen[f.PMID] = true
			ids = append(ids, f.PMID)
		}
	}
	return ids
}

// record puts the lengths around what is in a record.
func record(words ...any) []byte {
	body := []byte{0, 0, 0, 0}
	for _, w := range words {
		switch w := w.(type) {
		case int:
			body = binary.BigEndian.AppendUint32(body, uint32(w))
		case pdu.PMID:
			body = binary.BigEndian.AppendUint32(body, uint32(w))
		case pdu.InDom:
			body = binary.BigEndian.AppendUint32(body, uint32(w))
		case string:
			body = append(body, w...)
		}
	}
	body = binary.BigEndian.AppendUint32(body, uint32(len(body)+4))
	binary.BigEndian.PutUint32(body, uint32(len(body)))
	return body
}

const start = 1_700_000_000 // of archives made by hand

// label is the label of a file of version 2.
func label(volume int) []byte {
	var host, zone [64]byte
	copy(host[:], "moon")
	copy(zone[:], "UTC")
	return record(0x50052602, 17, start, 0, volume, string(host[:]), string(zone[:40]))
}

var (
	counterID  = pdu.NewPMID(245, 0, 1)
	instantID  = pdu.NewPMID(245, 0, 2)
	discreteID = pdu.NewPMID(245, 0, 3)
	colours    = pdu.NewInDom(245, 1)
)

// at is a time of an archive made by hand.
func at(seconds float64) time.Time {
	return time.Unix(start, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// desc is a record with a descriptor.
func desc(id pdu.PMID, sem pdu.Semantics, names ...string) []byte {
	words := []any{1, id, int(pdu.TypeU32), colours, int(sem), 0, len(names)}
	for _, name := range names {
		words = append(words, len(name), name)
	}
	return record(words...)
}

// sample is a record in which all metrics have the same value for instances; none: a mark.
func sample(seconds int, value int, instances ...int) []byte {
	if len(instances) == 0 {
		return record(start+seconds, 0, 0)
	}
	words := []any{start + seconds, 0, 3}
	for _, id := range []pdu.PMID{counterID, instantID, discreteID} {
		words = append(words, id, len(instances), 0)
		for _, inst := range instances {
			words = append(words, inst, value)
		}
	}
	return record(words...)
}

// write writes an archive, without an index.
func write(tb testing.TB, meta, volume []byte) string {
	tb.Helper()
	base := filepath.Join(tb.TempDir(), "hand")
	require.NoError(tb, os.WriteFile(base+".meta", meta, 0o600))
	require.NoError(tb, os.WriteFile(base+".0", volume, 0o600))
	return base
}

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// byHand is the metadata of an archive with three metrics over two instances: red, and from 30 s on green, too.
func byHand() []byte {
	return join(label(-1),
		desc(counterID, pdu.SemCounter, "hand.counter"),
		desc(instantID, pdu.SemInstant, "hand.instant", "other.name"),
		desc(discreteID, pdu.SemDiscrete, "hand.discrete"),
		record(2, start, 0, colours, 1, 0, 0, "red\x00"),
		record(2, start+30, 0, colours, 2, 0, 1, 0, 4, "red\x00green light\x00"),
		record(4, int(pdu.TextOneLine|pdu.TextPMID), counterID, "how many\x00"),
		record(3, start, 0, int(pdu.LabelContext), -1, 1, -1, 12, `{"a":"moon"}`, 1, "\x00\x02\x01\x01\x00\x05\x00\x06"),
		record(3, start+30, 0, int(pdu.LabelInstances), colours, 2,
			0, 8, `{"b":1}`+" ", 1, "\x00\x02\x01\x20\x00\x05\x00\x01", 1, 0, 0))
}

// values fetches metrics at ascending times: "-" is no value.
func values(t *testing.T, c *archive.Context, id pdu.PMID, inst pdu.Inst, times ...float64) (have []any) {
	t.Helper()
	for _, seconds := range times {
		c.SetTime(at(seconds))
		res, err := c.Fetch(t.Context(), []pdu.PMID{id})
		require.NoError(t, err)
		require.Len(t, res.Sets, 1)
		require.Equal(t, at(seconds), res.Time)
		var one any = "-"
		for _, v := range res.Sets[0].Values {
			if v.Inst == inst {
				one = int(v.Bits)
			}
		}
		have = append(have, one)
	}
	return have
}

func TestInterpolation(t *testing.T) {
	volume := join(label(0),
		sample(10, 100, 0), sample(20, 200, 0), sample(30, 150, 0, 1), sample(40, 300, 0),
		sample(45, 0), sample(50, 400, 0, 1), sample(60, 500, 0, 1))
	a := open(t, write(t, byHand(), volume))
	times := []float64{5, 10, 15, 20, 25, 35, 40, 42, 47, 50, 55, 60}
	for _, row := range []struct {
		name string
		id   pdu.PMID
		inst pdu.Inst
		want []any
	}{
		{"a counter is linear, up and down", counterID, 0, []any{"-", 100, 150, 200, 175, 225, 300, "-", "-", 400, 450, 500}},
		{
			"an instant value is the one before, if there is one behind", instantID, 0,
			[]any{"-", 100, 100, 200, 200, 150, 300, "-", "-", 400, 400, 500},
		},
		{
			"a discrete value is the one before", discreteID, 0,
			[]any{"-", 100, 100, 200, 200, 150, 300, 300, "-", 400, 400, 500},
		},
		{
			"an instance that does not come again before the mark", counterID, 1,
			[]any{"-", "-", "-", "-", "-", "-", "-", "-", "-", 400, 450, 500},
		},
		{"a discrete one that has gone", discreteID, 1, []any{"-", "-", "-", "-", "-", 150, 150, 150, "-", 400, 400, 500}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := a.NewContext(time.Time{}, time.Time{})
			defer c.Close()
			assert.Equal(t, row.want, values(t, c, row.id, row.inst, times...))
		})
	}
	t.Run("a counter has no value once after a mark", func(t *testing.T) {
		c := a.NewContext(time.Time{}, time.Time{})
		assert.Equal(t, []any{225, "-", 470}, values(t, c, counterID, 0, 35, 55, 57))
		assert.Equal(
			t, []any{450}, values(t, a.NewContext(time.Time{}, time.Time{}), counterID, 0, 55), "there was no fetch before",
		)
		assert.Equal(t, []any{150, 400}, values(t, c, instantID, 0, 35, 55), "only counters")
	})
	t.Run("back again", func(t *testing.T) {
		c := a.NewContext(time.Time{}, time.Time{})
		assert.Equal(t, []any{150, 225, 150, 175}, values(t, c, counterID, 0, 15, 35, 15, 25))
	})
	t.Run("beyond the window", func(t *testing.T) {
		c := a.NewContext(at(15), at(25))
		c.SetTime(at(26))
		_, err := c.Fetch(t.Context(), []pdu.PMID{counterID})
		require.ErrorIs(t, err, pdu.ErrEOL)
		c.SetTime(at(25))
		res, err := c.Fetch(t.Context(), []pdu.PMID{counterID, 12})
		require.NoError(t, err)
		assert.Equal(t, []pdu.Value{pdu.Uint32Value(0, 175)}, res.Sets[0].Values)
		assert.Equal(t, pdu.ErrPMIDLog, res.Sets[1].Code)
	})
}

// Of a discrete metric that has had more than 15 instances, those that are in no later record of their domain have no
// value, also after a mark.
func TestDiscreteInstancesThatHaveGone(t *testing.T) {
	inDom := func(seconds, n int) []byte { // a record with the instances 0 to n-1
		words, offsets, names := []any{2, start + seconds, 0, colours, n}, []any{}, ""
		for i := range n {
			words, offsets = append(words, i), append(offsets, len(names))
			names += strconv.Itoa(i) + "\x00"
		}
		return record(append(append(words, offsets...), names)...)
	}
	for _, row := range []struct {
		instances int
		last      []any // values of the last instance, which goes after 20 s
	}{
		{15, []any{100, 100, 100, "-", 400}},
		{16, []any{100, "-", "-", "-", "-"}},
	} {
		var all []int
		for i := range row.instances {
			all = append(all, i)
		}
		last := row.instances - 1
		a := open(t, write(t,
			join(label(-1), desc(discreteID, pdu.SemDiscrete, "hand.discrete"), inDom(0, row.instances), inDom(20, last)),
			join(label(0), sample(10, 100, all...), sample(30, 200, all[:last]...), sample(40, 0), sample(50, 400, last),
				sample(60, 500, 0))))
		c := a.NewContext(time.Time{}, time.Time{})
		assert.Equal(t, row.last, values(t, c, discreteID, pdu.Inst(last), 15, 25, 35, 45, 55), row.instances)
		c.Close()
	}
}

func TestMetadata(t *testing.T) {
	a := open(t, write(t, byHand(), join(label(0), sample(10, 1, 0))))
	ctx := t.Context()
	assert.Empty(t, a.Damage())
	assert.Equal(t, []time.Time{at(0), at(10)}, []time.Time{a.Start(), a.End()})
	l := a.LogLabels()[0]
	assert.Equal(t, archive.LogLabel{Path: l.Path, Version: 2, PID: 17, Start: at(0), Host: "moon", TimeZone: "UTC"}, l)

	found, err := a.LookupNames(ctx, []string{"other.name", "hand", "hand.x"})
	require.NoError(t, err)
	assert.Equal(
		t,
		[]pmapi.NameResult{{PMID: instantID}, {PMID: pdu.NoPMID, Code: pdu.ErrNonLeaf}, {PMID: pdu.NoPMID, Code: pdu.ErrName}},
		found,
	)
	names, err := a.NameAll(ctx, instantID)
	require.NoError(t, err)
	assert.Equal(t, []string{"hand.instant", "other.name"}, names)
	names, err = a.Traverse(ctx, "hand")
	require.NoError(t, err)
	assert.Equal(t, []string{"hand.counter", "hand.discrete", "hand.instant"}, names)
	children, err := a.Children(ctx, "")
	require.NoError(t, err)
	assert.Equal(t, []pmapi.Child{{Name: "hand"}, {Name: "other"}}, children)
	_, err = a.Children(ctx, "nowhere")
	require.ErrorIs(t, err, pdu.ErrName)
	d, err := a.Desc(ctx, counterID)
	require.NoError(t, err)
	assert.Equal(t, pdu.Desc{PMID: counterID, Type: pdu.TypeU32, InDom: colours, Sem: pdu.SemCounter}, d)
	text, err := a.Text(ctx, uint32(counterID), pdu.TextOneLine|pdu.TextPMID)
	require.NoError(t, err)
	assert.Equal(t, "how many", text)
	_, err = a.Text(ctx, uint32(counterID), pdu.TextHelp|pdu.TextPMID)
	require.ErrorIs(t, err, pdu.ErrText)

	c := a.NewContext(time.Time{}, at(100))
	red, green := pdu.Instance{ID: 0, Name: "red"}, pdu.Instance{ID: 1, Name: "green light"}
	for seconds, want := range map[float64][]pdu.Instance{0: {red}, 29: {red}, 30: {red, green}} {
		c.SetTime(at(seconds))
		have, err := c.Instances(ctx, colours)
		require.NoError(t, err)
		assert.Equal(t, want, have, "at %v s", seconds)
	}
	c.SetTime(at(0))
	id, err := c.InstanceID(ctx, colours, "green")
	require.NoError(t, err)
	assert.EqualValues(t, 1, id, "at any time, by the part in front of the space")
	name, err := c.InstanceName(ctx, colours, 1)
	require.NoError(t, err)
	assert.Equal(t, "green light", name)
	_, err = c.InstanceName(ctx, colours, 7)
	require.ErrorIs(t, err, pdu.ErrInst)
	sets, err := c.Labels(ctx, pmapi.ContextIdent, pdu.LabelContext)
	require.NoError(t, err)
	require.Len(t, sets, 1)
	assert.Equal(t, []string{"a", `"moon"`}, []string{sets[0].Name(sets[0].Labels[0]), sets[0].Value(sets[0].Labels[0])})
	sets, err = c.Labels(ctx, uint32(colours), pdu.LabelInstances)
	require.NoError(t, err)
	assert.Len(t, sets, 2)
	host, err := c.HostName(ctx)
	require.NoError(t, err)
	assert.Equal(t, "moon", host)
}

// A record of metadata for which libpcp would refuse the archive, or which it would not take as valid, is told and left
// out; of instances only those that are wrong.
func TestWrongMetadata(t *testing.T) {
	const pmid, good, tooMany, one = pdu.PMID(245<<22 | 9), "hand.good", 255, "\x00\x02\x01\x20\x00\x05\x00\x01"
	wrongDesc := func(typ pdu.Type, sem pdu.Semantics, names, length int) []byte {
		return record(1, pmid, int(typ), colours, int(sem), 0, names, length, good)
	}
	indom := func(second, offset int) []byte {
		return record(2, start+40, 0, colours, 2, 7, second, 0, offset, "blue\x00grey\x00\x00\x00")
	}
	labels := func(sets, length, n int) []byte {
		return record(3, start+40, 0, int(pdu.LabelInstances), colours, sets, 0, length, `{"b":2}`+" ", n, one)
	}
	for _, row := range []struct {
		name, want string
		record     []byte
	}{
		{"semantics 0", "0 is not a valid semantics of metric 245.0.9", wrongDesc(pdu.TypeU32, 0, 1, len(good))},
		{"semantics 2", "2 is not a valid semantics of metric 245.0.9", wrongDesc(pdu.TypeU32, 2, 1, len(good))},
		{"type 99", "99 is not a valid type of metric 245.0.9", wrongDesc(99, pdu.SemInstant, 1, len(good))},
		{"a name beyond the record", "too short", wrongDesc(pdu.TypeU32, pdu.SemInstant, 1, 8192)},
		{"a name of negative length", "too short", wrongDesc(pdu.TypeU32, pdu.SemInstant, 1, -1)},
		{"a negative number of names", "too short", wrongDesc(pdu.TypeU32, pdu.SemInstant, -1, len(good))},
		{"instance -5", "-5 is not a valid number of an instance of domain 245.1", indom(-5, 5)},
		{"instance -1", "-1 is not a valid number of an instance of domain 245.1", indom(-1, 5)},
		{"a negative offset of a name", "too short", indom(8, -5)},
		{"an offset of a name beyond the record", "too short", indom(8, 8192)},
		{"a negative number of label sets", "too short", labels(-1, 8, 1)},
		{"many label sets", "too short", labels(1<<30, 8, 1)},
		{"labels of negative length", "too short", labels(1, -8, 1)},
		{"labels beyond the record", "too short", labels(1, 8192, 1)},
		{"more labels than there are", "too short", labels(1, 8, 2)},
		{
			"more labels than a set can have", "a label set has more than 254 labels or 65534 bytes",
			record(3, start+40, 0, int(pdu.LabelInstances), colours, 1, 0, 8, `{"b":2}`+" ", tooMany, strings.Repeat(one, tooMany)),
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			meta := join(byHand(), row.record, desc(pmid+1, pdu.SemInstant, "hand.last"))
			base := write(t, meta, join(label(0), sample(50, 1, 0)))
			a := open(t, base)
			require.Len(t, a.Damage(), 1)
			var damage *archive.DamageError
			require.ErrorAs(t, a.Damage()[0], &damage)
			assert.Equal(t, []any{base + ".meta", int64(len(byHand()))}, []any{damage.File, damage.Offset})
			assert.Contains(t, damage.Reason, row.want)
			names, err := a.Traverse(t.Context(), "hand")
			require.NoError(t, err)
			assert.Equal(t, []string{"hand.counter", "hand.discrete", "hand.instant", "hand.last"}, names)
			c := a.NewContext(time.Time{}, time.Time{})
			c.SetTime(at(50))
			have, err := c.Instances(t.Context(), colours)
			require.NoError(t, err)
			want := []pdu.Instance{{ID: 0, Name: "red"}, {ID: 1, Name: "green light"}}
			if strings.HasPrefix(row.name, "instance") {
				want = []pdu.Instance{{ID: 7, Name: "blue"}}
			}
			assert.Equal(t, want, have)
			sets, err := c.Labels(t.Context(), uint32(colours), pdu.LabelInstances)
			require.NoError(t, err)
			assert.Equal(t, `{"b":1} `, sets[0].JSON)
		})
	}
}

// Records come as they are, of what is asked for, and from a time on.
func TestNext(t *testing.T) {
	a := open(t, write(t, byHand(), join(label(0), sample(10, 1, 0), sample(20, 0), sample(30, 2, 0, 1))))
	c := a.NewContext(time.Time{}, time.Time{})
	next := func(ids ...pdu.PMID) (time.Time, int, bool) {
		t.Helper()
		r, err := c.Next(t.Context(), ids...)
		require.NoError(t, err)
		return r.Time, len(r.Sets), r.Mark
	}
	when, n, mark := next()
	assert.Equal(t, []any{at(10), 3, false}, []any{when, n, mark})
	when, n, mark = next(counterID)
	assert.Equal(t, []any{at(20), 0, true}, []any{when, n, mark})
	r, err := c.Next(t.Context(), counterID)
	require.NoError(t, err)
	assert.Equal(t, []pdu.Inst{0, 1}, r.Sets[0].Insts)
	assert.Equal(t, []uint64{2, 2}, r.Sets[0].Bits)
	_, err = c.Next(t.Context())
	require.ErrorIs(t, err, io.EOF)
	c.Rewind(at(15))
	when, _, _ = next()
	assert.Equal(t, at(20), when)
	_, err = c.Next(t.Context(), pdu.NewPMID(1, 1, 1))
	require.ErrorIs(t, err, io.EOF)
}

// The whole records of a truncated volume are read, and its end is reported.
func TestTruncated(t *testing.T) {
	volume := join(label(0), sample(10, 1, 0), sample(20, 2, 0), sample(30, 3, 0))
	a := open(t, write(t, byHand(), volume[:len(volume)-5]))
	assert.Equal(t, at(20), a.End())
	c := a.NewContext(time.Time{}, time.Time{})
	for range 2 {
		_, err := c.Next(t.Context())
		require.NoError(t, err)
	}
	_, err := c.Next(t.Context())
	var damage *archive.DamageError
	require.ErrorAs(t, err, &damage)
	require.ErrorIs(t, err, pdu.ErrLogRec)
	assert.Contains(t, err.Error(), "the record is truncated")
	_, err = c.Next(t.Context())
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, []any{1, 1, 2}, values(t, a.NewContext(time.Time{}, time.Time{}), instantID, 0, 10, 15, 20))
}

func TestOpenErrors(t *testing.T) {
	base := write(t, byHand(), join(label(0), sample(10, 1, 0)))
	empty := t.TempDir()
	noMeta := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(noMeta+".0", label(0), 0o600))
	text := write(t, []byte("this is a text, nothing else"), label(0))
	old := write(t, record(0x50052601, 17, start, 0, -1), label(0))
	for _, row := range []struct {
		name, path, want string
		code             pdu.Code
	}{
		{"nothing there", base + "x", "does not exist", pdu.ErrLogFile},
		{"a folder without archives", empty, "contains no archive", pdu.ErrLogFile},
		{"no metadata", noMeta, "has no metadata file", pdu.ErrLogFile},
		{"not an archive", text, "the file has no label", pdu.ErrLabel},
		{"version 1", old, "version 1 of the format is not supported", pdu.ErrLabel},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := archive.Open(row.path)
			require.ErrorContains(t, err, row.want)
			assert.Equal(t, row.code, pdu.CodeOf(err))
		})
	}
	other := write(t, byHand(), join(label(0), sample(20, 1, 0)))
	_, err := archive.Open(base + "," + other)
	require.ErrorIs(t, err, pdu.ErrLogOverlap)
	assert.True(t, errors.Is(err, pdu.ErrLogOverlap))
	sun := bytes.ReplaceAll(join(label(0), sample(20, 1, 0)), []byte("moon"), []byte("sun\x00"))
	other = write(t, bytes.ReplaceAll(byHand(), []byte("moon"), []byte("sun\x00")), sun)
	_, err = archive.Open(base + "," + other)
	require.ErrorIs(t, err, pdu.ErrLogHost)
}
