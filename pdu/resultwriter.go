package pdu

import "encoding/binary"

// ResultWriter builds the RESULT that answers a FETCH. The caller adds one value set after the other, in the
// order of the FETCH, from slices and without a Value for each number. The zero value is ready. After Reset it
// can be used again and reuses its memory. It is for one goroutine at a time.
//
//	head | set, set, ...        | block, block, ...
//	     | w.sets               | w.blocks
//
// A set names each of its blocks by the block's index, the position in the PDU in words of four bytes. The
// position of the first block is known only after the last set: so indexes are written from 0 on, and
// [ResultWriter.Frame] adds the position to each and copies the blocks to the end of the sets.
type ResultWriter struct {
	head   int    // size in bytes of the head, which is before the value sets; 0: Reset has not been called
	sets   buffer // head and value sets
	blocks buffer // value blocks
	base   uint32 // the index that the sets have for the first block, in words: 0 until Frame corrects them
	n      int    // number of value sets
}

// resultHead is the offset in bytes of the value sets of a RESULT.
const resultHead = HeaderSize + 12

// Reset empties the writer for the next RESULT.
func (w *ResultWriter) Reset() { w.ResetAt(resultHead) }

// ResetAt empties the writer for value sets outside of a RESULT, as records of an archive have them. The sets begin at
// byte head of the PDU or record, a multiple of four: indexes of blocks count from its start. [ResultWriter.Sets]
// returns the sets.
func (w *ResultWriter) ResetAt(head int) {
	w.Release()
	w.head, w.base, w.n = head, 0, 0
	w.sets.extend(head)
}

// Release declares that the last frame is no longer used, because it has been sent. Calling it is optional: after a
// large frame it lets the garbage collector have the memory earlier. The memory is reused if another large frame
// follows soon.
func (w *ResultWriter) Release() {
	w.sets.release()
	w.blocks.release()
	w.head = 0
}

// Size returns the length in bytes of the RESULT so far, header included.
func (w *ResultWriter) Size() int { return max(len(w.sets.data), resultHead) + len(w.blocks.data) }

// Sets returns the value sets and, after them, their blocks. The slice is valid until the writer is used again.
func (w *ResultWriter) Sets() []byte { return w.appendBlocks()[w.head:] }

// Len returns the number of value sets so far.
func (w *ResultWriter) Len() int { return w.n }

// Fail adds a set without values. code is the reason; 0 means that the metric has no values now. A code above 0
// would be a number of values: ErrGeneric is sent in its place.
func (w *ResultWriter) Fail(id PMID, code Code) {
	if code > 0 {
		code = ErrGeneric
	}
	set, _, _ := w.addSpace(emptySetHead, 0)
	binary.BigEndian.PutUint64(set, uint64(id)<<32|uint64(uint32(code)))
}

// Number adds the value of a singular metric; bits has the form of Value.Bits. For a type that is not numeric
// ErrType is sent.
func (w *ResultWriter) Number(id PMID, t Type, bits uint64) {
	w.numbers(id, t, []Inst{NoInst}, []uint64{bits})
}

// Numbers adds the values of a numeric metric; bits have the form of Value.Bits. insts has the instance of
// each value; for a singular metric it is nil and bits has one value. No bits means no values. For a type
// that is not numeric ErrType is sent, for lists of different lengths ErrGeneric. Both lists are copied.
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

// numbers adds the values of a numeric metric. Both lists have the same length.
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
				break // never true; with it the compiler leaves out the bounds checks, here and below
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

// Strings adds the values of a metric that is not numeric: the text of a STRING, without the NUL that
// Strings adds, the bytes of an AGGREGATE, or the body of an EVENT. insts is as in Numbers. In place of
// the values ErrType is sent for a numeric type, ErrGeneric for lists of different lengths, and ErrTooBig if a
// value is larger than MaxBlockBody. All arguments are copied.
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

// Set adds a whole set and copies it. If a value is larger than MaxBlockBody, ErrTooBig is sent in place of the values.
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

// Frame returns the whole RESULT for [Writer.WriteFrame]. It is valid until the writer is used again. from is the
// number of the client. change is the set of changes since the previous RESULT, which pmcd passes on to its clients:
// 0, ChangeLabels, ChangeNames or both.
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

// appendBlocks corrects the indexes in the sets, copies the blocks to the end of the sets and returns the PDU, whose
// head is not written. It may be called again after more sets: the copy is not part of w.sets.
func (w *ResultWriter) appendBlocks() []byte {
	if w.head == 0 {
		w.Reset()
	}
	end := len(w.sets.data)
	words := uint32(end/4) - w.base
	for sets := w.sets.data[w.head:]; len(sets) > 0; {
		numval := int(int32(binary.BigEndian.Uint32(sets[4:])))
		if numval <= 0 {
			sets = sets[emptySetHead:]
			continue
		}
		format := ValueFormat(binary.BigEndian.Uint32(sets[8:]))
		values := sets[setHead : setHead+valueSize*numval]
		sets = sets[setHead+valueSize*numval:]
		for ; format != InSitu && len(values) >= valueSize; values = values[valueSize:] {
			index := values[4:valueSize]
			binary.BigEndian.PutUint32(index, words+binary.BigEndian.Uint32(index))
		}
	}
	w.base += words
	copy(w.sets.extend(len(w.blocks.data)), w.blocks.data)
	pdu := w.sets.data
	w.sets.data = pdu[:end]
	return pdu
}

// addSet adds the head of a set of n values, n above 0. It returns the space for the values, the space for their
// blocks, and the index of the first block in words.
func (w *ResultWriter) addSet(id PMID, format ValueFormat, n, blocksSize int) (values, blocks []byte, index uint32) {
	set, blocks, index := w.addSpace(setHead+valueSize*n, blocksSize)
	binary.BigEndian.PutUint64(set, uint64(id)<<32|uint64(n))
	binary.BigEndian.PutUint32(set[8:], uint32(format))
	return set[setHead:], blocks, index
}

// addSpace adds a set of setSize bytes and blocks of blocksSize bytes. It returns both, and the index of
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
	default: // little-endian as stock code writes it and Decode reads it
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
