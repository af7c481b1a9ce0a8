// Package group puts instances in groups, as sum(x) by (KEY) does, and gives the groups names and numbers.
//
//	Keys ──Groups.Grouping──► Grouping
//	  instances a b c d         Insts   [ 7 9 ]        numbers of the groups, by name
//	  and for each a key        Order   [ a c | b d ]  instances, those of a group side by side
//	  x y x y                   Bounds  [ 0 2 4 ]      where each group begins and ends
//
// A key is a part of the instance's name, a label, or the value of a metric. groupName makes it the name of a group,
// and a hash of that is its number. [Groups] remembers the groups of all instance domains: it is kept as long as the
// agent lives.
package group
