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
	"pmdaderived/pdu"
)

// file is an MMV file that speed writes. One goroutine uses it.
//
// speed v4.0.0 checks nothing: a text that is too long goes over into the next one, two metrics may
// have one number, a value that is set after Stop ends the process, and what panics while a file is
// started does so in goroutines that nobody can recover. Tests check what is handed to it.
type file struct {
	path    string
	client  *speed.PCPClient
	info    fs.FileInfo
	metrics []control.Metric
	values  []*speed.PCPSingletonMetric // of metrics
}

// create makes the file dir/name with these metrics and their numbers. It replaces what is there. The MMV agent does not
// look at a hidden file, so it sees the new one complete.
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

// start has speed write the file at hidden, and moves it into place.
func (f *file) start(hidden string) (err error) {
	if err := f.client.Start(); err != nil {
		return err
	}
	if f.info, err = os.Stat(hidden); err != nil {
		return err
	}
	return os.Rename(hidden, f.path)
}

// newMetric makes a metric with a number.
func newMetric(m control.Metric, number uint64) (*speed.PCPSingletonMetric, error) {
	// The format has PCP's own numbers for type, semantics and scales.
	units := speed.NewMetricUnit().Space(speed.SpaceUnit(m.Units.SpaceScale)<<16, m.Units.Space).
		Time(speed.TimeUnit(m.Units.TimeScale)<<12, m.Units.Time).Count(speed.CountUnit(m.Units.CountScale)<<8, m.Units.Count)
	return speed.NewPCPSingletonMetric(speedValue(m.Type, number), m.Name, speed.MetricType(m.Type), speed.MetricSemantics(m.Sem), units, m.Short)
}

// speedValue is a number as speed wants it.
func speedValue(t pdu.Type, number uint64) any {
	switch t {
	case pdu.TypeU32:
		return uint32(number)
	case pdu.TypeDouble:
		return math.Float64frombits(number)
	}
	return number
}

// write sets the number of a metric. It is not called after close.
func (f *file) write(i int, number uint64) error {
	return f.values[i].Set(speedValue(f.metrics[i].Type, number))
}

var (
	// errLost means that somebody has taken the file away.
	errLost = errors.New("the file was removed or cut short")
	// errTaken means that another process has put its file in the place of ours.
	errTaken = errors.New("another process exports under this name")
)

// checkPath returns [errLost] or [errTaken] if the file is no longer in its place. To write to the mapping of one that is
// shorter now would be a SIGBUS.
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

// close removes the file, unless it is no longer ours, and gives up the mapping.
func (f *file) close() error {
	var err error
	if !errors.Is(f.checkPath(), errTaken) {
		if err = os.Remove(f.path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return errors.Join(err, f.client.Stop())
}
