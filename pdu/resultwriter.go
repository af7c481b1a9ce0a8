package pdu

import (
	"encoding/binary"
	"iter"
)

// ResultWriter builds the RESULT with which an agent answers a FETCH, one value set after the
// other, in the order of the FETCH, without a Value in between. The zero value is ready; Reset and
// use it again: then it allocates nothing.
//
// Blocks follow the last set, and a set names its blocks by their index in the PDU, which is known at the
// end: [ResultWriter.Frame] adds it to the indexes and copies the blocks behind the sets.
type ResultWriter struct {
	head   int    // where the value sets begin in the PDU; 0: the writer is new
	sets   buffer // head and value sets
	blocks buffer // value blocks
	base   uint32 // what the indexes in the sets take for that of the first block, in words
	n      int    // value sets
}

// resultHead is where the value sets of a RESULT begin.
const resultHead = HeaderSize + 12

// Reset empties the writer.
func (w *ResultWriter) Reset() { w.ResetAt(resultHead) }

// ResetAt is Reset for value sets that stand elsewhere than in a RESULT: as if they began at a byte of a PDU, to be had from
// [ResultWriter.Sets]. Archives have them like that.
func (w *ResultWriter) ResetAt(head int) {
	w.Release()
	w.head, w.base, w.n = head, 0, 0
	w.sets.extend(head)
}

// Release tells that the last result is used no more: it has been sent. After a large one that lets the memory go, if
// no other large one follows soon; nothing else needs it.
func (w *ResultWriter) Release() {
	w.sets.release()
	w.blocks.release()
	w.head = 0
}

// Size returns the length in bytes of the RESULT so far.
func (w *ResultWriter) Size() int { return max(len(w.sets.data), resultHead) + len(w.blocks.data) }

// Sets completes the value sets and returns them with their blocks, valid until the writer is used again.
func (w *ResultWriter) Sets() []byte { return w.appendBlocks()[w.head:] }

// Len returns the number of value sets so far.
func (w *ResultWriter) Len() int { return w.n }

// Fail adds a set without values: because of code, or, if code is 0, because there are none now.
// A code above 0 is none and goes out as ErrGeneric.
func (w *ResultWriter) Fail(id PMID, code Code) {
	if code > 0 {
		code = ErrGeneric
	}
	set, _, _ := w.addSpace(emptySetHead, 0)
	binary.BigEndian.PutUint64(set, uint64(id)<<32|uint64(uint32(code)))
}

// Number adds the value of a singular metric; bits are as in Value.Bits. A type that is not numeric
// goes out as ErrType.
func (w *ResultWriter) Number(id PMID, t Type, bits uint64) {
	w.numbers(id, t, []Inst{NoInst}, []uint64{bits})
}

// Numbers adds the values of a numeric metric; bits are as in Value.Bits. insts has the instance of
// each; for a singular metric it is nil and bits has one value. No bits means no values. A type
// that is not numeric goes out as ErrType, lists of different lengths as ErrGeneric.
func (w *ResultWriter) Numbers(id PMID, t Type, insts []Inst, bits []uint64) {
	switch {
	case insts == nil && len(bits) == 1:
		w.Number(id, t, bits[0])
	case t.Numeric() && len(insts) != len(bits):
		w.Fail(id, ErrGeneric)
	default:
		w.numbers(id, t, insts, bits)
	}
}

// numbers is Numbers for lists of one length.
func (w *ResultWriter) numbers(id PMID, t Type, insts []Inst, bits []uint64) {
	switch {
	case !t.Numeric():
		w.Fail(id, ErrType)
	case len(bits) == 0:
		w.Fail(id, 0)
	case t == Type32 || t == TypeU32:
		values, _, _ := w.addSet(id, InSitu, len(bits), 0)
		for i, inst := range insts {
			if len(values) < valueSize {
				break // never: this spares the stores their checks, here and below
			}
			binary.BigEndian.PutUint64(values, uint64(inst)<<32|uint64(uint32(bits[i])))
			values = values[valueSize:]
		}
	case t == TypeFloat:
		const size = blockHead + 4
		values, blocks, index := w.addSet(id, Block, len(bits), size*len(bits))
		for i, inst := range insts {
			if len(values) < valueSize || len(blocks) < size {
				break
			}
			binary.BigEndian.PutUint64(values, uint64(inst)<<32|uint64(index))
			binary.BigEndian.PutUint64(blocks, uint64(t)<<56|size<<32|uint64(uint32(bits[i])))
			values, blocks = values[valueSize:], blocks[size:]
			index += size / 4
		}
	default:
		const size = blockHead + 8
		values, blocks, index := w.addSet(id, Block, len(bits), size*len(bits))
		for i, inst := range insts {
			if len(values) < valueSize || len(blocks) < size {
				break
			}
			binary.BigEndian.PutUint64(values, uint64(inst)<<32|uint64(index))
			binary.BigEndian.PutUint32(blocks, uint32(t)<<24|size)
			binary.BigEndian.PutUint64(blocks[blockHead:], bits[i])
			values, blocks = values[valueSize:], blocks[size:]
			index += size / 4
		}
	}
}

