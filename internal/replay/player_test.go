package replay

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
	"pmdaderived/pmda/pmapi/archive/writer"
)

// open opens the archive of an incident.
func open(t *testing.T) *archive.Archive {
	t.Helper()
	a, err := archive.Open(incidentPath)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.Close()) })
	return a
}

// definitions are written "name = expression".
func definitions(t *testing.T, lines ...string) (defs []served.Definition) {
	t.Helper()
	for i, line := range lines {
		name, text, _ := strings.Cut(line, " = ")
		d, err := derived.Parse(name, text)
		require.NoError(t, err)
		d.File = "/etc/site.conf"
		defs = append(defs, served.Definition{Definition: d, Line: i + 1})
	}
	return defs
}

// watching is a session that watches the metrics of definitions.
func watching(t *testing.T, source *Source, lines ...string) *session.Session {
	t.Helper()
	s, err := session.New(t.Context(), source, definitions(t, lines...), derived.Language{})
	require.NoError(t, err)
	for _, m := range s.Set().Metrics() {
		require.Nil(t, m.Err, m.Name)
	}
	s.Watch(s.Set().Metrics()...)
	return s
}

// row is a sample: its time, and the values of all metrics.
func row(s *session.Session, at time.Time) string {
	text := at.UTC().Format("15:04:05.999")
	for _, m := range s.Set().Metrics() {
		v := s.Value(m)
		var values []string
		for i := range v.Bits {
			value := fmt.Sprintf("%.4g", v.Type.Float64(v.Bits[i]))
			if name, ok := s.InstanceName(m.Desc.InDom, v.At(i)); ok {
				value = name + ":" + value
			}
			values = append(values, value)
		}
		if len(values) == 0 {
			values = []string{"-"}
		}
		text += "  " + m.Name + " " + strings.Join(values, " ")
	}
	return text
}

// at is a time of the night.
func at(minute, second int) time.Time {
	return night.Add(time.Duration(minute)*time.Minute + time.Duration(second)*time.Second)
}

func play(t *testing.T, o Options, lines ...string) (rows []string, p *Player) {
	t.Helper()
	source := NewSource(open(t))
	p = NewPlayer(source, watching(t, source, lines...))
	require.NoError(t, p.Play(t.Context(), o, func(s *session.Session, at time.Time) error {
		rows = append(rows, row(s, at))
		return nil
	}))
	return rows, p
}

func TestPlay(t *testing.T) {
	for _, test := range []struct {
		name  string
		o     Options
		lines []string
		want  []string
	}{
		{
			"at the records that hold an operand, the first without a rate",
			Options{Start: at(11, 50), End: at(12, 10)},
			[]string{"busy = rate(disk.dev.avactive)"},
			[]string{"02:11:50  busy -", "02:12:00  busy sda:0.028 sdb:0.97", "02:12:10  busy sda:0.032 sdb:0.98"},
		},
		{
			"values between records",
			Options{Start: at(11, 55), End: at(12, 5), Every: 5 * time.Second},
			[]string{"reads = sum(disk.dev.read)", "load = max(kernel.all.load)"},
			[]string{
				"02:11:55  reads 2895  load 0.3", "02:12:00  reads 3144  load 1.64",
				"02:12:05  reads 3397  load 1.64",
			},
		},
		{
			"nothing beyond a mark, and a third disk behind it",
			Options{Start: at(21, 40), End: at(22, 20)},
			[]string{"busy = rate(disk.dev.avactive)", "disks = count(disk.dev.read)"},
			[]string{
				"02:21:40  busy -  disks 2", "02:21:50  busy sda:0.04 sdb:0.036  disks 2", "02:22:00  busy -  disks 0",
				"02:22:10  busy -  disks 3", "02:22:20  busy sda:0.024 sdb:0.054 sdc:0.005  disks 3",
			},
		},
		{
			"what is recorded once holds until the mark",
			Options{Start: at(21, 50), End: at(22, 0)},
			[]string{"cpus = hinv.ncpu", "load = max(kernel.all.load) / hinv.ncpu"},
			[]string{"02:21:50  cpus 4  load 0.7575", "02:22:00  cpus 4  load 0.735"},
		},
		{
			"functions over time have the samples of before",
			Options{Start: at(12, 30), End: at(13, 0), Every: 30 * time.Second},
			[]string{`peak = max_sample(rate(disk.dev.avactive), "20s")`, `n = count_sample(kernel.all.load, "1min")`},
			[]string{
				"02:12:30  peak sda:0.04 sdb:0.99  n 1 minute:6 5 minute:6 15 minute:6",
				"02:13:00  peak sda:0.024 sdb:0.99  n 1 minute:6 5 minute:6 15 minute:6",
			},
		},
		{
			"since the last look",
			Options{Start: at(12, 0), End: at(14, 0), Every: time.Minute},
			[]string{
				"n = count_sample(max(kernel.all.load))", "change = sum_sample(sum(delta(disk.dev.read)))",
				"reads = sum(disk.dev.read)",
			},
			[]string{
				"02:12:00  n 1  change 499  reads 3144", "02:13:00  n 6  change 3038  reads 6182",
				"02:14:00  n 6  change 3040  reads 9222",
			},
		},
		{
			"instances by name",
			Options{Start: at(22, 10), End: at(22, 20)},
			[]string{
				`some = matchinst(/[bc]$/, disk.dev.read)`, "one = disk.dev.read[sdc]",
				"all = sum(disk.dev.read) by (/^(sd)/)",
			},
			[]string{
				"02:22:10  some sdb:45 sdc:4  one sdc:4  all sd:81",
				"02:22:20  some sdb:72 sdc:6  one sdc:6  all sd:122",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			rows, _ := play(t, test.o, test.lines...)
			assert.Equal(t, test.want, rows)
		})
	}
}

