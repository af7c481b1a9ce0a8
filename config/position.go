package config

import "strconv"

// Position is a place in a file. Lines and columns count from 1, columns in bytes; a line of 0
// means the file as a whole.
type Position struct {
	File   string // as named in the path list, or below a directory of it
	Line   int
	Column int
}

// String gives "file:line:column", or the file alone.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}
