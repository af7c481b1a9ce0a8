// Package config reads the files that define derived metrics, in the format of
// pmLoadDerivedConfig(3), and PCP's own configuration variables.
//
//	paths ──Load──► Loaded{Definitions, Problems, Controls, Sources}
//	                   ▲
//	                 Accept: the caller's parser checks each expression when its line has been read
//
//	paths ──Watcher──► changed(): the files differ from the last load
//
// A path list has files and directories, as $PCP_DERIVED_CONFIG does; [DefaultPaths] returns the usual one. Nothing
// stops a load: each mistake becomes a [Problem] with file, line and column, and the rest is loaded.
//
// # Lines
//
//	line       = "#" … | "" | definition | attribute
//	definition = NAME "=" expression
//	attribute  = NAME "(" "oneline" | "helptext" ")" "=" text
//	           | NAME "(" "labels" ")" "=" text, a JSON object: see [ParseLabels]
//	control    = "#control" OPTION "=" VALUE
//	silenced   = "# pmdaderived:ignore" CODE…
//	mask       = "# pmdaderived:mask" NAME…
//
// A comment has its # in the first column. The first = of a line separates; blanks around a name
// and before an expression mean nothing. A backslash at the end of a line joins it with the next
// one, comments included. A text runs to the end of the line, or, when it begins with ' or ", to
// the next such quote, over several lines if need be; there \x stands for x, and a backslash at
// the end of a line for nothing. An attribute belongs to a metric that is defined above it.
//
// The messages are libpcp's. The package differs from libpcp 6.0.3 as follows:
//
//   - a line of blanks is ignored, a last line without newline counts, and a backslash continues
//     a line as in 7.2.1 (Q-BLANK, Q-CONT in docs/conformance.md)
//   - a carriage return before a newline is part of the line end, and a byte order mark at the
//     beginning of a file is skipped
//   - a name must not end in a dot
//   - the attribute labels is new
//   - a NUL byte is an error; to libpcp it ends the line
//   - a name defined again by a later file replaces the earlier definition; libpcp keeps the
//     first of all. Within one file the first stays here too.
//   - directories are read in the order of their names, without copies (*.bak) and files that editors and
//     package managers leave behind, and without what a clone of a repository has beside definitions (.git, README.md)
//   - a path that cannot be read does not end the load
//   - an empty file, a link to the null device or a mask line removes definitions of the directories before its own
//   - files that everyone can write are refused; of a sticky directory, entries of other users
//
// # Changes
//
// A [Watcher] lets the kernel report changes in the directories of the files. Every 10 s it compares sizes, times and
// inodes. It compares contents with the last load after an event, when one of these differs, and every minute, and
// waits for files that look half-written. docs/configuration.md has the rules.
//
//	state of the watcher     becomes
//	as loaded                changed, when the content differs
//	changed                  announced, when it has been the same for some time; as loaded, when the content is back
//	announced                as loaded by RecordLoad; changed, if the content differs from the announced one by then
//
// Its goroutines and state:
//
//	Run             goroutine of the caller    compares and announces; owns the fields of Watcher that have no lock
//	forwardEvents   one for each notifier      receives events of the kernel, so that fsnotify never holds the lock that
//	                                           a new watch needs; Run waits for its end
//	RecordLoad      any goroutine              shares the last load and the announced state with Run, under mu
//
// The package does not parse expressions. Only a Watcher starts goroutines and writes a log.
//
// Source: pmLoadDerivedConfig(3), inotify(7), docs/language-rules.md 5 and 8.1.
package config
