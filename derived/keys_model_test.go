package derived

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// The model of keys: each instance is a record, and all that a key is about is looked up in it anew.

// keyedInstance is an instance with all that its keys can be.
type keyedInstance struct {
	id     pdu.Inst
	name   string // "": not known
	labels map[string]string
	text   string // of the metric some.texts, if it has one
	whole  string // of the metric whole, likewise
	x, y   float64

	in *keyedWorld
}

// otherInstance is an instance of the domain in which keys are looked up, or a group of such.
type otherInstance struct {
	id          pdu.Inst
	name, tag   string // "": not known
	text, whole string // of the metrics other.texts and other.whole; "none": it has no value there
}

// keyedWorld is a sample as the model sees it.
type keyedWorld struct {
	instances []*keyedInstance
	others    []*otherInstance
	fails     pdu.Code // of the metric some.texts
	failsToo  pdu.Code // of the metric other.texts
}

// modelledKey is a key with its meaning.
type modelledKey struct {
	text, label string
	of          func(in *keyedInstance) string
	fails       func(w *keyedWorld) pdu.Code // nil: never
	metric      bool                         // it begins with a metric: the names of instances do not matter
	bound       bool                         // it is the bound of a bucket
}

// boundsAsWritten has values of the label le, and the keys that they are.
var boundsAsWritten = map[string]string{
	"0.5": "0.5", "1": "1", "1.0": "1", "1e3": "1000", "5e-05": "0.00005", "+Inf": "+Inf", "inf": "+Inf", "x": "x", "-0": "0",
}

func modelledKeys() []modelledKey {
	found := func(pattern string) func(*keyedInstance) string {
		re := regexp.MustCompile(pattern)
		return func(in *keyedInstance) string {
			if at := re.FindStringSubmatch(in.name); at != nil {
				return at[len(at)-1]
			}
			return ""
		}
	}
	label := func(name string) func(*keyedInstance) string {
		return func(in *keyedInstance) string { return in.labels[name] }
	}
	return []modelledKey{
		{text: "/^([a-z]+)/", label: "group", of: found("^([a-z]+)")},
		{text: "/[0-9]+/", label: "group", of: found("[0-9]+")},
		{text: "label(route)", label: "route", of: label("route")},
		{text: "label(code)", label: "code", of: label("code")},
		{
			text: "label(le)", label: "le", bound: true,
			of: func(in *keyedInstance) string { return boundsAsWritten[in.labels["le"]] },
		},
		{
			text: "some.texts", label: "texts", of: func(in *keyedInstance) string { return in.text }, metric: true,
			fails: func(w *keyedWorld) pdu.Code { return w.fails },
		},
		{text: "whole", label: "whole", of: func(in *keyedInstance) string { return in.whole }, metric: true},
	}
}

// unbound is a key as it is under a label other than le.
func (k modelledKey) unbound() modelledKey {
	if k.bound {
		k.bound, k.of = false, func(in *keyedInstance) string { return in.labels["le"] }
	}
	return k
}

