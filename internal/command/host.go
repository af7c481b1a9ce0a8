package command

import (
	"context"
	"errors"

	"pmdaderived/internal/collector"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
)

// lintHost has the metadata that a pmcd has returned for the definitions to check. It is a [lint.Host], which can ask
// for more. Metadata that pmcd does not return is unknown.
type lintHost struct {
	*collector.Collector
	ctx     context.Context //nolint:containedctx // lives as long as one run of check
	catalog *operand.Catalog

	instances map[pdu.InDom][]string
}

// lookUpOperands looks up the operands of definitions, and metrics with names of definitions.
func (t *invocation) lookUpOperands(ctx context.Context, c *checkRun) (*lintHost, error) {
	conn, err := t.connect(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(c.All))
	for i, d := range c.All {
		names[i] = d.Name
	}
	h := &lintHost{Collector: conn, ctx: ctx, instances: map[pdu.InDom][]string{}}
	if err := t.verify(ctx, conn); err != nil {
		h.Close()
		return nil, err
	}
	if h.catalog, err = session.LookUp(ctx, conn.Metrics, c.All, names...); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Instances implements lint.Host.
func (h *lintHost) Instances(d pdu.InDom) []string {
	names, ok := h.instances[d]
	if !ok {
		if all, err := h.Collector.Instances(h.ctx, d); err == nil {
			names = make([]string, len(all))
			for i, instance := range all {
				names[i] = instance.Name
			}
		}
		h.instances[d] = names
	}
	return names
}

// HasInstance implements lint.Host.
func (h *lintHost) HasInstance(d pdu.InDom, name string) bool {
	_, err := h.InstanceID(h.ctx, d, name)
	return !errors.Is(err, pdu.ErrInst)
}
