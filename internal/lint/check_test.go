package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/growth"
	"pmdaderived/pdu"
)

// host is the collector of these tests.
func host() derived.CatalogMap {
	disks := pdu.NewInDom(60, 1)
	catalog := derived.CatalogMap{}
	add := func(name string, t pdu.Type, sem pdu.Semantics, d pdu.InDom, u pdu.Units) {
		catalog[name] = pdu.Desc{PMID: pdu.NewPMID(60, 0, len(catalog)), Type: t, Sem: sem, InDom: d, Units: u}
	}
	kbyte := pdu.Units{Space: 1, SpaceScale: pdu.SpaceKbyte}
	add("ncpu", pdu.TypeU32, pdu.SemDiscrete, pdu.NoInDom, pdu.Units{})
	add("procs", pdu.TypeU32, pdu.SemInstant, pdu.NoInDom, pdu.Units{Count: 1})
	add("free", pdu.TypeU64, pdu.SemInstant, pdu.NoInDom, kbyte)
	add("swap", pdu.TypeU64, pdu.SemInstant, pdu.NoInDom, pdu.Units{Space: 1})
	add("signed", pdu.Type64, pdu.SemInstant, pdu.NoInDom, kbyte)
	add("speed", pdu.TypeDouble, pdu.SemDiscrete, pdu.NoInDom, kbyte)
	add("single", pdu.TypeFloat, pdu.SemInstant, pdu.NoInDom, kbyte)
	add("total", pdu.TypeU64, pdu.SemCounter, disks, pdu.Units{Count: 1})
	add("busy", pdu.TypeU32, pdu.SemCounter, disks, pdu.Units{Time: 1, TimeScale: pdu.TimeMillisec})
	for _, name := range []string{
		"disk.read", "disk.write", "disk.raw.read", "diskless.write", "mem.all", "mem.free",
		"swap.all",
	} {
		add(name, pdu.TypeU64, pdu.SemInstant, pdu.NoInDom, kbyte)
	}
	add("rss", pdu.TypeU64, pdu.SemInstant, pdu.NewInDom(60, 2), kbyte)
	add("gone", pdu.TypeU64, pdu.SemInstant, pdu.NewInDom(60, 3), kbyte)
	add("unknown", pdu.TypeU64, pdu.SemInstant, pdu.NewInDom(60, 4), kbyte)
	add("one", pdu.TypeU64, pdu.SemInstant, pdu.NewInDom(60, 5), kbyte)
	add("buckets", pdu.TypeU64, pdu.SemInstant, pdu.NewInDom(60, 7), pdu.Units{})
	add("five", pdu.TypeU64, pdu.SemInstant, pdu.NewInDom(60, 6), kbyte)
	millisec := pdu.Units{Time: 1, TimeScale: pdu.TimeMillisec}
	add("idle", pdu.TypeU64, pdu.SemCounter, pdu.NoInDom, millisec)
	add("cpu", pdu.TypeU64, pdu.SemCounter, pdu.NewInDom(60, 2), millisec)
	add("start", pdu.TypeU64, pdu.SemDiscrete, pdu.NewInDom(60, 2), millisec)
	add("latency", pdu.TypeDouble, pdu.SemInstant, pdu.NewInDom(60, 2), millisec)
	add("sys.uptime", pdu.TypeDouble, pdu.SemInstant, pdu.NoInDom, pdu.Units{Time: 1, TimeScale: pdu.TimeSec})
	add("node", pdu.TypeString, pdu.SemDiscrete, pdu.NoInDom, pdu.Units{})
	return catalog
}

// checked gives the warnings about definitions, one a line as "name = expression", as "name:offset code". Without a
// collector only the text counts.
func checked(t *testing.T, text string, catalog derived.Catalog) []string {
	t.Helper()
	var found []string
	for _, w := range Check(defined(t, text), Options{Catalog: catalog, Root: "derived"}) {
		found = append(found, fmt.Sprintf("%s:%d %s", w.Definition.Name, w.Offset, w.Code))
		assert.NotEmpty(t, w.Message)
	}
	return found
}

