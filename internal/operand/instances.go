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

// mostRefused is the number of refused selectors that ends the lookup of an instance domain. An agent that fails, or
// that is slow and therefore rests, must not be asked for thousands of selectors.
const mostRefused = 8

// lookUpInDom asks for the instances of an instance domain, for the selectors whose instance may have changed, and for
// the needed labels. It returns old if nothing has changed. After an error it returns the data that it has, and the
// error.
func lookUpInDom(
	ctx context.Context, source MetadataSource, d pdu.InDom, wanted *InDomNeed, old *inDomData,
) (*inDomData, error) {
	instances, err := source.Instances(ctx, d)
	if err != nil {
		known := *old
		known.instancesErr = reason(err)
		known.buildTable()
		return &known, err
	}
	known := &inDomData{
		names: old.names, members: old.members, selections: make(map[string]selection, len(wanted.Selectors)),
		source: source,
	}
	if !old.lists(instances) {
		known.setInstances(instances)
	}
	refused := 0
	for _, name := range known.reuseSelections(wanted.Selectors, old) {
		id, err := source.InstanceID(ctx, d, name)
		switch {
		case err == nil:
			known.selections[name] = selection{id, true}
		case errors.Is(err, pdu.ErrInst):
			known.selections[name] = selection{}
		default: // without a selection, the next lookup asks again
			known.selectionErr = reason(err)
			refused++
		}
		if source.Err() != nil || ctx.Err() != nil || refused == mostRefused {
			break
		}
	}
	known.labelsErr = known.lookUpLabels(ctx, source, d, wanted.Labels, old)
	if known.equal(old) {
		return old, nil
	}
	known.buildTable()
	return known, known.err()
}

// lists reports whether the instances are those of a list, with the same names and in the same order.
func (known *inDomData) lists(instances []pdu.Instance) bool {
	if known.members == nil {
		return false
	}
	return slices.EqualFunc(known.members.IDs(), instances, func(id pdu.Inst, inst pdu.Instance) bool {
		return id == inst.ID && known.names[id] == inst.Name
	})
}

// setInstances sets names and members.
func (known *inDomData) setInstances(instances []pdu.Instance) {
	known.names = make(map[pdu.Inst]string, len(instances))
	members := make([]pdu.Inst, 0, len(instances))
	for _, inst := range instances {
		if _, twice := known.names[inst.ID]; !twice { // a list with duplicates is a fault of the agent
			known.names[inst.ID] = inst.Name
			members = append(members, inst.ID)
		}
	}
	known.members = derived.NewInstSet(members)
}

// lookUpLabels asks for the labels of all instances, and stores the values of the wanted ones. A pmcd without labels
// says that no instance has any. After any other error a label is unknown, unless old has it for the same instances
// with the same names.
func (known *inDomData) lookUpLabels(
	ctx context.Context, source MetadataSource, d pdu.InDom, wanted map[string]bool, old *inDomData,
) error {
	if len(wanted) == 0 {
		return nil
	}
	sets, err := source.Labels(ctx, uint32(d), pdu.LabelInstances)
	for _, set := range sets {
		if err == nil && set.Code < 0 {
			err = set.Code
		}
	}
	told, same := err == nil || errors.Is(err, pdu.ErrNoLabels), old.names != nil
	for id, name := range known.names {
		before, ok := old.names[id]
		same = same && ok && before == name
	}
	known.labels = make(map[string]map[pdu.Inst]string, len(wanted))
	for name := range wanted {
		if before := old.labels[name]; told {
			known.labels[name] = make(map[pdu.Inst]string)
		} else if same && before != nil {
			known.labels[name] = before
		}
	}
	if told && onlyBounds(wanted) {
		err = nil // the names have bounds, too
	}
	if err != nil {
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

// onlyBounds reports whether the label with the bounds of buckets is the only one of some labels.
func onlyBounds(labels map[string]bool) bool {
	return len(labels) == 1 && labels[derived.BoundLabelName]
}

// plainValue returns the value of a label as a text: a JSON string without quotes, any other value as it is written.
func plainValue(text string) string {
	var s string
	if json.Unmarshal([]byte(text), &s) == nil {
		return s
	}
	return text
}

// reason returns the cause of an error, without the operation and the address of a [pmapi.OpError].
func reason(err error) error {
	if op, ok := errors.AsType[*pmapi.OpError](err); ok {
		return op.Err
	}
	return err
}

// reuseSelections copies the selections of old that still hold, and returns the selectors to ask for. A selector must
// be asked for if it is new, if its instance has gone or has another name, or if it is a prefix of the name of a new
// instance: agents match the whole name, the part before its first blank, or any prefix.
func (known *inDomData) reuseSelections(selectors map[string]bool, old *inDomData) []string {
	if old.source != known.source {
		return slices.Collect(maps.Keys(selectors))
	}
	longest := 0
	for name := range selectors {
		longest = max(longest, len(name))
	}
	changed := make(map[string]bool)
	for id, name := range known.names {
		if before, ok := old.names[id]; ok && before == name {
			continue
		}
		for end := 0; end <= min(longest, len(name)); end++ {
			if selectors[name[:end]] {
				changed[name[:end]] = true
			}
		}
	}
	for name := range selectors {
		meant, asked := old.selections[name]
		is, there := known.names[meant.inst]
		was, wasThere := old.names[meant.inst]
		switch {
		case changed[name]:
		case !asked, meant.ok && (is != was || there != wasThere):
			changed[name] = true
		default:
			known.selections[name] = meant
		}
	}
	return slices.Collect(maps.Keys(changed))
}

// buildTable sets table, which evaluations read.
func (known *inDomData) buildTable() {
	selected := make(map[string]pdu.Inst, len(known.selections))
	for name, meant := range known.selections {
		if meant.ok {
			selected[name] = meant.inst
		}
	}
	known.table = derived.NewNameTable(known.names, selected).WithLabels(known.labels).
		Unanswered(known.instancesErr, known.labelsErr)
}

// equal reports whether two lookups without errors returned the same data.
func (known *inDomData) equal(old *inDomData) bool {
	return known.source == old.source && known.err() == nil && old.err() == nil && maps.Equal(known.names, old.names) &&
		maps.Equal(known.selections, old.selections) && maps.EqualFunc(known.labels, old.labels, maps.Equal) &&
		slices.Equal(known.members.IDs(), old.members.IDs())
}
