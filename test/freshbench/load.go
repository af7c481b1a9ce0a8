package freshbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// runLoad fetches as that many clients, without pause, until the standard input ends. It prints a line when all
// are at work and, at the end, how many fetches there were.
func runLoad(clients string) error {
	n, err := parsePositive("clients", clients)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var conns []*pmapi.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close() // pmcd may have ended it
		}
	}()
	for range n {
		c, err := dial(ctx, "local:")
		if err != nil {
			return err
		}
		conns = append(conns, c)
	}
	ids, err := loadMetrics(ctx, conns[0])
	if err != nil {
		return err
	}
	fmt.Println("ready")

	var fetches atomic.Uint64
	var failed atomic.Pointer[error]
	var working sync.WaitGroup
	for _, c := range conns {
		working.Go(func() {
			for ctx.Err() == nil {
				if _, err := c.Fetch(ctx, ids); err != nil {
					if !errors.Is(err, context.Canceled) {
						failed.Store(&err)
					}
					return
				}
				fetches.Add(1)
			}
		})
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	cancel()
	working.Wait()
	if problem := failed.Load(); problem != nil {
		return *problem
	}
	fmt.Println(fetches.Load())
	return err
}

// loadMetrics are what an ordinary monitor watches: processors, memory pressure and disks.
func loadMetrics(ctx context.Context, c *pmapi.Conn) ([]pdu.PMID, error) {
	var ids []pdu.PMID
	for _, tree := range []string{"kernel.all.cpu", "kernel.all.load", "disk.dev"} {
		names, err := c.Traverse(ctx, tree)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", tree, err)
		}
		found, err := c.LookupNames(ctx, names)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if f.Code == 0 {
				ids = append(ids, f.PMID)
			}
		}
	}
	return ids, nil
}
