/*
 * Number of the agent's domain: the first part of every PMID and instance domain it owns.
 * 510 is the highest that a name space file accepts; clients keep their own derived metrics in 511.
 */
#define DERIVED 510
