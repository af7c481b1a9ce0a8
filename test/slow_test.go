//go:build pcp

package test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// sluggishVariable makes this program an agent that takes its time, as the file in this directory orders.
const sluggishVariable = "PMDADERIVED_TEST_SLUGGISH"

const sluggishDomain = 400

// sluggish has a number, and an instance domain with one instance, another one after each fetch.
type sluggish struct {
	*pmda.Namespace
	// "orders" in it has the slow request and its time, "fetch 2s"; "naps" gets the times of its begin and end
	dir     string
	fetches uint64
}

func newSluggish(dir string) *sluggish {
	names, err := pmda.NewNamespace("sluggish", []pmda.Entry{
		{Name: "sluggish.value", PMID: pdu.NewPMID(sluggishDomain, 0, 0)}, {Name: "sluggish.member", PMID: pdu.NewPMID(sluggishDomain, 0, 1)},
	})
	if err != nil {
		panic(err)
	}
	return &sluggish{Namespace: names, dir: dir}
}

// nap sleeps if that is ordered for this request. pmcd waits.
func (s *sluggish) nap(what string) {
	orders, _ := os.ReadFile(filepath.Join(s.dir, "orders"))
	order, length, _ := strings.Cut(string(orders), " ")
	took, err := time.ParseDuration(length)
	if order != what || err != nil {
		return
	}
	start := time.Now()
	rig.Sleep(context.Background(), took)
	naps, err := os.OpenFile(filepath.Join(s.dir, "naps"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		_, _ = fmt.Fprintln(naps, start.UnixNano(), time.Now().UnixNano())
		_ = naps.Close()
	}
}

func (s *sluggish) Lookup(c pmda.Client, name string) (pdu.PMID, error) {
	s.nap("name")
	return s.Namespace.Lookup(c, name)
}

func (s *sluggish) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	d := pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	if id.Item() > 0 {
		d.InDom = pdu.NewInDom(sluggishDomain, 0)
	}
	return d, nil
}

func (s *sluggish) Instances(pmda.Client, pdu.InDom) ([]pdu.Instance, error) {
	return []pdu.Instance{{ID: pdu.Inst(s.fetches), Name: "i" + strconv.FormatUint(s.fetches, 10)}}, nil
}

func (s *sluggish) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	s.nap("fetch")
	s.fetches++
	for _, id := range req.PMIDs {
		if id.Item() == 0 {
			w.Number(id, pdu.TypeU64, s.fetches)
		} else {
			w.Numbers(id, pdu.TypeU64, []pdu.Inst{pdu.Inst(s.fetches)}, []uint64{1})
		}
	}
	return nil
}

// naps returns the times in which the agent slept.
func naps(t *testing.T, dir string) (all [][2]time.Time) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "naps"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var start, end int64
		_, err := fmt.Sscan(line, &start, &end)
		require.NoError(t, err)
		all = append(all, [2]time.Time{time.Unix(0, start), time.Unix(0, end)})
	}
	return all
}

// lacks returns the names of a client's metrics that have no value now.
func lacks(c *rig.Client) (names []string) {
	f, err := c.Fetch(context.Background())
	if err != nil {
		return append(names, err.Error())
	}
	for i, name := range c.Names {
		if _, ok := f.Bits(i); !ok {
			names = append(names, fmt.Sprint(name, " ", f.Sets[i].Code))
		}
	}
	return names
}

// In whatever way an agent is slow, the daemon blocks pmcd for a tenth of the time at most; other definitions keep the
// values that a plain client of their operands has; and all is well again after it.
func TestSlowAgents(t *testing.T) {
	length := 8 * time.Second
	if text := os.Getenv("T"); text != "" {
		length = must(time.ParseDuration(text))(t)
	}
	for _, row := range []struct {
		order string
		takes time.Duration
		first int // times until it is known
	}{
		{"fetch", 400 * time.Millisecond, 4}, // the fourth tells which of the two agents of a sample it is
		{"name", 400 * time.Millisecond, 5},
	} {
		t.Run(row.order, func(t *testing.T) {
			t.Parallel()
			again := row.order == "name" // they are looked up again
			dir := worldReadableDir(t)
			require.NoError(t, os.Chmod(dir, 0o777))
			conf := writeFile(t, dir, "derived.conf", `
mixed = sluggish.value * hinv.ncpu
alone = sluggish.value
match = count(matchinst(/i/, sluggish.member))
cpus = hinv.ncpu + 1 - 1
rate = rate(sample.milliseconds)
bins = sum(sample.bin) * hinv.ncpu / hinv.ncpu
`)
			p := pmcdtest.Start(t, pmcdtest.Config{
				Agents: []pmcdtest.Agent{
					derivedAgent(t, "-c", conf, "-l", filepath.Join(dir, "derived.log"), "--interval=0"),
					{Name: "sluggish", Domain: sluggishDomain, Command: []string{copySelf(t, dir, "sluggish")}},
				},
				Env: []string{sluggishVariable + "=" + dir},
			})
			open := func(names ...string) *rig.Client {
				var c *rig.Client
				await.Until(t, "there are the metrics "+strings.Join(names, " "), func() (ok bool) {
					opened, err := rig.Open(t.Context(), p, names...)
					c = opened
					return err == nil
				})
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			slow := open("derived.mixed", "derived.alone", "derived.match")
			others := open("derived.cpus", "derived.rate", "derived.bins")
			plain := open("hinv.ncpu", "sample.milliseconds", "sample.bin")
			await.Until(t, "everything has values", func() bool { return len(lacks(others))+len(lacks(slow)) == 0 })

			writeFile(t, dir, "orders", row.order+" "+row.takes.String())
			begin := time.Now()
			fetches, missing := 0, []string{}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for time.Since(begin) < length {
					lacks(slow)
					rig.Sleep(t.Context(), time.Second)
				}
			}()
			for ; time.Since(begin) < length; rig.Sleep(t.Context(), 100*time.Millisecond) {
				if again && fetches%20 == 0 {
					p.Run(t, "pmstore", "derived.control.reload", "1")
				}
				if got := lacks(others); len(got) > 0 {
					if len(lacks(plain)) > 0 {
						continue // pmcd itself has no value
					}
					if len(naps(t, dir)) <= row.first { // it is not known yet: what is asked for together waits together
						continue
					}
					missing = append(missing, fmt.Sprint(time.Since(begin).Round(time.Millisecond), got))
				}
				fetches++
			}
			<-done
			took, standing, n := time.Since(begin), time.Duration(0), 0
			all := naps(t, dir)
			for i, nap := range all {
				if i >= row.first {
					standing += nap[1].Sub(nap[0])
					n++
				}
			}
			t.Logf("%s: %d naps, %.1f %% of the time after the first %d; %d fetches of others; missing %v", row.order, len(all),
				100*standing.Seconds()/took.Seconds(), row.first, fetches, missing)
			assert.NotEmpty(t, all)
			assert.LessOrEqual(t, standing, took/10+row.takes, "pmcd stands still for a tenth of the time")
			assert.Empty(t, missing)
			var log []byte
			await.Until(t, "the log names the agent", func() bool { // on a busy machine it is known later
				lacks(slow)
				log = must(os.ReadFile(filepath.Join(dir, "derived.log")))(t)
				return strings.Contains(string(log), "agent is slow, sampling it less often")
			})
			require.NoError(t, os.Remove(filepath.Join(dir, "orders")))
			await.Until(t, "it is quick again", func() bool { return len(lacks(slow)) == 0 })
			if t.Failed() {
				t.Log(string(log))
			}
		})
	}
}
