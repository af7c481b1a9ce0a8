package window

import (
	"math"
	"time"

	"pmdaderived/derived"
)

// SingleClient has the windows of a set for one client. Its windows have ticks of their own: those in an archive are at
// different records. So each per-client window has a cursor.
type SingleClient struct {
	*Windows
	sampled   time.Duration // time of the newest Sample since the first interval; < 0: there is none
	perClient []int         // indexes of the per-client windows
	cursors   []Cursor      // of these
	reader    *Reader
}

// NewSingleClient makes the windows of a set. first is the number of ticks that the first Read covers.
func NewSingleClient(set *derived.Set, groups *derived.Groups, first int64) *SingleClient {
	none := NewWindows(groups)
	none.FirstTicks, none.Unlimited = first, true
	o := &SingleClient{Windows: none.ForSet(set), sampled: -1, reader: NewReader(math.MaxInt)}
	for i, w := range set.Windows() {
		if w.PerClient() {
			o.perClient = append(o.perClient, i)
		}
	}
	o.cursors = make([]Cursor, len(o.perClient))
	return o
}

// BeginTick begins a tick of the per-client windows.
func (o *SingleClient) BeginTick(tick int64) { o.Windows.BeginTick(tick, time.Time{}, o.perClient...) }

// Sample adds a sample where no ticks are scheduled. The first sample in each interval of a window is the window's
// tick. since is the time from the beginning of the first interval to the sample.
func (o *SingleClient) Sample(since time.Duration, taken derived.Sample) {
	tick := func(every time.Duration) (number int64, first bool) {
		number = 1 + int64(since/every)
		return number, o.sampled < 0 || number > 1+int64(o.sampled/every)
	}
	if number, first := tick(PerClientInterval); first {
		o.BeginTick(number)
	}
	for i, w := range o.set.Windows() {
		if number, first := tick(w.Every); first {
			o.Add(i, number, taken, true)
		}
	}
	o.sampled = since
}

// Read returns the results for the client, and notes that it has read them.
func (o *SingleClient) Read() *derived.Results {
	s := o.State(0, nil)
	for k, i := range o.perClient {
		c := &o.cursors[k]
		if s.tick = o.windows[i].newest; s.tick < c.tick { // the clock was set back
			c.tick = 0
		}
		r, _ := o.reader.Read(s, c, []uint32{uint32(i)}, time.Time{}, time.Time{})
		s.Results.Values[i], s.Results.Names[i] = r.Values[i], r.Names[i]
	}
	s.SetCursors(func(yield func(*Cursor) bool) {
		for k := range o.cursors {
			if !yield(&o.cursors[k]) {
				return
			}
		}
	}, time.Time{})
	return s.Results
}
