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
}

// New returns an Exporter, which [Exporter.Run] starts.
func New(o Options) *Exporter {
	return &Exporter{
		dir: o.Dir, name: o.Name, log: o.Log.WithField("file", filepath.Join(o.Dir, o.Name)), reader: newReader(o.Figures),
	}
}

// Run makes the file, keeps it up to date until ctx ends, and removes it. After an error, or a panic of speed, it logs
// that and returns. It is called once.
func (e *Exporter) Run(ctx context.Context) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the file can become shorter after checkPath
	defer func() {
		if r := recover(); r != nil {
			e.log.WithField("panic", r).Warn("no metrics below mmv")
		}
	}()
	if err := e.export(ctx); err != nil {
		e.log.WithError(err).Warn("no metrics below mmv")
	}
}

// export makes the file, updates it until ctx ends or an update fails, and removes it.
func (e *Exporter) export(ctx context.Context) (err error) {
	f, err := create(e.dir, e.name, e.reader.metrics, e.reader.read())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := f.update(e.reader.read()); err != nil {
			return err
		}
	}
}
