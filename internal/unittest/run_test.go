package unittest

import (
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Two histograms, of which the first one is reset at the third sample, and the other one is not.
const (
	histograms = "metric h U64 counter none 60.9\n " +
		`indom 60.9 "0 le:1 r:a" "1 le:2 r:a" "2 le:+Inf r:a" "3 le:1 r:b" "4 le:+Inf r:b"` + "\n " +
		"given h[0 le:1 r:a] 10 12 1 2\n given h[1 le:2 r:a] 20 24 30 33\n given h[2 le:+Inf r:a] 20 24 40 44\n "
	other   = "given h[3 le:1 r:b] 10 11 13 14\n given h[4 le:+Inf r:b] 10 12 16 20\n "
	noOther = "given h[3 le:1 r:b] _x4\n given h[4 le:+Inf r:b] _x4\n "
)

// Definitions behave as with the agent: each row is a file that passes.
func TestPasses(t *testing.T) {
	for _, row := range []struct{ name, definition, test string }{
		{"a single number", "x = free / physmem", "given physmem 1000...\n given free 250 500\n expect x 0.25 0.5"},
		{"served name", "x = ncpu", "given ncpu 4\n expect derived.x 4"},
		{
			"rates begin with the second sample", "x = rate(total)",
			"interval 10s\n given total[sda] 0+100x4\n expect x[sda] _ 10x3",
		},
		{
			"rates know the times", "x = rate(total)",
			"times 0 10 30 31\n given total[sda] 0+100x4\n expect x[sda] _ 10 5 100",
		},
		{
			"a change since the sample before", "x = delta(total)",
			"given total[sda] 5 7 7 107\n expect x[sda] _ 2 0 100",
		},
		{"change of a change", "x = delta(delta(free))", "given free 0 1 3 6\n expect x _ _ 1 1"},
		{
			"what is born counts from 0", "x = increase(total)",
			"given total[sda] 5 8 8 20\n given total[sdb] _ _ 3 4\n expect x[sda] _ 3 0 12\n expect x[sdb] _ _ 3 1",
		},
		{"what was reset counts from 0", "x = increase(reads)", "given reads[sda] 4294967295 4 14\n expect x[sda] _ 4 10"},
		{
			"what is below 0 does not count from there", "x = increase(h)",
			"metric h 32 counter none 60.9\n indom 60.9 a b\n given h[a] 2147483640 -2147483648 -2147483640\n given h[b] _ -3 1\n " +
				"expect x[a] _ _ 8\n expect x[b] _ _ 4",
		},
		{
			"what comes back does not", "x = increase(total)",
			"given total[sda] 1...\n given total[sdb] _ 3 _ 2 9\n expect x[sda] _ 0x4\n expect x[sdb] _ 3 _ _ 7",
		},
		{
			"the client was not there when it came back", "x = increase(total)",
			"given total[sda] 1x5\n given total[sdb] 2 3 _ 9 12\n fetches 1 3 4\n expect x[sda] _ 0x2\n expect x[sdb] _ _ 3",
		},
		{
			"the client was not there when it was born", "x = increase(total)",
			"given total[sda] 1x4\n given total[sdb] _ 3 _ 9\n given total[md 0] _ 3 5 6\n fetches 0 3\n expect x[sda] _ 0\n" +
				" expect x[sdb] _ _\n expect x[md 0] _ 6",
		},
		{
			"nothing is born after an error", "x = increase(total)",
			"given total[sda] 1 _ 2 4\n given total[sdb] _ _ 3 5\n given total _ PM_ERR_AGAIN _ _\n" +
				" fetches 0 2 3\n expect x[sda] _ 1 2\n expect x[sdb] _ _ 2",
		},
		{
			"nothing is born where there was nothing", "x = increase(total)",
			"given total[sda] _ 2 4\n expect x[sda] _ _ 2",
		},
		{
			"nothing is born after a pause", "x = increase(total)",
			"times 0 10 20 51 60\n given total[sda] 1x5\n given total[sdb] _ _ _ 3 4\n given total[md 0] _ _ 3 4 4\n" +
				" expect x[sda] _ 0x4\n expect x[sdb] _ _ _ _ 1\n expect x[md 0] _ _ 3 1 0",
		},
		{
			"births are those of the metric", "x = increase(total[sdb])\ny = sum(increase(matchinst(/^sdb/, total)))",
			"given total[sda] 1x3\n given total[sdb] _ 3 5\n expect x[sdb] _ 3 2\n expect y _ 3 2",
		},
		{
			"changes from tick to tick", `x = sum_sample(increase(total), "3s")`,
			"given total[sda] 1 4 2 2 3\n given total[sdb] _ 3 4 4 4\n expect x[sda] * 3 5 5 3\n" +
				" expect x[sdb] * 3 4 4 1",
		},
		{
			"a histogram of which a bucket was reset counts from 0", "x = share_bucket(increase(h), 1)\n" +
				`y = share_bucket(sum_sample(increase(h), "2s"), 1)`,
			histograms + noOther + "expect x _ 0.5 0.025 0.25\n expect y * 0.5 0.06818181818 0.04545454545",
		},
		{
			"and no other one", "x = share_bucket(increase(h), 1) by (/r:(.)/)", histograms + other +
				"expect x[a] _ 0.5 0.025 0.25\n expect x[b] _ 0.5 0.5 0.25",
		},
		{
			"but not where nobody knows which buckets belong together",
			"x = share_bucket(sum(increase(h)) by (le=/le:([^ ]*)/), 1)", histograms + other + "expect x _ 0.5 _ 0.25",
		},
		{
			"a histogram that is born, and added to another one",
			"x = nth_percentile_bucket(sum(increase(h)) by (le=/le:([^ ]*)/), 50)",
			"metric h U64 counter none 60.9\n indom 60.9 \"0 le:1 r:a\" \"1 le:2 r:a\" \"2 le:+Inf r:a\" \"3 le:1 r:b\" " +
				"\"4 le:2 r:b\" \"5 le:+Inf r:b\"\n given h[0 le:1 r:a] 10 20\n given h[1 le:2 r:a] 10 20\n " +
				"given h[2 le:+Inf r:a] 10 20\n given h[3 le:1 r:b] _ 0\n given h[4 le:2 r:b] _ 40\n " +
				"given h[5 le:+Inf r:b] _ 40\n expect x _ 1.375",
		},
		{
			"a histogram that is born", "x = share_bucket(increase(h), 1) by (/r:(.)/)", histograms +
				"given h[3 le:1 r:b] _ 3 4 4\n given h[4 le:+Inf r:b] _ 4 8 9\n expect x[a] *x4\n expect x[b] _ 0.75 0.25 0",
		},
		{
			"and added, while another one of the metric is reset",
			"x = share_bucket(sum(increase(h)) by (le=/le:([^ ]*)/, r=/r:(.)/), 1) by (label(r))\n" +
				"y = share_bucket(sum(increase(matchinst(/s:q/, h, /.*/))) by (le=/le:([^ ]*)/), 1)\n" +
				`z = share_bucket(sum_sample(sum(increase(h)) by (le=/le:([^ ]*)/, r=/r:(.)/), "2s"), 1) by (label(r))`,
			"metric h U64 counter none 60.9\n indom 60.9 \"0 le:1 r:a s:p\" \"1 le:+Inf r:a s:p\" \"2 le:1 r:b s:p\" " +
				"\"3 le:+Inf r:b s:p\" \"4 le:1 r:b s:q\" \"5 le:+Inf r:b s:q\"\n given h[0 le:1 r:a s:p] 10 2 3\n " +
				"given h[1 le:+Inf r:a s:p] 20 4 8\n given h[2 le:1 r:b s:p] 10 11 12\n given h[3 le:+Inf r:b s:p] 10 12 14\n " +
				"given h[4 le:1 r:b s:q] _ 3 3\n given h[5 le:+Inf r:b s:q] _ 4 8\n " +
				"expect x[a] _ _ 0.25\n expect x[b] _ 0.66666666667 0.16666666667\n expect y _ 0.75 0\n " +
				"expect z[a] * _ 0.25\n expect z[b] * 0.66666666667 0.41666666667",
		},
		{"a definition that is only a name", "n = total\nx = increase(n)", "given total[sda] 1 4\n expect x[sda] _ 3"},
		{"the time", "x = now()", "times 0 10.5\n expect x 0 10.5"},
		{
			"the time that the test sets", "x = now() - temp * mkconst(1, units=sec)\ny = max_sample(now(), \"2s\")",
			"start 1764000000.25\n given temp 1764000000 0\n expect x 0.25 1764000001.25\n " +
				"expect y 1764000000.25 1764000001.25",
		},
		{"a counter that wraps", "x = rate(reads)", "given reads[sda] 4294967295 4 14\n expect x[sda] _ _ 10"},
		{"a counter that starts again", "x = rate(total)", "given total[sda] 100 10 20\n expect x[sda] _ _ 10"},
		{
			"instances come and go", "x = rate(total)",
			"given total[sda] 0+1x4\n given total[sdb] _ 0 1 _\n expect x[sda] _ 1x3\n expect x[sdb] _ _ 1 _",
		},
		{
			"instances are joined by name", "x = total + reads",
			"given total 1...\n given reads[sdb] 5\n expect x[sdb] 6",
		},
		{
			"all instances alike", "x = total",
			"given total 1 2\n given total[md 0] _ 7\n expect x 1 2\n expect x[md 0] _ 7",
		},
		{"selected instance", "x = load[5 minute]", "given load 1\n given load[5 minute] 2\n expect x[5 minute] 2"},
		{"pattern", "x = count(matchinst(/^sd/, total))", "given total 1\n expect x 2"},
		{"negated pattern", "x = matchinst(!/^sd/, total)", "given total 1\n expect x[md 0] 1"},
		{"aggregates of nothing", "x = sum(total)\ny = max(total)", "given total _\n expect x 0\n expect y _"},
		{"scalar", "x = scalar(total[sdb])", "given total[sdb] 7\n expect x 7"},
		{"an error is passed on", "x = ncpu + 1", "given ncpu 1 PM_ERR_AGAIN 3\n expect x 2 PM_ERR_AGAIN 4"},
		{"an error of a set", "x = total", "given total[sda] 1 2\n given total[sdb] 3 4\n given total _ " +
			"PM_ERR_PMDANOTREADY\n" +
			" expect x[sda] 1 _\n expect x[sdb] 3 _\n expect x _ PM_ERR_PMDANOTREADY"},
		{"not given", "x = ncpu", "expect x _"},
		{"not given, a set", "x = total", "expect x _"},
		{"text", "x = node", `given node "moss" _` + "\n" + ` expect x "moss" _`},
		{"bytes", "x = blob", "given blob [00ff]\n expect x [00ff]"},
		{"infinity", "x = ncpu / 0\ny = temp", "given ncpu 1\n given temp nan\n expect x inf\n expect y nan"},
		{
			"infinities given", "x = temp\ny = load",
			"given temp inf -inf\n given load -inf...\n expect x inf -inf\n expect y -inf...",
		},
		{
			"extreme numbers", "x = low\ny = wide\nz = physmem",
			"given low -2147483648 2147483647\n given wide -9223372036854775808 9223372036854775807\n" +
				" given physmem 0 18446744073709551615\n expect x -2147483648 2147483647\n expect y -9223372036854775808 " +
				"9223372036854775807\n expect z 0 18446744073709551615",
		},
		{"what a float loses", "x = load", "given load 0.1\n expect x 0.1"},
		{"what a double loses", "x = temp * 3", "given temp 0.1\n expect x 0.3"},
		{"tolerance", "x = 100 * temp / 3", "given temp 1\n expect x 33.3~0.1"},
		{"tolerance of whole numbers", "x = ncpu", "given ncpu 5\n expect x 4~1"},
		{"anything", "x = total", "given total 1 2\n expect x *...\n expect x[sda] 1 *"},
		{"samples that nobody looks at", "x = ncpu", "interval 5\n given ncpu 0+1x9\n expect x @20s 4 @30s 6"},
		{"no such metric", "x = defined(free) ? free : novalue(type=u64)", "without free\n expect x _"},
		{"metric of the test alone", "x = extra", "metric extra 32 instant\n given extra 1\n expect x 1"},
		{"metric of the test instead", "x = ncpu", "metric ncpu STRING instant\n given ncpu \"1\"\n expect x \"1\""},
		{"instances of the test instead", "x = total", "indom 60.1 vda\n given total[vda] 1\n expect x[vda] 1"},
		{"metadata", "x = rate(total)", "metadata x DOUBLE instant count / sec 60.1"},
		{
			"metadata of a single number", "x = free",
			"metadata x U64 instant Kbyte singular\n metadata derived.x u64 INSTANT Kbyte",
		},
		{
			"labels", "x = free\nx(labels) = {\"team\":\"a b\", \"tier\":1}\ny = free\nz = free\nz(labels) = {}",
			"metadata x U64 instant Kbyte {\"tier\": 1, \"team\": \"a b\"} # a comment\n metadata x U64 instant Kbyte " +
				"singular\n metadata y U64 instant Kbyte singular {}\n metadata z U64 instant Kbyte {}",
		},
		{"any error", "x = nosuch", "error x"},
		{"error", "x = total + free", "error x \"Illegal operator for counter and non-counter\""},
		{"no descriptor", "x = gone", "error x \"Metadata for operand metric not available\""},
		{"constant over a domain", "x = mkconst(1, indom=60.1)", "expect x 1"},
		{
			"members are those with values", "x = mkconst(1, indom=60.1)",
			"given total[sda] 1 1\n given reads[sdb] 1 _\n expect x[sda] 1 1\n expect x[sdb] 1 _",
		},
		{
			"groups by name", "x = sum(total) by (kind=/^(sd|md)/)",
			"given total[sda] 1 5 _\n given total[sdb] 2 5 _\n given total[md 0] 7 _ 1\n expect x[sd] 3 10 _\n " +
				"expect x[md] 7 _ 1",
		},
		{
			"groups that are all alike", "x = count(total) by (/^(..)/)",
			"given total[sda] 1\n given total[md 0] 7\n expect x 1",
		},
		{"groups by a metric", "x = sum(total) by (reads)", "given total 1 2\n given reads 5 _\n expect x[5] 3 _"},
		{
			"groups by a label", "x = sum(total) by (label(kind))\ny = total / sum(total) by (label(kind))",
			"metric total U64 instant 60.1\n indom 60.1 sda sdb \"md 0\"\n label 60.1 kind disk \"hard disk\" disk\n " +
				"label 60.1 other _ x\n" +
				" given total[sda] 1\n given total[sdb] 2\n given total[md 0] 3\n expect x[disk] 4\n expect " +
				"x[hard_disk] 2\n expect y[sda] 0.25\n expect y[sdb] 1\n expect y[md 0] 0.75",
		},
		{
			"groups by what is looked up", "x = sum(total) by (disk=/^(..)/ -> mounted by (/^.dev.(..)/))\n" +
				"y = matchinst(/^b$/, total, label(id) -> mounted)",
			"metric total U64 instant 60.1\n indom 60.1 sda sdb \"md 0\"\n label 60.1 id 7 7 8\n " +
				"metric mounted STRING discrete 60.8\n indom 60.8 \"/dev/sd\" \"/dev/md\" 7 \"8 old\"\n " +
				"given total[sda] 1...\n given total[sdb] 2...\n given total[md 0] 3...\n given mounted[/dev/sd] \"a\" \"b\" _\n " +
				"given mounted[/dev/md] \"b\"...\n given mounted[7] \"b\" \"b\" \"a\"\n given mounted[8 old] \"a\" \"a\" \"b\"\n " +
				"expect x[a] 3 _ _\n expect x[b] 3 6 3\n expect y[sda] 1 1 _\n expect y[sdb] 2 2 _\n expect y[md 0] _ _ 3",
		},
		{
			"an error of what is looked up", "x = sum(total) by (/^(.)/ -> load)\ny = sum(total)",
			"metric load U32 instant 60.2\n given total 1 1\n given load PM_ERR_AGAIN 1\n expect x PM_ERR_AGAIN _\n expect y 3 3",
		},
		{
			"an error of groups", "x = sum(total) by (reads)",
			"given total 1\n given reads PM_ERR_AGAIN\n expect x PM_ERR_AGAIN",
		},
		{"the largest of a window", `x = max_sample(ncpu, "3s")`, "given ncpu 1 5 2 3 1 4\n expect x 1 5 5 5 3 4"},
		{"each function of a window", `a = min_sample(ncpu, "3s")
b = avg_sample(ncpu, "3s")
c = sum_sample(ncpu, "3s")
d = count_sample(ncpu, "3s")
e = stdev_sample(ncpu, "3s")
f = first_sample(ncpu, "3s")
g = last_sample(ncpu, "3s")`, "given ncpu 9 1 4 1\n fetches 3s\n expect a 1\n expect b 2\n expect c 6\n expect d 3\n expect e 1.41421356~1e-8\n expect f 1\n expect g 1"},
		{"percentiles of a window", "x = nth_percentile_sample(ncpu, 50, \"3s\")\ny = nth_percentile_sample(ncpu, " +
			"100, \"3s\")", "given ncpu 1 5 2 3 1 4\n expect x 1 1 2 3 2 3\n expect y 1 5 5 5 3 4"},
		{
			"percentiles of buckets, of a window and in one", "x = nth_percentile_bucket(delta(hits), 50, \"sec\")\n" +
				"y = nth_percentile_bucket(sum_sample(delta(hits), \"2s\"), 50)\n" +
				"z = max_sample(share_bucket(delta(hits), 0.5), \"2s\")\nw = share_bucket(rate(hits), 1) by (label(kind))",
			"metric hits U64 counter 60.9\n indom 60.9 a b c\n label 60.9 le 0.5 1 +Inf\n label 60.9 kind k k k\n " +
				"given hits[a] 0 1 3 3\n given hits[b] 0 3 5 5\n given hits[c] 0 4 8 8\n expect x _ 0.75 0.5 _\n " +
				"expect y PM_ERR_AGAIN 0.75 0.75 0.5\n expect z * 0.25 0.5 0.5\n expect w[k] _ 0.75 0.5 _\n " +
				"metadata x DOUBLE instant sec",
		},
		{
			"a latch", `x = latch(ncpu > 90, ncpu < 70)`,
			"given ncpu 80 95 89 91 70 69 80 _ 95 _ 80\n expect x 0 1 1 1 1 0 0 0 1 1 1",
		},
		{
			"a latch of windows", `x = latch(min_sample(total, "3s") > 90, max_sample(total, "2s") < 70)`,
			"metric total U64 instant 60.1\n given total[sda] 91 92 93 60 91 69 60\n " +
				"given total[sdb] 91 92 60 91 92 93 94\n expect x[sda] 1 1 1 1 1 1 0\n expect x[sdb] 1...",
		},
		{
			"a latch of an instance that goes", `x = latch(total > 90, total < 70)`,
			"metric total U64 instant 60.1\n given total[sda] 95 80 _ 80 95\n given total[sdb] 80...\n " +
				"expect x[sda] 1 1 _ 0 1\n expect x[sdb] 0...",
		},
		{
			"a latch with an interval, of rates", `x = latch(rate(total) > 5, rate(total) < 2, "2s")`,
			"given total[sda] 0 50 52 52 53 99 99\n expect x[sda] _ _ 1 1 0 0 1",
		},
		{
			"slopes of a window", `x = slope_sample(ncpu, "6s", "2s")`,
			"interval 2\n given ncpu 10 20 40 80 _ 100\n expect x _ 5 7.5 15 20 5",
		},
		{
			"what a slope foretells", "x = free + slope_sample(free, \"3s\") * mkconst(4, units=\"min\")\ny = " +
				"slope_sample(busy, \"3s\")",
			"metric busy U64 instant millisec\n given free 10 20 20\n given busy 0 500 1000\n expect x _ 2420 1220\n " +
				"expect y _ 0.5 0.5",
		},
		{
			"a window with an interval", `x = sum_sample(ncpu, "4s", "2s")`,
			"given ncpu 1 20 3 40 5 60 7\n expect x 1 1 4 4 8 8 12",
		},
		{
			"a long window has a sample each ten seconds", `x = count_sample(ncpu, "6min")`,
			"interval 5\n given ncpu 1x5\n expect x 1 1 2 2 3",
		},
		{
			"a window with samples that are late", `x = count_sample(ncpu, "6min")`,
			"times 0 9.99s 19.98s 21s 29.99s 40s\n given ncpu 1x6\n expect x 1 1 2 3 3 4",
		},
		{
			"a window of rates", `x = max_sample(rate(total), "2s")`,
			"given total[sda] 0 10 40 50 60\n expect x[sda] PM_ERR_AGAIN 10 30 30 10",
		},
		{
			"a window whose newest value is not finite", `x = max_sample(temp, "9s")
y = sum_sample(ncpu / total, "9s")
z = min_sample(temp)`,
			`metric total U64 instant 60.1
 given temp 1 2 nan inf nan nan nan
 given ncpu 1...
 given total[sda] 1 1 0...
 given total[sdb] 1...
 expect x 1 2 2 2 2 2 2
 expect y[sda] 1 2 2 2 2 2 2
 expect y[sdb] 1 2 3 4 5 6 7
 expect z 1 2 _...`,
		},
		{
			"a window of what is empty", `x = max_sample(total, "3s")
y = sum_sample(max(total), "3s")
z = count_sample(topk_inst(total, 1))
u = sum_sample(rate(reads), "3s")`,
			`metric total U64 instant 60.1
 given total[sda] _ _ _ _ _ 5 _ _ _ _ _
 expect x[sda] _ _ _ _ _ 5 _ _ _ _ _
 expect y _ _ _ _ _ 5 5 5 _ _ _
 expect z[sda] _ _ _ _ _ 1 _ _ _ _ _
 expect u PM_ERR_AGAIN _x10`,
		},
		{
			"a counter that goes back in a window", `a = sum_sample(delta(total), "9s")
b = max_sample(delta(total) / 2, "9s")
c = sum_sample(sum(delta(total)) by (/^(sd|md)/), "9s")
d = sum_sample(delta(total))
e = sum_sample(delta(sum(total)), "9s")
f = min_sample(delta(instant(total)), "9s")
g = min_sample(delta(reads), "9s")
h = sum_sample(rate(total), "9s")
i = delta(total)
j = sum_sample(i, "9s")`,
			`fetches 1s 2s 3s 4s
 given total[sda] 100 110 5 25 30
 given total[sdb] 0+1x5
 given reads[sda] 4294967290 4294967295 4 14 15
 expect a[sda] 10 10 30 35
 expect a[sdb] 1 2 3 4
 expect b[sda] 5 5 10 10
 expect b[sdb] 0.5...
 expect c[sd] 11 12 33 39
 expect d[sda] 10 _ 20 5
 expect d[sdb] 1 1 1 1
 expect e 11 11 32 38
 expect f[sda] 10 -105 -105 -105
 expect f[sdb] 1 1 1 1
 expect g[sda] 5 5 5 1
 expect h[sda] 10 10 30 35
 expect h[sdb] 1 2 3 4
 expect i[sda] _ -105 20 5
 expect i[sdb] _ 1 1 1
 expect j[sda] 10 10 30 35
 expect j[sdb] 1 2 3 4`,
		},
		{
			"all counters of an agent that restarts in a window", `a = min_sample(sum(rate(total)), "9s")
b = avg_sample(sum(delta(total)), "9s")
c = count_sample(count(delta(total)), "9s")
d = min_sample(sum(matchinst(/sda/, rate(total))), "9s")
e = min_sample(sum(delta(reads) / 2), "9s")`,
			`fetches 1s 2s 3s
 given total[sda] 100 110 5 15
 given total[sdb] 100 110 6 16
 given reads[sda] 100 110 5 15
 expect a 20...
 expect b 20...
 expect c 1 1 2
 expect d 10...
 expect e 5...`,
		},
		{
			"a total of windows in which no value counts", `a = sum(max_sample(await / await, "2s"))
b = count(max_sample(await / await, "2s"))
c = sum(max_sample(matchinst(/none/, await), "2s"))
d = sum(max_sample(max(await / await) by (/(.)/), "2s"))`,
			`metric await U32 instant 60.1
 given await[sda] 0 1 0 0 1
 expect a _ 1 1 _ 1
 expect b _ 1 1 _ 1
 expect c 0 0 0 0 0
 expect d _ 1 1 _ 1`,
		},
		{
			"seconds without requests do not count in a window", `await = delta(reads) / delta(total)
a = avg_sample(await, "9s")
b = nth_percentile_sample(await, 50, "9s")
c = min_sample(max(await), "9s")
d = max_sample(await > 1, "9s")
e = avg_sample(default(await, 0), "9s")
f = avg_sample(await)
g = count_sample(0 / (temp - temp), "9s")
h = min_sample((0 - temp) / temp + 1 / temp, "9s")
i = count_sample(temp + 0 / 0, "9s")
j = temp + 0 / 0
k = min_sample(sum(await), "9s")
l = min_sample(temp / (delta(ncpu) - delta(ncpu)), "9s")`,
			`fetches 1s 2s 3s 4s 5s
 given reads[sda] 0 6 6 6 6 8
 given total[sda] 0 2 2 2 2 4
 given reads[sdb] 0...
 given total[sdb] 0...
 given temp 1...
 given ncpu 1...
 expect await[sda] _ 0 0 0 1
 expect await[sdb] _ 0 0 0 0
 expect a[sda] 3 3 3 3 2
 expect b[sda] 3 3 3 3 1
 expect c 3 3 3 3 1
 expect d[sda] 1 1 1 1 1
 expect e[sda] 1.5 1 0.75 0.6 0.666666667
 expect e[sdb] 0 0 0 0 0
 expect f[sda] 3 _ _ _ 1
 expect g _...
 expect h 0...
 expect i _...
 expect j 1...
 expect k 3 3 3 3 1
 expect l _...`,
		},
		{"a client that fetches seldom", `x = max_sample(ncpu, "10s")
y = delta(reads)`, "given ncpu 1x4 8 1x5 2\n given reads[sda] 0+1x11\n fetches 4s 10s\n expect x 8 8\n expect y[sda] _ 6"},
		{
			"a window with gaps", `x = sum_sample(ncpu, "3s")`,
			"given ncpu 1 2 PM_ERR_AGAIN PM_ERR_AGAIN 4 5\n expect x 1 3 3 3 4 9",
		},
		{
			"a window that sees nothing for long", `x = sum_sample(ncpu, "10s")`,
			"given ncpu 1 PM_ERR_NOAGENT PM_ERR_NOAGENT PM_ERR_NOAGENT PM_ERR_NOAGENT 2\n expect x 1 1 1 1 " +
				"PM_ERR_NOAGENT 3",
		},
		{
			"a change across a gap", `x = sum_sample(delta(reads), "10s")`,
			"given reads[sda] 0 1 3 _ 6 10\n given reads _x3 PM_ERR_AGAIN _x2\n expect x[sda] _ 1 3 3 6 10\n expect " +
				"x PM_ERR_AGAIN _x5",
		},
		{
			"a window has the instances of now", `x = count_sample(instant(total), "5s")`,
			"given total[sda] 1 1 _ 1\n given total[sdb] _ 1 1 1\n expect x[sda] 1 2 _ 3\n expect x[sdb] _ 1 2 3",
		},
		{
			"a window of groups has those of all of it", `x = sum_sample(sum(instant(total)) by (/^(sd|md)/), "3s")`,
			"given total[sda] 1 1 _ _ _\n given total[md 0] 1...\n expect x[sd] 1 2 2 1 _\n expect x[md] 1 2 3 3 3",
		},
		{
			"groups and their window", `x = instant(total) / max_sample(sum(instant(total)) by (/^(sd|md)/), "3s")`,
			"given total[sda] 4 1\n given total[sdb] 4 3\n expect x[sda] 0.5 0.125\n expect x[sdb] 0.5 0.375",
		},
		{
			"with values of now", "x = 100 * ncpu / max_sample(ncpu, \"5s\")\ny = x + 1",
			"given ncpu 4 2 1\n expect x 100 50 25\n expect y 101 51 26",
		},
		{
			"a value where a window has none", `x = default(max_sample(rate(total), "2s"), 7)`,
			"given total[sda] 0 10\n expect x[sda] PM_ERR_AGAIN 10",
		},
		{"without a window it is since the last fetch", "x = max_sample(ncpu)\ny = sum_sample(ncpu)\nz = " +
			"count_sample(ncpu)", "given ncpu 1 7 2 3 5 4 1\n fetches 1s 3s 6s\n expect x 7 3 5\n expect y 8 5 10\n " +
			"expect z 2 2 3"},
		{"at each sample", "x = max_sample(ncpu)", "given ncpu 1 7 2 3\n expect x 1 7 2 3"},
		{
			"nothing new since the last fetch", "x = max_sample(ncpu)\ny = sum_sample(ncpu)\nz = count_sample(ncpu)",
			"interval 500ms\n given ncpu 1 2 3 4\n expect x 1 1 3 3\n expect y 1 _ 3 _\n expect z 1 0 1 0",
		},
		{
			"the first fetch has the ten seconds before", "x = count_sample(ncpu)",
			"given ncpu 1x20\n fetches 14s 19s\n expect x 10 5",
		},
		{
			"what adds up", "x = sum_sample(delta(total))",
			"given total[sda] 0+1x20\n fetches 4s 5s 9s 19s\n expect x[sda] 4 1 4 10",
		},
		{"with a gap", "x = sum_sample(ncpu)", "given ncpu 1 2 PM_ERR_AGAIN PM_ERR_AGAIN 5 6\n expect x 1 2 _ _ 5 6"},
		{"with a long gap", "x = max_sample(ncpu)", "given ncpu 1 PM_ERR_NOAGENT PM_ERR_NOAGENT PM_ERR_NOAGENT " +
			"PM_ERR_NOAGENT 5\n expect x 1 1 1 1 PM_ERR_NOAGENT 5"},
		{
			"instances that come and go since the last fetch", "x = count_sample(instant(total))",
			"given total[sda] 1 1 _ 1\n given total[sdb] _ 1 1 1\n fetches 0 2s 3s\n expect x[sda] 1 _ 1\n expect " +
				"x[sdb] _ 2 1",
		},
		{
			"groups since the last fetch", "x = sum_sample(sum(instant(total)) by (/^(sd|md)/))",
			"given total[sda] 1 1 _ _\n given total[md 0] 1...\n fetches 0 2s 3s\n expect x[sd] 1 1 _\n expect x[md] " +
				"1 2 1",
		},
		{
			"a window of a constant", `x = sum_sample(mkconst(2, type=u32), "3s")`,
			"given ncpu 1 1 1 1\n expect x 2 4 6 6",
		},
		{
			"metadata of windows", "x = max_sample(rate(total), \"1min\")\ny = count_sample(free, \"1min\")\nz = " +
				"sum_sample(free, \"1min\")",
			"metadata x DOUBLE instant count / sec 60.1\n metadata y U32 instant count singular\n metadata z DOUBLE " +
				"instant Kbyte singular",
		},
		{"other definitions", "x = y + 1\ny = ncpu", "given ncpu 1\n expect x 2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Empty(t, outcome(t, row.definition+"\n", host+"test a\n "+row.test+"\n"))
		})
	}
}

