/*
 * bulk: an agent that serves any number of values from memory.
 *
 *	bulk [-o] [-d DOMAIN] [-l LOGFILE] LAYOUT
 *
 * LAYOUT is a file with one line for each cluster of metrics:
 *
 *	CLUSTER COUNT SERIAL INSTANCES
 *
 * Items 0 to COUNT-1 are 64-bit unsigned counters. SERIAL is their instance domain's, -1 for singular
 * metrics.
 *
 * Without -o it is the source of operands: replies are kept in the form that libpcp sends, and only the
 * numbers in them are changed for each fetch, so that it costs as little as an agent can. With -o it is
 * an ordinary agent, written as pmdaFetch(3) describes: one callback for each value.
 *
 * Every value changes with every fetch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

struct family {
	unsigned	first;		/* of its metrics, in the table of all */
	unsigned	count;
	int		serial;		/* -1: singular */
	unsigned	size;		/* of the domain */
};

struct metric {
	struct family	*family;
	unsigned	item;
	pmValueSet	*set;		/* as it is sent; NULL until it is first fetched */
	char		*blocks;	/* the values in it, BLOCK bytes apart */
};

#define BLOCK		16		/* a pmValueBlock with 8 bytes, aligned */
#define CLUSTERS	4096

static struct family	families[CLUSTERS];
static struct metric	*metrics;
static pmdaMetric	*descs;
static unsigned		nmetrics;
static pmdaIndom	*indoms;
static struct family	**indom_family;
static int		nindoms;
static unsigned long long tick;		/* counts fetches */

static void *
need(void *memory)
{
	if (memory == NULL) {
		fprintf(stderr, "bulk: out of memory\n");
		exit(1);
	}
	return memory;
}

static struct metric *
find(pmID pmid)
{
	struct family *f = &families[pmID_cluster(pmid)];
	unsigned item = pmID_item(pmid);

	return item < f->count ? &metrics[f->first + item] : NULL;
}

static void
prepare(struct metric *m)
{
	struct family *f = m->family;
	unsigned n = f->size, i;

	m->set = need(malloc(sizeof(*m->set) + (n - 1) * sizeof(m->set->vlist[0])));
	m->blocks = need(malloc(n * BLOCK));
	m->set->pmid = descs[m - metrics].m_desc.pmid;
	m->set->numval = n;
	m->set->valfmt = PM_VAL_DPTR;
	for (i = 0; i < n; i++) {
		pmValueBlock *block = (pmValueBlock *)(m->blocks + i * BLOCK);

		block->vtype = PM_TYPE_U64;
		block->vlen = PM_VAL_HDR_SIZE + 8;
		m->set->vlist[i].inst = f->serial < 0 ? PM_IN_NULL : i;
		m->set->vlist[i].value.pval = block;
	}
}

/* value is that of an instance of a metric; deltas are never 0 and differ between instances. */
static unsigned long long
value(const struct metric *m, unsigned inst)
{
	return (unsigned long long)inst * 16 + m->item + 3 + tick * (inst % 64 + m->item % 8 + 1);
}

static void
fill(struct metric *m)
{
	unsigned n = m->set->numval, i;

	for (i = 0; i < n; i++) {
		unsigned long long v = value(m, i);

		memcpy(m->blocks + i * BLOCK + PM_VAL_HDR_SIZE, &v, sizeof(v));
	}
}

/* fast_fetch answers with the kept sets. An unknown metric has no values. */
static int
fast_fetch(int n, pmID *pmids, pmResult **reply, pmdaExt *ext)
{
	static pmResult *result;
	static int room;
	static pmValueSet *unknown;
	static int nunknown;
	int i, k = 0;

	(void)ext;
	if (n > room) {
		result = need(realloc(result, sizeof(*result) + (n - 1) * sizeof(result->vset[0])));
		room = n;
	}
	tick++;
	memset(&result->timestamp, 0, sizeof(result->timestamp));	/* pmcd would take it for announcements */
	result->numpmid = n;
	for (i = 0; i < n; i++) {
		struct metric *m = find(pmids[i]);

		if (m == NULL) {
			if (k >= nunknown) {
				nunknown = n;
				unknown = need(calloc(n, sizeof(*unknown)));
			}
			unknown[k].pmid = pmids[i];
			unknown[k].numval = PM_ERR_PMID;
			result->vset[i] = &unknown[k++];
			continue;
		}
		if (m->set == NULL)
			prepare(m);
		fill(m);
		result->vset[i] = m->set;
	}
	*reply = result;
	return 0;
}

static void
keep(pmResult *result)
{
	(void)result;
}

/* ordinary_fetch counts the fetch and leaves the rest to the library. */
static int
ordinary_fetch(int n, pmID *pmids, pmResult **reply, pmdaExt *ext)
{
	tick++;
	return pmdaFetch(n, pmids, reply, ext);
}

static int
ordinary_value(pmdaMetric *desc, unsigned inst, pmAtomValue *atom)
{
	struct metric *m = desc->m_user;

	atom->ull = value(m, inst == PM_IN_NULL ? 0 : inst);
	return PMDA_FETCH_STATIC;
}

static char *
external(unsigned inst)
{
	char *name = need(malloc(16));

	snprintf(name, 16, "inst-%07u", inst);
	return name;
}

