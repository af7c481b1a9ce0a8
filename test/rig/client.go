package rig

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/pmcdtest"
)

// Client is a context of pmcd that fetches the same metrics again and again.
type Client struct {
	*pmapi.Conn
	Names []string
	IDs   []pdu.PMID
}

// Dial connects to a private pmcd. It tries again while pmcd's queue of new connections is full.
func Dial(ctx context.Context, p *pmcdtest.PMCD) (*pmapi.Conn, error) {
	for begin := time.Now(); ; {
		conn, err := pmapi.Dial(ctx, "unix", p.Socket)
		if !errors.Is(err, syscall.EAGAIN) || time.Since(begin) > awaitLimit || !Sleep(ctx, pollInterval) {
			return conn, err
		}
	}
}

// Open connects a client of metrics. All must exist.
func Open(ctx context.Context, p *pmcdtest.PMCD, names ...string) (*Client, error) {
	conn, err := Dial(ctx, p)
	if err != nil {
		return nil, err
	}
	c, err := LookUp(ctx, conn, names...)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// LookUp makes a client of metrics over a connection. All must exist.
func LookUp(ctx context.Context, conn *pmapi.Conn, names ...string) (*Client, error) {
	c := &Client{Conn: conn, Names: names, IDs: make([]pdu.PMID, len(names))}
	found, err := conn.LookupNames(ctx, names)
	if err != nil {
		return nil, err
	}
	for i, f := range found {
		if f.Code < 0 {
			return nil, fmt.Errorf("%s: %w", names[i], f.Code)
		}
		c.IDs[i] = f.PMID
	}
	return c, nil
}

// Refused is the error of a metric without a descriptor.
type Refused struct {
	Name string
	Code pdu.Code
}

func (r *Refused) Error() string { return fmt.Sprintf("descriptor of %s: %v", r.Name, r.Code) }

func (r *Refused) Unwrap() error { return r.Code }

// Describe looks the descriptors up. Its error is a [*Refused] if one does not exist.
func (c *Client) Describe(ctx context.Context) ([]pdu.Desc, error) {
	found, err := c.Descs(ctx, c.IDs)
	if err != nil {
		return nil, err
	}
	descs := make([]pdu.Desc, len(found))
	for i, d := range found {
		if d.Code < 0 {
			return nil, &Refused{c.Names[i], d.Code}
		}
		descs[i] = d.Desc
	}
	return descs, nil
}

// Fetched is the outcome of one fetch.
type Fetched struct {
	Sent, Answered time.Time
	Sets           []pdu.ValueSet // valid until the next fetch of the connection
	Changes        pdu.Change     // that pmcd has announced since the fetch before
}

// Fetch fetches once.
func (c *Client) Fetch(ctx context.Context) (Fetched, error) { return Fetch(ctx, c.Conn, c.IDs) }

// Fetch fetches metrics once.
func Fetch(ctx context.Context, conn *pmapi.Conn, ids []pdu.PMID) (Fetched, error) {
	f := Fetched{Sent: time.Now()}
	res, err := conn.Fetch(ctx, ids)
	f.Answered = time.Now()
	if err != nil {
		return f, err
	}
	if len(res.Sets) != len(ids) {
		return f, fmt.Errorf("%d value sets for %d metrics", len(res.Sets), len(ids))
	}
	f.Sets, f.Changes = res.Sets, res.Changes
	return f, nil
}

// Bits returns the value of a singular metric of the fetch, or of its first instance.
func (f Fetched) Bits(i int) (bits uint64, ok bool) {
	if f.Sets[i].Code < 0 || len(f.Sets[i].Values) == 0 {
		return 0, false
	}
	return f.Sets[i].Values[0].Bits, true
}

// FetchAt fetches at once and then at a pace, until each returns false. each gets every outcome.
func (c *Client) FetchAt(ctx context.Context, pace Pace, each func(Fetched) (more bool)) error {
	for at := time.Now(); ; {
		f, err := c.Fetch(ctx)
		if err != nil {
			return err
		}
		if !each(f) {
			return nil
		}
		at = pace(at)
		if !Sleep(ctx, time.Until(at)) {
			return ctx.Err()
		}
	}
}

// Pace is a function that returns the time of the fetch after the one at last.
type Pace func(last time.Time) time.Time

// Nonstop fetches without a pause.
func Nonstop(last time.Time) time.Time { return last }

// Every fetches at the multiples of an interval, as most tools do. It leaves out those that have passed.
func Every(interval time.Duration) Pace {
	return func(last time.Time) time.Time {
		if now := time.Now(); now.After(last) {
			last = now
		}
		return last.Truncate(interval).Add(interval)
	}
}

// Anytime pauses for a random time between two limits. All orders of magnitude are equally likely.
func Anytime(r *rand.Rand, least, most time.Duration) Pace {
	return func(time.Time) time.Time {
		return time.Now().Add(time.Duration(float64(least) * math.Pow(float64(most)/float64(least), r.Float64())))
	}
}
