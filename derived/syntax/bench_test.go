package syntax

import (
	"strings"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	for _, bb := range []struct{ name, text string }{
		{"typical", "delta(disk.dev.total_bytes) / delta(disk.dev.total)"},
		{"long", `kernel.all.cpu.user > 0 && defined(kernel.all.cpu.nice) ? ` +
			`rescale(100 * rate(kernel.all.cpu.user) / hinv.ncpu, "count") : ` +
			`mkconst(0, type=double, semantics=instant, units="count")`},
		{"deepest sum", strings.Repeat("a+", MaxDepth-1) + "a"},
		{"1MB", wide(MaxText)},
		{"1MB refused", strings.Repeat("a[b] + ", MaxText/7)},
		{"1MB instance", "a[" + strings.Repeat("\\]", MaxText/2-2) + "]"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Parse(bb.text, Literals{})
			}
		})
	}
}

func BenchmarkString(b *testing.B) {
	for _, bb := range []struct{ name, text string }{
		{"typical", "delta(disk.dev.total_bytes) / delta(disk.dev.total)"},
		{"1MB", wide(MaxText)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			e := parse(b, bb.text)
			b.SetBytes(int64(len(bb.text)))
			b.ReportAllocs()
			for b.Loop() {
				_ = e.String()
			}
		})
	}
}
