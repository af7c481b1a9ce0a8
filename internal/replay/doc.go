// Package replay evaluates definitions over an archive, at times that ascend, and writes archives of what comes of that. It has no goroutine.
//
//	source := replay.NewSource(a)                          // a session takes its samples from here
//	s, err := session.New(ctx, source, defs, language)
//	s.Watch(s.Set().Metrics()...)
//	player := replay.NewPlayer(source, s)
//	err = player.Play(ctx, replay.Options{Start: start, End: end, Every: time.Minute}, func(_ *session.Session, at time.Time) error { … })
//
//	a sample is taken      with Every at its multiples from the start on, else once for each round of records that hold operands which are not discrete
//	                       (all records, if there are no other operands), at the time of the last one
//	a round is             records within a second with different operands: the groups of pmlogger
//	its values are         those that PMAPI interpolates: those of the record, if there is one with them at that time
//	a tick of a window is  a record that holds all operands of the function but for discrete ones, the first one in each of the window's intervals;
//	                       never interpolated
//	after a mark           rate() and delta() have no value once, in windows, too
//
// Several sessions are played side by side, each at the rounds of operands of its own: what pmlogger records every
// minute is evaluated every minute, whatever it records every second.
package replay