// A window that has no sample left has no value: it is not as old as the archive.
func TestWindowsEnd(t *testing.T) {
	rows, _ := play(t, Options{Start: at(22, 31), End: at(22, 35), Every: time.Second},
		`peak = max_sample(mem.util.available, "3s")`)
	assert.Equal(t, []string{
		"02:22:31  peak 7.865e+06", "02:22:32  peak 7.865e+06", "02:22:33  peak 7.865e+06", "02:22:34  peak -",
		"02:22:35  peak -",
	}, rows)
}

// A domain has a new version when its instances change.
func TestVersions(t *testing.T) {
	source := NewSource(open(t))
	source.SetTime(at(21, 59))
	before := source.Version(disks)
	source.SetTime(at(22, 0))
	assert.Equal(t, before+1, source.Version(disks))
	source.Rewind()
	assert.Equal(t, before, source.Version(disks))
	assert.Zero(t, source.Version(510))
	assert.NoError(t, source.Err())
}

func TestTicks(t *testing.T) {
	_, p := play(t, Options{Start: at(10, 0), End: at(20, 0), Every: time.Hour},
		`a = max_sample(mem.util.available, "1min")`,
		`b = max_sample(max(kernel.all.load) / hinv.ncpu, "10min", "1min")`)
	var all []string
	for _, ticks := range p.Ticks() {
		all = append(all, fmt.Sprint(ticks.Recorded, " of ", ticks.Possible))
	}
	assert.Equal(t, []string{"20 of 1201", "21 of 21"}, all, "20 minutes with what is before")
}

// A condition about a limit changes at every other record, a latch only when the disk is busy and when it is not.
func TestPlayLatch(t *testing.T) {
	source := NewSource(open(t))
	s := watching(t, source, "x = max(rate(disk.dev.avactive)) > 0.975",
		"y = latch(max(rate(disk.dev.avactive)) > 0.975, max(rate(disk.dev.avactive)) < 0.9)",
		`z = latch(min_sample(max(rate(disk.dev.avactive)), "30s", "10s") > 0.96, x == 0 && !y, "10s")`)
	changes, states := make([]int, 3), make([]uint64, 3)
	var began []time.Time
	require.NoError(t, NewPlayer(source, s).Play(t.Context(), Options{Start: night, End: at(30, 0)},
		func(s *session.Session, when time.Time) error {
			for i, m := range s.Set().Metrics() {
				if v := s.Value(m); len(v.Bits) > 0 && v.Bits[0] != states[i] {
					changes[i]++
					if states[i] = v.Bits[0]; changes[i] == 1 {
						began = append(began, when.UTC())
					}
				}
			}
			return nil
		}))
	assert.Equal(t, []int{24, 2, 2}, changes)
	assert.Equal(t, []time.Time{at(12, 10), at(12, 10), at(12, 20)}, began)
}

