package agent

import (
	"github.com/sirupsen/logrus"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// Labels implements pmda.Labeler. The domain has the label that agents usually have; each metric says
// which file defines it. Labels of instances come from the agents that own them.
func (a *Agent) Labels(_ pmda.Client, ident uint32, t pdu.LabelType, _ *pdu.Profile) ([]pdu.LabelSet, error) {
	switch t {
	case pdu.LabelDomain:
		return a.domainLabels, nil
	case pdu.LabelItem:
		svc := a.service.Load()
		m := svc.byID[pdu.PMID(ident)]
		if m == nil {
			return nil, nil
		}
		a.interest(m, metadata)
		return svc.labels[m.def.File], nil
	}
	return nil, nil
}

func domainLabels() []pdu.LabelSet {
	set, err := pdu.NewLabelSet(pdu.NoInst, pdu.LabelDomain, map[string]any{"agent": Root})
	if err != nil {
		return nil
	}
	return []pdu.LabelSet{set}
}

// fileLabels makes the label derived_file. It does not identify a metric: that stays the same when its
// definition moves to another file. Its name has no dot: pmproxy writes names of labels into OpenMetrics as
// they are, and one that Prometheus cannot read costs it the metrics of the whole host.
func fileLabels(path string, log logrus.FieldLogger) []pdu.LabelSet {
	set, err := pdu.NewLabelSet(pdu.NoInst, pdu.LabelItem, map[string]any{Root + "_file": path})
	if err != nil {
		log.WithError(err).WithField("file", path).Warn("metrics of this file have no label")
		return nil
	}
	for i := range set.Labels {
		set.Labels[i].Flags |= pdu.LabelOptional
	}
	return []pdu.LabelSet{set}
}