/* instances answers all three forms of the request: all, by number, by name. */
static int
instances(pmInDom indom, int inst, char *name, pmInResult **reply, pmdaExt *ext)
{
	struct family *f = NULL;
	pmInResult *r;
	unsigned n = 1, i;
	int all = name == NULL && (unsigned)inst == PM_IN_NULL, k;

	(void)ext;
	for (k = 0; k < nindoms; k++)
		if (indoms[k].it_indom == indom)
			f = indom_family[k];
	if (f == NULL)
		return PM_ERR_INDOM;
	if (name != NULL && (sscanf(name, "inst-%d", &inst) != 1 || inst < 0))
		return PM_ERR_INST;
	if (!all && (inst < 0 || (unsigned)inst >= f->size))
		return PM_ERR_INST;
	if (all)
		n = f->size;
	r = need(calloc(1, sizeof(*r)));
	r->indom = indom;
	r->numinst = n;
	if (all || name != NULL)
		r->instlist = need(malloc(n * sizeof(r->instlist[0])));
	if (name == NULL)
		r->namelist = need(malloc(n * sizeof(r->namelist[0])));
	for (i = 0; i < n; i++) {
		unsigned id = all ? i : (unsigned)inst;

		if (r->instlist)
			r->instlist[i] = id;
		if (r->namelist)
			r->namelist[i] = external(id);
	}
	*reply = r;
	return 0;
}

/* domain_of gives a family's serial an entry in the table of instance domains. */
static void
domain_of(struct family *f, int ordinary)
{
	pmdaIndom *d;
	unsigned i;
	int k;

	for (k = 0; k < nindoms; k++)
		if (indoms[k].it_indom == (pmInDom)f->serial)
			return;
	nindoms++;
	indoms = need(realloc(indoms, nindoms * sizeof(*indoms)));
	indom_family = need(realloc(indom_family, nindoms * sizeof(*indom_family)));
	d = &indoms[nindoms - 1];
	memset(d, 0, sizeof(*d));
	d->it_indom = f->serial;
	indom_family[nindoms - 1] = f;
	if (!ordinary)
		return;
	d->it_numinst = f->size;
	d->it_set = need(calloc(f->size, sizeof(*d->it_set)));
	for (i = 0; i < f->size; i++) {
		d->it_set[i].i_inst = i;
		d->it_set[i].i_name = external(i);
	}
}

static int
load(const char *path, int ordinary)
{
	FILE *in = fopen(path, "r");
	unsigned cluster, count, size, i;
	int serial;

	if (in == NULL)
		return -1;
	while (fscanf(in, "%u %u %d %u", &cluster, &count, &serial, &size) == 4) {
		struct family *f = &families[cluster % CLUSTERS];

		if (cluster >= CLUSTERS || count > 1024 || size < 1)
			return -1;
		f->first = nmetrics;
		f->count = count;
		f->serial = serial;
		f->size = size;
		if (serial >= 0)
			domain_of(f, ordinary);
		metrics = need(realloc(metrics, (nmetrics + count) * sizeof(*metrics)));
		descs = need(realloc(descs, (nmetrics + count) * sizeof(*descs)));
		for (i = 0; i < count; i++) {
			struct metric *m = &metrics[nmetrics + i];
			pmDesc *d = &descs[nmetrics + i].m_desc;

			memset(m, 0, sizeof(*m));
			memset(&descs[nmetrics + i], 0, sizeof(descs[0]));
			m->family = f;
			m->item = i;
			d->pmid = PMDA_PMID(cluster, i);
			d->type = PM_TYPE_U64;
			d->indom = serial < 0 ? PM_INDOM_NULL : (pmInDom)serial;
			d->sem = PM_SEM_COUNTER;
			d->units.dimCount = 1;
		}
		nmetrics += count;
	}
	for (i = 0; i < nmetrics; i++)
		descs[i].m_user = &metrics[i];
	return fclose(in);
}

int
main(int argc, char **argv)
{
	static pmdaOptions opts = { .short_options = PMDA_OPTIONS "o" };
	pmdaInterface dispatch;
	int ordinary = 0, c;

	pmSetProgname("bulk");
	pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "bulk", 401, "bulk.log", NULL);
	while ((c = pmdaGetOptions(argc, argv, &opts, &dispatch)) != EOF)
		if (c == 'o')
			ordinary = 1;
	if (opts.errors || opts.optind + 1 != argc) {
		fprintf(stderr, "usage: bulk [-o] [-d DOMAIN] [-l LOGFILE] LAYOUT\n");
		return 1;
	}
	pmdaOpenLog(&dispatch);
	if (load(argv[opts.optind], ordinary) < 0) {
		fprintf(stderr, "bulk: %s is no layout\n", argv[opts.optind]);
		return 1;
	}
	if (ordinary) {
		dispatch.version.seven.fetch = ordinary_fetch;
		pmdaSetFetchCallBack(&dispatch, ordinary_value);
	} else {
		dispatch.version.seven.fetch = fast_fetch;
		dispatch.version.seven.instance = instances;
		pmdaSetResultCallBack(&dispatch, keep);
	}
	pmdaSetFlags(&dispatch, PMDA_EXT_FLAG_HASHED);
	pmdaInit(&dispatch, indoms, nindoms, descs, nmetrics);
	pmdaConnect(&dispatch);
	pmdaMain(&dispatch);
	return 0;
}
