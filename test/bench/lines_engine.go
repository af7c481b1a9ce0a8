package bench

import (
	"context"
	"time"
)

// The evaluator alone, against the one in libpcp.

// libpcpEvaluation returns a function that measures what an expression costs a client of libpcp for each
// value, in ns: a fetch of the derived metric less a fetch of its operands.
func (b *bench) libpcpEvaluation(ctx context.Context, a *arena, kind, expr string) (func() (float64, error), func(), error) {
	const n, fetches = 10_000, 10
	f := familyOf(same, n)
	def := over(f, 0, kind, expr)
	file, err := a.derivedFile(kind+".conf", []definition{def})
	if err != nil {
		return nil, nil, err
	}
	evaluating, err := a.fetcher(ctx, file, []string{def.name}, n, keepMemory)
	if err != nil {
		return nil, nil, err
	}
	plain, err := a.fetcher(ctx, "", metricsOf("bulk", f, def.operands), def.operands*n, keepMemory)
	if err != nil {
		return nil, nil, err
	}
	if err := plain.join(1, 0); err != nil {
		return nil, nil, err
	}
	drop := func() {
		a.drop(evaluating.client)
		a.drop(plain.client)
	}
	return func() (float64, error) {
		with, err := clientCost(evaluating, fetches, 0)
		if err != nil {
			return 0, err
		}
		without, err := clientCost(plain, fetches, 0)
		return (with - without) / n, err
	}, drop, nil
}

func (b *bench) compareEvaluation(ctx context.Context, kind, expr string) (pair, error) {
	a, err := b.smallArena(ctx)
	if err != nil {
		return pair{}, err
	}
	theirs, drop, err := b.libpcpEvaluation(ctx, a, kind, expr)
	if err != nil {
		return pair{}, err
	}
	defer drop()
	ours, err := newEngine(10_000).evaluate(expr)
	if err != nil {
		return pair{}, err
	}
	p, err := inTurns(b.Time, ours, theirs)
	if err != nil {
		return p, err
	}
	b.note("%s: %.2f ns against %.1f ns a value; quartiles of the ratio %.3f to %.3f, %d turns", kind,
		median(p.ours), median(p.theirs), quantile(p.ratios, 0.25), quantile(p.ratios, 0.75), len(p.ratios))
	return p, nil
}

func measureSum(ctx context.Context, b *bench) ([]float64, error) {
	p, err := b.compareEvaluation(ctx, "eval", exprSum)
	if err != nil {
		return nil, err
	}
	if _, err := b.compareEvaluation(ctx, "ratio", exprRatio); err != nil {
		return nil, err
	}
	return []float64{p.ratio(), median(p.ours)}, nil
}

func measureFifty(ctx context.Context, b *bench) ([]float64, error) {
	p, err := b.compareEvaluation(ctx, "fifty", exprFifty())
	if err != nil {
		return nil, err
	}
	return []float64{median(p.ours)}, nil
}

func measureMatch(_ context.Context, b *bench) ([]float64, error) {
	const n = 10_000
	first, err := matchFirst(n)
	if err != nil {
		return nil, err
	}
	again, err := matchNew(n)
	if err != nil {
		return nil, err
	}
	p, err := inTurns(b.Time/2, first, again)
	if err != nil {
		return nil, err
	}
	return []float64{median(p.ours), median(p.theirs)}, nil
}

// settle is how long after the last client the agent counts as idle: its memory goes back to the kernel meanwhile.
const settle = 5 * time.Second

func measureIdle(ctx context.Context, b *bench) ([]float64, error) {
	a, err := b.smallArena(ctx)
	if err != nil {
		return nil, err
	}
	a.dropAll()
	time.Sleep(settle)
	n := 10
	if b.Time < time.Second {
		n = 2
	}
	var each []float64 // ms for each second
	sum := 0.0
	for range n {
		cpu, err := cpuOf(a.derived)
		if err != nil {
			return nil, err
		}
		started := time.Now()
		time.Sleep(time.Second)
		later, err := cpuOf(a.derived)
		if err != nil {
			return nil, err
		}
		ms := float64(later-cpu) / 1e6 / time.Since(started).Seconds()
		each = append(each, ms)
		sum += ms / float64(n)
	}
	b.note("ms in each second: %.3f", each)
	return []float64{sum}, nil
}
