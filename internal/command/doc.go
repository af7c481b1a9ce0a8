// Package command has the sub-commands of pmdaderived: check, explain, eval, test, replay and help. They are for
// people, who run them at a terminal or in a script. Results go to stdout, errors to stderr.
//
//	Program.Run ──► invocation ─┬─► runCheck   files ──► definitions, lint ──► problems        check.go, severity.go, host.go
//	                            ├─► runExplain ─┐                    ┌─► metadata, groups      explain.go, agentreport.go
//	                            ├─► runEval ────┴► query ──► session ┴─► values                eval.go, rows.go (tables)
//	                            ├─► runTest    test files ──► unittest ──► failures            testrun.go, recorder.go
//	                            └─► runReplay  archive ──► replay ──► archive                  replay.go
//
//	options that several have: archive.go, and package commandline
//
// An invocation connects to a collector, which is a pmcd or an archive, and reads definitions with package definitions.
// Each run function returns the exit status: 0, 1 if there are mistakes or something failed, 2 if the command line is
// wrong.
package command
