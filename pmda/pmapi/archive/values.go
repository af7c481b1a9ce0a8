package archive

import (
	"bytes"
	"encoding/binary"

	"pmdaderived/pdu"
)

// Sizes of the parts of a set of values, in bytes.
const (
	emptySetHead = 8  // PMID and count
	setHead      = 12 // and format
	valueSize    = 8  // instance and value
)

// decode reads the sets of a record that are wanted, all if wanted is nil. A set that cannot be read has a code. Numbers have memory of their own;
// what is not numeric is borrowed from the record.
//
// A record is a RESULT but for its head, and value blocks are counted from the same place: the wanted sets are put together where those of a
// RESULT are.
func decode(dst *pdu.Columns, r record, wanted func(pdu.PMID) bool) {
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
		if wanted == nil || wanted(pdu.PMID(binary.BigEndian.Uint32(body[from:]))) {
			copy(body[to:], body[from:from+size])
			to, n = to+size, n+1
		}
		from += size
	}
	binary.BigEndian.PutUint32(body[resultHead-4:], uint32(n))
	_ = dst.Decode(pdu.Frame{Kind: pdu.KindResult, Body: body}) // what is wrong with a set, its code says
}

// own makes what is not numeric independent of the record.
func own(blobs [][]byte) [][]byte {
	if blobs == nil {
		return nil
	}
	owned := make([][]byte, len(blobs))
	for i, b := range blobs {
		owned[i] = bytes.Clone(b)
	}
	return owned
}
