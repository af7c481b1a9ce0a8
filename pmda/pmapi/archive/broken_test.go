package archive_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
)

// read reads everything of an archive: metadata, all records, and values at some times. It returns the number of
// records, and whether their end was told to be too soon.
func read(tb testing.TB, a *archive.Archive) (records int, damaged bool) {
	tb.Helper()
	ctx := tb.Context()
	c := a.NewContext(time.Time{}, time.Time{})
	defer c.Close()
	names, err := a.Traverse(ctx, "")
	require.NoError(tb, err)
	found, err := a.LookupNames(ctx, names)
	require.NoError(tb, err)
	var ids []pdu.PMID
	for _, f := range found {
		ids = append(ids, f.PMID)
		d, err := a.Desc(ctx, f.PMID)
		require.NoError(tb, err)
		_, _ = c.Instances(ctx, d.InDom)
		_, _ = c.Labels(ctx, uint32(d.InDom), pdu.LabelInstances)
		_, _ = a.Text(ctx, uint32(f.PMID), pdu.TextHelp|pdu.TextPMID)
	}
	for {
		_, err := c.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		var damage *archive.DamageError
		if errors.As(err, &damage) {
			damaged = true
			continue
		}
		require.NoError(tb, err)
		records++
	}
	start, end := c.Window()
	for i := range 4 {
		c.SetTime(start.Add(end.Sub(start) / 4 * time.Duration(i)))
		if _, err := c.Fetch(ctx, ids); err != nil {
			require.ErrorIs(tb, err, pdu.ErrEOL)
		}
	}
	return records, damaged
}

// copied copies an archive of testdata to a folder of its own.
func copied(tb testing.TB, name string) (base string, files []string) {
	tb.Helper()
	matches, err := filepath.Glob(filepath.Join("testdata", name+".*"))
	require.NoError(tb, err)
	require.NotEmpty(tb, matches)
	folder := tb.TempDir()
	for _, from := range matches {
		data, err := os.ReadFile(from)
		require.NoError(tb, err)
		to := filepath.Join(folder, filepath.Base(from))
		require.NoError(tb, os.WriteFile(to, data, 0o600))
		files = append(files, to)
	}
	return filepath.Join(folder, name), files
}

// Whatever becomes of a file, there is an error or what is whole; and memory is bounded by what there is.
func TestBroken(t *testing.T) {
	const rounds = 1000
	for _, row := range []struct {
		name string
		harm func(r *rand.Rand, data []byte) []byte
	}{
		{"cut off", func(r *rand.Rand, data []byte) []byte { return data[:r.IntN(len(data))] }},
		{"a byte is another", func(r *rand.Rand, data []byte) []byte {
			data[r.IntN(len(data))] ^= byte(1 + r.IntN(255))
			return data
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			for _, name := range []string{"v2a", "v3a"} {
				base, files := copied(t, name)
				whole, damaged := read(t, open(t, base))
				require.False(t, damaged)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for range rounds / 2 {
					path := files[random.IntN(len(files))]
					data, err := os.ReadFile(path)
					require.NoError(t, err)
					require.NoError(t, os.WriteFile(path, row.harm(random, append([]byte(nil), data...)), 0o600))
					if a, err := archive.Open(base); err == nil {
						n, _ := read(t, a)
						assert.LessOrEqual(t, n, whole)
						require.NoError(t, a.Close())
					}
					require.NoError(t, os.WriteFile(path, data, 0o600))
				}
				runtime.ReadMemStats(&after)
				assert.Less(t, (after.TotalAlloc-before.TotalAlloc)/(rounds/2), uint64(20<<20), "bytes for each")
			}
		})
	}
}

// frame is a record of a volume: its place, and its time.
type frame struct {
	off, end int
	time     int // offset of the seconds, whose low word comes first in version 3
}

// framesOf finds the records of a volume, without the label.
func framesOf(data []byte) (all []frame) {
	for off := 0; off+4 <= len(data); {
		end := off + int(binary.BigEndian.Uint32(data[off:]))
		if end < off+8 || end > len(data) {
			return all // damaged
		}
		if off > 0 {
			all = append(all, frame{off, end, off + 4})
		}
		off = end
	}
	return all
}

