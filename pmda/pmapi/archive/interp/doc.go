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
// # States
//
// The part of the archive between two mark records is a segment. The reader has one state: what it knows about the
// rest of the segment, the records after lastRead.
//
//	unread   nothing
//	scanned  the time of the last value of each instance: so it does not search for one that has gone
//	atMark   it is empty: the last record that was read is a mark after now
//	atEnd    it is empty: the archive ends
//
//	unread           ─► scanned         findMissing has read the rest, and moved back
//	unread, scanned  ─► atMark, atEnd   readNext reads a mark after now, or finds the end of the archive
//	unread, scanned  ─► unread          readNext reads a mark that is not after now: the next segment begins
//	atMark           ─► unread          advance moves now to the mark: the next segment begins
//	any              ─► unread          restart
//
// A series has one more state: it skips the next fetch, or does not. A mark record sets this for a counter whose last
// fetch returned values, so values depend on the previous fetches. The next fetch, or an earlier time, ends it.
//
// # One fetch
//
//	restart      only for an earlier time or a new metric: finds the newest values up to now, backwards from the index
//	advance      moves records ahead that are not after now to the newest values, and reads up to now
//	readAhead    reads on until each series has one record after now
//	findMissing  searches for instances that are in no record ahead, without storing the records between
//	interpolate  computes the value of each series from the newest and the next values
//
// Sources: PMAPI(3), pmSetMode(3), docs/archives.md 5.
package interp