// Strings adds the values of a metric that is not numeric: the text of a STRING, which gets its
// NUL here, the bytes of an AGGREGATE, the body of an EVENT. insts is as in Numbers. A numeric type
// goes out as ErrType, lists of different lengths as ErrGeneric, a value larger than
// MaxBlockBody as ErrTooBig.
func (w *ResultWriter) Strings(id PMID, t Type, insts []Inst, blobs [][]byte) {
	if insts == nil && len(blobs) == 1 {
		insts = []Inst{NoInst}
	}
	code, size := Code(0), 0
	if len(insts) != len(blobs) {
		code = ErrGeneric
	}
	for _, blob := range blobs {
		if len(blob) > maxBlob(t) {
			code = ErrTooBig
		}
		size += blobSize(t, blob)
	}
	switch {
	case t.Numeric():
		w.Fail(id, ErrType)
	case code != 0 || len(blobs) == 0:
		w.Fail(id, code)
	default:
		values, blocks, index := w.addSet(id, stockFormat(t), len(blobs), size)
		for i, blob := range blobs {
			binary.BigEndian.PutUint32(values[valueSize*i:], uint32(insts[i]))
			binary.BigEndian.PutUint32(values[valueSize*i+4:], index)
			size := putBlob(blocks, t, blob)
			blocks = blocks[size:]
			index += uint32(size / 4)
		}
	}
}

// Set adds a whole set. A value larger than MaxBlockBody makes it go out as ErrTooBig.
func (w *ResultWriter) Set(vs *ValueSet) {
	code, format := min(vs.Code, 0), vs.Format
	if format < InSitu || format > StaticBlock {
		format = Block
	}
	size := 0
	for i := range vs.Values {
		v := &vs.Values[i]
		if format == InSitu {
			format = stockFormat(v.Type)
		}
		if len(v.Bytes) > maxBlob(v.Type) {
			code = ErrTooBig
		}
		size += blockSize(v)
	}
	if code < 0 || len(vs.Values) == 0 {
		w.Fail(vs.PMID, code)
		return
	}
	if format == InSitu {
		size = 0
	}
	values, blocks, index := w.addSet(vs.PMID, format, len(vs.Values), size)
	for i := range vs.Values {
		v := &vs.Values[i]
		word := uint32(v.Bits)
		if format != InSitu {
			word = index
			size := putBlock(blocks, v)
			blocks = blocks[size:]
			index += uint32(size / 4)
		}
		binary.BigEndian.PutUint32(values[valueSize*i:], uint32(v.Inst))
		binary.BigEndian.PutUint32(values[valueSize*i+4:], word)
	}
}

// Frame completes the RESULT and returns it, valid until the writer is used again. change tells pmcd what
// has changed since the last one; pmcd knows ChangeLabels and ChangeNames from an agent.
func (w *ResultWriter) Frame(from int32, change Change) []byte {
	frame := w.appendBlocks()
	head := frame[:resultHead]
	binary.BigEndian.PutUint32(head, uint32(len(frame)))
	binary.BigEndian.PutUint32(head[4:], uint32(KindResult))
	binary.BigEndian.PutUint32(head[8:], uint32(from))
	binary.BigEndian.PutUint32(head[12:], uint32(change))
	binary.BigEndian.PutUint32(head[16:], 0)
	binary.BigEndian.PutUint32(head[20:], uint32(w.n))
	return frame
}

