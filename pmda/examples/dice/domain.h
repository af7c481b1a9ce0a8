/*
 * Number of the agent's domain. No other agent of a pmcd may have it: see stdpmid in the folder of
 * the name space, $PCP_VAR_DIR/pmns.
 */
#define DICE 400
