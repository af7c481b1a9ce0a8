package command

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/commandline"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// collected is the collector of these tests: name, type, semantics, units, domain and values. Values of a
// set belong to the instances of its domain, in order.
const collected = `
kernel.all.load             FLOAT  instant  .            60.2  1.5 1 0.5
kernel.all.nprocs           U32    instant  .            .     120
kernel.all.cpu.user         U64    counter  millisec     .     60000
kernel.uname.nodename       STRING discrete .            .     moss
hinv.ncpu                   U32    discrete .            .     2
mem.physmem                 U64    discrete Kbyte        .     8388608
mem.util.free               U64    instant  Kbyte        .     2097152
swap.used                   U64    instant  byte         .     1048576
disk.dev.total              U64    counter  count        60.1  1000 2000
disk.dev.total_bytes        U64    counter  Kbyte        60.1  8000 32000
network.interface.in.bytes  U64    counter  byte         60.3  100 4096 8192
network.interface.in.drops  U64    counter  count        60.3  0 1 2
network.interface.out.bytes U64    counter  byte         60.3  100 2048 1024
network.interface.speed     FLOAT  discrete Mbyte/sec    60.3  0 125 125
sample.milliseconds         DOUBLE counter  millisec     .     5000
sample.signed               64     instant  .            .     -5
sample.big                  U64    instant  .            .     18446744073709551615
sample.empty                32     instant  .            60.4
proc.memory.rss             U64    instant  Kbyte        60.5  4096 1024
proc.id.uid_nm              STRING discrete .            60.5  root pcp
kernel.percpu.cpu.user      U64    counter  millisec     60.10 1 2 3 4 5 6 7 8
kernel.percpu.cpu.idle      U64    counter  millisec     60.10 8 7 6 5 4 3 2 1
mem.util.available          U64    instant  Kbyte        .     4194304
disk.dev.avactive           U32    counter  millisec     60.1  10 20
disk.dev.total_rawactive    U32    counter  millisec     60.1  15 30
disk.dev.write_bytes        U64    counter  Kbyte        60.1  4000 16000
swap.pagesout               U64    counter  count        .     7
proc.psinfo.cmd             STRING discrete .            60.5  init pmcd
filesys.used                U64    instant  Kbyte        60.6  1000 2000
filesys.avail               U64    instant  Kbyte        60.6  9000 8000
filesys.mountdir            STRING discrete .            60.6  / /srv
disk.partitions.write_bytes U64    counter  Kbyte        60.1  3000 15000
containers.name             STRING discrete .            60.4
proc.psinfo.pid             U32    discrete .            60.5  1 812
proc.psinfo.ppid            U32    discrete .            60.5  0 1
cgroup.memory.usage         U64    instant  byte         60.7  3000 2000 1000
kernel.all.uptime           DOUBLE instant  sec          .     5000
proc.psinfo.start_time      U64    discrete millisec     60.5  0 1000
proc.psinfo.utime           U64    counter  millisec     60.5  10 20
sample.event.records        EVENT  instant  .            60.4
bpf.runq.latency            U64    counter  nanosec      60.8  5 9 1
openmetrics.web.http_request_duration_seconds_bucket DOUBLE counter count 60.9 5 9 10 1 1 2
openmetrics.web.http_requests_total DOUBLE counter count 60.9 5 9 10 1 1 2
openmetrics.web.process_cpu_seconds_total DOUBLE counter sec . 3
openmetrics.backup.last_success_timestamp_seconds DOUBLE instant sec . 1764000000
hinv.map.cpu_node           U32    discrete .            60.10 0 0 0 0 1 1 1 1
proc.id.container           STRING discrete .            60.5  3b1f 4c1f
`

