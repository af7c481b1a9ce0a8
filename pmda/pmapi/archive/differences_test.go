//go:build archives

package archive_test

import (
	"cmp"
	"path/filepath"
)

// differences are the archives of pcp-testsuite 6.0.3 that we read otherwise than libpcp, and why: docs/archives.md
// 6. One has its folder, because there are others of that name.
var differences = map[string]string{
	"960624.08.17_v2":          swapped,
	"babylon.pmview_v2":        swapped,
	"bozo.client_v2":           swapped,
	"20180416.10.00":           gone,
	"bigace_v2":                gone,
	"pcp-pidstat-process-args": gone,
	"old611":                   gone,

	"multi-corrupted/20150508.11.50": cut,
	"archive-20150417.131733":        cut,
	"badlog-1":                       cut,
	"ok-truncbin":                    cut,
	"badlog-4":                       descending,
	"badlen-1":                       "a record with a wrong length, behind which we read on at the next one of the index",
	"badti-4":                        "a damaged index, with which libpcp reads nothing",
	"badmeta-2":                      "a metric of an unknown type, with which libpcp fetches nothing, and one of unknown semantics",
	"archive-20141125-000009":        "64-bit values without blocks, after which libpcp fetches nothing",
	"logsummary-bug":                 "64-bit values of a 32-bit metric: libpcp has a code for each value, we have one for the metric",
}

const (
	swapped    = "blocks of type 0, whose bytes libpcp does not swap"
	gone       = "discrete instances that have gone"
	cut        = "a damaged volume, for which libpcp's interpolation ends with an error"
	descending = "records that are older than the label"
)

// whyDifferent is why an archive is read otherwise than by libpcp; empty: it should not be.
func whyDifferent(base string) string {
	folder, name := filepath.Split(base)
	return cmp.Or(differences[name], differences[filepath.Join(filepath.Base(folder), name)])
}
