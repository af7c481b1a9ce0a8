package mmv

import (
	"testing"
	"time"

	"pmdaderived/derived/agent"
)

// One look at the figures of which nothing, or as much as in a busy second, has changed.
func BenchmarkUpdate(b *testing.B) {
	for _, busy := range []bool{false, true} {
		name := "idle"
		if busy {
			name = "busy"
		}
		b.Run(name, func(b *testing.B) {
			f, err := createIn(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			e := newBench()
			e.process = newProcessReader().read
			e.create = func(*moment) (sink, error) { return f, nil }
			defer e.end()
			now := time.Unix(1, 0)
			if err := e.update(now); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(time.Second)
				if busy {
					e.figures.change(func(f *agent.Figures) {
						f.Requests++
						for i := range 10 {
							f.RequestTime[i]++
							f.SampleAge[20+i]++
						}
					})
				}
				if err := e.update(now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
