// Package command has the sub-commands of pmdaderived: check, explain, eval, test, replay, diff and help. They are for
// people, who run them at a terminal or in a script. Results go to stdout, errors to stderr.
//
// There is one struct for a run, which has what all sub-commands need, and one for the output of each, which embeds the
// run and has the options of its sub-command. Nothing else wraps them. A run, from arguments to printed rows:
//
//	Program.Run             finds the sub-command, makes its run              command.go
//	└─► run.eval            adds its options                                  eval.go; common ones: options.go
//	    ├─► bindSubjects    operands of eval and explain become subjects      subject.go
//	    │   ├─► parse, readDefinitions, connect                               run.go
//	    │   └─► session.New
//	    ├─► takeSamples     of a pmcd; of an archive: playSamples             sampling.go
//	    └─► printer         prints each sample as pminfo does, or as JSON     printer.go, value.go
//	                        as a table, or as CSV                             table.go
//
//	output of              is
//	check      findings     problems of files, each with a severity           problems.go, severity.go, check.go
//	explain    explanation  a tree of metadata                                explain.go
//	                        ticks of functions over time, in archives too     ticks.go
//	                        present groups and buckets                        groups.go
//	                        what the agent says of its definitions            agentview.go
//	eval       printer      samples
//	test       testResults  results and coverage                              testrun.go
//	           recorder     with --record: a test                             record.go
//	diff       differences  changes between two versions                   diff.go, diffvalues.go, diffusers.go
//	replay                  an archive, which package replay writes           replay.go
//
// All print through output.go, which keeps escape sequences from the terminal, and shows progress there. Each returns
// the exit status: 0, 1 if there are mistakes or something failed, 2 if the command line is wrong. That of diff is 1 if
// something differs, and 2 if it fails.
package command
