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
// gets its name when it is complete: the MMV agent ignores hidden files. speed makes the cluster of the metrics' PMIDs
// from the hidden name, so another one would change them.
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
	err = client.Start()
	if err == nil {
		f.info, err = os.Stat(hidden)
	}
	if err == nil {
		err = os.Rename(hidden, f.path)
	}
	if err != nil {
		_ = client.Stop()     // it is an error to stop what has not been started
		_ = os.Remove(hidden) // it may not exist
		return nil, err
	}
	return f, nil
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

// update sets the numbers of all metrics, unless the file is not as it was made. It must not be called after close.
func (f *file) update(numbers []uint64) error {
	if !f.unchanged() {
		return errors.New("the file was removed, replaced or cut short; the next start of the agent makes it again")
	}
	for i, number := range numbers {
		if err := f.values[i].Set(speedValue(f.metrics[i].Type, number)); err != nil {
			return err
		}
	}
	return nil
}

// unchanged reports whether the path has this file, with all its bytes. To write to the mapping of a file that has
// become shorter would cause a SIGBUS.
func (f *file) unchanged() bool {
	now, err := os.Lstat(f.path)
	return err == nil && os.SameFile(f.info, now) && now.Size() >= f.info.Size()
}

// close gives up the mapping. It removes the file if the path still has it: another process may have replaced it.
func (f *file) close() error {
	var err error
	if now, lost := os.Lstat(f.path); lost == nil && os.SameFile(f.info, now) {
		err = os.Remove(f.path)
	}
	return errors.Join(err, f.client.Stop())
}
