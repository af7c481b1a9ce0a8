// Conformance-table prints how the answers of this tree compare with those of libpcp, from the output of
// `go test -json` on its standard input. `make conformance` runs it.
//
// The exit status is 1 if a test failed or an answer differs without being wanted.
package main

import (
	"fmt"
	"io"
	"os"

	"pmdaderived/test/conformance"
)

func main() { os.Exit(run(os.Stdin, os.Stdout, os.Stderr)) }

func run(stdin io.Reader, stdout, stderr io.Writer) int {
	table, failed, err := conformance.ReadTable(stdin, stderr)
	if err == nil {
		err = table.Write(stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "conformance-table: %v\n", err)
	}
	if failed || err != nil || table.Failures() > 0 {
		return 1
	}
	return 0
}