// list reads all records of an archive. It returns their times and the texts of faults, which name the file and a byte.
func list(t *testing.T, a *archive.Archive) (times []time.Time, faults []string) {
	t.Helper()
	c := a.NewContext(time.Time{}, time.Time{})
	defer c.Close()
	for {
		r, err := c.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return times, faults
		}
		if err != nil {
			var damage *archive.DamageError
			require.ErrorAs(t, err, &damage)
			faults = append(faults, damage.Error())
			continue
		}
		times = append(times, r.Time)
	}
}

// A volume that ends anywhere in its last two records has all records before that, and the cut is told. A cut between two
// records is told if the index has a record behind it.
func TestTorn(t *testing.T) {
	for _, name := range []string{"v2a", "v3a", "volumes"} {
		base, _ := copied(t, name)
		require.True(t, torn(t, base, 1))
		require.NoError(t, os.Remove(base+".index"))
		require.True(t, torn(t, base, 1))
	}
}

// torn cuts the last volume of an archive at every step'th byte of its last two records, and requires what can be read
// then. It returns false for an archive that it cannot judge.
func torn(t *testing.T, base string, step int) bool {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil || len(a.LogLabels()) > 1 || len(a.Damage()) > 0 {
		return false
	}
	all, faults := list(t, a)
	require.NoError(t, a.Close())
	last := 0
	for ; ; last++ {
		if _, err := os.Stat(fmt.Sprint(base, ".", last+1)); err != nil {
			break
		}
	}
	volume := fmt.Sprint(base, ".", last)
	data, err := os.ReadFile(volume)
	if err != nil {
		return false // compressed
	}
	frames := framesOf(data)
	before := len(all) - len(frames) // records of other volumes
	if len(faults) > 0 || len(frames) < 3 || before < 0 || last == 0 && before > 0 {
		return false // damaged, or with records that have no values
	}
	if first := frames[len(frames)-2].off; len(data)-first > 5000 {
		return false // too many places
	}
	indexed := lastIndexed(base, last)
	for cut := frames[len(frames)-2].off; cut < len(data); cut += step {
		require.NoError(t, os.WriteFile(volume, data[:cut], 0o600))
		a, err := archive.Open(base)
		require.NoError(t, err)
		have, faults := list(t, a)
		whole := 0
		for frames[whole].end <= cut {
			whole++
		}
		require.Equal(t, all[:before+whole], have, "%s cut at %d", volume, cut)
		require.Equal(t, all[before+whole-1], a.End())
		if cut == frames[whole].off && indexed <= cut {
			require.Empty(t, faults, "%s cut at %d", volume, cut)
		} else {
			require.Len(t, faults, 1, "%s cut at %d", volume, cut)
			require.Contains(t, faults[0], fmt.Sprintf("%s at byte %d: ", volume, frames[whole].off))
		}
		require.NoError(t, a.Close())
	}
	require.NoError(t, os.WriteFile(volume, data, 0o600))
	return true
}

// lastIndexed returns the last offset that the index has for a volume.
func lastIndexed(base string, volume int) (last int) {
	data, err := os.ReadFile(base + ".index")
	if err != nil {
		return 0
	}
	word := func(at int) int { return int(binary.BigEndian.Uint32(data[at:])) }
	size, volumeAt, version := 20, 8, data[7]
	if version == 3 {
		size, volumeAt = 32, 12
	}
	for at := word(0); at+size <= len(data); at += size {
		if word(at+volumeAt) == volume {
			last = max(last, word(at+size-4)) // smaller than 4 GiB
		}
	}
	return last
}

