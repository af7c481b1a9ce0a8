// Package operand holds the operands of derived metrics as a pmcd shows them: names, descriptors, instances and samples
// of values.
//
//	names, descriptors   LookUp ──► Catalog, immutable       MetadataCache keeps one up to date
//	instances            InstanceCache.LookUp ──► InstanceSnapshot, immutable
//	                     LookupQueue: the instance domains that wait for a lookup
//	values               List: the operands of one fetch ──► Maker.Make ──► Sample, immutable
//
// The package has no goroutine. Each piece of state has one owner:
//
//	MetadataCache, LookupQueue   the goroutine of package reload
//	InstanceCache                the same goroutine writes; any goroutine reads
//	Maker, RecentSamples         package upstream, under its lock
//	BatchCache                   package queue, under the same lock
package operand