// lookup makes a key that looks another one up: the only value of all instances that have the text.
func (r groupModeller) lookup(k modelledKey) modelledKey {
	k = k.unbound()
	from, before := k.of, k.fails
	text := func(o *otherInstance) string { return o.text }
	whole := func(o *otherInstance) string { return o.whole }
	never := func(*keyedWorld) pdu.Code { return 0 }
	fails := func(w *keyedWorld) pdu.Code { return w.failsToo }
	pattern := r.pick("^(.)", "([0-9]+)$", "^(.*)$")
	ways := []struct {
		text  string
		finds func(o *otherInstance, key string) bool
		fails func(w *keyedWorld) pdu.Code
	}{
		{"", func(o *otherInstance, key string) bool { return key == o.name || key == strings.Split(o.name, " ")[0] }, never},
		{" by (label(tag))", func(o *otherInstance, key string) bool { return key == o.tag }, never},
		{" by (/" + pattern + "/)", func(o *otherInstance, key string) bool {
			found := regexp.MustCompile(pattern).FindStringSubmatch(o.name)
			return found != nil && found[1] == key
		}, never},
		{" by (other.texts)", func(o *otherInstance, key string) bool { return key == text(o) && key != "none" }, fails},
		{" by (other.whole)", func(o *otherInstance, key string) bool { return key == whole(o) && key != "none" }, never},
	}
	metrics := []struct {
		name  string
		value func(o *otherInstance) string
		fails func(w *keyedWorld) pdu.Code
	}{{"other.texts", text, fails}, {"other.whole", whole, never}, {"sums", whole, never}, {"grouped", whole, never}}
	metric := metrics[r.IntN(len(metrics))]
	way := ways[r.IntN(len(ways))]
	if metric.name == "grouped" {
		way = ways[r.IntN(3)]
	}
	k.text += " -> " + metric.name + way.text
	k.fails = func(w *keyedWorld) pdu.Code {
		code := metric.fails(w)
		if code == 0 && before != nil {
			code = before(w)
		}
		return cmp.Or(code, way.fails(w))
	}
	k.of = func(in *keyedInstance) string {
		others, values := in.in.others, map[string]bool{}
		if metric.name == "grouped" {
			others = groupsOfOthers(others)
		}
		key := from(in)
		for _, o := range others {
			if key != "" && way.finds(o, key) && metric.value(o) != "none" {
				values[metric.value(o)] = true
			}
		}
		for only := range values {
			if len(values) == 1 {
				return only
			}
		}
		return ""
	}
	return k
}

// groupsOfOthers are the groups of max(other.whole) by (label(tag)).
func groupsOfOthers(others []*otherInstance) (groups []*otherInstance) {
	for _, o := range others {
		at := slices.IndexFunc(groups, func(g *otherInstance) bool { return g.tag == clean(o.tag) })
		switch {
		case o.tag == "" || o.whole == "none":
		case at < 0:
			groups = append(groups, &otherInstance{name: clean(o.tag), tag: clean(o.tag), whole: o.whole})
		case number(o.whole) > number(groups[at].whole):
			groups[at].whole = o.whole
		}
	}
	return groups
}

func number(text string) (n int64) {
	_, _ = fmt.Sscan(text, &n)
	return n
}

// codeOf is the error of some keys.
func codeOf(w *keyedWorld, keys []modelledKey) pdu.Code {
	for _, k := range keys {
		if k.fails != nil && k.fails(w) < 0 {
			return k.fails(w)
		}
	}
	return 0
}

// piece is a key in a name of several: the pieces of it that are never cut, and the whole.
func piece(key string, keys int) string {
	var units []string
	for _, r := range clean(key) {
		units = append(units, map[rune]string{'%': "%25", ':': "%3A"}[r]+map[bool]string{true: string(r)}[r != '%' && r != ':'])
	}
	whole, most := strings.Join(units, ""), (1025-keys)/keys
	if len(whole) <= most {
		return whole
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(whole))
	short := ""
	for _, unit := range units {
		if len(short)+len(unit) > most-9 {
			break
		}
		short += unit
	}
	return fmt.Sprintf("%s#%08x", short, h.Sum32()&math.MaxInt32)
}

// nameOfKeys is the name of the group of some keys; "": a key is missing.
func nameOfKeys(keys []string) string {
	if slices.Contains(keys, "") {
		return ""
	}
	if len(keys) == 1 {
		return clean(keys[0])
	}
	var pieces []string
	for _, key := range keys {
		pieces = append(pieces, piece(key, len(keys)))
	}
	return strings.Join(pieces, ":")
}

// keyedExpression is an expression with its values, by the names of groups, or "#ID" of instances.
type keyedExpression struct {
	text   string
	values func(w *keyedWorld) (map[string]float64, pdu.Code)
}

