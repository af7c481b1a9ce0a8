package liar

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"pmdaderived/pdu"
)

// Lies returns the orders for the whole table, each lie with each of its arguments.
func Lies() (orders []string) {
	for _, l := range table() {
		if l.arguments == "" {
			orders = append(orders, l.name)
		}
		for _, argument := range strings.Fields(l.arguments) {
			orders = append(orders, l.name+" "+argument)
		}
	}
	return orders
}

// randomly is the name of the lie that changes random words of answers.
const randomly = "random"

// Random returns the order to change random words, with a seed.
func Random(seed uint64) string { return randomly + " " + strconv.FormatUint(seed, 10) }

// lie is a kind of wrong answer.
type lie struct {
	name      string
	arguments string                   // separated by blanks; Lies has an order for each
	about     []pdu.Kind               // kinds of requests that it answers; nil: all
	answer    func(t *exchange) []byte // returns the bytes for pmcd
}

// table returns all lies.
func table() []lie {
	names, descs := []pdu.Kind{pdu.KindPMNSNames}, []pdu.Kind{pdu.KindDescReq}
	instances, fetch := []pdu.Kind{pdu.KindInstanceReq}, []pdu.Kind{pdu.KindFetch}
	labels := []pdu.Kind{pdu.KindLabelReq}
	below := []pdu.Kind{pdu.KindPMNSChild, pdu.KindPMNSTraverse, pdu.KindPMNSIDs}
	codes := "-12389 -12387 -2 -2147483648" // AGAIN, PERMISSION, ENOENT, none
	return []lie{
		{"name-error", codes, names, refuse},
		{"name-three", "", names, ids(func(t *exchange, m *pdu.PMNSIDs) { m.PMIDs = slices.Repeat(m.PMIDs, 3) })},
		{"name-status", "1 -2", names, ids(func(t *exchange, m *pdu.PMNSIDs) { m.Status = int32(t.number()) })},
		{"name-other", "", names, ids(func(t *exchange, m *pdu.PMNSIDs) { m.PMIDs[0] = pdu.NewPMID(60, 0, 4) })},
		{"name-changes", "", names, ids(func(t *exchange, m *pdu.PMNSIDs) { m.PMIDs[0] += pdu.PMID(t.answers) })},
		{"below-names", "", below, changeMessage(func(t *exchange, m *pdu.PMNSNames) {
			m.Names, m.Status = oddNames(),
				nil
		})},
		{"below-error", "-12389", below, refuse},

		{"desc-error", "-12389 -12358", descs, refuse},
		{"desc-pmid", "", descs, desc(func(t *exchange, d *pdu.Desc) { d.PMID = pdu.NewPMID(60, 0, 4) })},
		{"desc-type", "0 6 9 99", descs, desc(func(t *exchange, d *pdu.Desc) { d.Type = pdu.Type(t.number()) })},
		{"desc-changes", "", descs, desc(func(t *exchange, d *pdu.Desc) { d.Type = pdu.Type(t.answers % 8) })},
		{"desc-indom", "", descs, desc(func(t *exchange, d *pdu.Desc) { d.InDom = pdu.NewInDom(60, 0) })},
		{"desc-garbage", "", descs, desc(func(t *exchange, d *pdu.Desc) {
			*d = pdu.Desc{
				PMID: pdu.PMID(t.rand.Uint32()), Type: pdu.Type(t.rand.Int32()), InDom: pdu.InDom(t.rand.Uint32()),
				Sem: pdu.Semantics(t.rand.Int32()),
			}
		})},

		{"instances-error", "-12389 -12359", instances, refuse},
		{"instances-indom", "", instances, list(func(t *exchange, m *pdu.InstanceReply) { m.InDom = 0xdeadbeef })},
		{"instances-none", "", instances, list(func(t *exchange, m *pdu.InstanceReply) { m.Instances = nil })},
		{"instances-twice", "", instances, list(func(t *exchange,
			m *pdu.InstanceReply,
		) {
			m.Instances = slices.Repeat(m.Instances, 2)
		})},
		{"instances-negative", "", instances, list(func(t *exchange, m *pdu.InstanceReply) {
			for i := range m.Instances {
				m.Instances[i].ID = -m.Instances[i].ID - 1
			}
		})},
		{"instances-many", "", instances, list(func(t *exchange, m *pdu.InstanceReply) {
			for i := range 50_000 {
				m.Instances = append(m.Instances, pdu.Instance{ID: pdu.Inst(1000 + i), Name: "more" + strconv.Itoa(i)})
			}
		})},
		{"instances-names", "", instances, list(func(t *exchange, m *pdu.InstanceReply) {
			for i, name := range oddNames()[:min(len(oddNames()), len(m.Instances))] {
				m.Instances[i].Name = name
			}
		})},
		{"instances-same", "", instances, list(func(t *exchange, m *pdu.InstanceReply) {
			for i := range m.Instances {
				m.Instances[i].Name = "m3"
			}
		})},
		{"instances-count", "", instances, func(t *exchange) []byte {
			frame := encoded(t.reply)
			if t.reply.Kind == pdu.KindInstance {
				put(frame, pdu.HeaderSize+4, 1<<20)
			}
			return frame
		}},
		{"instances-churn", "", slices.Concat(fetch, instances), churn},

		{"labels-error", "-12410 " + codes, labels, refuse}, // NOLABELS
		{"labels-code", "-12389", labels, changeMessage(func(t *exchange, m *pdu.Labels) {
			for i := range m.Sets {
				m.Sets[i] = pdu.LabelSet{Inst: m.Sets[i].Inst, Code: pdu.Code(t.number())}
			}
		})},

		{"fetch-error", "-12389 1", fetch, refuse},
		{"fetch-changes", "31", fetch, patchResult(func(frame []byte) { put(frame, pdu.HeaderSize, 31) })},
		{"sets-other", "", fetch, patchResult(func(frame []byte) {
			sets(frame,
				func(at, _ int) { put(frame, at, uint32(pdu.NewPMID(1, 2, 3))) })
		})},
		{"sets-of-others", "", fetch, patchResult(func(frame []byte) {
			sets(frame, func(at, _ int) { put(frame, at, uint32(pdu.NewPMID(401, 0, pdu.PMID(get(frame, at)).Item()))) })
		})},
		{"sets-swapped", "", fetch, values(func(t *exchange, all []pdu.ValueSet) []pdu.ValueSet {
			return append(all[1:], all[0])
		})},
		{"sets-doubled", "", fetch, values(func(t *exchange, all []pdu.ValueSet) []pdu.ValueSet {
			return slices.Repeat(all[:1], len(all))
		})},
		{"sets-codes", "-12389 -2147483648", fetch, values(func(t *exchange, all []pdu.ValueSet) []pdu.ValueSet {
			for i := range all {
				all[i] = pdu.ValueSet{PMID: all[i].PMID, Code: pdu.Code(t.number())}
			}
			return all
		})},
		{"values-none", "", fetch, each(func(t *exchange, vs []pdu.Value) []pdu.Value { return nil })},
		{"values-two", "", fetch, each(func(t *exchange, vs []pdu.Value) []pdu.Value { return slices.Repeat(vs, 2) })},
		{"values-many", "", fetch, each(func(t *exchange, vs []pdu.Value) []pdu.Value {
			for i := range 5000 {
				v := vs[0]
				v.Inst = pdu.Inst(i)
				vs = append(vs, v)
			}
			return vs
		})},
		{"values-negative", "", fetch, each(func(t *exchange, vs []pdu.Value) []pdu.Value {
			for i := range vs {
				vs[i].Inst = -2 - vs[i].Inst
			}
			return vs
		})},
		{"values-unsorted", "", fetch, each(func(t *exchange, vs []pdu.Value) []pdu.Value { slices.Reverse(vs); return vs })},
		{"values-back", "", fetch, each(func(t *exchange, vs []pdu.Value) []pdu.Value {
			for i := range vs {
				vs[i].Bits = math.MaxUint64 - vs[i].Bits
			}
			return vs
		})},
		{"values-stuck", "", fetch, each(func(t *exchange, vs []pdu.Value) []pdu.Value { // for 4 s
			for i := range vs {
				vs[i].Bits -= vs[i].Bits % 4e9
			}
			return vs
		})},
		{"types-change", "", fetch, each(func(t *exchange, vs []pdu.Value) []pdu.Value {
			for i, v := range vs {
				vs[i] = [...]pdu.Value{
					v, pdu.Uint32Value(v.Inst, 7), pdu.DoubleValue(v.Inst, math.NaN()),
					pdu.StringValue(v.Inst, "seven"), pdu.AggregateValue(v.Inst, []byte{7}),
				}[t.answers%5]
			}
			return vs
		})},
		{"block-short", "", fetch, func(t *exchange) []byte { // the last one, where pmcd does not notice
			frame := encoded(t.reply)
			if last := len(frame) - 12; t.reply.Kind == pdu.KindResult && last >= setAt && get(frame, last)&0xffffff == 12 {
				put(frame, last, get(frame, last)-4)
				frame = frame[:last+8]
				put(frame, 0, uint32(len(frame)))
			}
			return frame
		}},
		{"blocks-type", "6 255", fetch, func(t *exchange) []byte {
			return patchResult(func(frame []byte) {
				blocks(frame, func(at int) { put(frame, at, get(frame, at)&0xffffff|uint32(t.number())<<24) })
			})(t)
		}},
		{"in-situ", "", fetch, each(func(t *exchange, vs []pdu.Value) []pdu.Value {
			for i := range vs {
				vs[i] = pdu.Uint32Value(vs[i].Inst, 7)
			}
			return vs
		})},

		{randomly, "1 2 3", nil, random},
	}
}