func defined(t *testing.T, text string) []*derived.Definition {
	t.Helper()
	var defs []*derived.Definition
	for line := range strings.Lines(text) {
		name, expr, ok := strings.Cut(strings.TrimSpace(line), " = ")
		require.True(t, ok)
		d, err := derived.Parse(name, expr)
		require.NoError(t, err)
		defs = append(defs, d)
	}
	return defs
}

// Each row has a suspicious definition, or a similar one that is not.
func TestCheck(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       string // of offline and online
		online     string // more of online
	}{
		{"chain of conditions", "x = ncpu > 8 ? 2 : ncpu > 4 ? 1 : 0", "x:24 nested-ternary", ""},
		{
			"longer chain", "x = ncpu ? 3 : ncpu > 4 ? 2 : ncpu > 2 ? 1 : 0", "x:20 nested-ternary x:35 nested-ternary",
			"",
		},
		{"condition in the middle", "x = ncpu ? procs ? 1 : 2 : 3", "", ""},
		{"conditions in parentheses", "x = ncpu > 8 ? 2 : (ncpu > 4 ? (procs ? 3 : 1) : 0)", "", ""},

		{"and after or", "x = ncpu || procs && procs > 1", "x:14 mixed-and-or", ""},
		{"or after and", "x = ncpu && procs || procs > 1", "x:14 mixed-and-or", ""},
		{"or in parentheses", "x = (ncpu || procs) && procs > 1 && (ncpu > 1 || procs < 5)", "", ""},

		{"two comparisons", "x = 1 < ncpu < 8", "x:9 chained-comparison", ""},
		{"outcome that is compared on purpose", "x = (1 < ncpu) != (ncpu > 8)", "", ""},

		{"not of a comparison", "x = !ncpu > 8", "x:0 not-precedence", ""},
		{"not of a sum", "x = procs && !ncpu + 1", "x:9 not-precedence", ""},
		{"not of parentheses", "x = !(ncpu > 8) && !ncpu", "", ""},

		{"difference", "x = free - free", "x:5 same-operands", ""},
		{"quotient", "x = (free + swap) / (swap + free)", "x:14 same-operands", ""},
		{"comparison", "x = rate(total) == (rate(total))", "x:12 same-operands", ""},
		{"served name", "y = free\nx = y - derived.y", "x:2 same-operands", ""},
		{"or", "x = ncpu || ncpu", "x:5 same-operands", ""},
		{"branches", "x = ncpu ? free : free", "x:12 same-operands", ""},
		{"sum, square", "x = free + free\ny = ncpu * ncpu", "", ""},
		{
			"what differs", "x = free - swap\ny = scalar(total[a]) / scalar(total[b])\nz = rescale(free, \"byte\") - " +
				"rescale(free, \"Kbyte\")\n" +
				"a = matchinst(/a/, total) - matchinst(!/a/, total)\nb = -free - free\nc = max(total) - min(total)", "",
			"",
		},

		{"same text", "x = 2 * free\ny = 2 * free", "y:0 same-expression", ""},
		{"in another order", "x = ncpu * (free + swap)\ny = (swap + (free)) * ncpu", "y:0 same-expression", ""},
		{
			"comparison from the other side", "x = free < swap\ny = swap > free\nz = swap <= free\na = free >= swap",
			"y:0 same-expression a:0 same-expression",
			"x:5 compare-scale y:5 compare-scale z:5 compare-scale a:5 compare-scale",
		},
		{"numbers as written", "x = free * 1.50\ny = 01.5 * free", "y:0 same-expression", ""},
		{"names with the subtree", "x = free\ny = 2 * x\nz = 2 * derived.x", "z:0 same-expression", ""},
		{"what is no other order", "x = free - swap\ny = swap - free\nz = free / swap\na = swap / free", "", ""},
		{"types of numbers", "x = free * 2\ny = free * 2.0", "", ""},
		{"two names of a number", "x = 5\ny = 5", "", ""},
		{"other instance, other units", "x = total[a]\ny = total[b]\nz = mkconst(1, meta=free)\na = mkconst(1, " +
			"meta=swap)", "", ""},

		{"condition that is a number", "x = 1 > 0 ? ncpu : procs", "x:0 constant-condition", ""},
		{"and with a number", "x = ncpu && 1", "x:8 constant-condition", ""},
		{"number and", "x = 0 || ncpu", "x:0 constant-condition", ""},
		{
			"below zero", "x = free < 0\ny = ncpu >= 0\nz = 0 > procs\na = 0 <= free",
			"", "x:0 constant-condition y:0 constant-condition z:0 constant-condition a:0 constant-condition",
		},
		{"zero and signed", "x = signed < 0\ny = free > 0\nz = 0 < swap\na = free == 0\nb = free - swap >= 0", "", ""},
		{"depends on the host", "x = defined(free) ? free : swap", "", ""},

		{"computed constant", "x = 2 * 3", "x:0 constant-expression", ""},
		{"rescaled constant", "x = rescale(mkconst(1, units=Mbyte), \"byte\")", "x:0 constant-expression", ""},
		{"constants", "x = 6\ny = -6\nz = mkconst(6, units=byte)\na = -(mkconst(6, units=byte))\nb = mkconst(1, " +
			"meta=free)\nc = mkconst(1, indom=60.1) * 2", "", ""},

		{"times zero", "x = 0 * free\ny = free * -0.0", "x:0 always-zero y:0 always-zero", ""},
		{"zero divided", "x = mkconst(0, type=u64) / free", "x:0 always-zero", ""},
		{"plus zero", "x = 0 + ncpu", "", ""},
		{"divided by zero", "x = free / (0)", "x:5 division-by-zero", ""},
		{"divided by one", "x = free / 1", "", ""},

		{
			"truths counted", "x = count_sample(ncpu > 4)\ny = 1 + count_sample((ncpu > 4 && !procs), \"1min\")\nz = " +
				"count(total > 5)\na = count(total != 0) by (/./)",
			"x:0 count-of-condition y:4 count-of-condition z:0 count-of-condition a:0 count-of-condition", "",
		},
		{
			"truths of other definitions counted", "x = many\nmany = !ncpu\ny = count_sample(derived.x)",
			"y:0 count-of-condition", "",
		},
		{"shares in place of percent", "x = nth_percentile_inst(load, 0.95)\ny = nth_percentile_sample(ncpu, .5, " +
			"\"1min\")", "x:26 percentile-fraction y:28 percentile-fraction", ""},
		{"share in place of percent of buckets", "x = nth_percentile_bucket(load, 0.95)", "x:28 percentile-fraction", ""},
		{
			"labels of Prometheus", "x = sum(total) by (a=/^(s)/, instance=/(.)$/)\ny = max(total) by (label(job))\nz = min(total) by (a.job)",
			"x:25 scrape-label y:15 scrape-label z:15 scrape-label", "",
		},
		{"other labels", "x = sum(total) by (jobs=/^(s)/, label(instances), node)\ny = matchinst(/a/, total, label(job))", "", ""},
		{"percent", "x = nth_percentile_inst(load, 0)\ny = nth_percentile_inst(load, 1)\nz = " +
			"nth_percentile_sample(ncpu, 99.9, \"1min\")", "", ""},
		{"values counted", "x = count_sample(ncpu)\ny = count(total > 5 ? total : novalue())\nz = sum_sample(ncpu > " +
			"4)\na = count(total) > 4\nb = count(c)\nc = b", "", ""},

		{"guard of nothing", "x = defined(ncpu) ? free : swap", "x:8 unused-guard", ""},
		{"guard of one of two", "x = defined(ncpu) && defined(free) ? free : swap", "x:8 unused-guard", ""},
		{"guard of itself", "x = defined(free) ? free : 0\ny = !defined(free) ? 0 : free", "", ""},
		{"guard of what another definition uses", "x = free / 2\ny = x / 2\nz = defined(free) ? y : swap", "", ""},
		{"guard of a definition", "y = free / 2\nz = defined(derived.y) ? y : swap", "", ""},
		{"guard for what is beside it", "x = defined(disk.read) ? disk.write + disk.raw.read : free", "", ""},
		{
			"guard for what is elsewhere", "x = defined(disk.read) ? diskless.write + free : free / 2", "x:8 unused-guard",
			"",
		},
		{"guard twice", "x = defined(free) && defined(free) ? free : 0", "", ""},
		{"whether there is one", "x = defined(free) ? 1 : 0\ny = defined(free)", "", ""},

		{"wrong way round", "x = defined(free) ? swap : free", "x:23 reversed-guard", ""},
		{"the root twice", "derived.x = free / 2", "derived.x:-1 doubled-root", ""},
		{"the root as a beginning", "derivedx.y = free / 2", "", ""},
		{"wrong way round, not", "x = !defined(free) ? free / 2 : swap", "x:17 reversed-guard", ""},
		{
			"wrong way round, one of two", "x = !(defined(free) || defined(swap)) ? free : swap / 2",
			"x:36 reversed-guard", "",
		},
		{
			"wrong way round, or", "x = defined(free) || defined(swap) ? ncpu : free + swap",
			"x:40 reversed-guard x:47 reversed-guard", "",
		},
		{"asked again", "x = defined(free) ? free : (defined(free) ? ncpu : swap)", "", ""},

		{"scales", "x = swap > free", "", "x:5 compare-scale"},
		{"constant with units", "x = swap > mkconst(1, units=Gbyte)\ny = free > 1024\nz = free > 2 * 512", "", ""},
		{"one scale", "x = swap > rescale(free, \"byte\")\ny = swap - free", "", ""},
		{"units", "x = free > ncpu\ny = free > mkconst(1, units=sec)", "", "x:5 compare-units y:5 compare-units"},
		{"none and a count", "x = procs > ncpu", "", ""},

		{
			"rate of a level", "x = rate(free)\ny = delta(free)", "",
			"x:0 change-of-non-counter y:0 change-of-non-counter",
		},
		{"rate of instant", "x = rate(instant(total))", "x:0 change-of-non-counter", ""},
		{"change of a change", "x = delta(delta(total))", "x:0 change-of-non-counter", ""},
		{"rate of a definition", "y = free\nx = rate(y)", "", "x:0 change-of-non-counter"},
		{"rate of a counter", "x = rate(total)\ny = sum(delta(total))\nz = rate(busy + busy)", "", ""},

		{
			"change of an aggregate", "x = rate(sum(total))\ny = delta(avg(total) by (/./)) / 2\nz = rate(max(busy) " +
				"+ min(busy))", "",
			"x:0 change-of-aggregate y:0 change-of-aggregate z:0 change-of-aggregate",
		},
		{
			"change of other aggregates", "x = sum(matchinst(/a/, total))\ny = rescale(-derived.x * 2, \"count\")\n" +
				"z = rate(y)\n" +
				"a = delta(ncpu > 1 ? x : x + x)\nb = slope_sample(avg(total), \"1min\")", "",
			"z:0 change-of-aggregate a:0 change-of-aggregate b:0 change-of-aggregate",
		},
		{
			"aggregates of changes", "x = sum(rate(total))\ny = avg(delta(busy)) by (/./)\nz = rate(sum(idle))\n" +
				"a = rate(scalar(total))", "", "",
		},

		{
			"share in milliseconds", "x = 100 - rate(idle) / 10\ny = rate(busy) / 1000\nz = rate(busy) / 1000 * 100\n" +
				"a = 0.001 * avg(rate(busy))", "",
			"x:17 divided-rate-of-time y:11 divided-rate-of-time z:18 divided-rate-of-time a:6 divided-rate-of-time",
		},
		{
			"share in other units", "x = idle * 5\ny = rate(idle)\nz = (y + derived.y) / ncpu / 1000000\n" +
				"a = avg_sample(y, \"1min\") / k\n" +
				"k = 10000000\nb = (rate(cpu) > 0 ? rate(cpu) : 0) / 100 > 5\nc = rate(busy) / rate(total) / 1000", "",
			"z:23 divided-rate-of-time a:22 divided-rate-of-time b:32 divided-rate-of-time c:25 divided-rate-of-time",
		},
		{
			"share of a divided time", "x = rate(busy / 10)\ny = idle / 1000\nz = sum(rate(busy / 1000) * 100)\n" +
				"a = 1 - rate(derived.y)\nb = 100 * rate(y * 10)", "",
			"x:0 divided-rate-of-time z:22 divided-rate-of-time a:4 divided-rate-of-time",
		},
		{
			"share of another definition", "x = rate(idle) / 10\ny = x * 100 / ncpu\nz = x / ncpu\n" +
				"a = 100 * (2 - rate(idle) / 10) / ncpu", "", "a:22 divided-rate-of-time x:11 divided-rate-of-time",
		},
		{
			"shares", "x = 100 * rate(idle)\ny = rate(idle) * 100 / ncpu\nz = 1000 * rate(idle) / 10\na = rate(idle) / 4\n" +
				"b = rate(total) / 1000\nc = delta(idle) / 1000", "", "",
		},

		{
			"change over an age", "x = 100 * (rate(cpu) + rate(cpu)) / (sys.uptime - start)\ny = delta(total) / sys.uptime\n" +
				"age = sys.uptime - start\nz = avg(rate(cpu)) / max(age)\na = rate(cpu) / (age > mkconst(1, units=sec) " +
				"? age : 2 * age)", "",
			"x:30 change-over-age y:13 change-over-age z:15 change-over-age a:10 change-over-age",
		},
		{
			"what was counted over an age", "x = 100 * instant(cpu) / (sys.uptime - start)\ny = delta(cpu) / delta(idle)\n" +
				"z = rate(cpu) / latency\na = rate(cpu) / mkconst(5, units=sec)\n" +
				"b = (sys.uptime - start) * (rate(cpu))[a]", "", "",
		},

		{
			"different instances", "x = free * rss[a] / rss[b 1]\ny = rss[a]\nz = rss[b]\na = y - derived.z\n" +
				"b = y > 5 && z > 5\n" +
				"c = max(y, z)\nd = y > 5 ? z : y * 2\ne = (y + y)[b]", "",
			"x:14 different-instances a:2 different-instances b:6 different-instances c:0 different-instances " +
				"d:6 different-instances e:7 different-instances",
		},
		{
			"the same instance", "x = total[a] + 2 * total[a]\ny = total[a 1] - total[a]\nz = scalar(total[a]) " +
				"+ scalar(total[b])\n" +
				"a = sum(total[a]) / sum(total[b])\nb = ncpu > 1 ? total[a] : total[b]\nc = total > 5 ? total[a] : total[b]\n" +
				"d = default(rate(total[a]), rate(total[b])) + rate(total[b])", "", "",
		},
		{
			"instances of keys", "x = total[a]\ny = (matchinst(!/./, total, /^(.*)$/ -> x))[b]\n" +
				"z = (matchinst(/1/, total, x))[b]\na = (matchinst(/1/, x, total))[b]", "", "a:26 different-instances",
		},
		{
			"totals of buckets", "x = 2 * share_bucket(instant(total) / 2, 5)\ny = share_bucket(rate(total), 5)\nz = " +
				"share_bucket(total > 5, 5)\na = nth_percentile_bucket(sum(instant(total)) by (le=/x/), 50)",
			"", "x:4 bucket-totals a:0 bucket-totals",
		},
		{"counts between two times", `x = share_bucket(instant(total) - first_sample(instant(total), "1min"), 5)`, "", ""},
		{"instant of a level", "x = instant(free)", "", "x:0 instant-of-non-counter"},
		{"instant of a rate", "x = instant(rate(total))", "x:0 instant-of-non-counter", ""},
		{"instant of a counter", "x = instant(total)", "", ""},

		{
			"rounded", "x = rescale(free, \"Mbyte\")\ny = rescale(signed, \"Gbyte\") + rescale(free, \"byte\")", "",
			"x:0 rescale-rounds y:0 rescale-rounds",
		},
		{
			"rounded temperature", "x = rescale(ncpu * mkconst(1, units=\"temperature (C)\"), \"temperature (K)\")", "",
			"x:0 rescale-rounds",
		},
		{"not rounded", "x = rescale(1.0 * free, \"Mbyte\")\ny = rescale(free, \"byte\")\nz = rescale(speed, " +
			"\"Mbyte\")\na = rescale(single, \"Mbyte\")\nb = rescale(free, \"Kbyte\")", "", ""},

		{"name of a metric", "free = swap / 2", "", "free:-1 shadowed-name"},
		{"name above a metric", "free.half = swap / 2", "", ""},

		{"absent", "x = defined(nosuch) ? nosuch : free", "", "x:8 absent-operand"},
		{"absent and served", "x = defined(derived.nosuch) ? derived.nosuch : free", "", "x:8 absent-operand"},
		{"absent, which is an error", "x = nosuch", "", ""},
		{"type of anon", "x = anon(PM_TYPE_U32)", "", ""},

		{"in another definition", "x = swap > free\ny = x + 1", "", "x:5 compare-scale"},
		{"in a definition that is wrong", "x = free + ncpu * (node - 0 * ncpu)", "x:22 always-zero", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			offline := checked(t, row.text, nil)
			assert.Equal(t, row.want, strings.Join(offline, " "))
			online := checked(t, row.text, host())
			assert.ElementsMatch(t, append(strings.Fields(pairs(row.want)), strings.Fields(pairs(row.online))...),
				fieldsOf(online))
		})
	}
}

