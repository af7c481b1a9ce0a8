package agent

import (
	"slices"

	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
)

// operandList is the operands of some feeds, as one fetch asks for them. Immutable.
type operandList struct {
	*operand.List
	feeds  []*feed
	places []int32 // of the operands of each feed in turn, in the list
}

// newOperandList makes a list that is for no feed; the metrics are distinct.
func newOperandList(descs ...pdu.Desc) *operandList {
	return &operandList{List: operand.NewList(descs...)}
}

// give hands the sample of all operands to the feeds.
func (l *operandList) give(s *operand.Sample) {
	places := l.places
	vectors := s.Vectors()
	for _, f := range l.feeds {
		n := 0
		for _, at := range places[:len(f.descs)] {
			n += vectors[at].Len()
		}
		places = places[len(f.descs):]
		f.push(s)
		f.values = n
	}
}

// maxLists is how many lists are kept: clients fetch the same metrics again and again, but different ones
// at the same time.
const maxLists = 8

// operandLists are the lists of the last fetches, the last one first.
type operandLists struct {
	known []*operandList
	marks map[pdu.PMID]int32 // scratch space
}

// fill returns the list of as many of the waiting feeds, of which there is one, as one fetch may be for: it has
// at most part operands and maxPartValues values, unless a single feed has more. The operands of one
// feed are never parted: they have one time stamp.
func (o *operandLists) fill(waiting []*feed, part int) *operandList {
	for i, l := range o.known {
		if l.full(waiting, part) {
			copy(o.known[1:i+1], o.known)
			o.known[0] = l
			return l
		}
	}
	return o.keep(o.make(waiting, part, maxPartValues))
}

// all returns the list of all feeds.
func (o *operandLists) all(feeds []*feed) *operandList {
	for _, l := range o.known {
		if slices.Equal(l.feeds, feeds) {
			return l
		}
	}
	total := 0
	for _, f := range feeds {
		total += len(f.descs)
	}
	return o.keep(o.make(feeds, total, 1<<62))
}

// forget drops all lists and the feeds in them.
func (o *operandLists) forget() { o.known = nil }

func (o *operandLists) keep(l *operandList) *operandList {
	if len(o.known) < maxLists {
		o.known = append(o.known, nil)
	}
	copy(o.known[1:], o.known)
	o.known[0] = l
	return l
}

// make makes a list of the first feeds, as many as fit.
func (o *operandLists) make(feeds []*feed, part, values int) *operandList {
	if o.marks == nil {
		o.marks = make(map[pdu.PMID]int32)
	}
	clear(o.marks)
	l := &operandList{}
	var descs []pdu.Desc
	total := 0
	for i, f := range feeds {
		total += f.size()
		if i > 0 && (len(descs)+len(f.descs) > part || total > values) {
			break
		}
		l.feeds = append(l.feeds, f)
		for _, d := range f.descs {
			at, ok := o.marks[d.PMID]
			if !ok {
				at = int32(len(descs))
				o.marks[d.PMID] = at
				descs = append(descs, d)
			}
			l.places = append(l.places, at)
		}
	}
	l.List = operand.NewList(descs...)
	return l
}

// size is how many values a sample will have.
func (l *operandList) size() int {
	values := 0
	for _, f := range l.feeds {
		values += f.size()
	}
	return values
}

// full reports whether l is still what make would make of the waiting feeds.
func (l *operandList) full(waiting []*feed, part int) bool {
	n := len(l.feeds)
	if n == 0 || n > len(waiting) || !slices.Equal(l.feeds, waiting[:n]) {
		return false
	}
	values := l.size()
	if n > 1 && (len(l.IDs) > part || values > maxPartValues) {
		return false
	}
	return n == len(waiting) || len(l.IDs)+len(waiting[n].descs) > part || values+waiting[n].size() > maxPartValues
}
