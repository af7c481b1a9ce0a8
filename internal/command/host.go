package command

import (
	"context"
	"errors"

	"pmdaderived/internal/collector"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
)

// lookUpOperands looks up the operands of definitions, and metrics with names of definitions.
func (f *findings) lookUpOperands(ctx context.Context) (err error) {
	if err := f.connect(ctx); err != nil {
		return err
	}
	if err := f.verify(ctx); err != nil {
		return err
	}
	names := make([]string, len(f.files.All))
	for i, d := range f.files.All {
		names[i] = d.Name
	}
	f.catalog, err = session.LookUp(ctx, f.collector.Metrics, f.files.All, names...)
	return err
}

// lintHost is the collector as a [lint.Host]. Metadata that pmcd does not return is unknown.
type lintHost struct {
	collector *collector.Collector
	ctx       context.Context        //nolint:containedctx // lives as long as one run of check
	instances map[pdu.InDom][]string // names that have been looked up, nil with an error
}

// Instances implements lint.Host.
func (h *lintHost) Instances(d pdu.InDom) []string {
	names, ok := h.instances[d]
	if !ok {
		if instances, err := h.collector.Instances(h.ctx, d); err == nil {
			names = make([]string, len(instances))
			for i, instance := range instances {
				names[i] = instance.Name
			}
		}
		h.instances[d] = names
	}
	return names
}

// HasInstance implements lint.Host.
func (h *lintHost) HasInstance(d pdu.InDom, name string) bool {
	_, err := h.collector.InstanceID(h.ctx, d, name)
	return !errors.Is(err, pdu.ErrInst)
}
