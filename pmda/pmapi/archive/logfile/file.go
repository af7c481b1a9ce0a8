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

// maxVolume and maxMetadata are the largest sizes in bytes to which files are decompressed. pmlogger writes files of up
// to 2 GiB in version 2. In version 3 its configuration sets the size of volumes.
const (
	maxVolume   = 16 << 30
	maxMetadata = 2 << 30 // also of an index
)

// maxDictionary is the largest dictionary in bytes that a compressed file may use: that of xz -9.
const maxDictionary = 64 << 20

// file is an open file of an archive.
type file struct {
	path   string
	os     *os.File // the file, or a temporary one without a name that has its decompressed contents
	size   int64    // of the contents, in bytes
	broken error    // the error of decompression that ended the contents early, nil if there was none
}

// compressions has the endings of names of compressed files, and the function that decompresses each.
var compressions = map[string]func(r io.Reader) (io.Reader, error){ //nolint:gochecknoglobals // a table
	".xz": func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) },
	".zst": func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxDictionary))
	},
	".gz":  func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	".bz2": func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }, //nolint:unparam // the others fail
}

// openFile opens a file. It decompresses a compressed one up to the size most, or up to its first error.
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
