package config

import (
	"crypto/sha256"
	"time"
)

// Loaded is what a path list holds. Nothing changes it once Load has returned it.
type Loaded struct {
	Definitions []*Definition // in the order of the files, each name once
	Problems    []*Problem    // in the order of the files
	Controls    []Control
	Sources     []Source // files that were read, files and directories that could not be
}

// Control is a line "#control option=value". PCP 7.2.1 introduced them; to older versions they are
// comments. What an option means, and whether it exists, is the caller's business.
type Control struct {
	Option, Value string
	Pos           Position // of the option
}

// Source is a file that was read, or a path that could not be.
type Source struct {
	Path    string
	Size    int64 // bytes
	ModTime time.Time
	Sum     [sha256.Size]byte // of the content

	// Err says why nothing was read. Incomplete says that reading ended early, because of a
	// limit or a quoted text that never ends: definitions further down were not seen.
	Err        error
	Incomplete bool

	Secret bool // not everybody may read it

	openEnd bool // the last line has no newline, or there is no line at all
}