// keys makes some keys with different labels, as they are written.
func (r groupModeller) keys(n int) (texts []string, keys []modelledKey) {
	all := modelledKeys()
	for i, at := range r.Perm(len(all))[:n] {
		key := all[at]
		looked := r.IntN(3) == 0
		if looked {
			key = r.lookup(key)
		}
		text := key.text
		if looked || key.label == "group" || r.IntN(6) == 0 {
			if !key.bound {
				key.label = fmt.Sprint("key", i)
			}
			text = key.label + "=" + text
		}
		texts, keys = append(texts, text), append(keys, key)
	}
	return texts, keys
}

// groupsOf are the sums of x, or of y, by some keys; and the keys of each group, as they are in its name.
func groupsOf(w *keyedWorld, keys []modelledKey, y bool) (sums map[string]float64, named map[string][]string, code pdu.Code) {
	sums, named = map[string]float64{}, map[string][]string{}
	if code := codeOf(w, keys); code < 0 {
		return nil, nil, code
	}
	for _, in := range w.instances {
		var texts, inName []string
		for _, key := range keys {
			texts = append(texts, key.of(in))
			inName = append(inName, strings.NewReplacer("%25", "%", "%3A", ":").Replace(piece(key.of(in), len(keys))))
		}
		if name := nameOfKeys(texts); name != "" {
			if sums[name] += in.x; y {
				sums[name] += in.y - in.x
			}
			named[name] = inName
		}
	}
	return sums, named, 0
}

func (r groupModeller) keyed() keyedExpression {
	texts, keys := r.keys(1 + r.IntN(4))
	by := "by (" + strings.Join(texts, ", ") + ")"
	switch r.IntN(6) {
	case 5: // a selection by a key, and perhaps groups of what is left
		key, pattern, not := keys[0], r.pick("^5", "0", "a", "^$", "^a b$", "[%:]"), r.IntN(2) == 0
		re, text := regexp.MustCompile(pattern), "matchinst(/"+pattern+"/, x, "+key.text+")"
		if not {
			text = strings.Replace(text, "(/", "(!/", 1)
		}
		grouped := r.IntN(2) == 0
		if grouped {
			text = "sum(" + text + ") " + by
		}
		return keyedExpression{text, func(w *keyedWorld) (map[string]float64, pdu.Code) {
			if code := codeOf(w, keys[:1]); code < 0 {
				return nil, code
			}
			left, values := &keyedWorld{fails: w.fails, failsToo: w.failsToo}, map[string]float64{}
			for _, in := range w.instances {
				if re.MatchString(key.of(in)) != not && (in.name != "" || key.metric) {
					left.instances = append(left.instances, in)
					values[fmt.Sprint("#", in.id)] = in.x
				}
			}
			if !grouped {
				return values, 0
			}
			sums, _, code := groupsOf(left, keys, false)
			return sums, code
		}}
	case 0: // tuples
		return keyedExpression{"sum(x) " + by, func(w *keyedWorld) (map[string]float64, pdu.Code) {
			sums, _, code := groupsOf(w, keys, false)
			return sums, code
		}}
	case 1: // groups of groups; others of the same groups, perhaps by other keys with the same names
		if len(keys) == 1 {
			return r.keyed() // a name of one key is not cut and not escaped
		}
		n := 1 + r.IntN(len(keys))
		orders := [][]int{r.Perm(len(keys))[:n], r.Perm(len(keys))[:n]}
		var sides []string
		for _, order := range orders {
			var outer []string
			for i, at := range order {
				outer = append(outer, fmt.Sprint("z", i, "=label(", keys[at].label, ")"))
			}
			sides = append(sides, "sum(sum(x) "+by+") by ("+strings.Join(outer, ", ")+")")
		}
		return keyedExpression{strings.Join(sides, " + "), func(w *keyedWorld) (map[string]float64, pdu.Code) {
			sums, named, code := groupsOf(w, keys, false)
			var again [2]map[string]float64
			for side, order := range orders {
				again[side] = map[string]float64{}
				for name, sum := range sums {
					var parts []string
					for _, at := range order {
						parts = append(parts, named[name][at])
					}
					again[side][nameOfKeys(parts)] += sum
				}
			}
			return added(again[0], again[1]), code
		}}
	case 2: // a set and its groups
		return keyedExpression{"x + sum(y) " + by, func(w *keyedWorld) (map[string]float64, pdu.Code) {
			sums, _, code := groupsOf(w, keys, true)
			each := map[string]float64{}
			for _, in := range w.instances {
				alone, _, _ := groupsOf(&keyedWorld{instances: []*keyedInstance{in}, fails: w.fails, failsToo: w.failsToo}, keys, true)
				for name := range alone {
					each[fmt.Sprint("#", in.id)] = in.x + sums[name]
				}
			}
			return each, code
		}}
	default: // groups by as many other keys
		for i := range texts {
			texts[i] = fmt.Sprint("a", i, "=", keys[i].text)
			keys[i] = keys[i].unbound() // as its label is another one, its number is not read
			keys[i].label = fmt.Sprint("a", i)
		}
		more, others := r.keys(len(keys))
		text := "sum(x) by (" + strings.Join(texts, ", ") + ") + sum(y) by (" + strings.Join(more, ", ") + ")"
		return keyedExpression{text, func(w *keyedWorld) (map[string]float64, pdu.Code) {
			left, _, code := groupsOf(w, keys, false)
			if code < 0 {
				return nil, code
			}
			right, _, code := groupsOf(w, others, true)
			return added(left, right), code
		}}
	}
}