// appendBlocks puts the blocks behind the sets and returns the PDU, its head not filled in.
func (w *ResultWriter) appendBlocks() []byte {
	if w.head == 0 {
		w.Reset()
	}
	end := len(w.sets.data)
	words := uint32(end/4) - w.base
	for index := range indexes(w.sets.data[w.head:]) {
		binary.BigEndian.PutUint32(index, words+binary.BigEndian.Uint32(index))
	}
	w.base += words
	copy(w.sets.extend(len(w.blocks.data)), w.blocks.data)
	pdu := w.sets.data
	w.sets.data = pdu[:end]
	return pdu
}

// indexes yields the indexes of value blocks, 4 bytes each, in value sets as they are sent.
func indexes(sets []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(sets) > 0 {
			numval := int(int32(binary.BigEndian.Uint32(sets[4:])))
			if numval <= 0 {
				sets = sets[emptySetHead:]
				continue
			}
			format := ValueFormat(binary.BigEndian.Uint32(sets[8:]))
			values := sets[setHead : setHead+valueSize*numval]
			sets = sets[setHead+valueSize*numval:]
			for ; format != InSitu && len(values) > 0; values = values[valueSize:] {
				if !yield(values[4:valueSize]) {
					return
				}
			}
		}
	}
}

// addSet adds the head of a set of n values, n above 0, and returns the space for these and for their
// blocks, and the index of the first block in words.
func (w *ResultWriter) addSet(id PMID, format ValueFormat, n, blocksSize int) (values, blocks []byte, index uint32) {
	set, blocks, index := w.addSpace(setHead+valueSize*n, blocksSize)
	binary.BigEndian.PutUint64(set, uint64(id)<<32|uint64(n))
	binary.BigEndian.PutUint32(set[8:], uint32(format))
	return set[setHead:], blocks, index
}

// addSpace adds a set of setSize bytes and blocks of blocksSize bytes and returns both, and the index of
// the first block in words.
func (w *ResultWriter) addSpace(setSize, blocksSize int) (set, blocks []byte, index uint32) {
	if w.head == 0 {
		w.Reset()
	}
	w.n++
	index = w.base + uint32(len(w.blocks.data)/4)
	return w.sets.extend(setSize), w.blocks.extend(blocksSize), index
}

// blockSize returns the size of the value block of v with its padding.
func blockSize(v *Value) int {
	if size := v.Type.size(); size > 0 {
		return blockHead + size
	}
	return blobSize(v.Type, v.Bytes)
}

// putBlock writes the value block of v and returns its size.
func putBlock(dst []byte, v *Value) int {
	size := v.Type.size()
	if size == 0 {
		return putBlob(dst, v.Type, v.Bytes)
	}
	binary.BigEndian.PutUint32(dst, uint32(v.Type)<<24|uint32(blockHead+size))
	switch {
	case size == 8:
		binary.BigEndian.PutUint64(dst[blockHead:], v.Bits)
	case v.Type == TypeFloat:
		binary.BigEndian.PutUint32(dst[blockHead:], uint32(v.Bits))
	default: // not swapped, as Decode reads it
		binary.LittleEndian.PutUint32(dst[blockHead:], uint32(v.Bits))
	}
	return blockHead + size
}

// blobSize returns the size of the value block of a value that is not numeric, with its padding.
func blobSize(t Type, body []byte) int {
	size := blockHead + len(body)
	if t == TypeString {
		size++
	}
	return pad4(size)
}

// putBlob writes the value block of a value that is not numeric and returns its size.
func putBlob(dst []byte, t Type, body []byte) int {
	length := blockHead + copy(dst[blockHead:], body)
	if t == TypeString {
		dst[length] = 0
		length++
	}
	binary.BigEndian.PutUint32(dst, uint32(t)<<24|uint32(length))
	return length + copy(dst[length:pad4(length)], padding)
}

// maxBlob returns the largest body, in bytes, of a value that is not numeric.
func maxBlob(t Type) int {
	if t == TypeString {
		return MaxBlockBody - 1
	}
	return MaxBlockBody
}

// stockFormat returns the format in which stock senders send values of type t.
func stockFormat(t Type) ValueFormat {
	switch t {
	case Type32, TypeU32, TypeUnknown:
		return InSitu
	case TypeAggregateStatic, TypeEvent, TypeHighResEvent:
		return StaticBlock
	}
	return Block
}
