package freshbench

import (
	"context"
	"time"
)

// hiccupPause is how long the machine is asked to let us sleep.
const hiccupPause = 5 * time.Millisecond

// watchMachine sleeps over and over until stop is called, which returns how much too late it was woken: the
// machine is shared, and what it adds to that it adds to every time that is measured.
func watchMachine() (stop func() durations) {
	ctx, cancel := context.WithCancel(context.Background())
	late := make(chan durations)
	go func() {
		var all []time.Duration
		for ctx.Err() == nil {
			start := time.Now()
			time.Sleep(hiccupPause)
			all = append(all, time.Since(start)-hiccupPause)
		}
		late <- newDurations(all)
	}()
	return func() durations {
		cancel()
		return <-late
	}
}

// machineRow tells how well the machine kept time during a measurement.
func machineRow(name string, late durations) Row {
	measured, _, _ := judge(late, []limit{{0.99, 0}, {0.999, 0}, {1, 0}})
	return Row{What: "the machine during " + name + ": sleeps ended too late by", Measured: measured, OK: true, Timed: true}
}
