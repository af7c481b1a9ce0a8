package liar

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"pmdaderived/pdu"
)

// exchange is a request, the right reply, and the state of the lie.
type exchange struct {
	request, reply pdu.Frame
	argument       string
	rand           *rand.Rand // seeded with the argument, if that is a number
	answers        int        // to requests of this kind since the lie began
	fetches        int        // likewise of FETCH
}

// teller answers with lies, one order after the other.
type teller struct {
	order string
	rand  *rand.Rand
	n     map[pdu.Kind]int

	announced bool // changed names, since the order
}

// tell returns the answer for pmcd: the reply, or a lie if there is an order.
func (r *teller) tell(order string, asked, truth pdu.Frame) ([]byte, error) {
	if order != r.order {
		_, argument, _ := strings.Cut(order, " ")
		seed, _ := strconv.ParseUint(argument, 10, 64) // of most lies the argument is none
		*r = teller{order: order, rand: rand.New(rand.NewPCG(seed, 0)), n: map[pdu.Kind]int{}}
	}
	if order == "" {
		return r.announce(truth), nil
	}
	name, argument, _ := strings.Cut(order, " ")
	i := slices.IndexFunc(table(), func(l lie) bool { return l.name == name })
	if i < 0 {
		return nil, errors.New("there is no such lie")
	}
	l, k := table()[i], asked.Kind
	if len(l.about) > 0 && !slices.Contains(l.about, k) {
		return r.announce(truth), nil
	}
	t := &exchange{
		request: asked, reply: truth, argument: argument, rand: r.rand, answers: r.n[k],
		fetches: r.n[pdu.KindFetch],
	}
	r.n[k]++
	return l.answer(t), nil
}

// announce returns the reply. In the first RESULT since the order it also announces changed names: so clients look all
// up again, and meet the lie, or the truth again.
func (r *teller) announce(truth pdu.Frame) []byte {
	frame := encoded(truth)
	if truth.Kind == pdu.KindResult && !r.announced {
		put(frame, pdu.HeaderSize, uint32(pdu.ChangeNames))
		r.announced = true
	}
	return frame
}

// put replaces a word of a frame.
func put(frame []byte, at int, word uint32) { binary.BigEndian.PutUint32(frame[at:], word) }

func get(frame []byte, at int) uint32 { return binary.BigEndian.Uint32(frame[at:]) }

// setAt is the offset of the sets of a RESULT: behind the header, the time and their number.
const setAt = pdu.HeaderSize + 12

// sets calls f with the offset of each set of a RESULT that has values, and the number of these. A set is PMID, number
// of values, format, pairs.
func sets(frame []byte, f func(at, values int)) {
	at := setAt
	for range get(frame, setAt-4) {
		n := int(int32(get(frame, at+4)))
		if n <= 0 {
			at += 8
			continue
		}
		f(at, n)
		at += 12 + 8*n
	}
}

// blocks calls f with the offset of each value block of a RESULT.
func blocks(frame []byte, f func(at int)) {
	sets(frame, func(at, values int) {
		if get(frame, at+8) == 0 {
			return // in situ
		}
		for i := range values {
			f(4 * int(get(frame, at+16+8*i)))
		}
	})
}

// patchResult answers with the reply, with words replaced if it is a RESULT.
func patchResult(patch func(frame []byte)) func(*exchange) []byte {
	return func(t *exchange) []byte {
		frame := encoded(t.reply)
		if t.reply.Kind == pdu.KindResult {
			patch(frame)
		}
		return frame
	}
}

// changeMessage answers with a changed message, if the reply is of its kind.
func changeMessage[M any, P interface {
	*M
	pdu.Message
}](change func(t *exchange, m P)) func(*exchange) []byte {
	return func(t *exchange) []byte {
		m := P(new(M))
		if t.reply.Kind != m.Kind() || m.Decode(t.reply.Body) != nil {
			return encoded(t.reply)
		}
		change(t, m)
		return m.Append(nil, t.reply.From)
	}
}