func collectedInDoms() map[pdu.InDom]pmapitest.InDom {
	domain := func(names ...pdu.Instance) pmapitest.InDom { return pmapitest.InDom{Instances: names} }
	return map[pdu.InDom]pmapitest.InDom{
		pdu.NewInDom(60, 1): domain(pdu.Instance{ID: 0, Name: "sda"}, pdu.Instance{ID: 1, Name: "sdb"}),
		pdu.NewInDom(60, 2): domain(pdu.Instance{ID: 1, Name: "1 minute"}, pdu.Instance{ID: 5, Name: "5 minute"},
			pdu.Instance{ID: 15, Name: "15 minute"}),
		pdu.NewInDom(60, 3): domain(pdu.Instance{ID: 1, Name: "lo"}, pdu.Instance{ID: 2, Name: "eth0"},
			pdu.Instance{ID: 3, Name: "eth1"}),
		pdu.NewInDom(60, 4):  domain(),
		pdu.NewInDom(60, 10): domain(cpus(8)...),
		pdu.NewInDom(60, 6):  domain(pdu.Instance{ID: 0, Name: "/dev/sda1"}, pdu.Instance{ID: 1, Name: "/dev/sdb"}),
		pdu.NewInDom(60, 7): domain(pdu.Instance{ID: 0, Name: "/system.slice"},
			pdu.Instance{ID: 1, Name: "/user.slice"},
			pdu.Instance{ID: 2, Name: "/system.slice/cron.service"}),
		pdu.NewInDom(60, 8): domain(pdu.Instance{ID: 0, Name: "0-1"}, pdu.Instance{ID: 1, Name: "2-3"},
			pdu.Instance{ID: 2, Name: "4-7"}),
		pdu.NewInDom(60, 9): domain(routes()...),
		pdu.NewInDom(60, 5): domain(pdu.Instance{ID: 1, Name: "000001 /sbin/init"},
			pdu.Instance{ID: 812, Name: "000812 /usr/libexec/pcp/bin/pmcd -A"}),
	}
}

// cpus are so many instances.
func cpus(n int) (all []pdu.Instance) {
	for i := range n {
		all = append(all, pdu.Instance{ID: pdu.Inst(i), Name: fmt.Sprint("cpu", i)})
	}
	return all
}

// routes are the buckets of two routes, as pmdaopenmetrics names them.
func routes() (all []pdu.Instance) {
	for _, route := range []string{"/cart", "/pay"} {
		for _, le := range []string{"0.1", "0.3", "+Inf"} {
			name := fmt.Sprintf("%d le:%s route:%s", len(all), le, route)
			all = append(all, pdu.Instance{ID: pdu.Inst(len(all)), Name: name})
		}
	}
	return all
}

// startCollector serves the metrics of collected and returns its address, and the collector itself. A metric
// with values for no instance of its domain has an error.
func startCollector(t *testing.T) (spec string, c *pmapitest.Collector) {
	t.Helper()
	c = &pmapitest.Collector{Features: pmapitest.AllFeatures, Time: time.Unix(1_000_000, 0), InDoms: collectedInDoms()}
	c.Labels = map[pmapitest.LabelKey][]pdu.LabelSet{}
	for i, kind := range []string{"loopback", "ethernet", "ethernet"} {
		key := pmapitest.LabelKey{Type: pdu.LabelInstances, Ident: uint32(pdu.NewInDom(60, 3))}
		c.Labels[key] = append(c.Labels[key],
			must(pdu.NewLabelSet(pdu.Inst(i+1), pdu.LabelInstances, map[string]any{"type": kind}))(t))
	}
	for _, bucket := range routes() {
		key := pmapitest.LabelKey{Type: pdu.LabelInstances, Ident: uint32(pdu.NewInDom(60, 9))}
		labels := map[string]any{}
		for _, word := range strings.Fields(bucket.Name)[1:] {
			name, value, _ := strings.Cut(word, ":")
			labels[name] = value
		}
		c.Labels[key] = append(c.Labels[key], must(pdu.NewLabelSet(bucket.ID, pdu.LabelInstances, labels))(t))
	}
	for i, line := range strings.Split(strings.TrimSpace(collected), "\n") {
		f := strings.Fields(line)
		m := pmapitest.Metric{Name: f[0], Desc: pdu.Desc{PMID: pdu.NewPMID(60, 0, i), InDom: pdu.NoInDom}}
		for typ := pdu.Type32; typ <= pdu.TypeHighResEvent; typ++ {
			if typ.String() == f[1] {
				m.Desc.Type = typ
			}
		}
		for sem := pdu.SemCounter; sem <= pdu.SemDiscrete; sem++ {
			if sem.String() == f[2] {
				m.Desc.Sem = sem
			}
		}
		if f[3] != "." {
			var err error
			m.Desc.Units, _, err = pdu.ParseUnits(f[3])
			require.NoError(t, err)
		}
		insts := []pdu.Instance{{ID: pdu.NoInst}}
		if f[4] != "." {
			d := must(pdu.ParseInDom(f[4]))(t)
			m.Desc.InDom, insts = d, c.InDoms[d].Instances
		}
		require.Len(t, f[5:], len(insts), line)
		for j, text := range f[5:] {
			m.Values = append(m.Values, collectedValue(t, m.Desc.Type, insts[j].ID, text))
		}
		c.Metrics = append(c.Metrics, m)
	}
	return "unix:" + pmapitest.Listen(t, "unix", c.Serve), c
}