// pairs makes one word of a place and its code.
func pairs(text string) string {
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i += 2 {
		words[i/2] = words[i] + "/" + words[i+1]
	}
	return strings.Join(words[:len(words)/2], " ")
}

func fieldsOf(found []string) []string {
	all := make([]string, len(found))
	for i, f := range found {
		all[i] = strings.ReplaceAll(f, " ", "/")
	}
	return all
}

// A name that is almost that of a metric is told with it, whether it is guarded or not.
func TestSuggestions(t *testing.T) {
	o := Options{Catalog: host(), Root: "derived", Suggest: func(name string) string {
		if name == "fre" {
			return "free"
		}
		return ""
	}}
	var got []string
	for _, w := range Check(defined(t, "x = fre + swap\ny = defined(fre) ? fre : swap\nz = nosuch + 1"), o) {
		got = append(got, w.Definition.Name+" "+w.Message)
	}
	assert.Equal(t, []string{
		"x fre does not exist on this host; did you mean free?",
		"y fre does not exist on this host; did you mean free?",
	}, got)
}

// fakeHost is a host with two disks, three processes and no members of another domain.
type fakeHost struct{}

func (fakeHost) Instances(d pdu.InDom) []string {
	return map[pdu.InDom][]string{
		pdu.NewInDom(60, 1): {"sda", "sdb"}, pdu.NewInDom(60, 2): {"0001 /sbin/init", "0020 /bin/pmcd -f", "0021 pmcd"},
		pdu.NewInDom(60, 3): {},
		pdu.NewInDom(60, 5): {"one"}, pdu.NewInDom(60, 6): {"a", "b", "c", "d", "e"},
		pdu.NewInDom(60, 7): {"0 le:1", "1 le:+Inf"},
	}[d]
}

