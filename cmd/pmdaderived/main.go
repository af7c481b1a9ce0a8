// Pmdaderived is a Performance Co-Pilot agent that serves derived metrics to every client of a pmcd.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