// added are the sums of the values that two sets of groups have of a name.
func added(left, right map[string]float64) map[string]float64 {
	both := map[string]float64{}
	for name := range left {
		if v, ok := right[name]; ok {
			both[name] = left[name] + v
		}
	}
	return both
}

// instance makes an instance, or changes one: its name, its labels, its values.
func (r groupModeller) instance(id pdu.Inst, in *keyedInstance) *keyedInstance {
	made := &keyedInstance{id: id, labels: map[string]string{}}
	if in != nil {
		*made = *in
		made.labels = maps.Clone(in.labels)
	}
	made.x, made.y = float64(r.IntN(1000)), float64(r.IntN(1000))
	if in == nil || r.IntN(8) == 0 {
		made.name = r.pick("sda1", "sdb 2", "dm", "7", "a:b", "")
	}
	if in == nil || r.IntN(8) == 0 {
		made.labels["le"] = r.pick(slices.Sorted(maps.Keys(boundsAsWritten))...)
		made.labels["code"] = r.pick("200", "500", "5:00", "")
		made.labels["route"] = r.pick("/pay", "/p%y", "/p:y", "a b", "a_b", "", strings.Repeat("long%:ü", 40+r.IntN(2)*70))
		if r.IntN(4) == 0 {
			delete(made.labels, r.pick("le", "code", "route"))
		}
	}
	if in == nil || r.IntN(4) == 0 {
		made.text = r.pick("root", "www data", "", "\xff", "a:b", "%", "1.0")
		made.whole = r.pick("-1", "0", "1", "")
	}
	return made
}

// other makes an instance of the other domain, or changes one.
func (r groupModeller) other(id pdu.Inst, o *otherInstance) *otherInstance {
	made := &otherInstance{id: id}
	if o != nil {
		*made = *o
	}
	for _, field := range []struct {
		text *string
		of   []string
	}{
		{&made.name, []string{"sda 1", "sda", "sdb", "/pay", "200", "500", "7", "1", "root", "a b", "", "1.0"}},
		{&made.tag, []string{"sda", "sdb", "200", "500", "-1", "1", "0", "root", "a b", "", "a:b"}},
		{&made.text, []string{"none", "root", "www data", "", "sda", "1", "\xff", "%", "7"}},
		{&made.whole, []string{"none", "-1", "0", "1", "500", "7"}},
	} {
		if o == nil || r.IntN(6) == 0 {
			*field.text = r.pick(field.of...)
		}
	}
	return made
}

