package freshbench

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"pmdaderived/test/pmcdtest"
)

// mostRequest is how long any request may take.
const mostRequest = 50 * time.Millisecond

// requests looks back at the whole run.
func requests(ctx context.Context, b *bench) ([]Row, error) {
	f, err := b.figures(ctx)
	if err != nil {
		return nil, err
	}
	timeouts, err := logTimeouts(b.pmcd)
	if err != nil {
		return nil, err
	}
	timeouts = append(timeouts, b.timeouts...)
	for _, l := range timeouts {
		b.logf("%s", l)
	}
	longest := max(b.longest, f.longest)
	return []Row{
		{
			What: "longest request of the run", Measured: milliseconds(longest), Target: "≤ " + milliseconds(mostRequest),
			OK: longest <= mostRequest, Timed: true,
		},
		machineRow("the whole run", b.machine()),
		{
			What: "time-outs in pmcd's log", Measured: fmt.Sprint(len(timeouts)), Target: "0", OK: len(timeouts) == 0,
		},
	}, nil
}

// logTimeouts finds the complaints about agents and clients that were waited for in vain.
func logTimeouts(p *pmcdtest.PMCD) ([]string, error) {
	text, err := os.ReadFile(p.LogFile)
	if err != nil {
		return nil, err
	}
	complaint := regexp.MustCompile(`(?i)time-?d? ?out`)
	var found []string
	for l := range strings.Lines(string(text)) {
		if complaint.MatchString(l) {
			found = append(found, strings.TrimSuffix(l, "\n"))
		}
	}
	return found, nil
}
