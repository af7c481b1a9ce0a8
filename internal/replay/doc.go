// Package replay evaluates definitions over an archive, at ascending times, and writes archives of the results. It has
// no goroutine.
//
//	archive ──records──► Player ──Tick, Sample──► session ──► SampleFunc
//	   └──values──► Source ──────FetchColumns────────┘            │
//	                                                              └──► recorder ──► writer      Recording.Record
//
//	source := replay.NewSource(a)                          // a session takes its samples from here
//	s, err := session.New(ctx, source, defs, language)
//	s.Watch(s.Set().Metrics()...)
//	player := replay.NewPlayer(source, s)
//	o := replay.Options{Start: start, End: end, Every: time.Minute}
//	err = player.Play(ctx, o, func(_ *session.Session, at time.Time) error { … })
//
//	event                  time and values
//	sample, with Every     at multiples of Every from Start on
//	sample, without        at the last record of each round of records that hold operands which are not discrete, or any
//	                       operands if all are discrete
//	round                  records within a second that have different operands: pmlogger writes one record per group
//	values of a sample     those of a record at that time, else those that PMAPI interpolates
//	tick of a window       the first record in each interval that holds all operands of the function; discrete ones may
//	                       be missing; its values are never interpolated
//	ticks before Start     as many as the windows need to have the values that the whole archive gives: all, for a latch
//	mark                   rate() and delta() of a counter have no value once, and in windows those of anything
//	births                 from all records since a day before Start, whatever samples there are
//
// A player plays several sessions side by side. Each takes samples at the rounds of its own operands: metrics that
// pmlogger records every minute are evaluated every minute, even if it records others every second: Classes finds which
// metrics these are. Sessions of two versions of definitions are compared sample by sample: Player.Join. Sessions with
// the same counter read values from different contexts, because behind a mark these depend on what was fetched before.
package replay
