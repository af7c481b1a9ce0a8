// Command make-dashboards writes the Grafana dashboards into a folder.
//
//	Usage    make-dashboards FOLDER
//	Exit     0 all are written; 1 one could not be; 2 usage
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"pmdaderived/dashboards"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: make-dashboards FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "make-dashboards:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	for _, board := range []dashboards.Board{dashboards.Host(), dashboards.Agent()} {
		for _, source := range dashboards.Sources() {
			text, err := board.JSON(source)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, board.FileName(source)), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