// Idle seconds do not count in windows of the ratios that are shipped.
func TestShippedRatiosInWindows(t *testing.T) {
	text, err := os.ReadFile("../../conf/host-disk.conf")
	require.NoError(t, err)
	assert.Empty(t, outcome(t, string(text)+`
a = avg_sample(host.disk.await, "9s")
b = min_sample(host.disk.slowest, "9s")
c = min_sample(host.disk.request_size, "9s")
`, `metric disk.dev.total U64 counter count 60.1
metric disk.dev.total_bytes U64 counter Kbyte 60.1
metric disk.dev.total_rawactive U32 counter millisec 60.1
indom 60.1 sda
test a
 fetches 1s 2s 3s 4s
 given disk.dev.total 0 2 2 2 4
 given disk.dev.total_bytes 0 16 16 16 20
 given disk.dev.total_rawactive 0 6 6 7 9
 expect host.disk.await _ 0 0 1
 expect a 3 3 3 2
 expect b 3 3 3 1
 expect c 8 8 8 2`))
}

// Failures show what differs. Line 17 is the first of the test.
func TestFails(t *testing.T) {
	for _, row := range []struct{ name, definition, test, want string }{
		{"wrong value", "x = ncpu", "given ncpu 1 2 3\n expect x 1 5 3", `18:9: expect x
        expected  got
    1s  5         2
    2 more as expected
`},
		{"of instances", "x = total", "given total[sda] 1 2\n given total[md 0] 3 4\n expect x[sda] 1 _\n expect x[md 0] 5 6", `19:9: expect x[sda]
        instance  expected  got
    1s  sda       _         2
    1 more as expected
20:9: expect x[md 0]
        instance  expected  got
    0s  md 0      5         3
    1s  md 0      6         4
`},
		{"a group that is not there", "x = count(total) by (/^(sd)/)", "given total 1\n expect x[md] 1", `18:9: expect x[md]
        instance  expected  got
    0s  sd        _         2
    0s  md        1         _
`},
		{"large numbers have no exponent", "x = 1024.0 * ncpu", "given ncpu 2000000 1\n expect x 2048000100.5 1024", `18:9: expect x
        expected      got
    0s  2048000100.5  2048000000
    1 more as expected
`},
		{"missing value", "x = total[sdb]", "given total[sda] 1\n expect x[sdb] 1", `18:9: expect x[sdb]
        instance  expected  got
    0s  sdb       1         _
`},
		{"instance that nobody expects", "x = total", "given total 1\n expect x[sda] 1", `18:9: expect x[sda]
        instance  expected  got
    0s  sdb       _         1
    0s  md 0      _         1
    1 more as expected
`},
		{"error instead of a value", "x = ncpu", "given ncpu PM_ERR_AGAIN\n expect x 1", `18:9: expect x
        expected  got
    0s  1         PM_ERR_AGAIN
`},
		{"error instead of none", "x = ncpu", "given ncpu PM_ERR_AGAIN\n expect x _", `18:9: expect x
        expected  got
    0s  _         PM_ERR_AGAIN
`},
		{"value instead of an error", "x = ncpu", "given ncpu 3\n expect x PM_ERR_AGAIN", `18:9: expect x
        expected      got
    0s  PM_ERR_AGAIN  3
`},
		{"values instead of an error", "x = total", "given total 3\n expect x PM_ERR_AGAIN", `18:9: expect x
        expected      got
    0s  PM_ERR_AGAIN  3 values
`},
		{"another error", "x = total", "given total PM_ERR_VALUE\n expect x PM_ERR_AGAIN", `18:9: expect x
        expected      got
    0s  PM_ERR_AGAIN  PM_ERR_VALUE
`},
		{"error of a set, told once", "x = total", "given total PM_ERR_VALUE\n expect x 1", `18:9: expect x
        expected  got
    0s  1         PM_ERR_VALUE
`},
		{"error of a set whose instances are expected", "x = total", "given total PM_ERR_VALUE\n expect x *\n expect x[sda] 5", `19:9: expect x[sda]
        instance  expected  got
    0s  sda       5         PM_ERR_VALUE
`},
		{"value where an error is expected, too", "x = total", "given total PM_ERR_VALUE\n expect x PM_ERR_VALUE\n expect x[sda] 5", `19:9: expect x[sda]
        instance  expected  got
    0s  sda       5         _
`},
		{"outside of the tolerance", "x = 100 * temp / 3", "given temp 1\n expect x 33.3~0.01", `18:9: expect x
        expected   got
    0s  33.3~0.01  33.333333333333336
`},
		{"not that close", "x = temp", "given temp 1.00000001\n expect x 1", `18:9: expect x
        expected  got
    0s  1         1.00000001
`},
		{"text", "x = node", `given node "a b"` + "\n" + ` expect x "a"`, `18:9: expect x
        expected  got
    0s  "a"       "a b"
`},
		{"text instead of a number", "x = node", "given node \"1\" \"1\" \"1\"\n expect x 1 [31] inf", `18:9: expect x
        expected  got
    0s  1         "1"
    1s  [31]      "1"
    2s  inf       "1"
`},
		{"bytes", "x = blob", "given blob [00]\n expect x \"0\"", `18:9: expect x
        expected  got
    0s  "0"       [00]
`},
		{"number instead of a text", "x = load\ny = wide", "given load 0.1...\n given wide -1 1\n expect x \"a\" nan\n expect y inf [00]", `19:9: expect x
        instance   expected  got
    0s  1 minute   "a"       0.1
    0s  5 minute   "a"       0.1
    0s  15 minute  "a"       0.1
    1s  1 minute   nan       0.1
    1s  5 minute   nan       0.1
    1s  15 minute  nan       0.1
20:9: expect y
        expected  got
    0s  inf       -1
    1s  [00]      1
`},
		{"infinite", "x = temp", "given temp inf nan\n expect x 5 -inf", `18:9: expect x
        expected  got
    0s  5         inf
    1s  -inf      nan
`},
		{"large", "x = physmem", "given physmem 18446744073709551615\n expect x 18446744073709551614", `18:9: expect x
        expected              got
    0s  18446744073709551614  18446744073709551615
`},
		{"very many", "x = ncpu", "given ncpu 0+1x30\n expect x 1+1x30", `18:9: expect x
         expected  got
    0s   1         0
    1s   2         1
    2s   3         2
    3s   4         3
    4s   5         4
    5s   6         5
    6s   7         6
    7s   8         7
    8s   9         8
    9s   10        9
    10s  11        10
    11s  12        11
    12s  13        12
    13s  14        13
    14s  15        14
    15s  16        15
    16s  17        16
    17s  18        17
    18s  19        18
    19s  20        19
    10 more differ, 0 do not
`},
		{"metadata", "x = rate(total)", "metadata x U64 instant Kbyte", `17:11: metadata x
           expected  got
    type   U64       DOUBLE
    units  Kbyte     count / sec
    indom  singular  60.1
    1 more as expected
`},
		{"semantics", "x = free", "metadata x U64 counter Kbyte singular", `17:11: metadata x
               expected  got
    semantics  counter   instant
    3 more as expected
`},
		{
			"labels", "x = ncpu\nx(labels) = {\"team\":\"db\"}\ny = ncpu",
			"metadata x U32 discrete {}\n metadata y U32 discrete {\"team\": 1}", `17:11: metadata x
            expected  got
    labels  {}        {"team":"db"}
    4 more as expected
18:11: metadata y
            expected    got
    labels  {"team":1}  {}
    4 more as expected
`,
		},
		{"instance of a single number", "x = ncpu", "given ncpu 1\n expect x[sda] 1", `18:9: expect x[sda]
              expected  got
    instance  sda       none: x is singular
`},
		{"instance that does not exist", "x = total", "given total _\n expect x[sdc] 1", `18:9: expect x[sdc]
              expected  got
    instance  sdc       none: no such instance in the indom statement for 60.1
`},
		{"domain that does not exist", "x = mkconst(1, indom=60.7)", "expect x[a] 1\n expect x 1", `17:9: expect x[a]
              expected  got
    instance  a         none: there is no indom statement for 60.7
18:9: expect x
        expected  got
    0s  1         PM_ERR_AGAIN
`},
		{"not failed", "x = ncpu", "error x \"Illegal\"\n error derived.x", `17:8: error x
           expected  got
    error  Illegal   none
18:8: error derived.x
           expected  got
    error  any       none
`},
		{"another fault", "x = nosuch", "error x \"Illegal\"", `17:8: error x
           expected  got
    error  Illegal   Semantic error: derived metric x: operand nosuch: Unknown operand metric
`},
		{"no definition", "y = 1", "expect x 1\n metadata x 32 instant\n error x", `17:9: expect x
    no definition has this name
18:11: metadata x
    no definition has this name
19:8: error x
    no definition has this name
`},
		{"unusable", "x = nosuch", "expect x 1\n expect x[a] 1\n metadata x 32 instant", `17:9: expect x
    Semantic error: derived metric x: operand nosuch: Unknown operand metric
19:11: metadata x
    Semantic error: derived metric x: operand nosuch: Unknown operand metric
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, outcome(t, row.definition+"\n", host+"test a\n "+row.test+"\n"))
		})
	}
}

// Tests do not see each other: what one of them declares is its own.
func TestTestsAreApart(t *testing.T) {
	f := parsed(t, host+`
test without
    without free
    expect x 0
test with
    given free 5
    expect x 5
test with another type
    metric free STRING instant
    given free "a"
    error x "Different types"
`)
	defs := defined(t, "x = defined(free) ? free : 0\n")
	for _, test := range f.Tests[:2] {
		assert.Empty(t, Run(derived.Language{}, defs, nil, test).String())
		assert.Empty(t, Run(derived.Language{}, defs, nil, test).String(), "again")
	}
	assert.Equal(t, "x.test:26:11: error x\n           expected         got\n    error  Different types  none\n",
		Run(derived.Language{}, defs, nil, f.Tests[2]).String())
}

// Two computed values are judged as a computed and an expected one: whole numbers exactly, others in the digits of the
// type that has fewer.
func TestSame(t *testing.T) {
	of := func(typ pdu.Type, bits uint64) *derived.Vector {
		return &derived.Vector{Type: typ, Bits: []uint64{bits}}
	}
	double := func(x float64) *derived.Vector { return of(pdu.TypeDouble, math.Float64bits(x)) }
	float := func(x float32) *derived.Vector { return of(pdu.TypeFloat, uint64(math.Float32bits(x))) }
	text := func(s string) *derived.Vector {
		return &derived.Vector{Type: pdu.TypeString, Blobs: [][]byte{[]byte(s)}}
	}
	const largest = math.MaxUint64
	for _, row := range []struct {
		name string
		x, y *derived.Vector
		want bool
	}{
		{"whole numbers", of(pdu.TypeU64, largest), of(pdu.TypeU64, largest), true},
		{"the last digit of whole numbers", of(pdu.TypeU64, largest), of(pdu.TypeU64, largest-1), false},
		{"types of whole numbers", of(pdu.TypeU32, 7), of(pdu.Type64, 7), true},
		{"a negative number is none of U64", of(pdu.Type64, largest), of(pdu.TypeU64, largest), false},
		{"nine digits", double(1), double(1 + 5e-10), true},
		{"eight digits", double(1), double(1 + 5e-9), false},
		{"six digits of FLOAT", double(1), float(1.0000005), true},
		{"five digits of FLOAT", float(1), double(1.00001), false},
		{"nothing is close to 0", double(0), double(1e-300), false},
		{"infinite", double(math.Inf(1)), double(math.Inf(1)), true},
		{"one is infinite", double(math.Inf(1)), double(1), false},
		{"the other is infinite", double(1), double(math.Inf(1)), false},
		{"not a number", double(math.NaN()), double(math.NaN()), true},
		{"strings", text("a"), text("a"), true},
		{"other strings", text("a"), text("b"), false},
		{"a string and a number", text("7"), of(pdu.TypeU32, 7), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, Same(row.x, 0, row.y, 0))
			if row.x.Type == row.y.Type {
				assert.Equal(t, row.want, Same(row.y, 0, row.x, 0))
			}
		})
	}
}
