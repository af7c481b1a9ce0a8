// Package lint warns of text in definitions that is valid and probably not meant: a condition that is always true,
// operators that group in an unexpected way, a rate of a metric that is no counter.
//
//	definitions ─┬─► checkText       syntax tree: check.go, text.go, shape.go ─┐
//	             ├─► checkPortable   syntax tree: portable.go ─────────────────┼─► []Warning, each with a Code
//	             └─► checkMetric     bound metric: typed.go, host.go, origin.go┘
//	                      ▲
//	                 Catalog, Host   optional
//
// A check is for mistakes that people make, not for style: a warning that is mostly wrong teaches them to ignore all.
// So what is not known, as an instance without an answer of pmcd, is never warned of.
//
// Every kind of warning has a [Code]. A code never changes, because people write codes into files to ignore warnings.
// docs/linting.md explains each, with an example.
package lint
