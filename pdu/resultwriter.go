package pdu

import (
	"encoding/binary"
	"slices"
)

// ResultWriter builds the RESULT with which an agent answers a FETCH, one value set after the
// other, in the order of the FETCH, without a Value in between. The zero value is ready; Reset and
// use it again: then it allocates nothing.
//
// Value sets and value blocks are collected in two buffers; an index of a block counts from the
// first block until Append knows where that will be.
type ResultWriter struct {
	sets   []byte
	blocks []byte
	n      int // value sets
	keep   retention
}

// Reset empties the writer.
func (w *ResultWriter) Reset() {
	if w.keep.excess(cap(w.sets)+cap(w.blocks), len(w.sets)+len(w.blocks)) {
		w.sets, w.blocks = nil, nil
	}
	w.sets, w.blocks, w.n = w.sets[:0], w.blocks[:0], 0
}

// Len returns the number of value sets so far.
func (w *ResultWriter) Len() int { return w.n }

// Fail adds a set without values: because of code, or, if code is 0, because there are none now.
// A code above 0 is none and goes out as ErrGeneric.
func (w *ResultWriter) Fail(id PMID, code Code) {
	if code > 0 {
		code = ErrGeneric
	}
	w.sets = appendU32(w.sets, uint32(id))
	w.sets = appendI32(w.sets, int32(code))
	w.n++
}

// Numbers adds the values of a numeric metric; bits are as in Value.Bits. insts has the instance of
// each; for a singular metric it is nil and bits has one value. No bits means no values. A type
// that is not numeric goes out as ErrType, lists of different lengths as ErrGeneric.
func (w *ResultWriter) Numbers(id PMID, t Type, insts []Inst, bits []uint64) {
	var singular [1]Inst
	insts, code := instances(&singular, insts, len(bits))
	switch {
	case !t.Numeric():
		w.Fail(id, ErrType)
	case code != 0 || len(bits) == 0:
		w.Fail(id, code)
	case t == Type32 || t == TypeU32:
		sets := w.begin(id, InSitu, len(bits))
		for i, inst := range insts {
			binary.BigEndian.PutUint32(sets[valueSize*i:], uint32(inst))
			binary.BigEndian.PutUint32(sets[valueSize*i+4:], uint32(bits[i]))
		}
	case t == TypeFloat:
		const size = blockHead + 4
		sets := w.begin(id, Block, len(bits))
		index := uint32(len(w.blocks) / 4)
		blocks := w.grow(size * len(bits))
		for i, inst := range insts {
			binary.BigEndian.PutUint32(sets[valueSize*i:], uint32(inst))
			binary.BigEndian.PutUint32(sets[valueSize*i+4:], index)
			binary.BigEndian.PutUint32(blocks[size*i:], uint32(t)<<24|size)
			binary.BigEndian.PutUint32(blocks[size*i+4:], uint32(bits[i]))
			index += size / 4
		}
	default:
		const size = blockHead + 8
		sets := w.begin(id, Block, len(bits))
		index := uint32(len(w.blocks) / 4)
		blocks := w.grow(size * len(bits))
		for i, inst := range insts {
			binary.BigEndian.PutUint32(sets[valueSize*i:], uint32(inst))
			binary.BigEndian.PutUint32(sets[valueSize*i+4:], index)
			binary.BigEndian.PutUint32(blocks[size*i:], uint32(t)<<24|size)
			binary.BigEndian.PutUint64(blocks[size*i+4:], bits[i])
			index += size / 4
		}
	}
}

// Strings adds the values of a metric that is not numeric: the text of a STRING, which gets its
// NUL here, the bytes of an AGGREGATE, the body of an EVENT. insts is as in Numbers. A numeric type
// goes out as ErrType, lists of different lengths as ErrGeneric, a value larger than
// MaxBlockBody as ErrTooBig.
func (w *ResultWriter) Strings(id PMID, t Type, insts []Inst, blobs [][]byte) {
	var singular [1]Inst
	insts, code := instances(&singular, insts, len(blobs))
	for _, blob := range blobs {
		if len(blob) > maxBlob(t) {
			code = ErrTooBig
		}
	}
	switch {
	case t.Numeric():
		w.Fail(id, ErrType)
	case code != 0 || len(blobs) == 0:
		w.Fail(id, code)
	default:
		sets := w.begin(id, stockFormat(t), len(blobs))
		for i, blob := range blobs {
			binary.BigEndian.PutUint32(sets[valueSize*i:], uint32(insts[i]))
			binary.BigEndian.PutUint32(sets[valueSize*i+4:], uint32(len(w.blocks)/4))
			w.blob(t, blob)
		}
	}
}

// Set adds a whole set. A value larger than MaxBlockBody makes it go out as ErrTooBig.
func (w *ResultWriter) Set(vs *ValueSet) {
	code, format := min(vs.Code, 0), vs.Format
	if format < InSitu || format > StaticBlock {
		format = Block
	}
	for i := range vs.Values {
		v := &vs.Values[i]
		if format == InSitu {
			format = stockFormat(v.Type)
		}
		if len(v.Bytes) > maxBlob(v.Type) {
			code = ErrTooBig
		}
	}
	if code < 0 || len(vs.Values) == 0 {
		w.Fail(vs.PMID, code)
		return
	}
	sets := w.begin(vs.PMID, format, len(vs.Values))
	for i := range vs.Values {
		v := &vs.Values[i]
		word := uint32(v.Bits)
		if format != InSitu {
			word = uint32(len(w.blocks) / 4)
			w.block(v)
		}
		binary.BigEndian.PutUint32(sets[valueSize*i:], uint32(v.Inst))
		binary.BigEndian.PutUint32(sets[valueSize*i+4:], word)
	}
}