// A latch has its first tick, and a value, at the first record with all operands. The window within it has gone on from
// earlier records, and has this one before the latch.
func TestPlayLatchOfTwoTimers(t *testing.T) {
	base := filepath.Join(t.TempDir(), "two")
	w, err := writer.Create(base, writer.Label{Version: 3, PID: 1, Start: night, Host: "web1.example", TimeZone: "UTC"})
	require.NoError(t, err)
	usedDesc := pdu.Desc{PMID: pdu.NewPMID(58, 0, 6), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	require.NoError(t, w.Metric(usedDesc, "mem.util.used"))
	freeDesc := pdu.Desc{PMID: pdu.NewPMID(58, 0, 2), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	require.NoError(t, w.Metric(freeDesc, "mem.util.free"))
	for n := range 3 {
		w.Values().Number(usedDesc.PMID, usedDesc.Type, uint64(n))
		if n == 1 {
			w.Values().Number(freeDesc.PMID, freeDesc.Type, 5)
		}
		require.NoError(t, w.Put(at(n, 0)))
	}
	require.NoError(t, w.Close())
	a, err := archive.Open(base)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.Close()) })
	source := NewSource(a)
	var rows []string
	p := NewPlayer(source, watching(t, source, `y = latch(last_sample(mem.util.used, "1min") == 1, mem.util.free > 5)`))
	require.NoError(t, p.Play(t.Context(), Options{Start: night, End: at(2, 0)},
		func(s *session.Session, at time.Time) error {
			rows = append(rows, row(s, at))
			return nil
		}))
	assert.Equal(t, []string{"02:00:00  y -", "02:01:00  y 1", "02:02:00  y 1"}, rows)
}

// Two instances exchange their numbers, and another one goes. What is held for a number ends with the record of the
// other name, and an instance that has gone has its name until the next tick.
func TestPlayNumbersChangeHands(t *testing.T) {
	base := filepath.Join(t.TempDir(), "numbers")
	w, err := writer.Create(base, writer.Label{Version: 3, PID: 1, Start: night, Host: "web1.example", TimeZone: "UTC"})
	require.NoError(t, err)
	d := pdu.NewInDom(60, 1)
	desc := pdu.Desc{PMID: pdu.NewPMID(60, 0, 4), Type: pdu.TypeU32, InDom: d, Sem: pdu.SemInstant}
	require.NoError(t, w.Metric(desc, "disk.dev.read"))
	for n, r := range []struct {
		names  []string
		values []uint64
	}{
		{[]string{"sda", "sdb", "sdc"}, []uint64{10, 1, 2}},
		{[]string{"sda", "sdb"}, []uint64{11, 2}},
		{[]string{"sdb", "sda"}, []uint64{3, 12}},
		{[]string{"sdb", "sda"}, []uint64{4, 11}},
	} {
		var instances []pdu.Instance
		var ids []pdu.Inst
		for i, name := range r.names {
			instances, ids = append(instances, pdu.Instance{ID: pdu.Inst(i), Name: name}), append(ids, pdu.Inst(i))
		}
		require.NoError(t, w.InDom(at(n, 0), d, instances))
		w.Values().Numbers(desc.PMID, desc.Type, ids, r.values)
		require.NoError(t, w.Put(at(n, 0)))
	}
	require.NoError(t, w.Close())
	a, err := archive.Open(base)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.Close()) })
	source := NewSource(a)
	var rows []string
	p := NewPlayer(source, watching(t, source, `hour = max_sample(disk.dev.read, "1hour", "1min")`,
		`on = latch(disk.dev.read > 9, 0, "1min")`, `two = max_sample(disk.dev.read, "1hour", "2min")`,
		`up = sum_sample(delta(disk.dev.read), "1hour", "1min")`))
	require.NoError(t, p.Play(t.Context(), Options{Start: night, End: at(3, 0)},
		func(s *session.Session, at time.Time) error {
			rows = append(rows, row(s, at))
			return nil
		}))
	assert.Equal(t, []string{
		"02:00:00  hour sda:10 sdb:1 sdc:2  on sda:1 sdb:0 sdc:0  two sda:10 sdb:1 sdc:2  up -",
		"02:01:00  hour sda:11 sdb:2  on sda:1 sdb:0  two sda:10 sdb:1 sdc:2  up sda:1 sdb:1",
		"02:02:00  hour sdb:3 sda:12  on sdb:0 sda:1  two sdb:3 sda:12  up -",
		"02:03:00  hour sdb:4 sda:12  on sdb:0 sda:1  two sdb:3 sda:12  up sdb:1 sda:-1",
	}, rows)
}