// Where time goes back, the fewest records are left out, and both times are told.
func TestOutOfOrder(t *testing.T) {
	const far = 100_000_000 // seconds
	for _, name := range []string{"v2a", "v3a"} {
		base, _ := copied(t, name)
		all, _ := list(t, open(t, base))
		data, err := os.ReadFile(base + ".0")
		require.NoError(t, err)
		frames := framesOf(data)
		n := len(frames)
		for _, row := range []struct {
			name     string
			from, to int // the records whose time is changed
			seconds  int
			leftOut  []int // from, to
		}{
			{"one far ahead", 3, 4, far, []int{3, 4}},
			{"three far ahead", 3, 6, far, []int{3, 6}},
			{"the first one ahead", 0, 1, far, []int{0, 1}},
			{"one in the past", n / 2, n/2 + 1, -far, []int{n / 2, n/2 + 1}},
			{"set back near the end", n - 4, n, -3600, []int{n - 4, n}},
			{"all before the start", 0, n, -3600, []int{0, n}},
		} {
			t.Run(name+"/"+row.name, func(t *testing.T) {
				damaged := bytes.Clone(data)
				want := slices.Clone(all)
				for i := row.from; i < row.to; i++ {
					at := damaged[frames[i].time:]
					binary.BigEndian.PutUint32(at, binary.BigEndian.Uint32(at)+uint32(int32(row.seconds)))
					want[i] = want[i].Add(time.Duration(row.seconds) * time.Second)
				}
				require.NoError(t, os.WriteFile(base+".0", damaged, 0o600))
				a := open(t, base)
				c := a.NewContext(time.Unix(0, 0), time.Time{})
				defer c.Close()
				have := []time.Time{}
				var faults []string
				for {
					r, err := c.Next(t.Context())
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						faults = append(faults, err.Error())
						continue
					}
					have = append(have, r.Time)
				}
				back, from := row.from, a.Start() // time goes back before this record, from that time
				if row.seconds > 0 {
					back = row.to
				}
				if back > 0 {
					from = want[back-1]
				}
				text := func(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
				require.Equal(t, []string{fmt.Sprintf("%s.0 at byte %d: time goes back from %s to %s; records left out: %d", base,
					frames[row.leftOut[0]].off, text(from), text(want[back]), row.leftOut[1]-row.leftOut[0])}, faults)
				want = slices.Delete(want, row.leftOut[0], row.leftOut[1])
				assert.Equal(t, want, have)
			})
		}
	}
}

// A record whose value sets do not fit it is left out and told, and reading goes on after it.
func TestDamagedRecord(t *testing.T) {
	for name, head := range map[string]int{"v2a": 12, "v3a": 16} {
		base, _ := copied(t, name)
		all, _ := list(t, open(t, base))
		data, err := os.ReadFile(base + ".0")
		require.NoError(t, err)
		second := framesOf(data)[1]
		for _, row := range []struct {
			at, value int // of a word of the record
			fault     string
		}{
			{head - 4, -1, "the record has no valid head"},
			{head - 4, 1000, " value set "},
			{head + 4, 1 << 20, "is not in the record"},
		} {
			damaged := bytes.Clone(data)
			binary.BigEndian.PutUint32(damaged[second.off+4+row.at:], uint32(int32(row.value)))
			require.NoError(t, os.WriteFile(base+".0", damaged, 0o600))
			have, faults := list(t, open(t, base))
			assert.Equal(t, slices.Delete(slices.Clone(all), 1, 2), have)
			require.Len(t, faults, 1)
			assert.Contains(t, faults[0], fmt.Sprintf("%s.0 at byte %d: ", base, second.off))
			assert.Contains(t, faults[0], row.fault)
		}
	}
}

// A volume that is missing is told, and values are not computed across it.
func TestMissingVolume(t *testing.T) {
	base, _ := copied(t, "volumes")
	for _, row := range []struct {
		volume string
		mark   bool
	}{{".0", false}, {".2", true}, {".4", false}} {
		require.NoError(t, os.Rename(base+row.volume, base+".away"))
		a := open(t, base)
		require.Len(t, a.Damage(), 1)
		assert.ErrorContains(t, a.Damage()[0], base+row.volume+": the volume is missing")
		c := a.NewContext(time.Time{}, time.Time{})
		marked := false
		for {
			r, err := c.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			marked = marked || r.Mark
		}
		assert.Equal(t, row.mark, marked, row.volume)
		require.NoError(t, os.Rename(base+".away", base+row.volume))
	}
}