func (t *exchange) number() int {
	n, _ := strconv.Atoi(t.argument) // of the table, which a test reads
	return n
}

func refuse(t *exchange) []byte {
	return (&pdu.Error{Code: pdu.Code(t.number())}).Append(nil, t.reply.From)
}

// oddNames returns names that no client expects.
func oddNames() []string {
	return []string{"", "\x00", "a\nb", "\x1b[31mred", "\xff\xfe", strings.Repeat("x", 2000), "m3 m3", "\"'\\"}
}

func ids(change func(*exchange, *pdu.PMNSIDs)) func(*exchange) []byte { return changeMessage(change) }

func list(change func(*exchange, *pdu.InstanceReply)) func(*exchange) []byte {
	return changeMessage(change)
}

func desc(change func(*exchange, *pdu.Desc)) func(*exchange) []byte {
	return changeMessage(func(t *exchange, m *pdu.DescReply) { change(t, &m.Desc) })
}

func values(change func(*exchange, []pdu.ValueSet) []pdu.ValueSet) func(*exchange) []byte {
	return changeMessage(func(t *exchange, m *pdu.Result) { m.Sets = change(t, m.Sets) })
}

// each changes the values of all sets that have values.
func each(change func(*exchange, []pdu.Value) []pdu.Value) func(*exchange) []byte {
	return values(func(t *exchange, all []pdu.ValueSet) []pdu.ValueSet {
		for i := range all {
			if len(all[i].Values) > 0 {
				all[i].Values = change(t, slices.Clone(all[i].Values))
			}
		}
		return all
	})
}