func TestPlayEnds(t *testing.T) {
	source := NewSource(open(t))
	p := NewPlayer(source, watching(t, source, "load = kernel.all.load"))
	n := 0
	o := Options{Start: night, End: at(30, 0)}
	require.NoError(t, p.Play(t.Context(), o, func(*session.Session, time.Time) error {
		n++
		return ErrEnough
	}))
	assert.Equal(t, 1, n)
	failed := errors.New("failed")
	require.ErrorIs(t, p.Play(t.Context(), o, func(*session.Session, time.Time) error { return failed }), failed)
}

// After ErrEnough, a sample that was not taken is not taken when the archive is played again either.
func TestPlayAgain(t *testing.T) {
	source := NewSource(open(t))
	p := NewPlayer(source, watching(t, source, "load = kernel.all.load"),
		watching(t, source, "busy = rate(disk.dev.avactive)"))
	require.NoError(t, p.Play(t.Context(), Options{Start: at(1, 0), End: at(3, 0)},
		func(*session.Session, time.Time) error { return ErrEnough }))
	n := 0
	require.NoError(t, p.Play(t.Context(), Options{Start: at(10, 0), End: at(12, 0)},
		func(_ *session.Session, taken time.Time) error {
			n++
			assert.False(t, taken.Before(at(10, 0)), taken)
			return nil
		}))
	assert.Positive(t, n)
}

// pmlogger records its groups milliseconds after each other. A sample is for all groups of a round, and none is taken
// for the number of CPUs. The last round has only the groups that were recorded.
func TestPlayRounds(t *testing.T) {
	base := filepath.Join(t.TempDir(), "beside")
	w, err := writer.Create(base, writer.Label{Version: 3, PID: 1, Start: night, Host: "web1.example", TimeZone: "UTC"})
	require.NoError(t, err)
	require.NoError(t, w.Metric(ncpuDesc, "hinv.ncpu"))
	userDesc := pdu.Desc{
		PMID: pdu.NewPMID(60, 0, 20), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter,
		Units: busyDesc.Units,
	}
	require.NoError(t, w.Metric(userDesc, "kernel.all.cpu.user"))
	sysDesc := pdu.Desc{
		PMID: pdu.NewPMID(60, 0, 22), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter,
		Units: busyDesc.Units,
	}
	require.NoError(t, w.Metric(sysDesc, "kernel.all.cpu.sys"))
	usedDesc := pdu.Desc{PMID: pdu.NewPMID(58, 0, 6), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	require.NoError(t, w.Metric(usedDesc, "mem.util.used"))
	freeDesc := pdu.Desc{PMID: pdu.NewPMID(58, 0, 2), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	require.NoError(t, w.Metric(freeDesc, "mem.util.free"))
	for n := range 3 {
		v := w.Values()
		v.Number(ncpuDesc.PMID, ncpuDesc.Type, 2)
		require.NoError(t, w.Put(at(n, 0)))
		v.Number(sysDesc.PMID, sysDesc.Type, uint64(n*30_001))
		require.NoError(t, w.Put(at(n, 0).Add(2*time.Millisecond)))
		v.Number(userDesc.PMID, userDesc.Type, uint64(n*60_001))
		require.NoError(t, w.Put(at(n, 0).Add(5*time.Millisecond)))
		v.Number(usedDesc.PMID, usedDesc.Type, uint64(n+1))
		require.NoError(t, w.Put(at(n, 0).Add(7*time.Millisecond)))
		v.Number(freeDesc.PMID, freeDesc.Type, uint64(n+1))
		require.NoError(t, w.Put(at(n, 0).Add(9*time.Millisecond)))
	}
	require.NoError(t, w.Close())
	a, err := archive.Open(base)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.Close()) })
	for _, test := range []struct {
		line string
		want []string
	}{
		{
			"sys = rate(kernel.all.cpu.sys) / hinv.ncpu",
			[]string{"02:00:00.002  sys -", "02:01:00.002  sys 0.25", "02:02:00.002  sys 0.25"},
		},
		{
			"ratio = rate(kernel.all.cpu.user) / rate(kernel.all.cpu.sys)",
			[]string{"02:00:00.005  ratio -", "02:01:00.005  ratio 2", "02:02:00.005  ratio -"},
		},
		{
			"used = 1 + mem.util.used - mem.util.free",
			[]string{"02:00:00.009  used 1", "02:01:00.009  used 1", "02:02:00.009  used -"},
		},
		{
			`peak = mem.util.used / max_sample(mem.util.free, "1min")`,
			[]string{"02:00:00.009  peak 1", "02:01:00.009  peak 1", "02:02:00.009  peak -"},
		},
		{"cpus = 2 * hinv.ncpu", []string{"02:00:00  cpus 4", "02:01:00  cpus 4", "02:02:00  cpus 4"}},
	} {
		source := NewSource(a)
		var rows []string
		p := NewPlayer(source, watching(t, source, test.line))
		require.NoError(t, p.Play(t.Context(), Options{Start: night, End: at(3, 0)},
			func(s *session.Session, at time.Time) error {
				rows = append(rows, row(s, at))
				return nil
			}))
		assert.Equal(t, test.want, rows)
	}
}

