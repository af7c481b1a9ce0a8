// Package fleet has a test of a site with several hosts, as docs/scale.md describes it:
//
//	host   pmcd with our agent ─┐                                   ┌─ pmseries
//	host   pmcd with our agent ─┼─ pmlogger for each host ─ pmproxy ─┼─ /series, /pmapi, /metrics
//	host   pmcd with our agent ─┘        archives              │    └─ (Grafana)
//	                                                         Redis
//
// The hosts are private pmcds with names, labels and values of their own and one file of definitions. Everything
// else is stock, with ports and folders of its own. The test prints the values of each host by each way:
//
//	scripts/check-fleet
//
// It needs what scripts/install-pcp -fleet installs: redis-server out of Debian's redis-tools, which starts no service.
package fleet
