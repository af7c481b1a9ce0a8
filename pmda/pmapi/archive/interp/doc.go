// Package interp makes the values of archives at times between records, as PMAPI does (PM_MODE_INTERP).
//
//	records     1    2    3   M   4    5    6    7    8
//	                               now ^    ^ front        M is a mark
//	                              |----|                   newest and older values of each series
//	                                   |----|              ahead
//
// A [Reader] has read the archive up to the first record behind the time of the fetch, and further, as far as a metric needs it to have a record
// behind that time. Nothing before the last mark counts, nor anything behind the next one.
//
// It keeps of each metric that it was asked for, a series, the newest values and those ahead. Of an instance that does not come again soon it
// looks further on, and keeps nothing but where it comes next, and when last. So memory depends on what is asked for, not on the length of
// the archive. At a time before the last one it begins anew.
//
// What a fetch gives depends on those before it: after a mark a counter has no value once.
//
// Sources: PMAPI(3), pmSetMode(3), docs/archives.md 5.
package interp