func TestRefine(t *testing.T) {
	classes, n := make([]int, 5), 1
	for _, hit := range [][]bool{
		{true, true, true, true, true},
		{true, false, true, false, false},
		{false, false, false, false, false},
		{true, true, false, true, false},
		{true, false, true, false, false},
	} {
		n = splitClasses(classes, hit, n)
	}
	assert.Equal(t, []int{2, 3, 1, 3, 0}, classes)
}

// Samples end with their context, also where nothing more is read from the archive.
func TestPlayInterrupted(t *testing.T) {
	source := NewSource(open(t))
	p := NewPlayer(source, watching(t, source, "load = max(kernel.all.load)"))
	ctx, cancel := context.WithCancel(t.Context())
	taken := 0
	err := p.Play(ctx, Options{Start: at(11, 51), End: at(11, 59), Every: time.Millisecond},
		func(*session.Session, time.Time) error {
			taken++
			cancel()
			return nil
		})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, taken)
}

// A session that is joined to another takes its samples at the same times, right after it, and both have the values that
// they would have alone, also behind a mark. Operands of only one of them give samples to both.
func TestPlayJoined(t *testing.T) {
	const rates, free = "x = rate(disk.dev.avactive)", "y = mem.util.available"
	for _, o := range []Options{
		{Start: at(20, 0), End: at(25, 0), Every: time.Minute},
		{Start: at(20, 0), End: at(25, 0)},
	} {
		alone, _ := play(t, o, rates, free)
		var rows [2][]string
		source := NewSource(open(t))
		first, second := watching(t, source, rates), watching(t, source, rates, free)
		p := NewPlayer(source, first)
		p.Join(second)
		require.NoError(t, p.Play(t.Context(), o, func(s *session.Session, at time.Time) error {
			if s == second {
				rows[1] = append(rows[1], row(s, at))
				require.Len(t, rows[0], len(rows[1]))
				return nil
			}
			text, _, _ := strings.Cut(row(s, at), "  y ")
			rows[0] = append(rows[0], text)
			return nil
		}))
		assert.Equal(t, alone, rows[1])
		for i, text := range alone {
			alone[i], _, _ = strings.Cut(text, "  y ")
		}
		assert.Equal(t, alone, rows[0])
	}
}
