package soak

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"pmdaderived/test/rig"
)

// maxLogged is the number of problems of a kind that are logged.
const maxLogged = 20

// gapLength is the time for which missing values count as one gap.
const gapLength = 100 * time.Millisecond

// kind is a kind of problem.
type kind int

const (
	wrongValue   kind = iota
	missingValue      // without a cause
	failedCall        // an error from pmcd, or a lost connection, without a cause
	failedTool
	kinds
)

func (k kind) String() string {
	return [...]string{"wrong value", "missing value", "failed call", "failed tool"}[k]
}

// tally counts the observations of clients. It is safe for concurrent use.
type tally struct {
	begin time.Time // of the clients

	fetches, values, lines atomic.Int64
	excused                atomic.Int64 // missing values and failed calls that have a cause
	unsure                 atomic.Int64 // missing values of which the model knows that they may be
	problems               [kinds]atomic.Int64

	// windows since the last fetch: of the client that stands still, of pmrep, of pmlogger
	stillWindows, shownWindows, recordedWindows atomic.Int64

	floods   atomic.Int64 // fetches of the client that floods
	lookUps  atomic.Int64 // of connections that never fetch
	liesTold atomic.Int64
	lying    atomic.Int64 // number of agents that lie now
	misled   atomic.Int64 // wrong values while an agent lies

	mu   sync.Mutex // guards all below
	gaps []gap      // in order of time
	skew []skew     // likewise
	lie  string     // that an agent has last begun
	last time.Time  // the begin of it
	log  io.Writer
}

// gap has the missing values of about one time.
type gap struct {
	at     time.Time
	values int64
	misled int64 // of these, while an agent lied
}

// skew is a difference of lengths of time that is too long, unless the machine stood still in between.
type skew struct {
	from, to time.Time
	apart    time.Duration
	problem  string
}

// addSkew adds a skew of some seconds in the time between two times.
func (t *tally) addSkew(from, to uint64, apart float64, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.skew = append(t.skew, skew{
		time.Unix(0, int64(from)), time.Unix(0, int64(to)), time.Duration(apart * float64(time.Second)), fmt.Sprintf(format, args...),
	})
}

// judgeSkews counts the skews as wrong values whose excess is not the time by which a sleeper woke too late.
func (t *tally) judgeSkews(machine rig.Wakes) {
	for _, s := range t.skew {
		late := machine.Latest(s.from, s.to)
		if late < machineStopped || (s.apart-late).Seconds() > maxSampleSkew {
			t.addProblem(wrongValue, "%s", s.problem)
		}
	}
}

// addProblem counts a problem, and logs it unless there were many.
func (t *tally) addProblem(k kind, format string, args ...any) {
	switch lying := t.lying.Load() > 0; {
	case k == missingValue:
		t.addMissing(time.Now(), lying)
	case k == wrongValue && lying:
		t.misled.Add(1)
	}
	if t.problems[k].Add(1) <= maxLogged {
		t.logf("%s after %.1f s%s: %s", k, time.Since(t.begin).Seconds(), t.currentLie(), fmt.Sprintf(format, args...))
	}
}

// addMissing adds a missing value to its gap.
func (t *tally) addMissing(at time.Time, lying bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.gaps); n == 0 || at.Sub(t.gaps[n-1].at) > gapLength {
		t.gaps = append(t.gaps, gap{at: at})
	}
	g := &t.gaps[len(t.gaps)-1]
	g.values++
	if lying {
		g.misled++
	}
}

// currentLie returns the lie that an agent has last begun, and since when; "" if none.
func (t *tally) currentLie() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lie == "" {
		return ""
	}
	return fmt.Sprintf(" (%s for %.1f s)", t.lie, time.Since(t.last).Seconds())
}

// beginLie stores that an agent begins to lie. The function that it returns ends the lie.
func (t *tally) beginLie(lie string) (honest func()) {
	t.mu.Lock()
	t.lie, t.last = lie, time.Now()
	t.mu.Unlock()
	t.lying.Add(1)
	return func() { t.lying.Add(-1) }
}

// logf writes a line to the log.
func (t *tally) logf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.log, format+"\n", args...)
}

// total returns the number of all problems.
func (t *tally) total() (n int64) {
	for i := range t.problems {
		n += t.problems[i].Load()
	}
	return n
}