// churn returns other instances at each fetch, and names for those of the last fetch and the next.
func churn(t *exchange) []byte {
	if t.request.Kind == pdu.KindInstanceReq {
		return list(func(t *exchange, m *pdu.InstanceReply) {
			for i := range 3 * churned {
				id := max(0, t.fetches-1)*churned + i
				m.Instances = append(m.Instances, pdu.Instance{ID: pdu.Inst(churned + id), Name: "c" + strconv.Itoa(id)})
			}
		})(t)
	}
	return each(func(t *exchange, vs []pdu.Value) []pdu.Value {
		for i := range vs {
			if vs[i].Inst != pdu.NoInst {
				vs[i].Inst = pdu.Inst(churned*(t.answers+1) + i)
			}
		}
		return vs
	})(t)
}

// churned is the greatest number of instances of one fetch.
const churned = 100

// random changes one to three words of every other answer. Of a RESULT it changes words that pmcd passes on: change
// bits, PMIDs, instances, values. An ERROR stays an error: pmcd dies of another code in place of an INSTANCE
// (docs/pmcd.md n).
func random(t *exchange) []byte {
	frame := encoded(t.reply)
	var words []int // where they are
	if t.reply.Kind == pdu.KindResult {
		words = passed(frame)
	} else {
		for at := pdu.HeaderSize; at+4 <= len(frame); at += 4 {
			words = append(words, at)
		}
	}
	if len(words) == 0 || t.rand.IntN(2) == 0 {
		return frame
	}
	for range 1 + t.rand.IntN(3) {
		at := words[t.rand.IntN(len(words))]
		word := get(frame, at)
		put(frame, at, [...]uint32{
			0, 1, word + 1, word - 1, word ^ 1<<t.rand.IntN(32), math.MaxUint32, math.MaxInt32,
			t.rand.Uint32(),
		}[t.rand.IntN(8)])
	}
	if t.reply.Kind == pdu.KindError {
		put(frame, pdu.HeaderSize, get(frame, pdu.HeaderSize)|1<<31)
	}
	return frame
}

func passed(frame []byte) []int {
	words := []int{pdu.HeaderSize}
	sets(frame, func(at, values int) {
		words = append(words, at)
		for i := range values {
			pair := at + 12 + 8*i
			words = append(words, pair)
			if get(frame, at+8) == 0 { // in situ
				words = append(words, pair+4)
			}
		}
	})
	blocks(frame, func(at int) {
		for body := at + 4; body+4 <= at+int(get(frame, at)&0xffffff); body += 4 {
			words = append(words, body)
		}
	})
	return words
}