// Truncate drops all sets but the first n; it does nothing when there are no more than n.
func (w *ResultWriter) Truncate(n int) {
	if n >= w.n {
		return
	}
	off := 0
	for range n {
		off += setSize(w.sets[off:])
	}
	for tail := w.sets[off:]; len(tail) > 0; tail = tail[setSize(tail):] {
		if numval, format := setShape(tail); numval > 0 && format != InSitu {
			w.blocks = w.blocks[:4*binary.BigEndian.Uint32(tail[setHead+4:])]
			break
		}
	}
	w.sets, w.n = w.sets[:off], n
}

// Append appends the whole RESULT. change tells pmcd what has changed since the last one; pmcd
// knows ChangeLabels and ChangeNames from an agent.
func (w *ResultWriter) Append(dst []byte, from int32, change Change) []byte {
	start := len(dst)
	dst = slices.Grow(dst, HeaderSize+12+len(w.sets)+len(w.blocks))
	dst = appendHeader(dst, KindResult, from)
	dst = appendU32(dst, uint32(change))
	dst = appendI32(dst, 0)
	dst = appendI32(dst, int32(w.n))
	dst = w.appendSets(dst, start)
	return endFrame(dst, start)
}

// appendSets appends sets and blocks to the PDU that begins at byte start of dst.
func (w *ResultWriter) appendSets(dst []byte, start int) []byte {
	at := len(dst)
	dst = append(dst, w.sets...)
	if len(w.blocks) == 0 {
		return dst
	}
	end := len(dst)
	dst = append(dst, w.blocks...)
	sets, base := dst[at:end], uint32((end-start)/4)
	for len(sets) > 0 {
		numval, format := setShape(sets)
		size := setSize(sets)
		if numval > 0 && format != InSitu {
			values := sets[setHead:size]
			for len(values) >= valueSize {
				index := binary.BigEndian.Uint32(values[4:])
				binary.BigEndian.PutUint32(values[4:], base+index)
				values = values[valueSize:]
			}
		}
		sets = sets[size:]
	}
	return dst
}

// setShape returns the number of values of an encoded set, and their format if there are any.
func setShape(set []byte) (numval int, format ValueFormat) {
	numval = int(int32(binary.BigEndian.Uint32(set[4:])))
	if numval > 0 {
		format = ValueFormat(binary.BigEndian.Uint32(set[8:]))
	}
	return numval, format
}

// setSize returns the size of an encoded set in bytes.
func setSize(set []byte) int {
	if numval, _ := setShape(set); numval > 0 {
		return setHead + valueSize*numval
	}
	return emptySetHead
}

// begin adds the head of a set and returns the space for its n values.
func (w *ResultWriter) begin(id PMID, format ValueFormat, n int) []byte {
	at, size := len(w.sets), setHead+valueSize*n
	w.sets = slices.Grow(w.sets, size)[:at+size]
	w.n++
	set := w.sets[at:]
	binary.BigEndian.PutUint32(set, uint32(id))
	binary.BigEndian.PutUint32(set[4:], uint32(n))
	binary.BigEndian.PutUint32(set[8:], uint32(format))
	return set[setHead:]
}

// grow adds n bytes to the blocks and returns them.
func (w *ResultWriter) grow(n int) []byte {
	at := len(w.blocks)
	w.blocks = slices.Grow(w.blocks, n)[:at+n]
	return w.blocks[at:]
}

// block adds the value block of v.
func (w *ResultWriter) block(v *Value) {
	size := v.Type.size()
	head := uint32(v.Type)<<24 | uint32(blockHead+size)
	switch {
	case size == 0:
		w.blob(v.Type, v.Bytes)
	case size == 8:
		w.blocks = appendU64(appendU32(w.blocks, head), v.Bits)
	case v.Type == TypeFloat:
		w.blocks = appendU32(appendU32(w.blocks, head), uint32(v.Bits))
	default: // not swapped, as Decode reads it
		w.blocks = binary.LittleEndian.AppendUint32(appendU32(w.blocks, head), uint32(v.Bits))
	}
}

// blob adds the value block of a value that is not numeric.
func (w *ResultWriter) blob(t Type, body []byte) {
	length := blockHead + len(body)
	if t == TypeString {
		length++
	}
	w.blocks = appendU32(w.blocks, uint32(t)<<24|uint32(length))
	w.blocks = append(w.blocks, body...)
	if t == TypeString {
		w.blocks = append(w.blocks, 0)
	}
	w.blocks = append(w.blocks, padding[:pad4(length)-length]...)
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

// instances returns the instances of n values: insts, or for a singular metric NoInst in singular.
func instances(singular *[1]Inst, insts []Inst, n int) ([]Inst, Code) {
	if insts == nil && n == 1 {
		singular[0] = NoInst
		return singular[:], 0
	}
	if len(insts) != n {
		return nil, ErrGeneric
	}
	return insts, 0
}
