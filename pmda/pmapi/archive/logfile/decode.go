package logfile

import (
	"encoding/binary"

	"pmdaderived/pdu"
)

// Sizes of the parts of a set of values, in bytes.
const (
	emptySetHead = 8  // PMID and count
	setHead      = 12 // and format
	valueSize    = 8  // instance and value
)

// Decode decodes the value sets for which wanted returns true, all if wanted is nil. It leaves out event records. A
// set that cannot be read has a code. Blobs are borrowed from the record; numbers are not, see [pdu.Column]. A record
// can be decoded only once, because Decode changes its bytes.
//
// A record is a RESULT with another head, and its indexes of value blocks count from the begin of a RESULT. So Decode
// moves the wanted sets to their position in a RESULT, and decodes that.
//
// The type of a value is that of the descriptor. The type in its block is ignored: archives that were converted from
// version 1 have 0 there.
func (r *Record) Decode(dst *pdu.Columns, descs map[pdu.PMID]pdu.Desc, wanted func(pdu.PMID) bool) {
	const resultHead = 12
	body := r.body
	from, to, n := headSize(r.version), resultHead, 0
	sets := int(int32(binary.BigEndian.Uint32(body[from-4:])))
	for ; sets > 0 && len(body)-from >= emptySetHead; sets-- {
		size := emptySetHead
		if count := int(int32(binary.BigEndian.Uint32(body[from+4:]))); count > 0 {
			if count > (len(body)-from-setHead)/valueSize {
				break
			}
			size = setHead + count*valueSize
		}
		id := pdu.PMID(binary.BigEndian.Uint32(body[from:]))
		if (wanted == nil || wanted(id)) && !isEvent(descs[id].Type) {
			copy(body[to:], body[from:from+size])
			to, n = to+size, n+1
		}
		from += size
	}
	binary.BigEndian.PutUint32(body[resultHead-4:], uint32(n))
	frame := pdu.Frame{Kind: pdu.KindResult, Body: body}
	_ = dst.Decode(frame) // a wrong set has a code
	for i := range dst.Sets {
		set := &dst.Sets[i]
		desc, ok := descs[set.PMID]
		if ok && (set.Code == pdu.ErrConv || len(set.Insts) > 0 && set.Format != pdu.InSitu && set.Type != desc.Type) {
			setTypes(body[:to], body, descs)
			_ = dst.Decode(frame)
			return
		}
	}
}

func isEvent(t pdu.Type) bool { return t == pdu.TypeEvent || t == pdu.TypeHighResEvent }

// setTypes writes the types of the descriptors into the value blocks of sets, which are the begin of body.
func setTypes(sets, body []byte, descs map[pdu.PMID]pdu.Desc) {
	const frameHead = pdu.HeaderSize
	f := Fields{b: sets, off: frameHead}
	for f.Left() > 0 && !f.failed {
		desc, ok := descs[pdu.PMID(f.U32())]
		count := int(f.I32())
		if count <= 0 {
			continue
		}
		format := pdu.ValueFormat(f.I32())
		for range count {
			f.U32()
			at := int64(f.U32())*4 - frameHead
			if ok && format != pdu.InSitu && !f.failed && at >= int64(len(sets)) && at < int64(len(body)) {
				body[at] = byte(desc.Type)
			}
		}
	}
}
