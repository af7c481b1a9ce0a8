package writer

import (
	"bufio"
	"os"
)

// file is a file of an archive.
type file struct {
	*os.File
	buffer *bufio.Writer
	size   int64
	err    error
}

const bufferSize = 1 << 16

// newFile creates a file. It fails if the file exists.
func newFile(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &file{File: f, buffer: bufio.NewWriterSize(f, bufferSize)}, nil
}

func (f *file) write(b []byte) {
	n, err := f.buffer.Write(b)
	f.size += int64(n)
	if f.err == nil {
		f.err = err
	}
}

// close writes the rest of the buffer and closes the file. A second call does nothing.
func (f *file) close() error {
	if f.buffer == nil {
		return nil
	}
	err := f.buffer.Flush()
	f.buffer = nil
	if err == nil {
		return f.Close()
	}
	_ = f.Close()
	return err
}
