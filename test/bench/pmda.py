#!/usr/bin/env pmpython
"""
The agent that one writes in Python today to compute a + b on the server side.

    pmda.py DOMAIN COUNT HOST

It has COUNT singular metrics; metric i is the sum of operands 2i and 2i+1 (bulk.s..., see layout.go).
A callback must not ask pmcd for anything, because pmcd waits for the callback. So another
process fetches the operands every PERIOD seconds and leaves them in shared memory.
"""
import multiprocessing
import sys
import time
from ctypes import c_uint64

import cpmapi as c_api
from cpmda import PMDA_FETCH_NOVALUES
from pcp.pmapi import pmContext, pmUnits
from pcp.pmda import PMDA, pmdaMetric

PERIOD = 1.0
CLUSTER = 1000  # metrics in each
GROUP = 100  # metrics below each node of the name space


def path(root, i):
    """Name of singular metric i."""
    return "%s.s.g%d.m%d" % (root, i // GROUP, i % GROUP)


def sample(host, count, values):
    """Fetch the operands for ever, once pmcd serves clients."""
    while True:
        try:
            context = pmContext(c_api.PM_CONTEXT_HOST, host)
            pmids = context.pmLookupName([path("bulk", i) for i in range(count)])
            descs = context.pmLookupDescs(pmids)
            break
        except Exception:  # pmcd is still starting its agents, us among them
            time.sleep(0.1)
    while True:
        result = context.pmFetch(pmids)
        for i in range(result.contents.numpmid):
            if result.contents.get_numval(i) == 1:
                atom = context.pmExtractValue(
                    result.contents.get_valfmt(i), result.contents.get_vlist(i, 0),
                    descs[i].contents.type, c_api.PM_TYPE_U64)
                values[i] = atom.ull
        context.pmFreeResult(result)
        time.sleep(PERIOD)


class Sums(PMDA):
    """Serves the sums."""

    def __init__(self, name, domain, count, values):
        PMDA.__init__(self, name, domain)
        self.values = values
        units = pmUnits(0, 0, 1, 0, 0, c_api.PM_COUNT_ONE)
        for i in range(count):
            self.add_metric(path(name, i), pmdaMetric(
                self.pmid(i // CLUSTER, i % CLUSTER), c_api.PM_TYPE_U64, c_api.PM_INDOM_NULL,
                c_api.PM_SEM_COUNTER, units))
        self.set_fetch_callback(self.value)

    def value(self, cluster, item, inst):
        """Compute one value."""
        if inst != c_api.PM_IN_NULL:
            return [PMDA_FETCH_NOVALUES]
        i = 2 * (cluster * CLUSTER + item)
        return [self.values[i] + self.values[i + 1], 1]


def main():
    """Start the sampler and serve."""
    domain, count, host = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    values = multiprocessing.Array(c_uint64, 2 * count, lock=False)
    sampler = multiprocessing.Process(target=sample, args=(host, 2 * count, values), daemon=True)
    sampler.start()
    try:
        Sums("pyder", domain, count, values).run()
    finally:
        sampler.terminate()


if __name__ == "__main__":
    main()
