package agent

import "time"

// Figures is what an Agent counts about itself, for those who export it. Counters only grow.
type Figures struct {
	Requests       uint64 // answered
	RequestTime    Buckets
	RequestLongest time.Duration

	Values       uint64 // of derived metrics, served
	Evaluations  uint64
	Stale        uint64 // metrics not served for want of a sample young enough
	SampleAge    Buckets
	SampleOldest time.Duration

	Connected       bool
	UpstreamFetches uint64
	UpstreamMetrics uint64 // operands in these fetches
	UpstreamErrors  uint64
	UpstreamTime    Buckets
	UpstreamLongest time.Duration
	UpstreamBusy    time.Duration // in all
	SlowAgents      int           // sampled seldom

	Contexts        int
	ContextsDropped uint64
	Definitions     int
	Bound           int
	Failed          int
	Reloads         uint64
	ReloadTime      time.Duration // of the last one
}

// Figures fills in the figures of the moment. It may be called at any time.
func (a *Agent) Figures(f *Figures) {
	s, svc := &a.stats, a.service.Load()
	*f = Figures{
		Requests: s.requests.Load(), RequestLongest: time.Duration(s.longest.Load()),
		Values: s.values.Load(), Evaluations: s.evaluations.Load(), Stale: s.stale.Load(),
		SampleOldest:    time.Duration(s.oldest.Load()),
		Connected:       s.connected.Load(),
		UpstreamFetches: s.upstreamFetches.Load(), UpstreamMetrics: s.upstreamMetrics.Load(),
		UpstreamErrors: s.upstreamErrors.Load(), UpstreamLongest: time.Duration(s.upstreamLongest.Load()),
		UpstreamBusy: time.Duration(s.upstreamBusy.Load()), SlowAgents: int(s.slowAgents.Load()),
		Contexts: int(s.contexts.Load()), ContextsDropped: s.contextsDropped.Load(),
		Definitions: len(svc.metrics), Bound: svc.good, Failed: svc.failed() + int(a.failures.Load()),
		Reloads: s.reloads.Load(), ReloadTime: time.Duration(s.reloadTook.Load()),
	}
	s.requestTime.add(&f.RequestTime)
	s.upstreamTime.add(&f.UpstreamTime)
	for i := range s.ages {
		s.ages[i].add(&f.SampleAge)
	}
}
