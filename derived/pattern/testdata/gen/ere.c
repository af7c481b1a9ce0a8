/*
 * Asks the C library what extended regular expressions mean: reads rows
 *
 *	pattern <tab> subject [<tab> anything]
 *
 * and writes the same rows with the library's answer in the third column: "match", "no match", or
 * what regerror(3) says of the pattern.  Lines that are empty or begin with '#' are copied.  In
 * both fields %XX is the byte with that hexadecimal number; a tab, a newline, '%' itself, a blank
 * and a '#' at the beginning of a row have to be written so.
 *
 * Run by hand whenever rows are added to the table:
 *
 *	cd derived/pattern/testdata
 *	gcc -O2 -Wall -Wextra -o ere gen/ere.c && ./ere <patterns.tsv >new && mv new patterns.tsv && rm ere
 *
 * The program runs in the C locale, as the PCP tools written in C do.  The environment variable
 * ERE_LOCALE selects another one, to see what differs there.
 */
#include <locale.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __GLIBC__
#error "the table is about the GNU C library"
#endif

/* Replaces each %XX in place; ends the program on a malformed one or on a NUL byte. */
static void
decode(char *field)
{
	char *to = field;
	unsigned int byte;

	for (char *from = field; *from != '\0'; to++) {
		if (*from != '%') {
			*to = *from++;
			continue;
		}
		if (sscanf(from, "%%%2X", &byte) != 1 || byte == 0 || strlen(from) < 3) {
			fprintf(stderr, "ere: bad escape in \"%s\"\n", field);
			exit(1);
		}
		*to = (char)byte;
		from += 3;
	}
	*to = '\0';
}

static void
answer(const char *pattern, const char *subject)
{
	char reason[256];
	regex_t re;
	int code = regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB);

	if (code != 0) {
		regerror(code, &re, reason, sizeof reason);
		puts(reason);
		return;
	}
	code = regexec(&re, subject, 0, NULL, 0);
	if (code == 0)
		puts("match");
	else if (code == REG_NOMATCH)
		puts("no match");
	else {
		regerror(code, &re, reason, sizeof reason);
		printf("regexec: %s\n", reason);
	}
	regfree(&re);
}

int
main(void)
{
	const char *locale = getenv("ERE_LOCALE");
	char *line = NULL, *subject, *rest;
	size_t size = 0;

	if (setlocale(LC_ALL, locale != NULL ? locale : "C") == NULL) {
		fprintf(stderr, "ere: no such locale: %s\n", locale);
		return 1;
	}
	while (getline(&line, &size, stdin) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '\0' || line[0] == '#') {
			puts(line);
			continue;
		}
		subject = strchr(line, '\t');
		if (subject == NULL) {
			fprintf(stderr, "ere: no tab in \"%s\"\n", line);
			return 1;
		}
		*subject++ = '\0';
		rest = strchr(subject, '\t');
		if (rest != NULL)
			*rest = '\0';
		printf("%s\t%s\t", line, subject);
		decode(line);
		decode(subject);
		answer(line, subject);
	}
	free(line);
	if (ferror(stdin)) {
		perror("ere");
		return 1;
	}
	return 0;
}
