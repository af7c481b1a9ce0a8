/* What libpcp reads from an archive, as lines.
 *   oracle records ARCHIVE               each record, forwards
 *   oracle values ARCHIVE START STEP N   all metrics at N times, interpolated; START and STEP in nanoseconds
 *   oracle nearest                       nothing; the exit status is 0 if values are of the nearest record (docs/archives.md 5)
 * A line is: time in nanoseconds, PMID, instance, type, value; or a code in place of the instance and what follows.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>

#if PMAPI_VERSION >= 4 /* PCP 7 */
#define pmFreeHighResResult pmFreeResult
#endif

static int n, size;
static pmID *ids;
static pmDesc *descs;

static void name(const char *s)
{
	char *copy = strdup(s);
	pmID id;
	if (pmLookupName(1, (const char **)&copy, &id) == 1) {
		int i;
		for (i = 0; i < n && ids[i] != id; i++)
			;
		if (i == n) {
			if (n == size) {
				size = 2 * size + 100;
				ids = realloc(ids, size * sizeof *ids);
				descs = realloc(descs, size * sizeof *descs);
			}
			ids[n] = id;
			if (pmLookupDesc(id, &descs[n]) >= 0)
				n++;
		}
	}
	free(copy);
}

static void print(pmHighResResult *r)
{
	long long t = r->timestamp.tv_sec * 1000000000LL + r->timestamp.tv_nsec;
	if (r->numpmid == 0)
		printf("%lld mark\n", t);
	for (int i = 0; i < r->numpmid; i++) {
		pmValueSet *s = r->vset[i];
		pmDesc *d = NULL;
		for (int j = 0; j < n && !d; j++)
			if (descs[(i + j) % n].pmid == s->pmid)
				d = &descs[(i + j) % n];
		if (s->numval < 0)
			printf("%lld %u code %d\n", t, s->pmid, s->numval);
		for (int j = 0; d && j < s->numval; j++) {
			pmAtomValue a;
			pmValue *v = &s->vlist[j];
			printf("%lld %u %d %d ", t, s->pmid, v->inst, d->type);
			int sts = 0;
			switch (d->type) {
			case PM_TYPE_AGGREGATE: case PM_TYPE_AGGREGATE_STATIC: case PM_TYPE_EVENT: case PM_TYPE_HIGHRES_EVENT:
				printf("bytes %d\n", v->value.pval->vlen - 4);
				continue;
			}
			sts = pmExtractValue(s->valfmt, v, d->type, &a, d->type);
			if (sts < 0) {
				printf("code %d\n", sts);
				continue;
			}
			switch (d->type) {
			case PM_TYPE_32: printf("%d\n", a.l); break;
			case PM_TYPE_U32: printf("%u\n", a.ul); break;
			case PM_TYPE_64: printf("%lld\n", (long long)a.ll); break;
			case PM_TYPE_U64: printf("%llu\n", (unsigned long long)a.ull); break;
			case PM_TYPE_FLOAT: printf("%.9g\n", a.f); break;
			case PM_TYPE_DOUBLE: printf("%.17g\n", a.d); break;
			case PM_TYPE_STRING:
				for (char *p = a.cp; *p; p++)
					if (*p <= ' ' || *p == '\\' || (unsigned char)*p >= 0x7f)
						printf("\\%03o", (unsigned char)*p);
					else
						putchar(*p);
				putchar('\n');
				free(a.cp);
				break;
			default: printf("?\n");
			}
		}
	}
}

int main(int argc, char **argv)
{
	if (strcmp(argv[1], "nearest") == 0)
		return PM_VERSION_CURRENT < PM_VERSION(6,3,2);
	int sts = pmNewContext(PM_CONTEXT_ARCHIVE, argv[2]);
	if (sts < 0) {
		fprintf(stderr, "%s\n", pmErrStr(sts));
		return 2;
	}
	pmTraversePMNS("", name);
	pmHighResResult *r;
	if (strcmp(argv[1], "records") == 0) {
		struct timespec begin = {0, 0};
		sts = pmSetModeHighRes(PM_MODE_FORW, &begin, NULL);
		while (sts >= 0 && (sts = pmFetchHighResArchive(&r)) >= 0) {
			print(r);
			pmFreeHighResResult(r);
		}
	} else {
		long long start = atoll(argv[3]), step = atoll(argv[4]);
		struct timespec at = {start / 1000000000, start % 1000000000}, delta = {step / 1000000000, step % 1000000000};
		sts = pmSetModeHighRes(PM_MODE_INTERP, &at, &delta);
		for (int i = atoi(argv[5]); sts >= 0 && i > 0 && (sts = pmFetchHighRes(n, ids, &r)) >= 0; i--) {
			print(r);
			pmFreeHighResResult(r);
		}
	}
	printf("end %d\n", sts);
	return 0;
}
