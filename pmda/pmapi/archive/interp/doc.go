// Package interp computes the values of archives at times between records, as PMAPI does (PM_MODE_INTERP).
//
//	records     1    2    3   M   4    5    6    7    8
//	                               now ^    ^ lastRead     M is a mark record
//	                              |----|                   newest and older values of each series
//	                                   |----|              ahead
//
// A [Reader] has read the archive up to the first record after the time of the fetch (lastRead). If a metric needs a
// later record that contains it, the reader reads on. Records before the last mark record and after the next one are
// not used.
//
// For each requested metric (a series) the reader stores the newest values, and the records ahead that have it. If an
// instance does not occur soon, the reader searches for it, and stores only its next value and the time of its last
// one. So memory depends on the requested metrics, not on the length of the archive. A fetch at an earlier time than
// the previous one starts from the index again.
//
// # One fetch
//
//	restart      only for an earlier time or a new metric: finds the newest values up to now, backwards from the index
//	advance      moves records ahead that are not after now to the newest values, and reads up to now
//	readAhead    reads on until each series has one record after now
//	findMissing  searches for instances that are in no record ahead, without storing the records between
//	interpolate  computes the value of each series from the newest and the next values
//
// Values depend on the previous fetches: after a mark record, a counter has no value once.
//
// Sources: PMAPI(3), pmSetMode(3), docs/archives.md 5.
package interp
