// Package config reads the files that define derived metrics, in the format of
// pmLoadDerivedConfig(3), and PCP's own configuration variables.
//
//	paths ──Load──► Loaded{Definitions, Problems, Controls, Sources}
//	                   ▲
//	                 Accept: the caller's parser judges each expression as its line is read
//
//	paths ──Watcher──► what was loaded last is not what the files hold now
//
// A path list names files and directories, as $PCP_DERIVED_CONFIG does; [DefaultPaths] gives the
// list to use when none is given. Nothing stops a load: what is wrong becomes a [Problem] with
// file, line and column, and all the rest is loaded.
//
// # Lines
//
//	line       = "#" … | "" | definition | attribute
//	definition = NAME "=" expression
//	attribute  = NAME "(" "oneline" | "helptext" ")" "=" text
//	control    = "#control" OPTION "=" VALUE
//	silenced   = "# pmdaderived:ignore" CODE…
//
// A comment has its # in the first column. The first = of a line separates; blanks around a name
// and before an expression mean nothing. A backslash at the end of a line joins it with the next
// one, comments included. A text runs to the end of the line, or, when it begins with ' or ", to
// the next such quote, over several lines if need be; there \x stands for x, and a backslash at
// the end of a line for nothing. An attribute belongs to a metric that is defined above it.
//
// The messages are libpcp's. Where the package reads a file otherwise than libpcp 6.0.3 does:
//
//   - a line of blanks is ignored, a last line without newline counts, and a backslash continues
//     a line as in 7.2.1 (Q-BLANK, Q-CONT in docs/conformance.md)
//   - a carriage return before a newline is part of the line end, and a byte order mark at the
//     beginning of a file is skipped
//   - a name must not end in a dot
//   - a NUL byte is an error; to libpcp it ends the line
//   - a name defined again by a later file replaces the earlier definition; libpcp keeps the
//     first of all. Within one file the first stays here too.
//   - directories are read in the order of their names, without copies (*.bak) and what editors and
//     package managers leave behind
//   - a path that cannot be read does not end the load
//   - files that everybody can write are refused
//
// # Changes
//
// A [Watcher] has the kernel tell of changes in the directories of the files and in the parents of these, looks at the
// files when there was a change, every minute anyway, and every 10 s while the kernel cannot tell. It
// compares contents, and leaves files time that look half-written. docs/configuration.md has the rules.
//
//	Run      goroutine of the caller: looks, compares, announces; owns all but what RecordLoad shares
//	forwardEvents  a goroutine of each notifier: takes what the kernel tells, for fsnotify holds the lock that
//	         Run needs for a new watch while nobody takes; ends with the notifier, which Run waits for
//	RecordLoad  from anywhere; mu guards what was loaded and what was announced, and nothing waits under it
//
// The package knows nothing of expressions. Only a Watcher starts goroutines and writes a log.
//
// Source: pmLoadDerivedConfig(3), inotify(7), docs/language-rules.md 5 and 8.1.
package config
