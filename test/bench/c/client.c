/*
 * client: fetches metrics through libpcp and says what it took. The driver holds one end of its pipes:
 * each line of standard input is a command and is answered by lines of standard output, the last
 * of which begins with "ok" or "error".
 *
 *	client HOST
 *
 *	names COUNT           the COUNT lines that follow are the metrics that later commands are about
 *	contexts COUNT        fetch in COUNT contexts, one after the other, instead of in one; 0 closes all
 *	fetch COUNT PERIOD    fetch COUNT times: at every multiple of PERIOD microseconds on the clock, 0:
 *	                      without a pause
 *	lookup COUNT          look the names up one by one, COUNT times in all
 *	traverse NAME COUNT PERIOD	walk through the metrics below NAME
 *	longest COUNT PERIOD  fetch without a pause; the longest fetch of each of COUNT periods, one a line
 *	until VALUE           fetch until the first metric has this value
 *
 * Derived metrics of the client itself are those of the files in PCP_DERIVED_CONFIG.
 *
 * "ok" is followed by NAME=NUMBER pairs: times are nanoseconds; cpu is that of this process, user and
 * system; wall is the sum and median, p99, most are over the single operations; values counts
 * values, errors metrics without any because of an error.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <errno.h>
#include <pcp/pmapi.h>

typedef long long ns;

static const char	*host;
static char		**names;
static pmID		*pmids;
static int		nnames;
static int		*contexts;
static int		ncontexts;
static ns		*took;		/* by each operation of a command */
static int		ntook, roomtook;
static long long	values, errors;
static int		lasterror;

static ns
clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

#define WALL() clock_ns(CLOCK_MONOTONIC)
#define CPU() clock_ns(CLOCK_PROCESS_CPUTIME_ID)

static void *
need(void *memory)
{
	if (memory == NULL) {
		printf("error out of memory\n");
		exit(1);
	}
	return memory;
}

static void
note(ns t)
{
	if (ntook == roomtook) {
		roomtook = roomtook ? 2 * roomtook : 1024;
		took = need(realloc(took, roomtook * sizeof(*took)));
	}
	took[ntook++] = t;
}

static int
ascending(const void *a, const void *b)
{
	ns x = *(const ns *)a, y = *(const ns *)b;

	return (x > y) - (x < y);
}

/* begin and end enclose what a command measures. */
static ns began;

static void
begin(void)
{
	ntook = 0;
	values = errors = 0;
	began = CPU();
}

static void
end(void)
{
	ns cpu = CPU() - began, sum = 0;
	int i;

	for (i = 0; i < ntook; i++)
		sum += took[i];
	qsort(took, ntook, sizeof(*took), ascending);
	printf("ok cpu=%lld n=%d values=%lld errors=%lld code=%d", cpu, ntook, values, errors, lasterror);
	if (ntook > 0)
		printf(" wall=%lld median=%lld p99=%lld most=%lld", sum, took[ntook / 2], took[(ntook * 99LL) / 100], took[ntook - 1]);
	printf("\n");
}

/* pause_until_due waits for the next multiple of period. */
static void
pause_until_due(ns period)
{
	struct timespec t;
	ns due;

	if (period == 0)
		return;
	due = (clock_ns(CLOCK_REALTIME) / period + 1) * period;
	t.tv_sec = due / 1000000000LL;
	t.tv_nsec = due % 1000000000LL;
	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static int
open_contexts(int n)
{
	contexts = need(realloc(contexts, (n + 1) * sizeof(*contexts)));
	while (ncontexts > n)
		pmDestroyContext(contexts[--ncontexts]);
	for (; ncontexts < n; ncontexts++) {
		contexts[ncontexts] = pmNewContext(PM_CONTEXT_HOST, host);
		if (contexts[ncontexts] < 0)
			return contexts[ncontexts];
	}
	return 0;
}

/* read_names reads the names and looks them up; those that are unknown are errors. */
static int
read_names(int n)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t got;
	int i, sts;
	ns before;

	for (i = 0; i < nnames; i++)
		free(names[i]);
	names = need(realloc(names, (n + 1) * sizeof(*names)));
	pmids = need(realloc(pmids, (n + 1) * sizeof(*pmids)));
	for (nnames = 0; nnames < n; nnames++) {
		got = getline(&line, &room, stdin);
		if (got <= 0)
			return PM_ERR_EOF;
		line[strcspn(line, "\n")] = '\0';
		names[nnames] = need(strdup(line));
	}
	free(line);
	pmUseContext(contexts[0]);
	begin();
	before = WALL();
	for (i = 0; i < n; i += 1000) {	/* pmcd takes no request over 64 KiB */
		int part = n - i < 1000 ? n - i : 1000, j;

		sts = pmLookupName(part, (const char **)names + i, pmids + i);
		if (sts < 0 && sts != PM_ERR_NAME && sts != PM_ERR_NONLEAF)
			return sts;
		for (j = i; j < i + part; j++)
			if (pmids[j] == PM_ID_NULL)
				errors++;
	}
	note(WALL() - before);
	return 0;
}

