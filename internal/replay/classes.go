package replay

import (
	"context"
	"errors"
	"io"
	"slices"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
)

// Classes returns the indexes of the lists of operands that are in the same records, so that the same session can take
// their samples. Discrete operands do not count beside others. With Options.Every all samples are taken at the same
// times, and there is one class.
func Classes(ctx context.Context, source *Source, o Options, operands [][]pdu.PMID) ([][]int, error) {
	numbers := make([]int, len(operands)) // of the class of each list
	if o.Every == 0 {
		if err := classify(ctx, source, o, operands, numbers); err != nil {
			return nil, err
		}
	}
	classes := make([][]int, 1+slices.Max(append(numbers, 0)))
	for i, n := range numbers {
		classes[n] = append(classes[n], i)
	}
	return slices.DeleteFunc(classes, func(class []int) bool { return len(class) == 0 }), nil
}

// classify finds the number of the class of each list of operands.
func classify(ctx context.Context, source *Source, o Options, operands [][]pdu.PMID, numbers []int) error {
	users := make(map[pdu.PMID][]int)
	for i, ids := range operands {
		for _, id := range source.withoutDiscrete(ctx, ids) {
			users[id] = append(users[id], i)
		}
	}
	seen, n := make(map[string]bool), 1
	var key []byte
	return eachRecord(ctx, source.Archive, o, func(r *archive.Record) {
		key = key[:0]
		for i := range r.Sets {
			id := uint32(r.Sets[i].PMID)
			key = append(key, byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
		}
		const most = 10_000 // remembered lists of metrics
		if r.Mark || seen[string(key)] {
			return
		}
		if len(seen) >= most {
			clear(seen)
		}
		seen[string(key)] = true
		hit := make([]bool, len(operands))
		for i := range r.Sets {
			for _, k := range users[r.Sets[i].PMID] {
				hit[k] = true
			}
		}
		n = splitClasses(numbers, hit, n)
	})
}

// splitClasses splits each class of which only some members are hit: these get a new class. n is the number of classes.
func splitClasses(classes []int, hit []bool, n int) int {
	missed := make(map[int]bool)
	for i, class := range classes {
		missed[class] = missed[class] || !hit[i]
	}
	made := make(map[int]int)
	for i, class := range classes {
		if !hit[i] || !missed[class] {
			continue
		}
		if made[class] == 0 {
			made[class] = n
			n++
		}
		classes[i] = made[class]
	}
	return n
}

// eachRecord calls visit with each record.
func eachRecord(ctx context.Context, a *archive.Archive, o Options, visit func(r *archive.Record)) error {
	records := a.NewContext(o.Start, o.End)
	defer records.Close()
	for {
		r, err := records.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			if _, ok := errors.AsType[*archive.DamageError](err); ok { // Play reports it
				continue
			}
			return err
		}
		visit(r)
		if o.Read != nil {
			o.Read(r.Time)
		}
	}
}
