package archive_test

import (
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
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

// fuzz reads an archive of which one file is the input.
func fuzz(f *testing.F, suffix string) {
	for _, name := range []string{"v2a", "v3a"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+suffix))
		require.NoError(f, err)
		f.Add(data, name == "v3a")
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
