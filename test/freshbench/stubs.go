package freshbench
import "context"
import "pmdaderived/pdu"
func ids(l ...pdu.PMID) []pdu.PMID { return l }
func irregular(ctx context.Context, b *bench) ([]Row, error) { return nil, nil }
func coincide(ctx context.Context, b *bench) ([]Row, error) { return nil, nil }
func rates(ctx context.Context, b *bench) ([]Row, error) { return nil, nil }
func sums(ctx context.Context, b *bench) ([]Row, error) { return nil, nil }
func warm(ctx context.Context, b *bench) ([]Row, error) { return nil, nil }
func slowOperand(ctx context.Context, b *bench) ([]Row, error) { return nil, nil }
func idle(ctx context.Context, b *bench) ([]Row, error) { return nil, nil }
func conformanceCases(ctx context.Context, b *bench) ([]Row, error) { return nil, nil }
func requests(ctx context.Context, b *bench) ([]Row, error) { return nil, nil }
