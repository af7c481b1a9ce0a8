// Package pattern matches POSIX extended regular expressions as the C library does: regcomp(3) with
// REG_EXTENDED|REG_NOSUB, then regexec(3). matchinst() of the derived-metric language selects instances
// by their names in this way. A match may begin and end anywhere in the subject. Upper and lower case
// differ.
//
//	re, err := pattern.Compile("^(sd|hd)[a-z]$")
//	if err != nil {
//		return fmt.Errorf("bad regular expression: '%w'", err)
//	}
//	re.MatchString("sda") // true
//
//	pattern ──translate──► text for Go's regexp ──► match of the subject as Latin-1: each byte is a character
//
// # Surprises for users of other regular expressions
//
// Go's regexp refuses some of these patterns, and silently reads others differently.
//
//	\d \n \t \Q   d, n, t and Q: a character after a backslash stands for itself, with the exceptions below
//	[\]]          a backslash followed by "]": there are no escapes in brackets
//	[]a] [^]a]    "]" as the first character stands for itself, and so does "-" as the first or the last
//	[a-c-e]       refused, as is [[:alpha:]-z]; Go accepts both
//	{,3}          zero to three times, {,} any number of times; "{" that begins no interval is refused
//	a** a+? a{2}* repetitions of repetitions; nothing is lazy
//	*a a|*b ^*    refused: there is nothing to repeat, and an anchor cannot be repeated
//	(?:a)         refused for the same reason
//	a) }          ")" and "}" without a partner stand for themselves
//	() a| (|a)    empty groups and branches match the empty string
//	a^b a$b       anchors wherever they stand, so neither can match
//	. [^a]        any byte, a newline too; ^ and $ never look for lines
//
// Some extensions of the GNU library work, although PCP does not promise them: \w \W \s \S, \b \B, and \` and \'
// for both ends of the subject. A word has ASCII letters, digits and _. \< and \> mean \b.
//
// # Refused patterns
//
// Some patterns that the C library accepts are refused: with back-references ([ErrBackref]), with [.x.] or [=x=]
// ([ErrCollate]), or with escaped characters in an interval ([ErrBadBr]).
//
// [ErrSize] is the error for a pattern of more than 64 KiB, for more than 1000 groups or repetitions in one another,
// for a number above 1000 in an interval, and for intervals in one another whose product is above 1000. It is also the
// error for a pattern with more than 131,072 instructions when its intervals are written out.
//
// A pattern that the C library refuses is refused here, too. The reason may be another one.
//
// # Bytes
//
// Subjects and patterns are bytes in the C locale: classes have ASCII members only, ranges go by
// byte value, "." matches one byte of a UTF-8 sequence, and both texts end at their first NUL. PCP's
// tools in C behave so, because pminfo, pmlogger, pmie and pmproxy never call setlocale(3). The
// Python tools do: in a UTF-8 locale "." and brackets match a character there. Results differ only for
// names or patterns beyond ASCII.
//
// # Differences to the C library
//
// \< and \> differ. Besides, some answers of the C library are wrong, and this package does not repeat them;
// testdata/differences.tsv has them. They need an anchor next to a newline, or an assertion in a group that an
// interval or "+" repeats. The C library never returns for patterns such as (((\b){2,}){1,3})*, and needs minutes
// for others.
//
// # Cost
//
// The time of a match is at most proportional to the instructions of the pattern times the bytes of the subject.
//
// Source: POSIX.1-2017 section 9.4, regex(7), and answers of glibc 2.36; testdata/gen/ere.c asks it.
package pattern
