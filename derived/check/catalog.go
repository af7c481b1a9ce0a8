package check

import "pmdaderived/pdu"

// Catalog has the descriptors of a collector's metrics. It is asked while a Set is made, perhaps repeatedly for a name,
// and later by the Set's keys of windows. It should answer from memory, and always the same.
type Catalog interface {
	// Desc returns the descriptor of a metric: pdu.ErrName when there is no such metric,
	// pdu.ErrNonLeaf when the name is an inner node, another code when the metric exists
	// but its descriptor is not available now.
	Desc(name string) (pdu.Desc, error)
}

// CatalogMap is a Catalog that fits in a map; names it lacks do not exist.
type CatalogMap map[string]pdu.Desc

// Desc implements Catalog.
func (m CatalogMap) Desc(name string) (pdu.Desc, error) {
	if d, ok := m[name]; ok {
		return d, nil
	}
	return pdu.Desc{}, pdu.ErrName
}