// A file may be compressed; how does not matter.
func TestCompressed(t *testing.T) {
	want, _ := read(t, open(t, "volumes"))
	require.Positive(t, want)
	for ext, compress := range map[string]func(io.Writer) (io.WriteCloser, error){
		".gz":  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		".xz":  func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
		".zst": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	} {
		t.Run(ext, func(t *testing.T) {
			base, files := copied(t, "volumes")
			for _, path := range files {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				out, err := os.Create(path + ext)
				require.NoError(t, err)
				w, err := compress(out)
				require.NoError(t, err)
				_, err = w.Write(data)
				require.NoError(t, err)
				require.NoError(t, w.Close())
				require.NoError(t, out.Close())
				require.NoError(t, os.Remove(path))
			}
			a := open(t, base)
			assert.Empty(t, a.Damage())
			have, damaged := read(t, a)
			assert.Equal(t, want, have)
			assert.False(t, damaged)

			info, err := os.Stat(base + ".1" + ext)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(base+".1"+ext, info.Size()/2))
			have, damaged = read(t, open(t, base))
			assert.Less(t, have, want)
			assert.True(t, damaged)
		})
	}
}

// Behind a record with a wrong length, reading goes on at the next record that the index has, after a mark.
func TestDamagedLength(t *testing.T) {
	for _, name := range []string{"v2a", "v3a"} {
		base, _ := copied(t, name)
		all, _ := list(t, open(t, base))
		data, err := os.ReadFile(base + ".0")
		require.NoError(t, err)
		frames := framesOf(data)
		third, last := frames[3], all[len(all)-1]
		binary.BigEndian.PutUint32(data[third.off:], 1<<30)
		require.NoError(t, os.WriteFile(base+".0", data, 0o600))
		a := open(t, base)
		have, faults := list(t, a)
		assert.Equal(t, append(slices.Clone(all[:3]), all[2].Add(time.Millisecond), last), have, "a mark, and the last record")
		require.Len(t, faults, 1)
		assert.Contains(t, faults[0], fmt.Sprintf("%s.0 at byte %d: ", base, third.off))
		assert.Equal(t, last, a.End())

		require.NoError(t, os.Remove(base+".index"))
		a = open(t, base)
		have, _ = list(t, a)
		assert.Equal(t, all[:3], have)
	}
}

// A file of another archive is not read.
func TestExchangedFiles(t *testing.T) {
	for ending, openable := range map[string]bool{".0": false, ".meta": false, ".index": true} {
		base, _ := copied(t, "v2a")
		data, err := os.ReadFile("testdata/v2b" + ending)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(base+ending, data, 0o600))
		const reason = " at byte 0: the file is of process "
		if !openable {
			_, err := archive.Open(base)
			require.ErrorContains(t, err, reason, ending)
			continue
		}
		a := open(t, base)
		require.Len(t, a.Damage(), 1)
		require.ErrorContains(t, a.Damage()[0], base+ending+reason)
		times, _ := list(t, a)
		assert.NotEmpty(t, times)
	}
}

// An archive that is named must be readable. In a folder it may be damaged.
func TestOneOfSeveral(t *testing.T) {
	base, _ := copied(t, "v2a")
	other, files := copied(t, "v2b")
	for _, path := range files {
		require.NoError(t, os.Rename(path, filepath.Join(filepath.Dir(base), filepath.Base(path))))
	}
	other = filepath.Join(filepath.Dir(base), filepath.Base(other))
	require.NoError(t, os.WriteFile(other+".meta", []byte("no archive"), 0o600))
	_, err := archive.Open(base, other)
	require.ErrorContains(t, err, other+".meta at byte 0: ")
	a := open(t, filepath.Dir(base))
	assert.Len(t, a.LogLabels(), 1)
	assert.Len(t, a.Damage(), 1)
}

// Several archives are read as one, in the order of time, with a mark between them; however they are named.
func TestSeveral(t *testing.T) {
	first, _ := read(t, open(t, "v2a"))
	second, _ := read(t, open(t, "v2b"))
	folder := t.TempDir()
	for _, name := range []string{"v2a", "v2b"} {
		base, files := copied(t, name)
		for _, path := range files {
			require.NoError(t, os.Rename(path, filepath.Join(folder, filepath.Base(path))))
		}
		_ = base
	}
	for _, paths := range [][]string{{folder}, {folder + "/v2b", folder + "/v2a.0"}, {folder + "/v2b.meta," + folder + "/v2a"}, {folder + "/v2*.index"}} {
		a := open(t, paths...)
		n, damaged := read(t, a)
		assert.Equal(t, first+1+second, n, "%s", paths)
		assert.False(t, damaged)
		assert.Len(t, a.LogLabels(), 2)
	}
}

