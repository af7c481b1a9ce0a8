// Command draw-picture draws the picture of the README.
//
//	Usage    draw-picture -metrics    prints the metrics that it wants, one a line
//	         draw-picture             reads what pmrep -o csv -f %s prints of them, and prints SVG
//	Exit     0 done; 1 the table makes no picture; 2 usage
package main

import (
	"fmt"
	"os"
	"strings"

	"pmdaderived/dashboards/picture"
)

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "-metrics":
		fmt.Fprintln(os.Stdout, strings.Join(picture.Columns(picture.Host()), "\n"))
	case len(os.Args) == 1:
		if err := picture.Draw(os.Stdout, os.Stdin, picture.Host()); err != nil {
			fmt.Fprintln(os.Stderr, "draw-picture:", err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: draw-picture [-metrics]")
		os.Exit(2)
	}
}
