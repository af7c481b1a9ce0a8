package mmv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/performancecopilot/speed/v4"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/mmv/noconf"
	"pmdaderived/pdu"
)

// The environment is as it was before speed was initialized.
var _ = noconf.Restore()

// file is an MMV file that speed writes. It belongs to one goroutine.
//
// speed v4.0.0 checks nothing: a text that is too long runs over the next one, two metrics may get the same number, a
// value that is set after Stop ends the process, and a panic while a file is started happens in goroutines that
// nobody can recover. Tests check what is passed to it.
type file struct {
	path    string
	client  *speed.PCPClient
	info    fs.FileInfo // of the file when it was made
	metrics []control.Metric
	values  []*speed.PCPSingletonMetric // of metrics
}

// create makes the file dir/name with these metrics and their numbers. It replaces an existing file. The new file
// gets its name when it is complete: the MMV agent ignores hidden files.
func create(dir, name string, metrics []control.Metric, numbers []uint64) (*file, error) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, errors.New("speed writes for little-endian machines only")
	}
	if _, err := os.Stat(dir + "/"); err != nil { // speed would make the directory, closed to others
		return nil, err
	}
	client, err := speed.NewPCPClient("." + name)
	if err != nil {
		return nil, err
	}
	f := &file{path: filepath.Join(dir, name), client: client, metrics: metrics}
	for i, m := range metrics {
		made, err := newMetric(m, numbers[i])
		if err == nil {
			err = client.Register(made)
		}
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", m.Name, err)
		}
		f.values = append(f.values, made)
	}
	hidden := filepath.Join(dir, "."+name)
	if err := f.start(hidden); err != nil {
		_ = client.Stop()     // it is an error to stop what has not been started
		_ = os.Remove(hidden) // it may not exist
		return nil, err
	}
	return f, nil
}

// start lets speed write the file at hidden, and renames it.
func (f *file) start(hidden string) (err error) {
	if err := f.client.Start(); err != nil {
		return err
	}
	if f.info, err = os.Stat(hidden); err != nil {
		return err
	}
	return os.Rename(hidden, f.path)
}

// newMetric returns a metric of speed with a number.
func newMetric(m control.Metric, number uint64) (*speed.PCPSingletonMetric, error) {
	// The format has PCP's own numbers for type, semantics and scales.
	units := speed.NewMetricUnit().Space(speed.SpaceUnit(m.Units.SpaceScale)<<16, m.Units.Space).
		Time(speed.TimeUnit(m.Units.TimeScale)<<12, m.Units.Time).Count(speed.CountUnit(m.Units.CountScale)<<8, m.Units.Count)
	return speed.NewPCPSingletonMetric(
		speedValue(m.Type, number), m.Name, speed.MetricType(m.Type), speed.MetricSemantics(m.Sem), units, m.Short,
	)
}

// speedValue returns a number in the type that speed expects.
func speedValue(t pdu.Type, number uint64) any {
	switch t {
	case pdu.TypeU32:
		return uint32(number)
	case pdu.TypeDouble:
		return math.Float64frombits(number)
	}
	return number
}

// write sets the number of a metric. It must not be called after close.
func (f *file) write(i int, number uint64) error {
	return f.values[i].Set(speedValue(f.metrics[i].Type, number))
}

var (
	// errLost means that somebody has taken the file away.
	errLost = errors.New("the file was removed or cut short")
	// errTaken means that another process has put its file in the place of ours.
	errTaken = errors.New("another process exports under this name")
)

// checkPath returns errLost or errTaken if the path has another file now, or a shorter one. To write to the mapping
// of a file that has become shorter would cause a SIGBUS.
func (f *file) checkPath() error {
	now, err := os.Lstat(f.path)
	switch {
	case err != nil:
		return errLost
	case !os.SameFile(f.info, now):
		return errTaken
	case now.Size() < f.info.Size():
		return errLost
	}
	return nil
}

// close gives up the mapping. It removes the file, unless another process has replaced it.
func (f *file) close() error {
	var err error
	if !errors.Is(f.checkPath(), errTaken) {
		if err = os.Remove(f.path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return errors.Join(err, f.client.Stop())
}
