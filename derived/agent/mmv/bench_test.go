package mmv

import (
	"testing"
	"time"
)

// One look at the figures of which nothing, or as much as in a busy second, has changed.
func BenchmarkUpdate(b *testing.B) {
	for _, name := range []string{"idle", "busy"} {
		b.Run(name, func(b *testing.B) {
			f, err := createIn(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			e := newBench()
			e.create = func([]uint64) (sink, error) { return f, nil }
			defer e.end()
			now := time.Unix(1, 0)
			if err := e.update(now); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(time.Second)
				for i := range time.Duration(10) {
					if name == "busy" {
						e.figures.Requests.Add(1)
						e.figures.RequestTime.Record((i+1)*10*time.Microsecond, 1)
						e.figures.SampleAge[0].Record((i+1)*time.Millisecond, 1)
					}
				}
				if err := e.update(now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