// keyedCatalog has the metrics of two domains.
func keyedCatalog() CatalogMap {
	cat := groupCatalog()
	cat["other.texts"] = pdu.Desc{PMID: pdu.NewPMID(29, 1, 1), Type: pdu.TypeString, InDom: derivedtest.OtherInDom}
	cat["other.whole"] = pdu.Desc{PMID: pdu.NewPMID(29, 1, 2), Type: pdu.Type64, InDom: derivedtest.OtherInDom}
	return cat
}

// keyedDefinitions are looked up as the metrics are.
var keyedDefinitions = [][2]string{{"sums", "other.whole + 0"}, {"grouped", "max(other.whole) by (label(tag))"}}

// sampleOf is a world as the evaluator sees it. Names that have not changed are those of the sample before.
func sampleOf(w *keyedWorld, before *moment) *moment {
	cat := keyedCatalog()
	vectors := map[string]*Vector{}
	ids := map[string][]pdu.Inst{}
	for name := range cat {
		vectors[name] = &Vector{Type: cat[name].Type}
	}
	names, labels := map[pdu.Inst]string{}, map[string]map[pdu.Inst]string{"le": {}, "code": {}, "route": {}}
	for _, in := range w.instances {
		if in.name != "" {
			names[in.id] = in.name
		}
		for name, value := range in.labels {
			labels[name][in.id] = value
		}
		for name, value := range map[string]float64{"x": in.x, "y": in.y} {
			ids[name], vectors[name].Bits = append(ids[name], in.id), append(vectors[name].Bits, math.Float64bits(value))
		}
		if in.text != "" || in.id%2 == 0 {
			ids["some.texts"] = append(ids["some.texts"], in.id)
			vectors["some.texts"].Blobs = append(vectors["some.texts"].Blobs, []byte(in.text))
		}
		if in.whole != "" {
			var n int64
			_, _ = fmt.Sscan(in.whole, &n)
			ids["whole"], vectors["whole"].Bits = append(ids["whole"], in.id), append(vectors["whole"].Bits, uint64(n))
		}
	}
	otherNames, tags := map[pdu.Inst]string{}, map[string]map[pdu.Inst]string{"tag": {}}
	for _, o := range w.others {
		if o.name != "" {
			otherNames[o.id] = o.name
		}
		if o.tag != "" {
			tags["tag"][o.id] = o.tag
		}
		if o.text != "none" {
			ids["other.texts"] = append(ids["other.texts"], o.id)
			vectors["other.texts"].Blobs = append(vectors["other.texts"].Blobs, []byte(o.text))
		}
		if o.whole != "none" {
			ids["other.whole"] = append(ids["other.whole"], o.id)
			vectors["other.whole"].Bits = append(vectors["other.whole"].Bits, uint64(number(o.whole)))
		}
	}
	m := &moment{values: map[pdu.PMID]*Vector{}, names: map[pdu.InDom]*NameTable{}}
	for name, v := range vectors {
		v.Insts = NewInstSet(ids[name])
		if before != nil && slices.Equal(before.values[cat[name].PMID].Insts.IDs(), ids[name]) {
			old := before.values[cat[name].PMID]
			if v.Insts = old.Insts; slices.EqualFunc(v.Blobs, old.Blobs, bytes.Equal) {
				v.Blobs = old.Blobs // as a maker of samples has it
			}
		}
		m.values[cat[name].PMID] = v
	}
	if w.fails < 0 {
		m.values[cat["some.texts"].PMID] = &Vector{Type: pdu.TypeString, Code: w.fails}
	}
	if w.failsToo < 0 {
		m.values[cat["other.texts"].PMID] = &Vector{Type: pdu.TypeString, Code: w.failsToo}
	}
	m.names[derivedtest.OtherInDom] = NewNameTable(otherNames, nil).WithLabels(tags)
	if before != nil {
		if old := before.names[derivedtest.OtherInDom]; maps.Equal(old.Names(), otherNames) &&
			maps.EqualFunc(old.Labels(), tags, maps.Equal) {
			m.names[derivedtest.OtherInDom] = old
		}
	}
	table := NewNameTable(names, nil).WithLabels(labels)
	if before != nil {
		if old := before.names[derivedtest.BinInDom]; maps.Equal(old.Names(), names) &&
			maps.EqualFunc(old.Labels(), labels, maps.Equal) {
			table = old
		}
	}
	m.names[derivedtest.BinInDom] = table
	return m
}

