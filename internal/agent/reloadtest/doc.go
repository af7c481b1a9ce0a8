// Package reloadtest has a [Site], whose definitions change at random all the time, and [Client]s, which check that an agent
// serves what it must serve of the site.
//
//	site := reloadtest.NewSite(seed, operands)
//	generation := site.Edit()          // change something; site.Lines() is the new content of the file
//	c := site.NewClient(seed)
//	for _, name := range c.ChooseNames() {
//		err = c.AddMetric(name, desc)  // if the agent knows the name and its descriptor
//	}
//	err = c.Check(sets, now)           // of a fetch of c.IDs()
//
// A Site has a lock, and any goroutine may use it. A Client belongs to one goroutine.
//
// # Which fetch fails
//
// Every edit is a generation, and every generation changes a few definitions that show its number. So a fetch tells its
// generation, and all its values must be of this one. It must not be older than the newest generation that a client got
// before the fetch was sent. Then the metrics, as the client has looked them up, must be as follows:
//
//	the definition of the name in the file                      the metric has
//	is right, with the metadata that the client knows           exactly the values of the definition
//	is right, with other metadata                               no values, or PM_ERR_PMID if the name was deleted in between
//	is wrong, after a right one                                 the values of the right one
//	has been wrong since the name came                          PM_ERR_BADDERIVE, PM_ERR_PMID or no values; PM_ERR_AGAIN
//	                                                            if an operand is missing and the name was there before
//	is missing                                                  PM_ERR_PMID, or no values
//
// There are two exceptions, which clients count: PM_ERR_AGAIN is right for [SampleGrace] after a name is first served, since
// there is no sample yet. A metric with a history may have no values, at first because there is no previous sample, later
// because there is no newer one.
//
// Any other answer fails the fetch. So does a PMID that stands for another name or other metadata than before.
package reloadtest
