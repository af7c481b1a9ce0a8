package pmda_test

import (
	"fmt"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmdatest"
)

// dice is a whole agent: one metric, 250.0.0, one value.
type dice struct{ eyes uint64 }

func (d dice) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	if id != pdu.NewPMID(250, 0, 0) {
		return pdu.Desc{}, pdu.ErrPMID
	}
	return pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, nil
}

func (d dice) Instances(pmda.Client, pdu.InDom) ([]pdu.Instance, error) { return nil, pdu.ErrInDom }

func (d dice) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	for _, id := range req.PMIDs {
		if _, err := d.Desc(req.Client, id); err != nil {
			w.Fail(id, pdu.CodeOf(err))
			continue
		}
		w.Numbers(id, pdu.TypeU32, nil, []uint64{d.eyes})
	}
	return nil
}

// A main function would run the agent on the pipes that pmcd gives it:
//
//	err := (&pmda.Server{Agent: dice{4}}).Serve(ctx, os.Stdin, os.Stdout)
//
// Here a scripted pmcd asks it for its metric and for one that it does not have.
func Example() {
	pmcd := pmdatest.Start(pmdatest.Example{}, dice{eyes: 4})
	pmcd.Handshake()
	reply := pmcd.Request(&pdu.Fetch{PMIDs: []pdu.PMID{pdu.NewPMID(250, 0, 0), pdu.NewPMID(250, 0, 1)}})
	for _, set := range pmdatest.As[*pdu.Result](pmcd, reply).Sets {
		if set.Code != 0 {
			fmt.Println(set.PMID, set.Code)
			continue
		}
		fmt.Println(set.PMID, set.Values[0].Bits)
	}
	fmt.Println(pmcd.Close())
	// Output:
	// 250.0.0 4
	// 250.0.1 Unknown or illegal metric identifier
	// <nil>
}
