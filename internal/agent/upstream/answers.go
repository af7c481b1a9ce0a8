package upstream

import (
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/pool"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/internal/wait"
	"pmdaderived/pmda/pmapi"
)

// answered takes the outcome of a fetch that the pool has sent.
func (u *Upstream) answered(r pool.Request, a pool.Answer) {
	asked := r.(*fetch)
	if a.Columns != nil {
		u.store(asked, a)
		if asked.Probes != nil && a.AgentTime < slow.Long {
			u.slow.RecordProbe(asked.Probes)
			asked.Probes = nil // they are asked for now
		}
	}
	u.queue.EndFetch(asked)
	if a.Oversize != nil {
		u.tooLong(asked, a)
	}
	if len(u.unsure) > 0 {
		u.queue.Requeue(u.unsure...)
		u.unsure = u.unsure[:0]
	}
}

// disconnected ends the session.
func (u *Upstream) disconnected() {
	u.queue.Clear()
	u.maker.Reset()
	for _, s := range u.series {
		s.Kept.Trim(0)
	}
}

// store makes an answer a sample.
func (u *Upstream) store(asked *fetch, a pool.Answer) {
	u.asked.CountFetch(asked.Agents, a.PMCDTime)
	if len(asked.Sources) == 0 {
		return
	}
	made := u.sample(a.Columns, a.Began, a.Arrived, asked.List)
	made.BlockedBefore = a.BlockedBefore
	for metric, code := range made.Failed {
		if d := metric.Domain(); u.asked.CountError(metric, code) {
			u.mu.Remark(logrus.InfoLevel, logrus.Fields{"domain": d, "agent": u.agents[d], "pmid": metric, logrus.ErrorKey: code},
				"operand has no values")
		}
	}
	asked.CountValues(made, func(s *Series, values int) {
		if s.unsure = a.PMCDTime >= slow.Long && s.Older > 0 && len(s.domains) < len(asked.Agents) && !s.unsure; s.unsure {
			u.unsure = append(u.unsure, s)
			return
		}
		s.Push(made)
		s.Values = values
		if s.ticks {
			s.ticks = false
			wait.Signal(u.sampled)
		}
	})
}

// sample makes a sample of an answer and tells what is noticed.
func (u *Upstream) sample(res *pmapi.Columns, taken, arrived time.Time, asked *operand.List) *operand.Sample {
	made, noticed := u.maker.Make(res, taken, arrived, asked)
	for _, d := range noticed.Changed {
		u.changed[d] = struct{}{}
		wait.Signal(u.ready)
	}
	for _, set := range noticed.Excess {
		if _, logged := u.excess[set.PMID]; !logged {
			u.excess[set.PMID] = struct{}{}
			u.mu.Remark(logrus.WarnLevel, logrus.Fields{"pmid": set.PMID, "instances": len(set.Insts), "limit": operand.MaxInstances},
				"operand has too many instances, definitions that use it have no values")
		}
	}
	return made
}
