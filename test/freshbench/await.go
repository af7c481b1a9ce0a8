package freshbench

import (
	"context"
	"fmt"
	"time"

	"pmdaderived/pdu"
)

const (
	patience     = 20 * time.Second
	pollInterval = 20 * time.Millisecond
)

// awaitValue waits until a metric has a value.
func (b *bench) awaitValue(ctx context.Context, host, name string) error {
	c, err := dial(ctx, host)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // nothing is lost with it
	return await(ctx, name+" has a value", func() (bool, error) {
		found, err := c.LookupNames(ctx, []string{name})
		if err != nil || found[0].Code < 0 {
			return false, nil
		}
		res, err := c.Fetch(ctx, []pdu.PMID{found[0].PMID})
		if err != nil {
			return false, err
		}
		return len(res.Sets[0].Values) > 0, nil
	})
}

// await polls until something holds.
func await(ctx context.Context, what string, holds func() (bool, error)) error {
	deadline := time.Now().Add(patience)
	for {
		ok, err := holds()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", what, err)
		case ok:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("not within %v: %s", patience, what)
		}
		if err := pause(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
