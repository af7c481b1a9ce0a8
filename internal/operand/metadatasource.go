package operand

import (
	"context"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// MetadataSource answers questions about metrics and instances, as [pmapi.Conn] does: a pmcd or an archive.
type MetadataSource interface {
	LookupNames(ctx context.Context, names []string) ([]pmapi.NameResult, error)
	Descs(ctx context.Context, ids []pdu.PMID) ([]pmapi.DescResult, error)
	Instances(ctx context.Context, d pdu.InDom) ([]pdu.Instance, error)
	InstanceID(ctx context.Context, d pdu.InDom, name string) (pdu.Inst, error)
	Labels(ctx context.Context, ident uint32, t pdu.LabelType) ([]pdu.LabelSet, error)

	// Err returns why the source cannot answer any more; nil: it can.
	Err() error
}
