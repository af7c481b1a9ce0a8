package mmv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived/agent"
)

const (
	// interval is the time between two looks at the figures.
	interval = time.Second

	// After restAfter looks without a request there is none until the next request, or for rest.
	restAfter = 2
	rest      = 30 * time.Second
)

// Options are what an [Exporter] is made from. Dir, Name, Figures and Log are needed.
type Options struct {
	Dir     string               // of all MMV files, $PCP_TMP_DIR/mmv; it must exist
	Name    string               // of the file, and of the metrics: mmv.NAME; see [CheckName]
	Version string               // of the agent, at most 255 bytes
	Figures func(*agent.Figures) // [agent.Agent.Figures]; called about once a second
	Log     logrus.FieldLogger
	Tick    <-chan time.Time // when to look at the figures; nil: every second, seldom while there are no requests

	// Next returns a channel that becomes ready at the next request: [agent.Agent.NextRequest]. Nil: the
	// figures are looked at every second all the time.
	Next func() <-chan struct{}
}

var goodName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,62}$`)

// CheckName says what is wrong with the name of an MMV file that becomes a part of metric names.
func CheckName(name string) error {
	if !goodName.MatchString(name) {
		return fmt.Errorf("%q: want a letter, then letters, digits and underscores, 63 at most", name)
	}
	return nil
}

// Exporter keeps an MMV file up to date.
type Exporter struct {
	options Options
	log     logrus.FieldLogger
	create  func(*moment) (sink, error)

	metrics []metric
	bounds  []float64 // of the buckets, milliseconds

	moment   moment
	process  func(*process)
	request  window
	age      window
	upstream window

	sink    sink     // nil: none
	numbers []uint64 // of the moment, by slot
	written []uint64 // what sink has
	waiting bool     // for another process to end, which has been logged
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
	buckets := agent.BucketNames()
	e := &Exporter{
		options: o,
		log:     o.Log.WithField("file", filepath.Join(o.Dir, o.Name)),
		metrics: table(),
		bounds:  bucketBounds(buckets),
		process: newProcessReader().read,
		moment:  moment{version: o.Version, started: time.Now(), pid: os.Getpid()},
	}
	e.create = func(m *moment) (sink, error) {
		f, err := create(o.Dir, o.Name, e.metrics, buckets, m)
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
	timer := time.NewTimer(interval)
	defer timer.Stop()
	tick := e.options.Tick
	if tick == nil {
		tick = timer.C
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a mapping whose file has become shorter
	defer e.end()
	for now, quiet := time.Now(), 0; ; {
		var next <-chan struct{}
		if quiet >= restAfter && e.options.Next != nil {
			next = e.options.Next() // before the look, which sees what came until then
		}
		requests := e.moment.figures.Requests
		if err := guard(func() error { return e.update(now) }); err != nil {
			e.log.WithError(err).Warn("no metrics below mmv")
			return
		}
		quiet++
		if e.moment.figures.Requests != requests {
			next, quiet = nil, 0
		}
		pause := interval
		if next != nil {
			pause = rest
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return
		case now = <-tick:
			continue
		case <-next:
		}
		quiet = 0
		timer.Reset(interval) // one look for the request and what follows it
		select {
		case <-ctx.Done():
			return
		case now = <-tick:
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
	e.observe(now)
	if e.sink != nil && errors.Is(e.sink.intact(), errLost) {
		e.log.Info("mmv file is gone, making another")
		e.end()
	}
	if e.sink == nil {
		return e.begin()
	}
	for slot, number := range e.numbers {
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

// observe takes the figures of the moment.
func (e *Exporter) observe(now time.Time) {
	m := &e.moment
	e.options.Figures(&m.figures)
	e.process(&m.process)
	for _, h := range []struct {
		window  *window
		total   *agent.Buckets
		longest time.Duration
		result  *quantiles
	}{
		{&e.request, &m.figures.RequestTime, m.figures.RequestLongest, &m.request},
		{&e.age, &m.figures.SampleAge, m.figures.SampleOldest, &m.age},
		{&e.upstream, &m.figures.UpstreamTime, m.figures.UpstreamLongest, &m.upstream},
	} {
		added := h.window.recent(now, h.total)
		*h.result = quantilesOf(&added, e.bounds, h.longest)
	}
	e.numbers = appendNumbers(e.numbers[:0], e.metrics, m)
}

// begin makes the file. While another process has one of that name, or the system lets us make none, it
// waits for the next tick.
func (e *Exporter) begin() error {
	made, err := e.create(&e.moment)
	switch {
	case errors.Is(err, errInUse):
		if !e.waiting {
			e.waiting = true
			e.log.WithError(err).Warn("no metrics below mmv until it ends")
		}
		return nil
	case refused(err):
		if text := err.Error(); text != e.trouble {
			e.trouble = text
			e.log.WithError(err).Warn("no metrics below mmv")
		}
		return nil
	case err != nil:
		return err
	}
	if e.trouble != "" {
		e.log.Info("metrics below mmv can be had again")
	}
	e.sink, e.waiting, e.trouble = made, false, ""
	e.written = append(e.written[:0], e.numbers...)
	return nil
}

// refused reports whether the system is why a file cannot be made: a full disk, no right to write, too few
// descriptors. That passes.
func refused(err error) bool {
	_, ok := errors.AsType[syscall.Errno](err)
	return ok
}

// end removes the file.
func (e *Exporter) end() {
	if e.sink == nil {
		return
	}
	if err := guard(e.sink.close); err != nil {
		e.log.WithError(err).Warn("mmv file is left behind")
	}
	e.sink = nil
}
