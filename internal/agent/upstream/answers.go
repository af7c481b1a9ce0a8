package upstream

import (
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/pool"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/wait"
	"pmdaderived/pmda/pmapi"
)

// answered takes the outcome of a fetch from the pool; with the lock.
func (u *Upstream) answered(r pool.Request, a pool.Answer) {
	asked := r.(*fetch)
	if a.Columns != nil {
		u.storeAnswer(asked, a)
		if asked.Probes != nil && a.AgentTime < slow.Long {
			u.slow.RecordProbe(asked.Probes)
			asked.Probes = nil // the series that wait for the probe stay in the queue
		}
	}
	u.queue.EndFetch(asked)
	if a.Oversize != nil {
		u.shrinkFetches(asked, a)
	}
	if len(u.ambiguous) > 0 {
		u.queue.Requeue(u.ambiguous...)
		u.ambiguous = u.ambiguous[:0]
	}
}

// disconnected drops everything that belongs to the session; with the lock.
func (u *Upstream) disconnected() {
	u.queue.Clear()
	u.maker.Reset()
	for _, s := range u.series {
		s.Retained.Truncate(0)
	}
}

// storeAnswer makes a sample of an answer, and stores it in the series of the fetch.
//
// A series with a history is left out if the fetch took long and had agents of other series: nobody knows when its own
// agents answered in that time, and rate() divides by it. It is fetched again, once: the next sample is stored whatever
// it took.
func (u *Upstream) storeAnswer(asked *fetch, a pool.Answer) {
	u.agentTable.Add(asked.Agents)
	u.maker.NoteChanges(a.Columns.Changes)
	if len(asked.Sources) == 0 {
		return
	}
	made := u.makeSample(a.Columns, a.Began, a.Arrived, asked.List)
	made.BlockedSum = a.BlockedSum
	for _, d := range asked.InDoms {
		u.sampledDomains[d] = made.Taken
	}
	for metric, code := range made.Failed {
		if d := metric.Domain(); u.agentTable.CountError(metric, code) {
			u.mu.Remark(logrus.InfoLevel, logrus.Fields{
				"domain": d, "agent": u.agentNames[d], "pmid": metric, logrus.ErrorKey: code,
			}, "operand has no values")
		}
	}
	asked.CountValues(made, func(s *Series, values int) {
		others := len(s.domains) < len(asked.Agents)
		if s.ambiguous = a.PMCDTime >= slow.Long && s.OlderNeeded > 0 && others && !s.ambiguous; s.ambiguous {
			u.ambiguous = append(u.ambiguous, s)
			return
		}
		s.StoreLatest(made)
		s.LatestValues = values
		if s.ticks {
			s.ticks = false
			wait.Signal(u.tickSampled)
		}
	})
}

// makeSample decodes an answer into a sample. It records which instances have changed and which values do not fit, and
// logs operands with too many instances.
func (u *Upstream) makeSample(res *pmapi.Columns, taken, arrived time.Time, asked *operand.List) *operand.Sample {
	made, noticed := u.maker.Make(res, taken, arrived, asked)
	for _, d := range noticed.Changed {
		u.changed[d] = struct{}{}
		wait.Signal(u.ready)
	}
	for _, id := range noticed.Misfits {
		u.misfits[id] = struct{}{}
	}
	for _, set := range noticed.Excess {
		if _, logged := u.logged[set.PMID]; !logged {
			u.logged[set.PMID] = struct{}{}
			u.mu.Remark(logrus.WarnLevel, logrus.Fields{
				"pmid": set.PMID, "instances": len(set.Insts), "limit": operand.MaxInstances,
			}, "operand has too many instances, definitions that use it have no values")
		}
	}
	return made
}
