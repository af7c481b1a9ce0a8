package mmv

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived/agent/control"
)

// interval is the time between two looks at the figures.
const interval = 2 * time.Second

// Options are what an [Exporter] is made from.
type Options struct {
	Dir     string // of all MMV files, $PCP_TMP_DIR/mmv; it must exist
	Name    string // of the file, and of the metrics: mmv.NAME; see [CheckName]
	Version string // of the agent
	Figures *control.Figures
	Log     logrus.FieldLogger
}

var goodName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,62}$`)

// CheckName says what is wrong with the name of an MMV file that becomes a part of metric names.
func CheckName(name string) error {
	if !goodName.MatchString(name) {
		return fmt.Errorf("%q is not a valid name: use a letter, then letters, digits and underscores, 63 at most", name)
	}
	return nil
}

// Exporter keeps an MMV file up to date.
type Exporter struct {
	log    logrus.FieldLogger
	create func(numbers []uint64) (sink, error)
	reader *reader

	sink    sink     // nil: none
	written []uint64 // what sink has, by slot
	trouble string   // why there can be no file at the moment, which has been logged
}

// sink is where values go to: a [file], and in tests something that fails.
type sink interface {
	intact() error
	write(slot int, number uint64) error
	close() error
}

// New makes an Exporter. [Exporter.Run] starts it.
func New(o Options) *Exporter {
	source := &control.Source{Version: o.Version, Figures: o.Figures}
	e := &Exporter{log: o.Log.WithField("file", filepath.Join(o.Dir, o.Name)), reader: newReader(source)}
	e.create = func(numbers []uint64) (sink, error) {
		f, err := create(o.Dir, o.Name, e.reader.metrics, numbers)
		if err != nil {
			return nil, err // not a nil *file
		}
		return f, nil
	}
	return e
}

// Run makes the file, keeps it up to date until ctx ends, and removes it. While the system lets it make no
// file it tries again at every look. When anything else goes wrong it logs what and returns; it is called once.
func (e *Exporter) Run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a mapping whose file has become shorter
	defer e.end()
	for now := time.Now(); ; {
		if err := guard(func() error { return e.update(now) }); err != nil {
			e.log.WithError(err).Warn("no metrics below mmv")
			return
		}
		select {
		case <-ctx.Done():
			return
		case now = <-ticker.C:
		}
	}
}

// guard turns a panic of speed's, or a fault of the mapping, into an error.
func guard(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return do()
}

// update brings the file up to date, or makes one where there is none. An error is final.
func (e *Exporter) update(now time.Time) error {
	if e.sink != nil && errors.Is(e.sink.intact(), errLost) {
		e.log.Info("mmv file is missing, creating it again")
		e.end()
	}
	numbers := e.reader.read(now)
	if e.sink == nil {
		return e.begin(numbers)
	}
	for slot, number := range numbers {
		if number == e.written[slot] {
			continue
		}
		if err := e.sink.write(slot, number); err != nil {
			return err
		}
		e.written[slot] = number
	}
	return nil
}

// begin makes the file with these numbers. While another process has one of that name, or the system lets us make none, it
// waits for the next look.
func (e *Exporter) begin(numbers []uint64) error {
	made, err := e.create(numbers)
	switch {
	case passing(err):
		if text := err.Error(); text != e.trouble {
			e.trouble = text
			e.log.WithError(err).Warn("no metrics below mmv")
		}
		return nil
	case err != nil:
		return err
	}
	if e.trouble != "" {
		e.log.Info("metrics below mmv are available again")
	}
	e.sink, e.trouble = made, ""
	e.written = append(e.written[:0], numbers...)
	return nil
}

// passing reports whether there may be a file later: another process of that name ends, or the system is why none
// can be made: a full disk, no right to write, too few descriptors.
func passing(err error) bool {
	_, ok := errors.AsType[syscall.Errno](err)
	return ok || errors.Is(err, errInUse)
}

// end removes the file.
func (e *Exporter) end() {
	if e.sink == nil {
		return
	}
	if err := guard(e.sink.close); err != nil {
		e.log.WithError(err).Warn("cannot remove the mmv file")
	}
	e.sink = nil
}
