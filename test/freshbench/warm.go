package freshbench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pmdaderived/test/pmcdtest"
)

// rateMetric is defined by PCP, for its clients: a rate, which has no value the first time that a client asks.
const rateMetric = "kernel.cpu.util.user"

// warm fetches a rate once from a daemon that is configured as it comes, soon after its start.
func warm(ctx context.Context, b *bench) (rows []Row, err error) {
	up := b.options.Plan.Warm
	if up == 0 {
		return nil, nil
	}
	begin := time.Now()
	p, err := pmcdtest.Launch(pmcdtest.Config{Agents: []pmcdtest.Agent{b.derived()}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Stop(), p.Remove()) }()
	if err := pause(ctx, time.Until(begin.Add(up))); err != nil {
		return nil, err
	}
	value, err := printed(ctx, p, nil, "derived."+rateMetric)
	if err != nil {
		return nil, err
	}
	// What a stock client without the daemon has for the same definition.
	stock, err := printed(ctx, p, []string{"PCP_DERIVED_CONFIG=" + p.Dir + "/var/config/derived"}, rateMetric)
	if err != nil {
		return nil, err
	}
	f, err := readFigures(ctx, "unix:"+p.Socket)
	if err != nil {
		return nil, err
	}
	b.longest = max(b.longest, f.longest)
	timeouts, err := logTimeouts(p)
	b.timeouts = append(b.timeouts, timeouts...)
	return []Row{{
		What:     fmt.Sprintf("pminfo -f derived.%s, %v after the start", rateMetric, up),
		Measured: fmt.Sprintf("%q; by libpcp alone %q", value, stock), Target: "a value",
		OK: strings.HasPrefix(value, "value "),
	}}, err
}

// printed is what pminfo -f says about the value of a metric.
func printed(ctx context.Context, p *pmcdtest.PMCD, env []string, metric string) (string, error) {
	lines, err := run(ctx, p, env, "pminfo", "-f", metric)
	if err != nil {
		return "", err
	}
	for i, l := range lines {
		if l.text == metric && i+1 < len(lines) {
			return strings.TrimSpace(lines[i+1].text), nil
		}
	}
	if len(lines) == 0 {
		return "", nil
	}
	return strings.TrimSpace(lines[len(lines)-1].text), nil
}
