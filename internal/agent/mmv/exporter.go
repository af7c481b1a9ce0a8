package mmv

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/control"
)

// interval is the time between two updates of the file.
const interval = 2 * time.Second

// Options are the parameters of [New].
type Options struct {
	Dir     string // the folder of all MMV files, mmv below PCP_TMP_DIR of pcp.conf, where speed writes; it must exist
	Name    string // of the file, and of its metrics, mmv.NAME; see [CheckName]
	Figures *control.Figures
	Log     logrus.FieldLogger
}

var goodName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,62}$`)

// CheckName returns what is wrong with the name of an MMV file, which becomes a part of metric names.
func CheckName(name string) error {
	if !goodName.MatchString(name) {
		return fmt.Errorf("%q is not a valid name: use a letter, then letters, digits and underscores, 63 at most", name)
	}
	return nil
}

// Exporter keeps an MMV file up to date. It belongs to the goroutine of Run.
type Exporter struct {
	dir, name string
	log       logrus.FieldLogger
	reader    *reader

	file        *file    // nil: there is none
	written     []uint64 // the numbers in file, in the order of the reader's metrics
	loggedError string   // why there are no metrics now; "": there are
}

// New returns an Exporter, which [Exporter.Run] starts.
func New(o Options) *Exporter {
	return &Exporter{
		dir: o.Dir, name: o.Name, log: o.Log.WithField("file", filepath.Join(o.Dir, o.Name)), reader: newReader(o.Figures),
	}
}

// Run makes the file, keeps it up to date until ctx ends, and removes it. After an error the next update tries again.
// If speed panics, Run removes the file and returns. It is called once.
func (e *Exporter) Run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a mapping whose file has become shorter
	defer e.removeFile()
	for {
		if err := recoverPanic(func() error { e.updateOnce(); return nil }); err != nil {
			e.log.WithError(err).Warn("no metrics below mmv")
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// recoverPanic calls do. It returns a panic of speed, or a fault of the mapping, as an error.
func recoverPanic(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return do()
}

// updateOnce updates the file, and logs an error when it begins and when it ends.
func (e *Exporter) updateOnce() {
	switch err := e.update(e.reader.read()); {
	case err != nil && err.Error() != e.loggedError:
		e.loggedError = err.Error()
		e.log.WithError(err).Warn("no metrics below mmv")
	case err == nil && e.loggedError != "":
		e.loggedError = ""
		e.log.Info("metrics below mmv are available again")
	}
}

// update writes the numbers that have changed. If there is no file, it makes one with all numbers.
func (e *Exporter) update(numbers []uint64) error {
	if e.file != nil {
		switch err := e.file.checkPath(); {
		case errors.Is(err, errLost):
			e.log.Info("mmv file is missing, creating it again")
			e.removeFile()
		case err != nil:
			return err
		}
	}
	if e.file == nil {
		made, err := create(e.dir, e.name, e.reader.metrics, numbers)
		if err != nil {
			return err
		}
		e.file, e.written = made, append(e.written[:0], numbers...)
		return nil
	}
	for i, number := range numbers {
		if number == e.written[i] {
			continue
		}
		if err := e.file.write(i, number); err != nil {
			return err
		}
		e.written[i] = number
	}
	return nil
}

// removeFile removes the file.
func (e *Exporter) removeFile() {
	if e.file == nil {
		return
	}
	if err := recoverPanic(e.file.close); err != nil {
		e.log.WithError(err).Warn("cannot remove the mmv file")
	}
	e.file = nil
}
