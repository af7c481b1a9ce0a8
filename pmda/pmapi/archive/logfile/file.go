package logfile

import (
	"compress/bzip2"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// How many bytes of a compressed file are decompressed at most. pmlogger writes files of 2 GiB at most in version 2, and in version 3 as
// it is told.
const (
	maxVolume   = 16 << 30
	maxMetadata = 2 << 30 // and of an index
)

// maxDictionary is how much memory decompression may take for what it looks back at: that of xz -9.
const maxDictionary = 64 << 20

// file is a file of an archive, open for reading at any place.
type file struct {
	path   string
	os     *os.File // the file, or a temporary one without a name that has its contents decompressed
	size   int64
	broken error // why the contents end here: they could not be decompressed any further
}

// compressions are the ends of names of compressed files, and how to read them.
var compressions = map[string]func(r io.Reader) (io.Reader, error){ //nolint:gochecknoglobals // a table
	".xz": func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) },
	".zst": func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxDictionary))
	},
	".gz":  func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	".bz2": func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil },
}

// openFile opens a file. A compressed one is decompressed, as far as possible.
func openFile(path string, most int64) (*file, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	decompress := compressions[filepath.Ext(path)]
	if decompress == nil {
		info, err := f.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a regular file", path)
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		return &file{path: path, os: f, size: info.Size()}, nil
	}
	defer f.Close()
	temporary, err := os.CreateTemp("", "pcp-archive-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(temporary.Name()); err != nil {
		_ = temporary.Close()
		return nil, err
	}
	out := &file{path: path, os: temporary}
	r, err := decompress(f)
	if err == nil {
		out.size, err = io.Copy(temporary, io.LimitReader(r, most))
	}
	if d, ok := r.(*zstd.Decoder); ok {
		d.Close()
	}
	if err != nil {
		out.broken = fmt.Errorf("decompress: %w", err)
	}
	return out, nil
}

func (f *file) close() { _ = f.os.Close() }
