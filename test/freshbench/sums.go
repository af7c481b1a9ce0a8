package freshbench

import (
	"context"
	"fmt"
	"time"
)

// sumIntervals are those of the clients that add up delta() at the same time.
func sumIntervals() []time.Duration {
	return []time.Duration{
		100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 1700 * time.Millisecond,
	}
}

// sums has each client add up delta() of a counter and compares with the counter itself, which it fetches as well.
func sums(ctx context.Context, b *bench) ([]Row, error) {
	length := b.options.Plan.Sums
	if length == 0 {
		return nil, nil
	}
	var clients []*tool
	for _, interval := range sumIntervals() {
		t, err := start(ctx, b.pmcd, nil, "pmrep", "-ocsv", "-r", "-t"+seconds(interval), fmt.Sprintf("-s%d", length/interval+1),
			"derived.counter", "derived.step")
		if err != nil {
			return nil, err
		}
		clients = append(clients, t)
	}
	var rows []Row
	for i, t := range clients {
		lines, err := t.wait()
		if err != nil {
			return nil, err
		}
		interval := sumIntervals()[i]
		b.logf("every %v", interval)
		s := b.addUp(lines)
		want := int(length/interval) + 1
		rows = append(rows, Row{
			What:     fmt.Sprintf("delta() added up over %v, every %v, beside %d others", length, interval, len(clients)-1),
			Measured: fmt.Sprintf("%.0f in %d of %d fetches", s.sum, s.fetches, want),
			Target:   fmt.Sprintf("%.0f, as the counter", s.last-s.first),
			OK:       s.sum == s.last-s.first && s.fetches == want && s.fetches > 1,
		})
	}
	return rows, nil
}

// total is what one client has seen. Its numbers are below 2^53, so they are exact.
type total struct {
	fetches     int // with both values
	first, last float64
	sum         float64 // of the deltas after the first fetch
}

func (b *bench) addUp(lines []line) total {
	var t total
	for _, l := range lines {
		cells, ok := numbers(l.text)
		if !ok[1] {
			continue
		}
		if t.fetches == 0 {
			t.first = cells[1]
		} else if ok[2] {
			t.sum += cells[2]
			if grown := cells[1] - t.last; grown != cells[2] {
				b.logf("fetch %d: delta %.0f, the counter has grown by %.0f", t.fetches+1, cells[2], grown)
			}
		}
		t.last = cells[1]
		t.fetches++
	}
	return t
}
