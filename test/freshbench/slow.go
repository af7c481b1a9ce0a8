package freshbench

import (
	"fmt"
	"os"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const slowDomain = 401

const slowPMNS = `slow {
	value	SLOW:0:0
}`

// slow is an agent with one metric. While a file exists each fetch takes long, and pmcd, which waits for
// the answer, serves nobody. Each such nap is noted: its beginning and its end.
type slow struct {
	trigger string
	naps    *os.File
	nap     time.Duration
}

func serveSlow(trigger, naps, nap string) error {
	d, err := time.ParseDuration(nap)
	if err != nil {
		return err
	}
	file, err := openShared(naps)
	if err != nil {
		return err
	}
	defer file.Close()
	return serve(&slow{trigger: trigger, naps: file, nap: d})
}

// Desc implements pmda.Agent.
func (s *slow) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	if id.Cluster() != 0 || id.Item() != 0 {
		return pdu.Desc{}, pdu.ErrPMID
	}
	return pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, nil
}

// Instances implements pmda.Agent.
func (s *slow) Instances(pmda.Client, pdu.InDom) ([]pdu.Instance, error) { return nil, pdu.ErrInDom }

// Fetch implements pmda.Agent.
func (s *slow) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	if _, err := os.Stat(s.trigger); err == nil {
		start := time.Now()
		time.Sleep(s.nap)
		if _, err := fmt.Fprintln(s.naps, wallClock(start), wallClock(time.Now())); err != nil {
			return err
		}
	}
	for _, id := range req.PMIDs {
		w.Numbers(id, pdu.TypeU64, nil, []uint64{wallClock(time.Now())})
	}
	return nil
}