// The index only makes it quicker.
func TestWithoutIndex(t *testing.T) {
	base, _ := copied(t, "volumes")
	with, without := open(t, "volumes"), (*archive.Archive)(nil)
	require.NoError(t, os.Remove(base+".index"))
	without = open(t, base)
	ids := metrics(t, with)
	for i := range 20 {
		at := with.Start().Add(with.End().Sub(with.Start()) / 20 * time.Duration(19-i))
		var have [2]string
		for j, a := range []*archive.Archive{with, without} {
			c := a.NewContext(time.Time{}, time.Time{})
			c.SetTime(at)
			res, err := c.Fetch(t.Context(), ids)
			require.NoError(t, err)
			var all []string
			for _, s := range res.Sets {
				all = append(all, s.String())
			}
			have[j] = strings.Join(all, "\n")
			c.Close()
		}
		require.Equal(t, have[0], have[1])
	}
}

// wrongLengths returns records of which one word, which may be a length, an offset or a number of things, is another.
func wrongLengths(record []byte) (all [][]byte) {
	for at := 0; at+4 <= len(record); at += 4 {
		for _, word := range []uint32{3, 0xfffffffb, 0x7fffffff} {
			harmed := bytes.Clone(record)
			binary.BigEndian.PutUint32(harmed[at:], word)
			all = append(all, harmed)
		}
	}
	return all
}

// lastRecords are records at the end of a file, in an order of words that both versions have.
func lastRecords(suffix string, third bool) [][]byte {
	time := []any{start + 1_000_000_000, 0} // after all others
	indom, labels := 2, 3
	if third {
		time, indom, labels = append(time, 0), 5, 7
	}
	timed := func(kind int, words ...any) []byte { return record(slices.Concat([]any{kind}, time, words)...) }
	switch suffix {
	case ".meta":
		return [][]byte{
			desc(counterID, pdu.SemCounter, "hand.counter", "hand.more"),
			timed(indom, colours, 2, 0, 1, 0, 4, "red\x00green\x00\x00\x00"),
			timed(6, colours, 2, 0, 1, -1, 0, "red\x00"),
			timed(labels, int(pdu.LabelInstances), colours, 2,
				0, 8, `{"b":12}`, 1, "\x00\x02\x01\x20\x00\x05\x00\x02", 1, 0, 0),
			record(4, int(pdu.TextOneLine|pdu.TextPMID), counterID, "how many\x00\x00\x00\x00"),
		}
	case ".0":
		blocks := []any{0x0300000c, 0, 7, 0x0300000c, 0, 8}
		return [][]byte{record(slices.Concat(time, []any{1, counterID, 2, 1, 0, 11 + len(time), 1, 14 + len(time)}, blocks)...)}
	}
	return nil
}

// fuzz reads an archive of which one file is the input. Seeds are files with a wrong record at their end, such as those
// that made libpcp read or write beyond its memory.
func fuzz(f *testing.F, suffix string) {
	for _, name := range []string{"v2a", "v3a"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+suffix))
		require.NoError(f, err)
		f.Add(data, name == "v3a")
		for _, last := range lastRecords(suffix, name == "v3a") {
			for _, wrong := range wrongLengths(last) {
				f.Add(join(data, wrong), name == "v3a")
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, third bool) {
		name := "v2a"
		if third {
			name = "v3a"
		}
		base, _ := copied(t, name)
		require.NoError(t, os.WriteFile(base+suffix, data, 0o600))
		if a, err := archive.Open(base); err == nil {
			read(t, a)
			require.NoError(t, a.Close())
		}
	})
}

func FuzzVolume(f *testing.F)   { fuzz(f, ".0") }
func FuzzMetadata(f *testing.F) { fuzz(f, ".meta") }
func FuzzIndex(f *testing.F)    { fuzz(f, ".index") }