// Keys, tuples, look-ups and groups of groups have the values of the model in 2,200 worlds, whose instances come, go, and
// change their names and labels.
func TestKeysFollowTheModel(t *testing.T) {
	r := groupModeller{rand.New(rand.NewPCG(63, 1))}
	values, lookedUp := 0, 0
	for range 2200 {
		var made []keyedExpression
		var defs []*Definition
		for i := range 4 {
			made = append(made, r.keyed())
			defs = append(defs, definition(t, fmt.Sprint("m", i), made[i].text))
		}
		for _, one := range keyedDefinitions {
			defs = append(defs, definition(t, one[0], one[1]))
		}
		set := Language{}.NewSet(defs, keyedCatalog(), "derived")
		eval, groups := set.NewEvaluation(), NewGroups()
		eval.SetGroups(groups)
		all, others := map[pdu.Inst]*keyedInstance{}, map[pdu.Inst]*otherInstance{}
		var sample *moment
		for at := range 4 {
			for id := range pdu.Inst(8) {
				switch known := all[id]; {
				case r.IntN(3) == 0 && known != nil:
					delete(all, id)
				case known != nil || r.IntN(2) == 0:
					all[id] = r.instance(id, known)
				}
			}
			for id := range pdu.Inst(8) {
				switch known := others[id]; {
				case r.IntN(6) == 0 && known != nil:
					delete(others, id)
				case r.IntN(2) == 0:
					others[id] = r.other(id, known)
				}
			}
			w := &keyedWorld{}
			for _, id := range slices.Sorted(maps.Keys(all)) {
				all[id].in = w
				w.instances = append(w.instances, all[id])
			}
			for _, id := range slices.Sorted(maps.Keys(others)) {
				w.others = append(w.others, others[id])
			}
			if r.IntN(10) == 0 && len(w.instances) > 0 {
				w.fails = pdu.ErrAgain
			}
			if r.IntN(10) == 0 && len(w.instances) > 0 {
				w.failsToo = pdu.ErrTimeout
			}
			if w.fails == 0 && w.failsToo == 0 {
				sample = sampleOf(w, sample)
				eval.Reset(sample)
			} else {
				eval.Reset(sampleOf(w, nil))
			}
			groups.SetTime(time.Unix(int64(1_700_000_000+at), 0))
			for _, i := range r.Perm(len(made)) {
				m := set.Metrics()[i]
				require.Nil(t, m.Err, made[i].text)
				want, code := made[i].values(w)
				v := eval.Value(m)
				checkVector(t, m, v)
				got := map[string]float64{}
				for k, bits := range v.Bits {
					name := fmt.Sprint("#", v.At(k))
					if m.Desc.InDom != derivedtest.BinInDom {
						name, _ = groups.Table(m.Desc.InDom).Name(v.At(k))
					}
					got[name] = math.Float64frombits(bits)
				}
				if code < 0 {
					want = map[string]float64{}
				}
				require.Equal(t, code, min(0, v.Code), made[i].text)
				require.Equal(t, want, got, made[i].text)
				if values += len(want); strings.Contains(made[i].text, "->") {
					lookedUp += len(want)
				}
			}
		}
	}
	require.Greater(t, values, 20_000, "a test over nothing shows nothing")
	require.Greater(t, lookedUp, 3_000, "likewise")
}
