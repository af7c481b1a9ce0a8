package command

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/collector"
	"pmdaderived/internal/commandline"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// A metric that answers with an error makes the exit status say so; the others are printed.
func TestEvalErrors(t *testing.T) {
	s := newSite(t)
	s.collector.Update(func() { s.collector.Metrics[0].Code = pdu.ErrAgain })
	out, _ := s.fails("eval", "kernel.all.load + 1", "hinv.ncpu")
	assert.Equal(t, "\nkernel.all.load + 1\nError: Try again. Information not currently available\n\nhinv.ncpu\n    "+
		"value 2\n", out)
}

// tickAtFetches makes a second pass between two fetches, in which counters grow by ten.
func (s *site) tickAtFetches() {
	c := s.collector
	c.OnFetch = func() {
		c.Time = c.Time.Add(time.Second)
		for i := range c.Metrics {
			if m := &c.Metrics[i]; m.Name == "disk.dev.total" {
				m.Values = []pdu.Value{pdu.Uint64Value(0, m.Values[0].Bits+10), pdu.Uint64Value(1, m.Values[1].Bits+20)}
			}
		}
	}
}

// A rate has a value in the first sample that is printed: those it needs are taken before.
func TestEvalTakesTheHistoryFirst(t *testing.T) {
	s := newSite(t)
	s.tickAtFetches()
	out := s.succeeds("eval", "-t", "20ms", "rate(disk.dev.total)", "hinv.ncpu")
	assert.Equal(t, `
rate(disk.dev.total)
    inst [0 or "sda"] value 10
    inst [1 or "sdb"] value 20

hinv.ncpu
    value 2
`, out)
}

