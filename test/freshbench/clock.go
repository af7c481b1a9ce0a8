package freshbench

import (
	"fmt"
	"math"
	"os"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const clockDomain = 400

// clockPMNS names the metrics of the clock.
const clockPMNS = `clock {
	now	CLOCK:0:0
	ticks	CLOCK:0:1
	swing	CLOCK:0:2
}`

// clockDescs are the metrics, by item.
//
//	clock.now    U64 instant, ns    the time of day when the agent was asked
//	clock.ticks  U64 counter, count microseconds since the agent was started: an even rate
//	clock.swing  U64 counter, count as ticks, but its rate swings by a half within swingPeriod
func clockDescs() []pdu.Desc {
	count := pdu.Units{Count: 1}
	return []pdu.Desc{
		{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant, Units: pdu.Units{Time: 1, TimeScale: pdu.TimeNanosec}},
		{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: count},
		{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: count},
	}
}

// swingPeriod is no multiple of the interval of any client: otherwise a client would always meet the same phase.
const swingPeriod = 3300 * time.Millisecond

// clock is an agent whose values tell when they were taken. It notes who connects to pmcd, and when.
type clock struct {
	descs    []pdu.Desc
	arrivals *os.File
	start    time.Time
	problem  error // of the notes, told with the next fetch
}

func serveClock(arrivals string) error {
	file, err := openShared(arrivals)
	if err != nil {
		return err
	}
	defer file.Close()
	return serve(&clock{descs: clockDescs(), arrivals: file, start: time.Now()})
}

// Desc implements pmda.Agent.
func (c *clock) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	if id.Cluster() != 0 || id.Item() >= len(c.descs) {
		return pdu.Desc{}, pdu.ErrPMID
	}
	return c.descs[id.Item()], nil
}

// Instances implements pmda.Agent.
func (c *clock) Instances(pmda.Client, pdu.InDom) ([]pdu.Instance, error) { return nil, pdu.ErrInDom }

// Fetch implements pmda.Agent.
func (c *clock) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	if c.problem != nil {
		return c.problem
	}
	values := c.values(time.Now())
	for _, id := range req.PMIDs {
		if id.Cluster() != 0 || id.Item() >= len(values) {
			w.Fail(id, pdu.ErrPMID)
			continue
		}
		w.Numbers(id, pdu.TypeU64, nil, values[id.Item():][:1])
	}
	return nil
}

// values are those of one moment, by item.
func (c *clock) values(now time.Time) [3]uint64 {
	up := now.Sub(c.start)
	return [3]uint64{wallClock(now), uint64(up.Microseconds()), swing(up)}
}

// swing is the integral over time of 1e6 (1 + sin(2πt/swingPeriod)/2) per second.
func swing(up time.Duration) uint64 {
	period, t := swingPeriod.Seconds(), up.Seconds()
	return uint64(1e6 * (t + period/(4*math.Pi)*(1-math.Cos(2*math.Pi*t/period))))
}

// Attribute implements pmda.AttributeWatcher. pmcd writes attributes before anything that their client asks for.
func (c *clock) Attribute(_ pmda.Client, attr pdu.Attribute, value string) {
	if attr != pdu.AttrProcessID {
		return
	}
	if _, err := fmt.Fprintf(c.arrivals, "%s %d\n", value, wallClock(time.Now())); err != nil {
		c.problem = err
	}
}