func (h fakeHost) HasInstance(d pdu.InDom, name string) bool {
	return slices.ContainsFunc(h.Instances(d),
		func(whole string) bool { return name == whole || strings.HasPrefix(whole, name+" ") })
}

// These warnings depend on the metrics and instances of the host.
func TestHost(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       string
	}{
		{"an instance", "x = total[sda]\ny = rss[0020]\nz = rss[0001 /sbin/init]\na = (total + total)[sdb]", ""},
		{
			"no such instance", "x = total[sdz]",
			"x:5 absent-instance: this host has no instance sdz of total: there are sda, sdb",
		},
		{
			"of an expression", "x = 2 * (total + total)[sdz]",
			"x:19 absent-instance: this host has no instance sdz of (total + total): there are sda, sdb",
		},
		{"a time", "x = " +
			"rate(total[5m])", `x:10 absent-instance: this host has no instance 5m of total: a window is an operand, as in avg_sample(rate(x), "5m")`},
		{"a time, of no counter", "x = " +
			"rss[90s]", `x:3 absent-instance: this host has no instance 90s of rss: a window is an operand, as in avg_sample(x, "90s")`},
		{"a time, of a singular metric", "x = " +
			"free[5m]", `x:4 absent-instance: free is singular: it has no instances, and no value here; a window is an operand, as in avg_sample(x, "5m")`},
		{"a time, of a singular counter", "x = " +
			"(sum(total))[5m]", `x:12 absent-instance: (sum(total)) is singular: it has no instances, and no value here; a window is an operand, as in avg_sample(rate(x), "5m")`},
		{
			"quotes", "x = total[\"sda\"]\ny = total['sdb']",
			`x:5 absent-instance: this host has no instance "sda" of total: write [sda], because quotes are part of the name` +
				"\ny:5 absent-instance: this host has no instance 'sdb' of total: write [sdb], because quotes are part " +
				"of the name",
		},
		{
			"quotes around nothing that is there", "x = total[\"sdz\"]",
			`x:5 absent-instance: this host has no instance "sdz" of total: there are sda, sdb`,
		},
		{"no instances", "x = gone[a]", "x:4 absent-instance: this host has no instance a of gone: there are none"},
		{
			"one instance, many", "x = one[two]\ny = five[two]",
			"x:3 absent-instance: this host has no instance two of one: there is one\n" +
				"y:4 absent-instance: this host has no instance two of five: there are 5, such as a, b, c, d",
		},
		{"instances that are not known", "x = unknown[a]\ny = matchinst(/a/, unknown)", ""},
		{
			"a singular metric", "x = free[a]\ny = 2 * matchinst(!/a/, free)",
			"x:4 absent-instance: free is singular: it has no instances, and no value here\n" +
				"y:15 matches-nothing: free is singular: it has no instances, and no value here",
		},

		{"a pattern", "x = matchinst(/^sd[ab]$/, total)\ny = matchinst(!/sda/, total)", ""},
		{
			"a pattern of nothing", "x = matchinst(/^nvme/, total)",
			"x:10 matches-nothing: this pattern matches no instance of total: there are sda, sdb",
		},
		{
			"of all, which are left out", "x = matchinst(!/sd/, total)",
			"x:11 matches-nothing: this pattern matches every instance of total, so none is left: there are sda, sdb",
		},
		{
			"behind the first blank", "x = sum(matchinst(/pmcd/, rss))",
			`x:14 matches-nothing: this pattern matches no instance of rss: only the part before the first blank of a name is matched, of "0020 /bin/pmcd -f" only "0020"`,
		},
		{"before the first blank", "x = sum(matchinst(/^00/, rss))\ny = sum(matchinst(!/pmcd/, rss))", ""},
		{"groups", "x = sum(five) by (/./)\nz = matchinst(/x/, x)\na = (x)[b]", ""},
		{"nothing to match", "x = matchinst(/a/, gone)", ""},

		{
			"of two subtrees", "x = mem.all - swap.all",
			"x:8 unsigned-difference: mem.all - swap.all is unsigned (type U64): a result below zero becomes a huge " +
				"number. For negative values multiply one side by 1.0",
		},
		{
			"through a definition", "y = mem.all / 2\nz = 2 * swap.all\nx = mem.all - z",
			"x:8 unsigned-difference: mem.all - z is unsigned (type U64): a result below zero becomes a huge number. " +
				"For negative values multiply one side by 1.0",
		},
		{"a part of a whole", "x = mem.all - mem.free\ny = mem.free\nz = mem.all - y\na = max(total) - min(total)", ""},
		{"a number", "x = 100 - procs\ny = procs - 1", ""},
		{"that has a sign", "x = 1.0 * mem.all - swap.all", ""},
		{"in two scales, a DOUBLE", "x = free - swap", ""},
		{"guarded", "x = mem.all > swap.all ? mem.all - swap.all : 0 * mem.all + mem.free", "x:42 always-zero"},
		{
			"guarded by what exists", "x = defined(mem.all) ? mem.all - swap.all : free",
			"x:27 unsigned-difference: mem.all - swap.all is unsigned (type U64): a result below zero becomes a huge " +
				"number. For negative values multiply one side by 1.0",
		},

		{
			"per change", "x = 100 / delta(total)\ny = free / sum(rate(total))",
			"x:4 zero-divisor: divides by delta(total), which is 0 when nothing has changed: the result is then not " +
				"finite, and not served. Use default() or ?: to give another value" +
				"\ny:5 zero-divisor: divides by sum(rate(total)), which is 0 when nothing has changed: the result is " +
				"then not finite, and not served. Use default() or ?: to give another value",
		},
		{
			"per change by another name", "y = 100 * rate(total)\nx = 2 * (free / derived.y)",
			"x:10 zero-divisor: divides by derived.y, which is 0 when nothing has changed: the result is then not " +
				"finite, and not served. Use default() or ?: to give another value",
		},
		{"two changes, 0 for 0", "x = delta(busy) / delta(total)\ny = rate(total)\nz = y / delta(total)", ""},
		{
			"instances that are no buckets", "x = share_bucket(delta(total), 5) by (/(.)/)",
			"x:13 no-buckets: no name of an instance has a bound: there are sda, sdb",
		},
		{
			"buckets", "x = share_bucket(buckets, 5)\ny = share_bucket(sum(delta(total)) by (le=/(.)/), 5)\n" +
				"z = share_bucket(unknown, 5)\na = share_bucket(gone, 5)", "",
		},
		{"never 0", "x = 100 / (delta(total) + 1)\ny = 100 / ncpu\nz = free / swap", ""},
		{"guarded change", "x = delta(total) == 0 ? 0.0 / 1 : 100 / delta(total)", "x:20 always-zero"},
		{
			"what is finite", "x = free / delta(total) > 2\ny = !(free / sum(delta(total)))\nz = count(free / " +
				"delta(total))\na = 2 / (free / delta(total))\n" +
				"b = ncpu && free / sum(rate(total))\nc = free / sum(rate(total)) ? 1 : 2\nd = 0 / delta(total)",
			"d:0 always-zero",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var found []string
			for _, w := range Check(defined(t, row.text), Options{Catalog: host(), Root: "derived", Host: fakeHost{}}) {
				text := fmt.Sprintf("%s:%d %s", w.Definition.Name, w.Offset, w.Code)
				switch w.Code {
				case UnsignedDiff, ZeroDivisor, AbsentInstance, MatchesNothing, NoBuckets:
					text += ": " + w.Message
				}
				found = append(found, text)
			}
			assert.Equal(t, row.want, strings.Join(found, "\n"))
		})
	}
}