func TestEvalSamples(t *testing.T) {
	s := newSite(t)
	s.zone = "UTC"
	s.tickAtFetches()
	start := s.collector.Time.UTC()
	for _, row := range []struct{ name, options, want string }{
		{"rows", "-s 2", `
                         rate(disk.dev.total)   hinv.ncpu  instance
TIME2                                 2
TIME2                    10              sda
TIME2                    20              sdb
TIME3                                 2
TIME3                    10              sda
TIME3                    20              sdb
`},
		{"one row", "-o text", `
                         rate(disk.dev.total)   hinv.ncpu  instance
TIME2                                 2
TIME2                    10              sda
TIME2                    20              sdb
`},
		{"csv", "-s 2 -o csv", `
Time,rate(disk.dev.total)-sda,rate(disk.dev.total)-sdb,hinv.ncpu
TIME2,10,20,2
TIME3,10,20,2
`},
		{"one row of csv", "-o csv", `
Time,rate(disk.dev.total)-sda,rate(disk.dev.total)-sdb,hinv.ncpu
TIME2,10,20,2
`},
		{"json", "-o json", `
{"time":"JSON2","values":{"hinv.ncpu":2,"rate(disk.dev.total)":{"sda":10,"sdb":20}}}
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.collector.Update(func() { s.collector.Time = start })
			out := s.succeeds(append(strings.Fields("eval -t 20ms "+row.options), "rate(disk.dev.total)", "hinv.ncpu")...)
			for i := range 4 {
				at := start.Add(time.Duration(i) * time.Second)
				row.want = strings.NewReplacer(fmt.Sprint("TIME", i), at.Format(collector.TimeLayout),
					fmt.Sprint("JSON", i), at.Format(time.RFC3339Nano)).Replace(row.want)
			}
			assert.Equal(t, strings.TrimPrefix(row.want, "\n"), out)
		})
	}
}

func TestEvalInAZone(t *testing.T) {
	s := newSite(t)
	s.zone = "UTC"
	assert.Regexp(t, `^{"time":"[^"]*\+09:00"`, s.succeeds("eval", "-Z", "JST-9", "-o", "json", "hinv.ncpu"))
	_, errs := s.fails("eval", "-Z", "no/such", "-o", "json", "hinv.ncpu")
	assert.Contains(t, errs, `"no/such" is not a valid time zone`)
}

// CSV has the columns of its first sample. Instances that come later are told, and the other forms have them.
func TestEvalOfNewInstances(t *testing.T) {
	for form, want := range map[string]string{
		"csv": "^Time,proc.memory.rss-000001 /sbin/init\n[^,]*,4096\n[^,]*,4096\n$",
		"text": `^ +proc.memory.rss  instance\n.* 4096  000001 /sbin/init\n` +
			`.* 4096  000001 /sbin/init\n.* 1024  000812 .* -A\n$`,
		"json": `^.*\n{.*"000812 /usr/libexec/pcp/bin/pmcd -A":1024}}}\n$`,
	} {
		t.Run(form, func(t *testing.T) {
			s := newSite(t)
			c := s.collector
			for i := range c.Metrics {
				if m := &c.Metrics[i]; m.Name == "proc.memory.rss" {
					all := m.Values
					m.Values = all[:1]
					fetches := 0
					c.OnFetch = func() {
						if fetches++; fetches == 2 {
							m.Values = all
						}
					}
				}
			}
			out, errs, exit := s.run("eval", "-s", "2", "-t", "1ms", "-o", form, "proc.memory.rss")
			assert.Equal(t, commandline.ExitOK, exit)
			assert.Regexp(t, want, out)
			if form == "csv" {
				assert.Equal(t, "pmdaderived eval: 000812 /usr/libexec/pcp/bin/pmcd -A and other instances that come later "+
					"have no column; -o json prints them\n", errs)
			}
		})
	}
}

// A table keeps its columns when other instances come, as those of topk_inst() do.
func TestEvalOfInstancesThatGo(t *testing.T) {
	s := newSite(t)
	c := s.collector
	m := &c.Metrics[slices.IndexFunc(c.Metrics, func(m pmapitest.Metric) bool { return m.Name == "proc.memory.rss" })]
	all, fetches := m.Values, 0
	c.OnFetch = func() {
		if fetches++; fetches == 1 {
			m.Values = all[:1]
			return
		}
		m.Values = all[1:]
		processes := c.InDoms[m.Desc.InDom]
		processes.Instances = slices.DeleteFunc(slices.Clone(processes.Instances), func(i pdu.Instance) bool { return i.ID == 1 })
		c.InDoms[m.Desc.InDom] = processes
	}
	out := s.succeeds("eval", "-s", "2", "-t", "1ms", "proc.memory.rss")
	assert.Regexp(t, `^ +proc.memory.rss  instance\n.{23} {13}4096  000001 /sbin/init\n.{23} {13}1024  000812 .* -A\n$`, out)
}

// Names that make a table wider than the terminal are above it. Columns have room for the first values.
func TestEvalOfLongNames(t *testing.T) {
	s := newSite(t)
	names := []string{"abs(hinv.ncpu) + abs(hinv.ncpu)", "sum(kernel.all.load)/7", "sample.big"}
	out := s.succeeds(append(strings.Fields("eval -o text"), names...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 6, out)
	for i, name := range names {
		assert.Equal(t, fmt.Sprintf("%d: %s", i+1, name), lines[i])
	}
	assert.Regexp(t, `^ {34}1 {11}2 {21}3$`, lines[4])
	assert.Regexp(t, `18446744073709551615$`, lines[5])
	assert.Len(t, lines[5], len(lines[4]))
}

// A row has no place for an error. It is told once.
func TestEvalErrorsInRows(t *testing.T) {
	s := newSite(t)
	s.collector.Update(func() { s.collector.Metrics[0].Code = pdu.ErrAgain })
	out, errs := s.fails("eval", "-s", "2", "-t", "1ms", "kernel.all.load")
	assert.Equal(t, 2, strings.Count(out, "N/A\n"), out)
	assert.Equal(t, "pmdaderived eval: kernel.all.load: Try again. Information not currently available\n", errs)
}

// Without an end it goes on until a signal ends it. It has failed then, because a script cannot know who sent that. It
// says the same wherever the signal meets it.
func TestEvalUntilInterrupted(t *testing.T) {
	for _, row := range []struct {
		name             string
		inFetch, answers bool
	}{
		{"between fetches", false, true},
		{"in a fetch", true, true},
		{"in a fetch without an answer", true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t)
			ctx, cancel := context.WithCancel(t.Context())
			w := &cancelling{cancel: cancel}
			ended := make(chan struct{})
			s.collector.OnFetch = func() {
				if !row.inFetch || w.samples.Load() < 3 {
					return
				}
				cancel()
				if !row.answers {
					<-ended
				}
			}
			if row.inFetch {
				w.cancel = func() {}
			}
			var errs strings.Builder
			program := Program{
				Getenv: environment("PCP_VAR_DIR", s.dir, "PCP_SYSCONF_DIR", s.dir, "PMCD_SOCKET", s.pmcd), Stdout: w,
				Stderr: &errs,
			}
			exit, _ := program.Run(ctx, []string{"eval", "-s", "0", "-t", "1ms", "hinv.ncpu"})
			close(ended)
			assert.Equal(t, commandline.ExitFailure, exit)
			assert.Equal(t, "pmdaderived eval: interrupted\n", errs.String())
			assert.GreaterOrEqual(t, w.samples.Load(), int64(3))
		})
	}
}

// cancelling counts the samples that are printed, and ends the run after the third.
type cancelling struct {
	strings.Builder
	cancel  func()
	samples atomic.Int64
}

func (c *cancelling) Write(p []byte) (int, error) {
	n, err := c.Builder.Write(p)
	c.samples.Store(int64(strings.Count(c.String(), " 2\n")))
	if c.samples.Load() >= 3 {
		c.cancel()
	}
	return n, err
}

// Programs get all digits, and no exponent for times and sizes.
func TestPlainText(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1795985559.592351: "1795985559.592351", -5242880: "-5242880", 9e15: "9000000000000000", 1e16: "1e+16",
		0.0001: "0.0001", -1.5e-7: "-1.5e-07", math.Inf(1): "+Inf",
	} {
		assert.Equal(t, want, plainText(&derived.Vector{Type: pdu.TypeDouble, Bits: []uint64{math.Float64bits(x)}}, 0))
	}
	v := &derived.Vector{Type: pdu.TypeFloat, Bits: []uint64{uint64(math.Float32bits(5.12e8)), uint64(math.Float32bits(0.1))}}
	assert.Equal(t, []string{"512000000", "0.1"}, []string{plainText(v, 0), plainText(v, 1)})
}