static void
count(const pmResult *r)
{
	int i;

	for (i = 0; i < r->numpmid; i++) {
		if (r->vset[i]->numval < 0) {
			errors++;
			lasterror = r->vset[i]->numval;
		} else
			values += r->vset[i]->numval;
	}
}

/* fetch fetches in every context. */
static int
fetch(void)
{
	int i, sts;

	for (i = 0; i < ncontexts; i++) {
		pmResult *r;
		ns before;

		pmUseContext(contexts[i]);
		before = WALL();
		if ((sts = pmFetch(nnames, pmids, &r)) < 0)
			return sts;
		note(WALL() - before);
		count(r);
		pmFreeResult(r);
	}
	return 0;
}

static int
fetch_often(int n, ns period)
{
	int sts;

	begin();
	while (n-- > 0) {
		pause_until_due(period);
		if ((sts = fetch()) < 0)
			return sts;
	}
	return 0;
}

static int
lookup(int n)
{
	int i, sts;
	pmID id;

	pmUseContext(contexts[0]);
	begin();
	for (i = 0; i < n; i++) {
		ns before = WALL();

		if ((sts = pmLookupName(1, (const char **)&names[i % nnames], &id)) < 0)
			return sts;
		note(WALL() - before);
		values++;
	}
	return 0;
}

static void
leaf(const char *name)
{
	(void)name;
	values++;
}

static int
traverse(const char *name, int n, ns period)
{
	int sts;

	pmUseContext(contexts[0]);
	begin();
	while (n-- > 0) {
		ns before;

		pause_until_due(period);
		before = WALL();
		if ((sts = pmTraversePMNS(name, leaf)) < 0)
			return sts;
		note(WALL() - before);
	}
	return 0;
}

static int
longest(int n, ns period)
{
	ns end_of_period = WALL() + period, most = 0;
	int sts, done;

	begin();
	while (n > 0) {
		done = ntook;
		if ((sts = fetch()) < 0)
			return sts;
		for (; done < ntook; done++)
			if (took[done] > most)
				most = took[done];
		if (WALL() < end_of_period)
			continue;
		printf("%lld\n", most);
		most = 0;
		end_of_period += period;
		n--;
	}
	return 0;
}

/* until fetches until the first metric has the wanted value, a minute at most. */
static int
until(double wanted)
{
	ns start = WALL();

	pmUseContext(contexts[0]);
	begin();
	while (WALL() - start < 60000000000LL) {
		pmAtomValue a;
		pmResult *r;
		pmDesc d;
		ns before = WALL();
		int sts = pmFetch(nnames, pmids, &r), same;

		if (sts < 0)
			return sts;
		note(WALL() - before);
		same = r->vset[0]->numval == 1 && pmLookupDesc(pmids[0], &d) >= 0 &&
			pmExtractValue(r->vset[0]->valfmt, &r->vset[0]->vlist[0], d.type, &a, PM_TYPE_DOUBLE) >= 0 && a.d == wanted;
		pmFreeResult(r);
		if (same)
			return 0;
	}
	return PM_ERR_TIMEOUT;
}

/* obey carries out one command; it returns 1 if "ok" is still to be printed. */
static int
obey(char *line)
{
	char name[256];
	long long a, b = 0;
	double wanted;
	int sts;

	if (sscanf(line, "names %lld", &a) == 1)
		sts = read_names(a);
	else if (sscanf(line, "contexts %lld", &a) == 1)
		begin(), sts = open_contexts(a);
	else if (sscanf(line, "fetch %lld %lld", &a, &b) == 2)
		sts = fetch_often(a, b * 1000);
	else if (sscanf(line, "lookup %lld", &a) == 1)
		sts = lookup(a);
	else if (sscanf(line, "traverse %255s %lld %lld", name, &a, &b) == 3)
		sts = traverse(name, a, b * 1000);
	else if (sscanf(line, "longest %lld %lld", &a, &b) == 2)
		sts = longest(a, b * 1000);
	else if (sscanf(line, "until %lf", &wanted) == 1)
		sts = until(wanted);
	else {
		printf("error unknown command\n");
		return 0;
	}
	if (sts < 0) {
		printf("error %s\n", pmErrStr(sts));
		return 0;
	}
	return 1;
}

int
main(int argc, char **argv)
{
	char *line = NULL;
	size_t room = 0;
	int sts;

	if (argc != 2) {
		fprintf(stderr, "usage: client HOST\n");
		return 1;
	}
	pmSetProgname("client");
	host = argv[1];
	if ((sts = open_contexts(1)) < 0) {
		printf("error %s: %s\n", host, pmErrStr(sts));
		return 1;
	}
	printf("ok\n");
	fflush(stdout);
	while (getline(&line, &room, stdin) > 0) {
		if (obey(line))
			end();
		fflush(stdout);
	}
	free(line);
	return 0;
}