// A definition with very many mistakes has few warnings, and is checked quickly.
func TestLargeDefinitions(t *testing.T) {
	start := time.Now()
	deep := strings.Repeat("(ncpu && ", 3000) + "procs" + strings.Repeat(")", 3000)
	wide := "ncpu" + strings.Repeat(" || procs && ncpu", 4_000)
	guards := "defined(free) ? " + deep + " : 0"
	found := checked(t, "deep = "+deep+"\nwide = "+wide+"\nguards = "+guards, host())
	assert.Len(t, found, maxWarnings+1)
	assert.Less(t, time.Since(start), 30*time.Second)
}

// Warnings about each part of a long expression cost no more than its text: they quote its beginning.
func TestQuotedBeginning(t *testing.T) {
	growth.Check(t, 1000, func(n int) func() {
		defs := defined(t, "x = "+strings.Repeat("(", n)+"total"+strings.Repeat(")[sdz]", n))
		o := Options{Catalog: host(), Root: "derived", Host: fakeHost{}}
		return func() { assert.NotEmpty(t, Check(defs, o)) }
	})
}

// The check of definitions that use each other ends: the tree of the last one has 2^200 nodes.
func TestChains(t *testing.T) {
	const n = 200
	var text strings.Builder
	text.WriteString("c0 = rate(total)\n")
	for i := range n {
		fmt.Fprintf(&text, "c%d = c%d + c%[2]d\n", i+1, i)
	}
	fmt.Fprintf(&text, "last = ncpu / c%d\n", n)
	assert.Equal(t, []string{"last:5 zero-divisor"}, checked(t, text.String(), host()))
}

func TestCodesAreDistinct(t *testing.T) {
	seen := map[Code]bool{}
	for _, c := range Codes() {
		assert.False(t, seen[c], c)
		seen[c] = true
	}
}
