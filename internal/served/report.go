package served

import "github.com/sirupsen/logrus"

// MaxReported is the number of problems of a file that are logged together.
const MaxReported = 100

// Reported counts the problems of each file that are logged together. A file may have thousands, and so may each edit of
// it.
type Reported map[string]int

// Add counts a problem of a file, and reports whether it is to be logged.
func (r Reported) Add(file string) bool {
	r[file]++
	return r[file] <= MaxReported
}

// LogRest logs how many problems of each file were not to be logged, with a message about these.
func (r Reported) LogRest(log logrus.FieldLogger, message string) {
	for file, n := range r {
		if n > MaxReported {
			log.WithFields(logrus.Fields{"file": file, "more": n - MaxReported}).Warn(message)
		}
	}
}

// Report logs the definitions whose state has changed since the snapshot before. unread is the number of
// Config.Failures.
func (s *Snapshot) Report(log logrus.FieldLogger, before *Snapshot, unread int) {
	gone, wrong := make(Reported), make(Reported)
	for _, name := range s.WithoutPMID {
		log.WithField("metric", name).Error("definition has no metric identifier")
	}
	for m, now := range before.Pairs(s) {
		if m.HasDesc && (now == nil || now.ID != m.ID) && gone.Add(m.Def.File) {
			log.WithFields(logrus.Fields{"metric": m.Def.Name, "pmid": m.ID}).
				Warn("metric has disappeared or changed, restart pmlogger if it records it")
		}
	}
	gone.LogRest(log, "more metrics have disappeared or changed, restart pmlogger if it records them")
	for m, old := range s.Pairs(before) {
		if old != nil && old.State == m.State && old.Problem == m.Problem {
			continue
		}
		fields := func() *logrus.Entry { return log.WithFields(logrus.Fields{"metric": m.Def.Name, "state": m.State}) }
		switch { // the reader of the configuration has logged problems with Reported
		case m.State == Failed && m.Reported, (m.State == Failed || m.State == Kept) && !wrong.Add(m.Def.File):
		case m.State == Kept && m.Reported:
			fields().Warn("an earlier definition is served")
		case m.State == Failed:
			fields().WithField("problem", m.Problem).Error("definition is wrong")
		case m.State == Kept:
			fields().WithField("problem", m.Problem).Error("definition is wrong, served as before")
		case m.State == Unbound && s.LookedUp: // before the first lookup all definitions are unbound
			fields().WithField("problem", m.Problem).Debug("definition uses a metric that does not exist")
		}
	}
	wrong.LogRest(log, "more definitions are wrong, run pmdaderived check --all")
	if s.LookedUp && (before.Bound != s.Bound || len(before.Served) != len(s.Served) || !before.LookedUp) {
		log.WithFields(logrus.Fields{
			"definitions": len(s.Served), "bound": s.Bound, "failed": s.Failures() + unread,
		}).Info("definitions bound")
	}
}
