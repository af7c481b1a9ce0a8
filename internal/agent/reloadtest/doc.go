// Package reloadtest has a [Site], whose definitions change at random all the time, and [Client]s, which
// say whether what an agent serves of it is what it has to serve.
//
//	site := reloadtest.NewSite(seed, operands)
//	generation := site.Edit()      // change something; site.Lines() is what a file has now
//	c := site.NewClient()
//	for _, name := range c.Choose() {
//		err = c.Found(name, desc)  // if the agent knows the name and its descriptor
//	}
//	err = c.Check(sets, now)       // of a fetch of c.IDs()
//
// # What a failed fetch is
//
// Every edit is a generation, and every generation changes a few definitions that show its number. So
// a fetch tells which generation it is of, and all of it has to be of that one: no value may be of another.
// It must not be older than one that somebody was served before the fetch was sent. Then,
// for each metric as its client has looked it up,
//
//   - one that the generation serves with the metadata that the client knows has exactly its values;
//   - a definition that is wrong, while a right one of its name is served, leaves that served;
//   - one that the name does not stand for any more, because its metadata has changed, has no values
//     (or is PM_ERR_PMID if the name was deleted in between);
//   - one whose name is not defined is PM_ERR_PMID, or without values if it had gone before its name;
//   - one whose definition was wrong from the start is PM_ERR_BADDERIVE;
//   - PM_ERR_AGAIN, no sample yet, is good for [SampleGrace] after its name is first served and at no other time,
//     and no values, no previous sample yet, is good for a metric with a history until its first value;
//     after that it says that there is no newer sample than at the fetch before, which is counted.
//
// Anything else is a failed fetch. An identifier that comes to stand for another name or for other
// metadata than it ever did before is one, too.
package reloadtest
