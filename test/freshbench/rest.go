package freshbench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// lookedUpAgain is how long after a fetch the daemon may still look its operands up: a connection's first answer tells it that
// there are new agents, and it waits a second.
const lookedUpAgain = 2 * time.Second

// idle has no client for a while and looks whether the daemon asks pmcd for anything.
func (b *bench) idle(ctx context.Context) ([]rig.Row, error) {
	const pdus = "pmcd.pdu_in.total" // from anybody, the answers of agents included
	var looks [3]rig.Figures         // what looking costs, and what came to pass in the time after that
	for i := range looks {
		switch i {
		case 0:
			rig.Sleep(ctx, lookedUpAgain)
		case 2:
			rig.Sleep(ctx, b.plan.Idle)
		}
		var err error
		if looks[i], err = rig.ReadFigures(ctx, b.pmcd, upstreamFetches, pdus); err != nil {
			return nil, err
		}
	}
	looking, quiet := looks[1].Since(looks[0]), looks[2].Since(looks[1])
	what := fmt.Sprintf("%v without clients", b.plan.Idle)
	return []rig.Row{
		rig.Equal(what+": fetches by the daemon", quiet.Numbers[upstreamFetches], 0),
		{
			What:     what + ": PDUs that pmcd got",
			Measured: fmt.Sprintf("%.0f, %.0f of them for looking", quiet.Numbers[pdus], looking.Numbers[pdus]), Target: "all for looking",
			OK: quiet.Numbers[pdus] == looking.Numbers[pdus],
		},
	}, nil
}

// rateMetric is defined by PCP, for its clients: a rate, which has no value the first time that a client asks.
const rateMetric = "kernel.cpu.util.user"

// warm fetches a rate once from a daemon that is configured as it comes, soon after its start.
func (b *bench) warm(ctx context.Context) (rows []rig.Row, err error) {
	begin := time.Now()
	p, err := pmcdtest.Launch(pmcdtest.Config{Agents: []pmcdtest.Agent{b.derived()}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Stop(), p.Remove()) }()
	rig.Sleep(ctx, time.Until(begin.Add(b.plan.Warm)))
	value, err := printed(ctx, p, nil, "derived."+rateMetric)
	if err != nil {
		return nil, err
	}
	// What a stock client without the daemon has for the same definition.
	stock, err := printed(ctx, p, []string{"PCP_DERIVED_CONFIG=" + p.Dir + "/var/config/derived"}, rateMetric)
	if err != nil {
		return nil, err
	}
	return []rig.Row{{
		What:     fmt.Sprintf("pminfo -f derived.%s, %v after the start", rateMetric, b.plan.Warm),
		Measured: fmt.Sprintf("%q; by libpcp alone %q", value, stock), Target: "a value",
		OK: strings.HasPrefix(value, "value "),
	}}, b.lookBack(ctx, p)
}

// printed is what pminfo -f says about the value of a metric.
func printed(ctx context.Context, p *pmcdtest.PMCD, env []string, metric string) (string, error) {
	lines, _, err := rig.Output(ctx, p, env, "pminfo", "-f", metric)
	if err != nil || len(lines) == 0 {
		return "", err
	}
	return strings.TrimSpace(lines[len(lines)-1].Text), nil
}
