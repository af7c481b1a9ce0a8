// Package group puts instances in groups, as sum(x) by (KEY) does, and gives the groups names and numbers.
//
//	Keys ──Key.Texts──► Texts ──Groups.Grouping──► Grouping
//	  instances a b c d   x y x y                    Insts   [ 7 9 ]        numbers of the groups, by name
//	  and where keys                                 Order   [ a c | b d ]  instances, those of a group side by side
//	  come from                                      Bounds  [ 0 2 4 ]      where each group begins and ends
//
// A key is a part of the instance's name, a label, or the value of a metric. The name of a group is made from one key,
// or from several, and a hash of the name is its number. [Groups] remembers the groups of all instance domains: it is kept as long as the
// agent lives.
package group
