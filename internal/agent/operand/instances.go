package operand

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// mostRefused is how many selectors an owner may refuse before the look-up of its domain ends for now: who cannot answer, or is left alone
// because it is slow, must not be asked for thousands.
const mostRefused = 8

// lookUpInDom asks the owner of a domain for its instances, for those selectors that may mean something else than they did, and for
// labels.
// After an error of the owner's what is known is told all the same, with that error. old is returned if nothing has changed.
func lookUpInDom(ctx context.Context, source MetadataSource, d pdu.InDom, wanted *InDomNeed, old *inDomData) (*inDomData, error) {
	instances, err := source.Instances(ctx, d)
	if err != nil {
		known := *old
		known.err = reason(err)
		return &known, err
	}
	known := &inDomData{names: make(map[pdu.Inst]string, len(instances)), selections: make(map[string]selection, len(wanted.Selectors)), source: source}
	members := make([]pdu.Inst, 0, len(instances))
	for _, inst := range instances {
		if _, twice := known.names[inst.ID]; !twice { // an owner's fault
			known.names[inst.ID] = inst.Name
			members = append(members, inst.ID)
		}
	}
	refused := 0
	for _, name := range known.reuseSelections(wanted.Selectors, old) {
		id, err := source.InstanceID(ctx, d, name)
		switch {
		case err == nil:
			known.selections[name] = selection{id, true}
		case errors.Is(err, pdu.ErrInst):
			known.selections[name] = selection{}
		default: // it is asked for again
			known.err = reason(err)
			refused++
		}
		if source.Err() != nil || ctx.Err() != nil || refused == mostRefused {
			break
		}
	}
	if err := known.lookUpLabels(ctx, source, d, wanted.Labels, old); err != nil {
		known.err = err
	}
	known.buildTables(members)
	if known.equal(old) {
		return old, nil
	}
	return known, known.err
}

// lookUpLabels asks the owner for the labels of all instances. If that fails those of before are kept.
func (known *inDomData) lookUpLabels(ctx context.Context, source MetadataSource, d pdu.InDom, wanted map[string]bool, old *inDomData) error {
	if len(wanted) == 0 {
		return nil
	}
	known.labels = make(map[string]map[pdu.Inst]string, len(wanted))
	for name := range wanted {
		known.labels[name] = make(map[pdu.Inst]string)
	}
	sets, err := source.Labels(ctx, uint32(d), pdu.LabelInstances)
	if err != nil {
		for name := range wanted {
			if before := old.labels[name]; before != nil {
				known.labels[name] = before
			}
		}
		return fmt.Errorf("labels: %w", reason(err))
	}
	for _, set := range sets {
		for _, l := range set.Labels {
			if name := set.Name(l); wanted[name] {
				known.labels[name][set.Inst] = plainValue(set.Value(l))
			}
		}
	}
	return nil
}

// plainValue is the value of a label as a text: a string without its quotes, all else as it is written.
func plainValue(text string) string {
	var s string
	if json.Unmarshal([]byte(text), &s) == nil {
		return s
	}
	return text
}

// reason is an error without what was asked of whom.
func reason(err error) error {
	if op, ok := errors.AsType[*pmapi.OpError](err); ok {
		return op.Err
	}
	return err
}

// reuseSelections takes over what the owner has taken selectors for, and returns those of which it may say something else now: the instance has gone
// or is called something else; or an instance has come whose name begins like that. Owners match the whole name, or the part in
// front of its first blank, or accept shorter ones.
func (known *inDomData) reuseSelections(selectors map[string]bool, old *inDomData) []string {
	if old.source != known.source {
		return slices.Collect(maps.Keys(selectors))
	}
	longest := 0
	for name := range selectors {
		longest = max(longest, len(name))
	}
	doubtful := make(map[string]bool)
	for id, name := range known.names {
		if before, ok := old.names[id]; ok && before == name {
			continue
		}
		for end := 0; end <= min(longest, len(name)); end++ {
			if selectors[name[:end]] {
				doubtful[name[:end]] = true
			}
		}
	}
	for name := range selectors {
		meant, asked := old.selections[name]
		is, there := known.names[meant.inst]
		was, wasThere := old.names[meant.inst]
		switch {
		case doubtful[name]:
		case !asked, meant.ok && (is != was || there != wasThere):
			doubtful[name] = true
		default:
			known.selections[name] = meant
		}
	}
	return slices.Collect(maps.Keys(doubtful))
}

// buildTables makes what an evaluation needs of what is known.
func (known *inDomData) buildTables(members []pdu.Inst) {
	selected := make(map[string]pdu.Inst, len(known.selections))
	for name, meant := range known.selections {
		if meant.ok {
			selected[name] = meant.inst
		}
	}
	known.table, known.members = derived.NewNameTable(known.names, selected).WithLabels(known.labels), derived.NewInstSet(members)
}

// equal reports whether two look-ups have brought the same.
func (known *inDomData) equal(old *inDomData) bool {
	return known.source == old.source && known.err == nil && old.err == nil && maps.Equal(known.names, old.names) &&
		maps.Equal(known.selections, old.selections) && maps.EqualFunc(known.labels, old.labels, maps.Equal) && slices.Equal(known.members.IDs(), old.members.IDs())
}
