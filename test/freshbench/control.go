package freshbench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// kinds are the fetches that the daemon tells apart: the first and the second of a context, the later ones of
// a context whose next fetch can be foretold, and the rest.
const (
	firstFetch = iota
	secondFetch
	regularFetch
	irregularFetch
	kinds
)

// figures are what the daemon says about itself, derived.control, at one moment.
type figures struct {
	upstream uint64        // fetches sent to pmcd
	stale    uint64        // metrics refused because no sample was young enough
	longest  time.Duration // that a request took, since the daemon was started
	ages     [kinds]histogram
}

const numNumbers = 3 // of figures, in front of the ages

func figureNames() []string {
	names := []string{
		"upstream.fetches", "sample.stale", "request_longest",
		"sample.age.first", "sample.age.second", "sample.age.regular", "sample.age.irregular",
	}
	for i, name := range names {
		names[i] = "derived.control." + name
	}
	return names
}

// figures reads them: one lookup and one fetch of metrics that have no operands, over a connection of its own.
func (b *bench) figures(ctx context.Context) (figures, error) { return readFigures(ctx, b.host()) }

func readFigures(ctx context.Context, host string) (f figures, err error) {
	c, err := dial(ctx, host)
	if err != nil {
		return f, err
	}
	defer c.Close() //nolint:errcheck // nothing is lost with it
	ids, err := lookUp(ctx, c, figureNames()...)
	if err != nil {
		return f, err
	}
	bounds, err := readBounds(ctx, c, ids[numNumbers])
	if err != nil {
		return f, err
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil {
		return f, err
	}
	for i := range res.Sets {
		set := &res.Sets[i]
		switch {
		case set.Code < 0:
			return f, fmt.Errorf("%s: %w", figureNames()[i], set.Code)
		case i < numNumbers && len(set.Values) == 1:
		case i >= numNumbers && len(set.Values) == len(bounds):
			f.ages[i-numNumbers] = newHistogram(bounds, set.Values)
		default:
			return f, fmt.Errorf("%s: %d values", figureNames()[i], len(set.Values))
		}
	}
	f.upstream, f.stale = res.Sets[0].Values[0].Bits, res.Sets[1].Values[0].Bits
	f.longest = time.Duration(math.Float64frombits(res.Sets[2].Values[0].Bits) * 1e6)
	return f, nil
}

// readBounds gives the bucket that each instance stands for.
func readBounds(ctx context.Context, c *pmapi.Conn, id pdu.PMID) (map[pdu.Inst]time.Duration, error) {
	desc, err := c.Desc(ctx, id)
	if err != nil {
		return nil, err
	}
	instances, err := c.Instances(ctx, desc.InDom)
	if err != nil {
		return nil, err
	}
	bounds := make(map[pdu.Inst]time.Duration, len(instances))
	for _, i := range instances {
		if bounds[i.ID], err = parseBound(i.Name); err != nil {
			return nil, err
		}
	}
	return bounds, nil
}

func newHistogram(bounds map[pdu.Inst]time.Duration, values []pdu.Value) histogram {
	values = slices.SortedFunc(slices.Values(values), func(a, b pdu.Value) int {
		return int(min(max(bounds[a.Inst]-bounds[b.Inst], -1), 1))
	})
	var h histogram
	for _, v := range values {
		h.bounds = append(h.bounds, bounds[v.Inst])
		h.counts = append(h.counts, v.Bits)
	}
	return h
}

// since is what came after an earlier moment; longest is not.
func (f figures) since(before figures) figures {
	f.upstream -= before.upstream
	f.stale -= before.stale
	for i := range f.ages {
		f.ages[i] = f.ages[i].since(before.ages[i])
	}
	return f
}

// served counts the values served, of derived metrics with operands.
func (f figures) served() uint64 {
	n := uint64(0)
	for _, h := range f.ages {
		n += h.total()
	}
	return n
}
