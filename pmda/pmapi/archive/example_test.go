package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
)

// The example prints the recorded values of a metric, and its value between two records.
func Example() {
	ctx := context.Background()
	a, err := archive.Open("testdata/v3a")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()

	names, err := a.LookupNames(ctx, []string{"kernel.all.sysfork"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if code := names[0].Code; code < 0 { // the archive does not have it
		fmt.Println(code)
		return
	}
	id := names[0].PMID
	desc, err := a.Desc(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	c := a.NewContext(a.Start(), a.Start().Add(time.Second)) // its first second
	defer c.Close()
	for {
		record, err := c.Next(ctx, id)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		if !record.Mark {
			fmt.Println(record.Time.UTC().Format("15:04:05.000"), desc.Type.Float64(record.Sets[0].Bits[0]))
		}
	}

	c.SetTime(a.Start().Add(time.Second / 2))
	res, err := c.Fetch(ctx, []pdu.PMID{id})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range res.Sets[0].Values { // with instances, c.InstanceName names v.Inst
		fmt.Println(res.Time.UTC().Format("15:04:05.000"), v.TypeOr(desc.Type).Float64(v.Bits))
	}
	// Output:
	// 04:08:54.203 231975
	// 04:08:54.595 232000
	// 04:08:54.798 232002
	// 04:08:55.011 232007
	// 04:08:54.677 232001
}
