// Package pattern matches POSIX extended regular expressions with the meaning that the C library gives
// them: regcomp(3) with REG_EXTENDED|REG_NOSUB and then regexec(3), which is how matchinst() of the
// derived-metric language selects instances by name. A match may begin and end anywhere in the
// subject, and letters differ from capitals.
//
//	re, err := pattern.Compile("^(sd|hd)[a-z]$")
//	if err != nil {
//		return fmt.Errorf("bad regular expression: '%w'", err)
//	}
//	re.MatchString("sda") // true
//
// A pattern is written anew for Go's [regexp], which matches. The subject is given to it as Latin-1:
// each byte is one character.
//
// # What surprises users of other regular expressions
//
// Go's regexp, to name one, refuses some of these patterns and silently reads others differently.
//
//	\d \n \t \Q   d, n, t and Q: an escaped character stands for itself, but see below
//	[\]]          a backslash followed by "]": there are no escapes in brackets
//	[]a] [^]a]    "]" in the first place stands for itself, and so does "-" first or last
//	[a-c-e]       refused, as is [[:alpha:]-z]; Go takes both
//	{,3}          zero to three times, {,} any number of times; "{" that begins no interval is refused
//	a** a+? a{2}* repetitions of repetitions; nothing is lazy
//	*a a|*b ^*    refused: there is nothing to repeat, and an anchor cannot be repeated
//	(?:a)         refused for the same reason
//	a) }          ")" and "}" without a partner stand for themselves
//	() a| (|a)    empty groups and branches match the empty string
//	a^b a$b       anchors wherever they stand, so neither can match
//	. [^a]        any byte, a newline too; ^ and $ never look for lines
//
// Of the extensions of the GNU library, which PCP does not promise, \w \W \s \S, \b \B, and \` \' (both
// ends) work; a word consists of ASCII letters, digits and _. \< and \> are taken as \b.
//
// # What is refused
//
// Patterns that the C library takes are refused if they have back-references ([ErrBackref]), [.x.] or [=x=]
// ([ErrCollate]), or escaped characters in an interval ([ErrBadBr]).
//
// [ErrSize] also refuses a pattern of more than 64 KiB, groups or repetitions in one another deeper than 1000, a
// number above 1000 in an interval, or a product of such numbers where intervals are in one another, and a
// pattern that needs more than 131,072 instructions when its intervals are written out.
//
// A pattern that the C library refuses is refused here, too. The reason may be another one.
//
// # Bytes
//
// Subjects and patterns are bytes in the C locale: classes have ASCII members only, ranges go by
// byte value, "." takes one byte of a UTF-8 sequence, and both texts end at their first NUL. That is
// what users see today, because pminfo, pmlogger, pmie and pmproxy never call setlocale(3). The
// Python tools do; in a UTF-8 locale they read "." and brackets by character, and differ for names
// or patterns beyond ASCII only.
//
// # Differences to the C library
//
// Besides \< and \>, some answers of the C library are plainly wrong, and not repeated here;
// testdata/differences.tsv has them. They take an anchor next to a newline, or an assertion in a group that an
// interval or "+" repeats. Patterns such as (((\b){2,}){1,3})* send it into an endless loop, others into minutes
// of work.
//
// # Cost
//
// No pattern takes more time than its instructions times the bytes of the subject.
//
// Source: POSIX.1-2017 section 9.4, regex(7), and answers of glibc 2.36; testdata/gen/ere.c asks it.
package pattern
