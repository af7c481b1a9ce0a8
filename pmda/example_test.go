package pmda_test

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

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

// A main function would run the agent on the pipes that pmcd gives it; pmda/examples/dice is a whole program:
//
//	in, out, err := pmda.Stdio()
//	err = (&pmda.Server{Agent: dice{4}}).Serve(ctx, in, out)
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

// loaded is a dice that people may turn: an agent has what it has methods for.
type loaded struct{ dice }

// Store implements pmda.Storer.
func (l *loaded) Store(_ pmda.Client, sets []pdu.ValueSet) error {
	for _, set := range sets {
		switch {
		case set.PMID != pdu.NewPMID(250, 0, 0):
			return pdu.ErrPMID
		case len(set.Values) != 1 || set.Values[0].Bits < 1 || set.Values[0].Bits > 6:
			return pdu.ErrBadStore
		}
		l.eyes = set.Values[0].Bits
	}
	return nil
}

func ExampleStorer() {
	pmcd := pmdatest.Start(pmdatest.Example{}, &loaded{dice{eyes: 4}})
	pmcd.Handshake()
	id := pdu.NewPMID(250, 0, 0)
	for _, eyes := range []uint32{6, 7} {
		fmt.Println(eyes, pmcd.Refused(&pdu.Result{Sets: []pdu.ValueSet{
			{PMID: id, Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, eyes)}},
		}}).Name())
	}
	reply := pmcd.Request(&pdu.Fetch{PMIDs: []pdu.PMID{id}})
	fmt.Println(pmdatest.As[*pdu.Result](pmcd, reply).Sets[0].Values[0].Bits)
	fmt.Println(pmcd.Close())
	// Output:
	// 6 0
	// 7 PM_ERR_BADSTORE
	// 6
	// <nil>
}

// An agent embeds a name space and so serves its subtree.
func ExampleNewNamespace() {
	names, err := pmda.NewNamespace("dice", []pmda.Entry{
		{Name: "dice.red.eyes", PMID: pdu.NewPMID(250, 0, 0)},
		{Name: "dice.red.throws", PMID: pdu.NewPMID(250, 0, 1)},
		{Name: "dice.secret", PMID: pdu.NewPMID(250, 0, 2), Hidden: true},
		{Name: "coins.head", PMID: pdu.NewPMID(250, 0, 3)},
	})
	fmt.Println(err) // the rest is good
	fmt.Println(names.Traverse(0, "dice"))
	fmt.Println(names.Children(0, "dice", nil))
	fmt.Println(names.Lookup(0, "dice.secret"))
	_, err = names.Lookup(0, "dice.red")
	fmt.Println(errors.Is(err, pdu.ErrNonLeaf))
	// Output:
	// metric name "coins.head": not below "dice"
	// [dice.red.eyes dice.red.throws] <nil>
	// [{red true}] <nil>
	// 250.0.2 <nil>
	// true
}

// The options of every agent, and one of its own.
func ExampleStandardOptions() {
	flags := pflag.NewFlagSet("pmdadice", pflag.ContinueOnError)
	sides := flags.Int("sides", 6, "number `N` of sides")
	options := pmda.StandardOptions(flags)
	options.Domain, options.User = 250, "pcp"
	err := flags.Parse([]string{"-d400", "--sides=20", "-U", "nobody"})
	fmt.Println(options.Domain, *sides, options.User, err)
	fmt.Println(flags.Parse([]string{"-d", "512"}))
	fmt.Println(errors.Is(flags.Parse([]string{"-?"}), pflag.ErrHelp))
	fmt.Print(flags.FlagUsages())
	// Output:
	// 400 20 nobody <nil>
	// invalid argument "512" for "-d, --domain" flag: "512" is not a valid domain number: use 1 to 510
	// true
	//   -D, --debug SPEC      debug options SPEC, separated by commas
	//   -d, --domain NUM      domain number NUM of the agent
	//   -?, --help            show this usage message and exit
	//   -h, --helptext FILE   take the help texts from FILE
	//   -l, --log FILE        write the log to FILE
	//   -p, --pipe            talk to pmcd over a pipe (the only way)
	//       --sides N         number N of sides (default 6)
	//   -U, --username USER   run as USER when started by root
}
