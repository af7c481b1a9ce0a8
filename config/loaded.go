package config

import (
	"crypto/sha256"
	"time"
)

// Loaded is the result of a load. Nothing changes it after Load has returned it.
type Loaded struct {
	Definitions []*Definition // in the order of the files, each name once
	Problems    []*Problem    // in the order of the files
	Controls    []Control
	Sources     []Source // files that were read, and paths that could not be read

	// Masks has the position of each mask, by the name of the definitions that it masks, or by the path of a file below its
	// directory, which begins with a slash.
	Masks map[string]Position

	// Masked has the position of the mask of each name whose definitions are masked.
	Masked map[string]Position

	Unread Unread

	dirs []string // the directories that were read
}

// Unread has the indexes in Loaded.Sources of files and directories that were not read completely, and -1 for those that
// were, also where others of their directory were not.
type Unread map[string]int

// Control is a line "#control option=value". PCP 7.2.1 introduced these lines; older versions read them as comments.
// The caller decides which options exist and what they mean.
type Control struct {
	Option, Value string
	Pos           Position // of the option
}

// Source is a file that was read, or a path that could not be read.
type Source struct {
	Path    string // as in Position.File
	Size    int64  // bytes
	ModTime time.Time
	Sum     [sha256.Size]byte // SHA-256 of the content

	// Err is the reason why nothing was read; nil: it was read. Incomplete: reading ended early, because of a limit or a
	// quoted text without end, so that later definitions are missing.
	Err        error
	Incomplete bool

	Secret bool // not everyone can read it: see [Secret]

	component int // of the path list

	openEnd bool // the file is empty, or its last line has no newline
}
