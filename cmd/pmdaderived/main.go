// Pmdaderived is a Performance Co-Pilot agent that serves derived metrics to every client of a pmcd.
//
//	main ──► run ─┬─► command.Program.Run        args begin with a sub-command
//	              └─► daemon                     pmcd has started the program
//	                    1 DropPrivileges, Greet
//	                    2 prepare                log, definitions, agent.New
//	                    3 serve                  request loop: pmda.Server
//	                                             beside it: Agent.Run, Watcher.Run, mmv, SIGHUP
//
// Options of the daemon are in options.go. Its log is written by logformat.go and loglimit.go.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
