package pdu

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// PMID identifies a metric: a domain of 9 bits (the agent), a cluster of 12 bits and an item of
// 10 bits. It prints as "domain.cluster.item". Source: docs/protocol.md 3.1.
type PMID uint32

// NoPMID (PM_ID_NULL) means "no metric": a name that is not resolved, a descriptor that is missing. The zero PMID
// is a valid one.
const NoPMID PMID = 0xffffffff

// Largest values of the fields of a PMID.
const (
	MaxDomain  = 1<<9 - 1
	MaxCluster = 1<<12 - 1
	MaxItem    = 1<<10 - 1
)

// DynamicDomain is the domain of the roots of dynamic subtrees in a PMNS file, and of the derived
// metrics that exist only inside a client. No agent may have it.
const DynamicDomain = 511

// NewPMID composes a PMID; bits of an argument that do not fit its field are dropped.
func NewPMID(domain, cluster, item int) PMID {
	return PMID(domain&MaxDomain)<<22 | PMID(cluster&MaxCluster)<<10 | PMID(item&MaxItem)
}

// Domain returns the domain number, 0..511. It ignores the highest bit, a flag of libpcp's own.
func (id PMID) Domain() int { return int(id>>22) & MaxDomain }

// Cluster returns the cluster number, 0..4095.
func (id PMID) Cluster() int { return int(id>>10) & MaxCluster }

// Item returns the item number, 0..1023.
func (id PMID) Item() int { return int(id) & MaxItem }

// String returns "domain.cluster.item", or "PM_ID_NULL" for NoPMID. Source: pmIDStr(3).
func (id PMID) String() string {
	if id == NoPMID {
		return "PM_ID_NULL"
	}
	return fmt.Sprintf("%d.%d.%d", id.Domain(), id.Cluster(), id.Item())
}

// MarshalText returns String's text, so that text logs and JSON logs agree.
func (id PMID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the text that MarshalText returns.
func (id *PMID) UnmarshalText(text []byte) error {
	parsed, err := ParsePMID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// ParsePMID reads "domain.cluster.item" or "PM_ID_NULL".
func ParsePMID(s string) (PMID, error) {
	if s == "PM_ID_NULL" {
		return NoPMID, nil
	}
	fields, err := parseFields(strings.Split(s, "."), "domain.cluster.item", MaxDomain, MaxCluster, MaxItem)
	if err != nil {
		return NoPMID, fmt.Errorf("metric identifier %q: %w", s, err)
	}
	return NewPMID(fields[0], fields[1], fields[2]), nil
}

// InDom identifies an instance domain: a domain of 9 bits (the agent) and a serial of 22 bits. It prints as
// "domain.serial". Source: docs/protocol.md 3.2.
type InDom uint32

// NoInDom (PM_INDOM_NULL) is the instance domain of a singular metric.
const NoInDom InDom = 0xffffffff

// MaxSerial is the largest serial of an InDom.
const MaxSerial = 1<<22 - 1

// NewInDom composes an InDom; bits of an argument that do not fit its field are dropped.
func NewInDom(domain, serial int) InDom {
	return InDom(domain&MaxDomain)<<22 | InDom(serial&MaxSerial)
}

// Domain returns the number of the agent that owns the instance domain, 0..511.
func (d InDom) Domain() int { return int(d>>22) & MaxDomain }

// Serial returns the serial number, 0..4194303.
func (d InDom) Serial() int { return int(d) & MaxSerial }

// String returns "domain.serial", or "PM_INDOM_NULL" for NoInDom. Source: pmInDomStr(3).
func (d InDom) String() string {
	if d == NoInDom {
		return "PM_INDOM_NULL"
	}
	return fmt.Sprintf("%d.%d", d.Domain(), d.Serial())
}

// MarshalText returns String's text, so that text logs and JSON logs agree.
func (d InDom) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the text that MarshalText returns.
func (d *InDom) UnmarshalText(text []byte) error {
	parsed, err := ParseInDom(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// ParseInDom reads "domain.serial" or "PM_INDOM_NULL".
func ParseInDom(s string) (InDom, error) {
	if s == "PM_INDOM_NULL" {
		return NoInDom, nil
	}
	fields, err := parseFields(strings.SplitN(s, ".", 2), "domain.serial", MaxDomain, MaxSerial)
	if err != nil {
		return NoInDom, fmt.Errorf("instance domain %q: %w", s, err)
	}
	return NewInDom(fields[0], fields[1]), nil
}

// parseFields reads a decimal number from each of texts, and refuses one above its limit. form is for the error.
func parseFields(texts []string, form string, limits ...int) ([]int, error) {
	if len(texts) != len(limits) {
		return nil, errors.New("want " + form)
	}
	fields := make([]int, len(limits))
	for i, limit := range limits {
		n, err := strconv.ParseUint(texts[i], 10, 32)
		if err != nil {
			return nil, errors.Unwrap(err)
		}
		if n > uint64(limit) {
			return nil, fmt.Errorf("%d is larger than %d", n, limit)
		}
		fields[i] = int(n)
	}
	return fields, nil
}

// Inst is the internal number of an instance inside its domain, 0..2³¹-1, or NoInst. Agents must not use other
// negative numbers, but some do: here they are numbers like others.
type Inst int32

// NoInst (PM_IN_NULL) is the instance of the value of a singular metric.
const NoInst Inst = -1

// Instance is a member of an instance domain: its internal number and its external name.
type Instance struct {
	ID   Inst
	Name string
}

// ContextID is the number that a client gives to a context. Two clients may use the same number: an agent needs the
// number of the client, too.
type ContextID int32
