//go:build pcp

package test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
)

// bucket is an instance of a histogram, and its count.
type bucket struct {
	name  string
	count uint64
}

// histogram is a metric of an MMV file with an instance domain of its own.
type histogram struct {
	name    string
	buckets []bucket
}

// mmvFile returns a file of mmv(5), version 1, with a counter of U64 for each histogram.
func mmvFile(t *testing.T, histograms []histogram) []byte {
	t.Helper()
	const header, entry, indom, instance, metric, value = 40, 16, 32, 80, 104, 32
	n, all := len(histograms), 0
	for _, h := range histograms {
		all += len(h.buckets)
	}
	indoms := header + 4*entry
	instances := indoms + n*indom
	metrics := instances + all*instance
	values := metrics + n*metric

	var b bytes.Buffer
	add := func(fields ...any) {
		for _, f := range fields {
			require.NoError(t, binary.Write(&b, binary.NativeEndian, f))
		}
	}
	const generation, cluster = 1, 321
	add([]byte("MMV\x00"), uint32(1), uint64(generation), uint64(generation), uint32(4), uint32(0), int32(0),
		int32(cluster))
	for i, section := range [][2]int{{n, indoms}, {all, instances}, {n, metrics}, {all, values}} {
		add(uint32(i+1), uint32(section[0]), uint64(section[1]))
	}
	first := instances
	for i, h := range histograms {
		add(uint32(i+1), uint32(len(h.buckets)), uint64(first), uint64(0), uint64(0))
		first += len(h.buckets) * instance
	}
	for i, h := range histograms {
		for j, one := range h.buckets {
			add(uint64(indoms+i*indom), uint32(0), int32(j), append([]byte(one.name), make([]byte, 64-len(one.name))...))
		}
	}
	for i, h := range histograms {
		units := pdu.Units{Count: 1}
		add(append([]byte(h.name), make([]byte, 64-len(h.name))...), uint32(i+1), uint32(pdu.TypeU64), uint32(pdu.SemCounter))
		add(units.Wire(), int32(i+1), uint32(0), uint64(0), uint64(0))
	}
	first = 0
	for i, h := range histograms {
		for j, one := range h.buckets {
			add(one.count, uint64(0), uint64(metrics+i*metric), uint64(instances+(first+j)*instance))
		}
		first += len(h.buckets)
	}
	return b.Bytes()
}

// log2Buckets returns all 63 buckets of pmdabpf, from 0-1 on.
func log2Buckets(counts ...uint64) (all []bucket) {
	for i := range 63 {
		low, count := uint64(1)<<i, uint64(0)
		if i < len(counts) {
			count = counts[i]
		}
		all = append(all, bucket{fmt.Sprintf("%d-%d", low&^1, 2*low-1), count})
	}
	return all
}

