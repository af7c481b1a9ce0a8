package agent

import "pmdaderived/pdu"

// The serials of our own instance domains.
const (
	definitionSerial = 0 // one instance for each definition
	bucketSerial     = 1 // one for each bucket of a histogram
	fileSerial       = 2 // one for each file of definitions
	limitSerial      = 3 // one for each limit
)

func definitionInDom(domain int) pdu.InDom { return pdu.NewInDom(domain, definitionSerial) }
func bucketInDom(domain int) pdu.InDom     { return pdu.NewInDom(domain, bucketSerial) }

func fileInDom(domain int) pdu.InDom  { return pdu.NewInDom(domain, fileSerial) }
func limitInDom(domain int) pdu.InDom { return pdu.NewInDom(domain, limitSerial) }

// ownInDom describes one of our own instance domains.
type ownInDom struct {
	id          pdu.InDom
	short, long string
	instances   func(*service) []pdu.Instance
}

// inDom finds one of our own instance domains; nil if it is none.
func (a *Agent) inDom(d pdu.InDom) *ownInDom {
	switch d {
	case definitionInDom(a.options.Domain):
		return &ownInDom{
			d, "definitions of derived metrics", "One instance for each definition in the configuration files.",
			(*service).instances,
		}
	case bucketInDom(a.options.Domain):
		return &ownInDom{
			d, "classes of durations", "Each is named after the longest duration in it, in milliseconds.",
			func(*service) []pdu.Instance { return bucketInstances() },
		}
	case fileInDom(a.options.Domain):
		return &ownInDom{
			d, "files of definitions", "One instance for each, and for places where there should be one.",
			func(s *service) []pdu.Instance { return s.fileInstances },
		}
	case limitInDom(a.options.Domain):
		return &ownInDom{
			d, "limits of the agent", "One instance for each limit that an option sets.",
			func(*service) []pdu.Instance { return limitInstances() },
		}
	}
	return nil
}

func limitInstances() []pdu.Instance {
	all := make([]pdu.Instance, len(limitMetrics))
	for i := range limitMetrics {
		all[i] = pdu.Instance{ID: pdu.Inst(i), Name: limitMetrics[i].name}
	}
	return all
}

func bucketInstances() []pdu.Instance {
	names := BucketNames()
	all := make([]pdu.Instance, len(names))
	for i, name := range names {
		all[i] = pdu.Instance{ID: pdu.Inst(i), Name: name}
	}
	return all
}
