//go:build archives

package archive_test

import "path/filepath"

// differences are the archives of pcp-testsuite 6.0.3 that we read otherwise than libpcp, and why: docs/archives.md 6.
var differences = map[string]string{
	"archives/960624.08.17_v2":          swapped,
	"archives/babylon.pmview_v2":        swapped,
	"archives/bozo.client_v2":           swapped,
	"archives/20180416.10.00":           gone,
	"archives/bigace_v2":                gone,
	"archives/pcp-pidstat-process-args": gone,
	"badarchives/old611":                gone,

	"multi-corrupted/20150508.11.50":      cut,
	"badarchives/archive-20150417.131733": cut,
	"badarchives/badlog-1":                cut,
	"badarchives/ok-truncbin":             cut,
	"badarchives/badlog-3":                descending,
	"badarchives/badlog-4":                descending,
	"badarchives/badti-4":                 "a damaged index, with which libpcp reads nothing",
	"badarchives/badmeta-2":               "a metric of an unknown type, with which libpcp fetches nothing",
	"badarchives/archive-20141125-000009": "64-bit values without blocks, after which libpcp fetches nothing",
	"badarchives/logsummary-bug":          "64-bit values of a 32-bit metric: libpcp has a code for each value, we have one for the metric",
}

const (
	swapped    = "blocks of type 0, whose bytes libpcp does not swap"
	gone       = "discrete instances that have gone"
	cut        = "a damaged volume, for which libpcp's interpolation ends with an error"
	descending = "records that are older than the ones before"
)

// whyDifferent is why an archive is read otherwise than by libpcp; empty: it should not be.
func whyDifferent(base string) string {
	parent, name := filepath.Base(filepath.Dir(base)), filepath.Base(base)
	return differences[parent+"/"+name]
}
