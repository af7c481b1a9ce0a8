package writer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"pmdaderived/pdu"
)

// Types of records of metadata. A record with a time has another type in each version.
const (
	typeDesc     = 1
	typeInDomV2  = 2
	typeLabelsV2 = 3
	typeText     = 4
	typeInDom    = 5
	typeLabels   = 7
)

// maxName is the longest name of a metric, in bytes: PCP's tools abort at longer ones.
const maxName = 4095

// Metric writes the descriptor of a metric and its names. It is called once for a metric, before its first values. What
// PCP's tools would not read is an error, here and in the functions below, and is not written.
func (w *Writer) Metric(d pdu.Desc, names ...string) error {
	if fault := d.Fault(); fault != "" {
		return errors.New(fault)
	}
	b := words(typeDesc, uint32(d.PMID), uint32(d.Type), uint32(d.InDom), uint32(d.Sem), d.Units.Wire())
	b = binary.BigEndian.AppendUint32(b, uint32(len(names)))
	for _, name := range names {
		if name == "" || len(name) > maxName {
			return fmt.Errorf("metric %v: a name of %d bytes is not a valid one: 1 to %d", d.PMID, len(name), maxName)
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(name))), name...)
	}
	return w.writeMeta(b)
}

// InDom writes all instances that a domain has from a time on.
func (w *Writer) InDom(from time.Time, d pdu.InDom, instances []pdu.Instance) error {
	b := w.timedRecord(typeInDomV2, typeInDom, from)
	b = binary.BigEndian.AppendUint32(b, uint32(d))
	b = binary.BigEndian.AppendUint32(b, uint32(len(instances)))
	for _, one := range instances {
		if one.ID < 0 {
			return fmt.Errorf("%d is not a valid number of an instance of domain %v", one.ID, d)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(one.ID))
	}
	offset := 0
	for _, one := range instances {
		b = binary.BigEndian.AppendUint32(b, uint32(offset))
		offset += len(one.Name) + 1
	}
	for _, one := range instances {
		b = append(append(b, one.Name...), 0)
	}
	return w.writeMeta(b)
}

// Labels writes the labels of one thing from a time on. ident is as in [pdu.LabelReq], and 0xffffffff for the context.
func (w *Writer) Labels(from time.Time, ident uint32, t pdu.LabelType, sets []pdu.LabelSet) error {
	b := w.timedRecord(typeLabelsV2, typeLabels, from)
	b = binary.BigEndian.AppendUint32(b, uint32(t))
	b = binary.BigEndian.AppendUint32(b, ident)
	b = binary.BigEndian.AppendUint32(b, uint32(len(sets)))
	for i := range sets {
		set := &sets[i]
		if fault := set.Fault(); fault != "" {
			return fmt.Errorf("labels of %#x: %s", ident, fault)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(set.Inst))
		b = binary.BigEndian.AppendUint32(b, uint32(len(set.JSON)))
		b = append(b, set.JSON...)
		b = binary.BigEndian.AppendUint32(b, uint32(len(set.Labels)))
		for _, l := range set.Labels {
			b = binary.BigEndian.AppendUint16(b, l.NameOffset)
			b = append(b, l.NameLen, byte(l.Flags))
			b = binary.BigEndian.AppendUint16(b, l.ValueOffset)
			b = binary.BigEndian.AppendUint16(b, l.ValueLen)
		}
	}
	return w.writeMeta(b)
}

// Text writes a text of a metric or an instance domain. ident and t are as in [pdu.TextReq].
func (w *Writer) Text(ident uint32, t pdu.TextType, text string) error {
	return w.writeMeta(append(append(words(typeText, uint32(t), ident), text...), 0))
}

// timedRecord returns the begin of a record: its type in the version of the archive, and a time.
func (w *Writer) timedRecord(typeV2, typeV3 uint32, from time.Time) []byte {
	recordType := typeV3
	if w.label.Version == 2 {
		recordType = typeV2
	}
	return w.appendTime(words(recordType), w.truncate(from))
}

// writeMeta writes a record of metadata with the contents body.
func (w *Writer) writeMeta(body []byte) error {
	if w.err == nil {
		w.meta.write(framed(body))
		w.keepFirstError()
	}
	return w.err
}

func words(all ...uint32) []byte {
	b := make([]byte, 0, 4*len(all))
	for _, word := range all {
		b = binary.BigEndian.AppendUint32(b, word)
	}
	return b
}