// A column has six digits of a number, but the seconds of a time.
func TestCellText(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1795985559.592351: "1795985560", -5242880.25: "-5242880", 999999.5: "1000000", 123456.75: "123457", 2.0 / 3: "0.666667",
		9e15: "9000000000000000", 1e16: "1e+16", 1.5e-7: "1.5e-07", math.Inf(1): "inf",
	} {
		assert.Equal(t, want, cellText(&derived.Vector{Type: pdu.TypeDouble, Bits: []uint64{math.Float64bits(x)}}, 0))
	}
	assert.Equal(t, "1795985536", cellText(&derived.Vector{Type: pdu.TypeFloat, Bits: []uint64{uint64(math.Float32bits(1795985559))}}, 0))
}

func TestValueText(t *testing.T) {
	float := func(x float64) *derived.Vector {
		return &derived.Vector{Type: pdu.TypeDouble, Bits: []uint64{math.Float64bits(x)}}
	}
	for _, row := range []struct {
		v    *derived.Vector
		want string
	}{
		{float(0), "0"},
		{float(1e15), "1000000000000000"},
		{float(1e16), "1e+16"},
		{float(1.5e-7), "1.5e-07"},
		{float(0.0001), "0.0001"},
		{float(0.1), "0.1"},
		{float(-2.5), "-2.5"},
		{float(math.Inf(1)), "inf"},
		{float(math.NaN()), "nan"},
		{&derived.Vector{Type: pdu.TypeFloat, Bits: []uint64{uint64(math.Float32bits(5.12e8))}}, "5.12e+08"},
		{&derived.Vector{Type: pdu.Type32, Bits: []uint64{1<<32 - 1}}, "-1"},
		{&derived.Vector{Type: pdu.TypeAggregate, Blobs: [][]byte{{0, 0xff}}}, "[00ff]"},
		{&derived.Vector{Type: pdu.TypeAggregate, Blobs: [][]byte{[]byte("ab")}}, `"ab" [6162]`},
		{&derived.Vector{Type: pdu.TypeEvent, Blobs: [][]byte{make([]byte, 8)}}, "[EVENT, 8 bytes]"},
		{&derived.Vector{Type: pdu.TypeString, Blobs: [][]byte{[]byte("a\x1bb\nc")}}, "\"a\ufffdb c\""},
	} {
		t.Run(row.want, func(t *testing.T) {
			require.Equal(t, row.want, valueText(row.v, 0))
		})
	}
}
