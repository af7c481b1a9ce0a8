// Package lint finds what is legal in definitions and probably not meant: a condition that is always
// true, an operator that binds otherwise than it looks, a rate of what is no counter.
//
//	definitions ──Check──► []Warning, each with a Code
//	                 ▲
//	             Catalog (may be missing: then only the text is looked at)
//
// Every kind of warning has a [Code], which stays what it is: people write codes into files to
// silence warnings. docs/linting.md explains each, with an example.
package lint
