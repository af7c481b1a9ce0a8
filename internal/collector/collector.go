package collector

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// dialTimeout is how long Connect waits for pmcd's greeting.
const dialTimeout = 10 * time.Second

// Metrics is what sub-commands ask a pmcd or an archive.
type Metrics interface {
	session.Source
	Desc(ctx context.Context, id pdu.PMID) (pdu.Desc, error)
	Children(ctx context.Context, name string) ([]pmapi.Child, error)
	Fetch(ctx context.Context, ids []pdu.PMID) (*pmapi.Result, error)
}

// Collector is a pmcd, or an archive in its place.
type Collector struct {
	Metrics
	Archive     *Archive // nil: it is a pmcd
	closeSource func() error
	childrenOf  map[string][]pmapi.Child // children of nodes of the name space that have been looked up
	compared    int                      // see maxCompared
}

// FromArchive returns an archive as a collector.
func FromArchive(p *Archive) *Collector {
	return &Collector{
		Metrics: p.Source, Archive: p, closeSource: p.Close,
		childrenOf: map[string][]pmapi.Child{},
	}
}

// Nothing returns a collector without metrics, for definitions that need none.
func Nothing() *Collector { return &Collector{closeSource: func() error { return nil }} }

// Connect connects to a pmcd. spec is as in the option --host.
func Connect(ctx context.Context, spec string) (*Collector, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := commandline.Dial(ctx, spec)
	if err != nil {
		return nil, unreachable(err)
	}
	return &Collector{Metrics: conn, closeSource: conn.Close, childrenOf: map[string][]pmapi.Child{}}, nil
}

// Close closes the connection or the archive.
func (c *Collector) Close() { _ = c.closeSource() }

// Where returns where the metrics are, for a message.
func (c *Collector) Where() string {
	if c.Archive != nil {
		return "in the archive"
	}
	return "on this host"
}

// Sample binds definitions, and takes one sample of the named metrics. A metric that needs earlier samples, or has an
// error, is nil in the result.
func (c *Collector) Sample(
	ctx context.Context, defs []served.Definition, language derived.Language, names ...string,
) (*session.Session, []*derived.Metric, error) {
	session, err := session.New(ctx, c.Metrics, defs, language)
	if err != nil {
		return nil, nil, err
	}
	metrics := make([]*derived.Metric, len(names))
	var watched []*derived.Metric
	for i, name := range names {
		if m, ok := session.Set().Lookup(name); ok && m.Err == nil && m.Needs().History == 0 &&
			len(m.Needs().Windows) == 0 {
			metrics[i] = m
			watched = append(watched, m)
		}
	}
	if len(watched) == 0 {
		return session, metrics, nil
	}
	session.Watch(watched...)
	if c.Archive != nil {
		return session, metrics, c.Archive.sampleUntilValues(ctx, session, watched)
	}
	return session, metrics, session.Sample(ctx, time.Now())
}

// MetricValues has the values of a metric, or why there are none.
type MetricValues struct {
	ID         pdu.PMID
	LookupCode pdu.Code // < 0: why there is no such metric
	Code       pdu.Code // < 0: why there are no values
	Values     []pdu.Value
}

// CountText returns how many values there are, for a message.
func (f *MetricValues) CountText() string {
	switch {
	case f.Code < 0:
		return "none: " + f.Code.Error()
	case len(f.Values) == 0:
		return "none"
	}
	return plural.Of(len(f.Values), "value")
}

// Values fetches metrics by name. A metric that does not exist is no error.
func (c *Collector) Values(ctx context.Context, names ...string) ([]MetricValues, error) {
	found, err := c.LookupNames(ctx, names)
	if err != nil {
		return nil, err
	}
	all := make([]MetricValues, len(found))
	var ids []pdu.PMID
	for i, f := range found {
		all[i] = MetricValues{ID: f.PMID, LookupCode: f.Code, Code: f.Code}
		if f.Code == 0 {
			ids = append(ids, f.PMID)
		}
	}
	if len(ids) == 0 {
		return all, nil
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil {
		return nil, err
	}
	next := 0
	for i := range all {
		if all[i].LookupCode == 0 {
			all[i].Code, all[i].Values = res.Sets[next].Code, slices.Clone(res.Sets[next].Values)
			for j := range all[i].Values { // the connection reuses their memory
				all[i].Values[j].Bytes = bytes.Clone(all[i].Values[j].Bytes)
			}
			next++
		}
	}
	return all, nil
}

// InstanceNames returns the external names of a metric's instances.
func (c *Collector) InstanceNames(ctx context.Context, id pdu.PMID) (map[pdu.Inst]string, error) {
	desc, err := c.Desc(ctx, id)
	if err != nil {
		return nil, err
	}
	instances, err := c.Instances(ctx, desc.InDom)
	if err != nil {
		return nil, err
	}
	names := make(map[pdu.Inst]string, len(instances))
	for _, i := range instances {
		names[i.ID] = i.Name
	}
	return names, nil
}

// maxCompared is the number of letters that Similar compares with names in all calls together: as many as
// hundreds of names take on a host.
const maxCompared = 2_000_000

// Similar returns the metric with a name similar to this one: each component may differ in a few letters. It returns ""
// if there is none, if the metric itself exists, or if it has compared enough already.
func (c *Collector) Similar(ctx context.Context, name string) string {
	prefix := ""
	parts := strings.Split(name, ".")
	for i, part := range parts {
		children, err := c.listChildren(ctx, prefix)
		if err != nil {
			return ""
		}
		if c.compared += len(part) * len(children); c.compared > maxCompared {
			return ""
		}
		best, least := "", 1+len(part)/3
		for _, child := range children {
			if child.Leaf != (i == len(parts)-1) {
				continue
			}
			if n := syntax.Distance(part, child.Name, least); n < least || n == least && best == "" {
				best, least = child.Name, n
			}
		}
		if best == "" {
			return ""
		}
		prefix = strings.TrimPrefix(prefix+"."+best, ".")
	}
	if prefix == name {
		return ""
	}
	return prefix
}

func (c *Collector) listChildren(ctx context.Context, name string) ([]pmapi.Child, error) {
	if known, ok := c.childrenOf[name]; ok {
		return known, nil
	}
	children, err := c.Children(ctx, name)
	if err != nil && !errors.Is(err, pdu.ErrName) {
		return nil, err
	}
	c.childrenOf[name] = children
	return children, nil
}
