package pdu_test

import (
	"bytes"
	"errors"
	"fmt"

	"pmdaderived/pdu"
)

// A request is written by one program and read by another.
func Example() {
	var wire bytes.Buffer
	load := pdu.NewPMID(60, 2, 0)
	if err := pdu.NewWriter(&wire).Write(&pdu.Fetch{PMIDs: []pdu.PMID{load}}, 0); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(wire.Len(), "bytes")

	frame, err := pdu.NewReader(&wire, pdu.AgentLimit).Next() // valid until the next call
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := pdu.Decode(frame)
	if err != nil {
		fmt.Println(err)
		return
	}
	switch m := message.(type) {
	case *pdu.Fetch:
		fmt.Println(m.Kind(), m.PMIDs)
	default:
		fmt.Println("something else:", m)
	}
	// Output:
	// 32 bytes
	// FETCH [60.2.0]
}

func ExamplePMID() {
	id := pdu.NewPMID(60, 2, 0)
	fmt.Println(id, id.Domain(), id.Cluster(), id.Item())
	parsed, err := pdu.ParsePMID("60.2.0")
	fmt.Println(parsed == id, err)
	fmt.Println(pdu.NoPMID)
	// Output:
	// 60.2.0 60 2 0
	// true <nil>
	// PM_ID_NULL
}

// Codes are errors: they can be wrapped, compared, and found again.
func ExampleCodeOf() {
	err := fmt.Errorf("operand kernel.all.load: %w", pdu.ErrName)
	fmt.Println(err)
	fmt.Println(errors.Is(err, pdu.ErrName), pdu.CodeOf(err).Name(), int(pdu.CodeOf(err)))
	// Output:
	// operand kernel.all.load: Unknown metric name
	// true PM_ERR_NAME -12357
}

func ExampleUnits() {
	rate := pdu.Units{Space: 1, SpaceScale: pdu.SpaceKbyte, Time: -1, TimeScale: pdu.TimeSec}
	fmt.Println(rate)
	fmt.Printf("%08x\n", rate.Wire())
	fmt.Println(rate.SameDimension(pdu.Units{Space: 1, Time: -1, TimeScale: pdu.TimeHour}))
	// Output:
	// Kbyte / sec
	// 1f013000
	// true
}

func ExampleParseUnits() {
	units, factor, err := pdu.ParseUnits("10 Mbyte / 2 sec") // one of these is 1/factor Mbyte / sec
	fmt.Println(units, factor, err)
	_, _, err = pdu.ParseUnits("furlongs")
	fmt.Println(err)
	// Output:
	// Mbyte / sec 0.2 <nil>
	// unrecognized or duplicate base unit
}

// The bits of a value mean something together with the type of its metric.
func ExampleType_Int64() {
	v := pdu.Int32Value(pdu.NoInst, -1)
	fmt.Printf("%#x\n", v.Bits)
	fmt.Println(v.Type.Int64(v.Bits))
	fmt.Println(v.Type.Uint64(v.Bits))
	fmt.Println(v.Type.Float64(v.Bits))
	// Output:
	// 0xffffffff
	// -1 true
	// 18446744073709551615 false
	// -1
}

// An agent answers a FETCH of three metrics: with two instances, with a text, with a code.
func ExampleResultWriter() {
	var w pdu.ResultWriter // kept and used again, it allocates nothing
	w.Reset()
	w.Numbers(pdu.NewPMID(250, 0, 0), pdu.TypeU64, []pdu.Inst{0, 1}, []uint64{17, 42})
	w.Strings(pdu.NewPMID(250, 0, 1), pdu.TypeString, nil, [][]byte{[]byte("hello")})
	w.Fail(pdu.NewPMID(250, 0, 2), pdu.ErrPMID)

	frame, err := pdu.NewReader(bytes.NewReader(w.Frame(0, 0)), pdu.AgentLimit).Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	var result pdu.Result
	if err := result.Decode(frame.Body); err != nil {
		fmt.Println(err)
		return
	}
	for _, set := range result.Sets {
		fmt.Println(set.String())
	}
	fmt.Printf("%s\n", result.Sets[1].Values[0].Bytes)
	// Output:
	// 250.0.0=2[0:17 1:42]
	// 250.0.1=1[-1:"hello"]
	// 250.0.2=PM_ERR_PMID
	// hello
}

func ExampleProfile_Includes() {
	cpus := pdu.NewInDom(60, 0)
	p := pdu.Profile{InDoms: []pdu.ProfileInDom{{InDom: cpus, State: pdu.Exclude, Insts: []pdu.Inst{1}}}}
	fmt.Println(p.Includes(cpus, 0), p.Includes(cpus, 1))
	fmt.Println(p.Includes(pdu.NewInDom(60, 1), 0), "for a domain that is not named")
	// Output:
	// false true
	// true for a domain that is not named
}

func ExampleNewLabelSet() {
	set, err := pdu.NewLabelSet(pdu.NoInst, pdu.LabelDomain, map[string]any{"agent": "dice", "fair": true})
	fmt.Println(set.JSON, err)
	_, err = pdu.NewLabelSet(pdu.NoInst, pdu.LabelDomain, map[string]any{"1st": "digits come later"})
	fmt.Println(err)
	// Output:
	// {"agent":"dice","fair":true} <nil>
	// label "1st": not a name
}

// Input that must not block is cut into frames as it arrives.
func ExampleSplitter() {
	stream := (&pdu.DescReq{PMID: pdu.NewPMID(60, 2, 0)}).Append(nil, 0)
	stream = (&pdu.TextReq{Ident: 1, Type: pdu.TextOneLine | pdu.TextPMID}).Append(stream, 0)

	s := pdu.NewSplitter(pdu.AgentLimit)
	for len(stream) > 0 {
		n := copy(s.Buffer(), stream[:min(7, len(stream))]) // a piece
		stream = stream[n:]
		s.Advance(n)
		for {
			frame, ok, err := s.Next()
			if err != nil {
				fmt.Println(err)
				return
			}
			if !ok {
				break
			}
			fmt.Println(pdu.Trace(frame))
		}
	}
	// Output:
	// DESC_REQ from=0 len=16 pmid=60.2.0
	// TEXT_REQ from=0 len=20 pmid=0.0.1 type=ONELINE|PMID
}
