package rig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/test/pmcdtest"
)

// Figures are metrics that the daemon, or pmcd, has about itself, at one moment: a number for each singular metric, a
// histogram for each metric over classes of durations, such as derived.control.sample.age.
type Figures struct {
	At         time.Time
	Numbers    map[string]float64
	Histograms map[string]Histogram
}

// Since returns the differences to an earlier moment.
func (f Figures) Since(before Figures) Figures {
	d := Figures{At: f.At, Numbers: map[string]float64{}, Histograms: map[string]Histogram{}}
	for name, n := range f.Numbers {
		d.Numbers[name] = n - before.Numbers[name]
	}
	for name, h := range f.Histograms {
		d.Histograms[name] = h.Since(before.Histograms[name])
	}
	return d
}

// Reader reads figures over its own connection.
type Reader struct {
	client *Client
	types  []pdu.Type
	bounds map[string]map[pdu.Inst]time.Duration // of the classes, by metric
}

// NewReader connects a reader of metrics.
func NewReader(ctx context.Context, p *pmcdtest.PMCD, names ...string) (*Reader, error) {
	c, err := Open(ctx, p, names...)
	if err != nil {
		return nil, err
	}
	r := &Reader{client: c, bounds: map[string]map[pdu.Inst]time.Duration{}}
	if err := r.describe(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return r, nil
}

func (r *Reader) describe(ctx context.Context) error {
	descs, err := r.client.Describe(ctx)
	for i, d := range descs {
		r.types = append(r.types, d.Type)
		if d.InDom == pdu.NoInDom {
			continue
		}
		if r.bounds[r.client.Names[i]], err = readBounds(ctx, r.client, d.InDom); err != nil {
			return err
		}
	}
	return err
}

func readBounds(ctx context.Context, c *Client, d pdu.InDom) (map[pdu.Inst]time.Duration, error) {
	instances, err := c.Instances(ctx, d)
	bounds := make(map[pdu.Inst]time.Duration, len(instances))
	for _, i := range instances {
		if bounds[i.ID], err = parseBound(i.Name); err != nil {
			return nil, err
		}
	}
	return bounds, err
}

// Close disconnects the reader.
func (r *Reader) Close() error { return r.client.Close() }

// Read fetches the figures once.
func (r *Reader) Read(ctx context.Context) (Figures, error) {
	f := Figures{Numbers: map[string]float64{}, Histograms: map[string]Histogram{}}
	got, err := r.client.Fetch(ctx)
	if err != nil {
		return f, err
	}
	f.At = got.Answered
	for i, name := range r.client.Names {
		set, bounds := got.Sets[i], r.bounds[name]
		switch {
		case bounds != nil && len(set.Values) == len(bounds):
			f.Histograms[name] = newHistogram(bounds, set.Values)
		case bounds == nil && len(set.Values) == 1:
			f.Numbers[name] = set.Values[0].TypeOr(r.types[i]).Float64(set.Values[0].Bits)
		default:
			return f, fmt.Errorf("%s: %d values, %w", name, len(set.Values), set.Code)
		}
	}
	return f, nil
}

// ReadFigures connects, reads metrics once and disconnects.
func ReadFigures(ctx context.Context, p *pmcdtest.PMCD, names ...string) (f Figures, err error) {
	r, err := NewReader(ctx, p, names...)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return r.Read(ctx)
}

func newHistogram(bounds map[pdu.Inst]time.Duration, values []pdu.Value) Histogram {
	values = slices.SortedFunc(slices.Values(values), func(a, b pdu.Value) int {
		return int(min(max(bounds[a.Inst]-bounds[b.Inst], -1), 1))
	})
	var h Histogram
	for _, v := range values {
		h.Bounds = append(h.Bounds, bounds[v.Inst])
		h.Counts = append(h.Counts, v.Bits)
	}
	return h
}
