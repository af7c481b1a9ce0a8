package derived

// Language is what a site has configured about the meaning of definitions. The zero value is PCP's defaults.
type Language language

// NewSet checks and compiles definitions, in the language as the site has configured it. They should have
// distinct names; of several with one name the last one counts. The set keeps the catalog, whose answers should stay the same. prefix, if
// not empty, is the name that the metrics are served below: "derived" lets an expression use the
// definition a.b as derived.a.b, and keeps such names from being looked up in the catalog.
func (l Language) NewSet(defs []*Definition, cat Catalog, prefix string) *Set {
	return newSet(newCheckedSet(language(l), defs, cat, prefix))
}
