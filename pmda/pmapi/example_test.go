package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// office is a pmcd with two metrics, one of them with instances.
func office() *pmapitest.Collector {
	rooms := pdu.NewInDom(250, 0)
	warmth := pdu.Desc{PMID: pdu.NewPMID(250, 0, 0), Type: pdu.TypeDouble, InDom: rooms, Sem: pdu.SemInstant}
	wanted := pdu.Desc{PMID: pdu.NewPMID(250, 0, 1), Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
	return &pmapitest.Collector{
		Features: pmapitest.AllFeatures,
		Time:     time.Unix(1_800_000_000, 0),
		Metrics: []pmapitest.Metric{
			{Name: "office.warmth", Desc: warmth, OneLine: "temperature in each room", Values: []pdu.Value{
				pdu.DoubleValue(1, 21.5), pdu.DoubleValue(2, 18.25),
			}},
			{Name: "office.wanted", Desc: wanted, Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 21)}},
		},
		InDoms: map[pdu.InDom]pmapitest.InDom{
			rooms: {Instances: []pdu.Instance{{ID: 1, Name: "kitchen"}, {ID: 2, Name: "hall"}}},
		},
	}
}

// connect gives a connection to an office, and what ends both. A program would say
//
//	network, address, err := pmapi.ParseAddress("local:")
//	c, err := pmapi.Dial(ctx, network, address)
//	defer c.Close()
func connect(ctx context.Context) (*pmapi.Conn, func()) {
	tb := new(pmapitest.Example)
	c, err := pmapi.Dial(ctx, "unix", pmapitest.Listen(tb, "unix", office().Serve))
	if err != nil {
		panic(err)
	}
	return c, func() {
		_ = c.Close()
		tb.Close()
	}
}

// The example does what pminfo -f does: name, descriptor, instances, values.
func Example() {
	ctx := context.Background()
	c, end := connect(ctx)
	defer end()

	names, err := c.LookupNames(ctx, []string{"office.warmth"})
	if err != nil {
		fmt.Println(err)
		return
	}
	id := names[0].PMID
	desc, err := c.Desc(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	rooms, err := c.Instances(ctx, desc.InDom)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := c.Fetch(ctx, []pdu.PMID{id})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(id, desc.Type, desc.Sem)
	for _, v := range res.Sets[0].Values {
		i := slices.IndexFunc(rooms, func(room pdu.Instance) bool { return room.ID == v.Inst })
		fmt.Println(rooms[i].Name, v.TypeOr(desc.Type).Float64(v.Bits))
	}
	// Output:
	// 250.0.0 DOUBLE instant
	// kitchen 21.5
	// hall 18.25
}

// A program that has other things to do asks, does them, and looks whether the answer has come.
func ExampleConn_StartFetch() {
	ctx := context.Background()
	c, end := connect(ctx)
	defer end()

	if err := c.StartFetch([]pdu.PMID{pdu.NewPMID(250, 0, 1)}); err != nil {
		fmt.Println(err)
		return
	}
	for {
		res, done, err := c.PollColumns()
		if err != nil {
			fmt.Println(err)
			return
		}
		if done {
			fmt.Println(res.Sets[0].Bits[0])
			return
		}
		if err := c.WaitReadable(ctx); err != nil { // or anything else that it has to do
			fmt.Println(err)
			return
		}
	}
	// Output:
	// 21
}

// A profile selects instances for all later fetches.
func ExampleConn_SetProfile() {
	ctx := context.Background()
	c, end := connect(ctx)
	defer end()

	hall := pdu.ProfileInDom{InDom: pdu.NewInDom(250, 0), State: pdu.Exclude, Insts: []pdu.Inst{2}}
	if err := c.SetProfile(ctx, &pdu.Profile{InDoms: []pdu.ProfileInDom{hall}}); err != nil {
		fmt.Println(err)
		return
	}
	res, err := c.Fetch(ctx, []pdu.PMID{pdu.NewPMID(250, 0, 0)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range res.Sets[0].Values {
		fmt.Println(v.Inst, v.Type.Float64(v.Bits))
	}
	// Output:
	// 2 18.25
}

// The example does what pmstore does.
func ExampleConn_Store() {
	ctx := context.Background()
	c, end := connect(ctx)
	defer end()

	id := pdu.NewPMID(250, 0, 1)
	err := c.Store(ctx, []pdu.ValueSet{{PMID: id, Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 23)}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := c.Fetch(ctx, []pdu.PMID{id})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Sets[0].Values[0].Bits)
	// Output:
	// 23
}

// A refusal of pmcd has its code and leaves the connection good; anything else ends it.
func ExampleOpError() {
	ctx := context.Background()
	c, end := connect(ctx)
	defer end()

	_, err := c.Desc(ctx, pdu.NewPMID(250, 0, 99))
	var op *pmapi.OpError
	if errors.As(err, &op) {
		fmt.Println(op.Op+":", pdu.CodeOf(err).Name())
	}
	fmt.Println(errors.Is(err, pdu.ErrPMID), c.Err())

	_ = c.Close()
	_, err = c.Desc(ctx, pdu.NewPMID(250, 0, 0))
	fmt.Println(err != nil, c.Err() != nil)
	// Output:
	// descriptor: PM_ERR_PMID
	// true <nil>
	// true true
}

func ExampleParseAddress() {
	for _, spec := range []string{"unix:/run/pcp/pmcd.socket", "db.example.org:44322", "db@proxy.example.org"} {
		network, address, err := pmapi.ParseAddress(spec)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(network, address)
	}
	// Output:
	// unix /run/pcp/pmcd.socket
	// tcp db.example.org:44322
	// host specification "db@proxy.example.org": a route through pmproxy is not supported
}
