package logfile

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// volume is a file with values.
type volume struct {
	number  int
	path    string
	archive Label   // of the metadata
	indexed []int64 // the offsets in the index, in bytes and ascending

	scanned bool
	foreign error     // why it has no label of the archive
	end     time.Time // of the last record; zero: there is none
	leftOut []leftOut // in the order of the file

	// The mutex of the pool guards these:
	file    *file // nil: not open
	readers int   // number of readers that have acquired it
}

// maxIdle is the number of volumes without readers that stay open, because the next fetch may need them again. To
// open a compressed volume is slow.
const maxIdle = 2

// pool has the open volumes. All readers of a volume share its file.
type pool struct {
	mu     sync.Mutex // guards all fields
	open   []*volume
	idle   []*volume // the open volumes without readers, the most recently used one last
	closed bool
}

var errClosed = errors.New("the archive is closed")

// acquire returns the file of a volume. The reader calls release when it does not need it any more.
func (p *pool) acquire(v *volume) (*file, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if v.file == nil {
		f, err := openFile(v.path, maxVolume)
		if err != nil {
			return nil, err
		}
		v.file = f
		if !v.scanned {
			v.scan(f)
		}
		p.open = append(p.open, v)
	}
	p.idle = without(p.idle, v)
	v.readers++
	return v.file, nil
}

func (p *pool) release(v *volume) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v.readers--; v.readers > 0 || p.closed {
		return
	}
	p.idle = append(p.idle, v)
	if len(p.idle) > maxIdle {
		p.closeVolume(p.idle[0])
		p.idle = p.idle[1:]
	}
}

func (p *pool) closeVolume(v *volume) {
	v.file.close()
	v.file = nil
	p.open = without(p.open, v)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range slices.Clone(p.open) {
		p.closeVolume(v)
	}
	p.idle, p.closed = nil, true
}

func without(list []*volume, v *volume) []*volume {
	return slices.DeleteFunc(list, func(x *volume) bool { return x == v })
}