// Buckets have the names that agents of PCP give them. The percentiles and shares are computed by hand.
func TestBuckets(t *testing.T) {
	histograms := []histogram{
		{"bpf", log2Buckets(10, 20, 60, 10)},
		{"bpftrace", []bucket{{"-inf--1", 10}, {"0-1023", 30}, {"1024-inf", 60}}},
		{"opentelemetry", []bucket{{"le=0.1", 50}, {"le=0.5", 40}, {"le=inf", 10}}},
		{"numbers", []bucket{{"10", 10}, {"20", 10}, {"30", 20}}},
		{"openmetrics", []bucket{
			{"0 le:0.1 method:GET route:/a", 50},
			{"1 le:0.5 method:GET route:/a", 90},
			{"2 le:+Inf method:GET route:/a", 100},
			{"3 le:0.1 method:PUT route:/a", 0},
			{"4 le:0.5 method:PUT route:/a", 60},
			{"5 le:+Inf method:PUT route:/a", 100},
			{"6 le:0.1 method:GET route:/b", 0},
			{"7 le:0.5 method:GET route:/b", 0},
			{"8 le:+Inf method:GET route:/b", 0},
		}},
	}
	const one = ""
	tests := []struct {
		text string
		want map[string]float64 // by the group
	}{
		{"nth_percentile_bucket(X.bpf, 5)", map[string]float64{one: 1}},              // 5 of 10 from 0 to 2
		{"nth_percentile_bucket(X.bpf, 50)", map[string]float64{one: 4 + 4.0/3}},     // 20 of 60 from 4 to 8
		{"nth_percentile_bucket(X.bpf, 95)", map[string]float64{one: 12}},            // 5 of 10 from 8 to 16
		{"share_bucket(X.bpf, 6)", map[string]float64{one: 0.6}},                     // 30, and 30 of 60
		{"nth_percentile_bucket(X.bpftrace, 5)", map[string]float64{one: 0}},         // the bound of the first
		{"nth_percentile_bucket(X.bpftrace, 25)", map[string]float64{one: 512}},      // 15 of 30 from 0 to 1024
		{"nth_percentile_bucket(X.bpftrace, 95)", map[string]float64{one: 1024}},     // beyond the last bound
		{"nth_percentile_bucket(X.opentelemetry, 70)", map[string]float64{one: 0.3}}, // 20 of 40 from 0.1 to 0.5
		{"share_bucket(X.opentelemetry, 0.5)", map[string]float64{one: 0.9}},
		{"nth_percentile_bucket(X.numbers, 75)", map[string]float64{one: 25}}, // 10 of 20 from 20 to 30
		{
			"nth_percentile_bucket(X.openmetrics, 60) by (/method:.*/)",
			map[string]float64{"method:GET_route:/a": 0.2, "method:PUT_route:/a": 0.5}, // /b counted nothing
		},
		{
			// The sum over the methods of a route: 50 up to 0.1, 150 up to 0.5, 200 in all.
			"nth_percentile_bucket(sum(X.openmetrics) by (/(le:[^ ]+) .*route:\\/a$/), 60)",
			map[string]float64{one: 0.38}, // 70 of 100 from 0.1 to 0.5
		},
	}
	var conf strings.Builder
	for i, tt := range tests {
		text := regexp.MustCompile(`X\.\w+`).ReplaceAllStringFunc(tt.text, func(name string) string {
			return "instant(mmv.buckets" + name[1:] + ")"
		})
		fmt.Fprintf(&conf, "test.n%d = %s\n", i, text)
	}
	dir := worldReadableDir(t)
	p := startDerived(t, "-c", writeFile(t, dir, "derived.conf", conf.String()))
	folder := filepath.Join(p.Dir, "tmp", "mmv")
	hidden := filepath.Join(folder, ".buckets") // the MMV agent reads whole files
	require.NoError(t, os.WriteFile(hidden, mmvFile(t, histograms), 0o644))
	require.NoError(t, os.Rename(hidden, filepath.Join(folder, "buckets")))
	// The MMV agent looks at the second of the last change alone: it may have looked within this one.
	require.NoError(t, os.Chtimes(folder, time.Time{}, time.Now().Add(-time.Hour)))

	out := ""
	await.Until(t, "the operands are found, and every definition has values", func() bool {
		out, _, _ = p.Run(t, "pminfo", "-f", "derived.test")
		return strings.Count(out, "value ") >= len(tests)
	})
	line := regexp.MustCompile(`(?m)^ +(?:inst \[\d+ or "(.*)"\] )?value (\S+)$`)
	values := make(map[string]map[string]float64)
	for part := range strings.SplitSeq(strings.TrimSpace(out), "\n\n") {
		name, lines, _ := strings.Cut(part, "\n")
		values[name] = make(map[string]float64)
		for _, match := range line.FindAllStringSubmatch(lines, -1) {
			values[name][match[1]] = must(strconv.ParseFloat(match[2], 64))(t)
		}
	}
	for i, tt := range tests {
		assert.InDeltaMapValues(t, tt.want, values[fmt.Sprint("derived.test.n", i)], 1e-9, "%s: %s", tt.text, out)
	}
}
