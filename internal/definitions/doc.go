// Package definitions reads definition files and parses what is in them, for the daemon and the sub-commands. It does
// not know the metrics of a host.
//
//	paths ──config.Load──► lines, attributes ──derived.Parse──► Parsed{All, Language, Problems}
//	                                              ▲
//	                                   Before: definitions that have been parsed already
//
//	Named: the files that a person names, among all that the agent reads, and which problems are about them
//
// Every problem has a code, which stays what it is: people write codes into files to ignore problems. Codes of problems
// that only check finds are in package command and lint.
package definitions