func collectedValue(t *testing.T, typ pdu.Type, id pdu.Inst, text string) pdu.Value {
	t.Helper()
	if typ == pdu.TypeString {
		return pdu.StringValue(id, text)
	}
	x := must(strconv.ParseFloat(text, 64))(t)
	n, _ := strconv.ParseUint(text, 10, 64)
	switch typ {
	case pdu.Type32:
		return pdu.Int32Value(id, int32(x))
	case pdu.TypeU32:
		return pdu.Uint32Value(id, uint32(x))
	case pdu.Type64:
		return pdu.Int64Value(id, int64(x))
	case pdu.TypeU64:
		return pdu.Uint64Value(id, n)
	case pdu.TypeFloat:
		return pdu.FloatValue(id, float32(x))
	}
	return pdu.DoubleValue(id, x)
}

var update = flag.Bool("update", false, "write the golden files")

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// site is a host as a person sees it who runs the program: directories, and a pmcd.
type site struct {
	t         *testing.T
	dir, pmcd string
	stdin     string
	user      string // of the agent; "": ours
	collector *pmapitest.Collector
	version   string // of PCP; empty: not known
	zone      string // the variable TZ
	columns   string // the variable COLUMNS
	host      string // the variable PCP_HOST
	examples  string // folder
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	var spec string
	spec, s.collector = startCollector(t)
	s.pmcd = strings.TrimPrefix(spec, "unix:")
	return s
}

// file writes a definition file of the site and returns its path.
func (s *site) file(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, "pmdaderived", name)
	writeFile(s.t, path, text)
	return path
}

// run runs a sub-command.
func (s *site) run(args ...string) (stdout, stderr string, exit int) {
	s.t.Helper()
	var out, errs bytes.Buffer
	conf := filepath.Join(s.dir, "pcp.conf")
	writeFile(s.t, conf, "")
	me := must(user.Current())(s.t)
	getenv := environment("PCP_CONF", conf, "PCP_VAR_DIR", s.dir, "PCP_SYSCONF_DIR", s.dir, "PCP_ETC_DIR", s.dir, "PCP_PMCDCONF_PATH",
		filepath.Join(s.dir, "pmcd.conf"),
		"PCP_USER", cmp.Or(s.user, me.Username), "PCP_VERSION", s.version, "TZ", s.zone, "COLUMNS", s.columns, "PCP_HOST", s.host, "PMCD_SOCKET",
		cmp.Or(s.pmcd, "/nonexistent/socket"))
	exit, known := Program{
		Getenv: getenv, Stdin: strings.NewReader(s.stdin), Stdout: &out,
		Stderr: &errs,
	}.Run(s.t.Context(), args)
	require.True(s.t, known, args)
	return out.String(), errs.String(), exit
}

// succeeds is run with exit status 0; what goes to stderr is not looked at.
func (s *site) succeeds(args ...string) (stdout string) {
	s.t.Helper()
	stdout, stderr, exit := s.run(args...)
	assert.Equal(s.t, commandline.ExitOK, exit, "%s%s", stdout, stderr)
	return stdout
}

// fails is run with exit status 1.
func (s *site) fails(args ...string) (stdout, stderr string) {
	s.t.Helper()
	stdout, stderr, exit := s.run(args...)
	assert.Equal(s.t, commandline.ExitFailure, exit, "%s%s", stdout, stderr)
	return stdout, stderr
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	return string(must(os.ReadFile(path))(t))
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// must gives the value of a call that may not fail: must(os.ReadFile(path))(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		require.NoError(tb, err)
		return v
	}
}
