package operand

import (
	"context"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// MetadataSource tells what metrics and instances there are, as [pmapi.Conn] does: a pmcd, or an archive.
type MetadataSource interface {
	LookupNames(ctx context.Context, names []string) ([]pmapi.NameResult, error)
	Descs(ctx context.Context, ids []pdu.PMID) ([]pmapi.DescResult, error)
	Instances(ctx context.Context, d pdu.InDom) ([]pdu.Instance, error)
	InstanceID(ctx context.Context, d pdu.InDom, name string) (pdu.Inst, error)
	Labels(ctx context.Context, ident uint32, t pdu.LabelType) ([]pdu.LabelSet, error)

	// Err tells why nothing can be asked any more.
	Err() error
}
