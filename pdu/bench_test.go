package pdu

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// column returns n instances and values.
func column(n int) ([]Inst, []uint64) {
	insts, bits := make([]Inst, n), make([]uint64, n)
	for i := range insts {
		insts[i], bits[i] = Inst(i), uint64(i)*0x0101010101
	}
	return insts, bits
}

// numbersFrame is a RESULT of values numeric values of type t in sets of each.
func numbersFrame(t Type, values, each int) []byte {
	insts, bits := column(each)
	var w ResultWriter
	for i := range values / each {
		w.Numbers(PMID(i), t, insts, bits)
	}
	return w.Frame(0, 0)
}

func stringsFrame(values int) []byte {
	blobs := make([][]byte, values)
	insts, _ := column(values)
	for i := range blobs {
		blobs[i] = fmt.Appendf(nil, "value number %d", i)
	}
	var w ResultWriter
	w.Strings(1, TypeString, insts, blobs)
	return w.Frame(0, 0)
}

func wideProfile() *Profile {
	p := &Profile{Default: Exclude}
	for d := range 20 {
		insts, _ := column(100)
		p.InDoms = append(p.InDoms, ProfileInDom{NewInDom(60, d), Exclude, insts})
	}
	return p
}

// Work for each request and for each value allocates nothing once buffers have grown.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	fetch := (&Fetch{PMIDs: make([]PMID, 1000)}).Append(nil, 0)[HeaderSize:]
	profile := wideProfile().Append(nil, 0)[HeaderSize:]
	results := map[string][]byte{
		"Result of 32":     numbersFrame(Type32, 10_000, 100)[HeaderSize:],
		"Result of DOUBLE": numbersFrame(TypeDouble, 10_000, 1)[HeaderSize:],
		"Result of STRING": stringsFrame(1000)[HeaderSize:],
	}
	insts, bits := column(1000)
	blobs := [][]byte{[]byte("a"), []byte("bcd")}
	var m struct {
		Fetch
		Profile
		Result
		DescIDs
		Descs
		PMNSIDs
		Creds
		Error
	}
	var w ResultWriter
	writer := NewWriter(io.Discard)
	set := ValueSet{PMID: 1, Values: []Value{StringValue(1, "abc"), StringValue(2, "")}}
	descs := (&Descs{Descs: make([]Desc, 50)}).Append(nil, 0)[HeaderSize:]
	ids := (&DescIDs{PMIDs: make([]PMID, 50)}).Append(nil, 0)[HeaderSize:]
	p := wideProfile()
	var places []int
	type step struct {
		name string
		run  func() error
	}
	steps := []step{
		{"Fetch", func() error { return m.Fetch.Decode(fetch) }},
		{"Profile", func() error { return m.Profile.Decode(profile) }},
		{"Descs", func() error { return m.Descs.Decode(descs) }},
		{"DescIDs", func() error { return m.DescIDs.Decode(ids) }},
		{"Error", func() error { return m.Error.Decode(descs[:4]) }},
		{"Selects", func() error {
			if s := p.Selects(NewInDom(60, 19)); !s.Includes(50) || s.Includes(500) {
				return ErrGeneric
			}
			return nil
		}},
		{"AppendSelected", func() error {
			places = p.Selects(NewInDom(60, 19)).AppendSelected(places[:0], insts)
			return nil
		}},
		{"ResultWriter", func() error {
			w.Reset()
			w.Numbers(1, Type32, insts, bits)
			w.Numbers(2, TypeFloat, insts, bits)
			w.Numbers(3, TypeDouble, insts, bits)
			w.Numbers(4, TypeU64, nil, bits[:1])
			w.Strings(5, TypeString, insts[:2], blobs)
			w.Strings(6, TypeString, nil, blobs[:1])
			w.Fail(7, ErrAgain)
			w.Set(&set)
			return writer.WriteFrame(w.Frame(0, 0))
		}},
		{"Writer", func() error { return writer.Write(&m.Fetch, 0) }},
	}
	for name, frame := range results {
		steps = append(steps, step{name, func() error { return m.Result.Decode(frame) }})
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			require.NoError(t, step.run())
			allowed := 0.0
			if _, ok := results[step.name]; ok {
				allowed = 1 // the numbers are the receiver's
			}
			assert.LessOrEqual(t, testing.AllocsPerRun(50, func() {
				if err := step.run(); err != nil {
					t.Error(err)
				}
			}), allowed)
		})
	}
}

// frames repeats a stream for ever.
type frames struct {
	data []byte
	off  int
}

func (f *frames) Read(p []byte) (int, error) {
	n := copy(p, f.data[f.off:])
	f.off = (f.off + n) % len(f.data)
	return n, nil
}

func TestReaderDoesNotAllocate(t *testing.T) {
	all, _ := stream(t)
	r := NewReader(&frames{data: all}, AgentLimit)
	next := func() {
		if _, err := r.Next(); err != nil {
			t.Error(err)
		}
	}
	for range 1000 {
		next()
	}
	assert.Zero(t, testing.AllocsPerRun(1000, next))
}

func BenchmarkReader(b *testing.B) {
	all, _ := stream(b)
	r := NewReader(&frames{data: all}, AgentLimit)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResultWriterNumbers(b *testing.B) {
	const values = 10_000
	for _, t := range []Type{Type32, TypeFloat, TypeDouble} {
		for _, each := range []int{1, 16, 1000} {
			b.Run(fmt.Sprintf("%v/each=%d", t, each), func(b *testing.B) {
				insts, bits := column(each)
				var w ResultWriter
				var out []byte
				b.ReportAllocs()
				for b.Loop() {
					w.Reset()
					for i := range values / each {
						w.Numbers(PMID(i), t, insts, bits)
					}
					out = w.Frame(0, 0)
				}
				b.SetBytes(int64(len(out)))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(values/each*each), "ns/value")
			})
		}
	}
}
