package derived

import (
	"cmp"
	"fmt"
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

// The model of groups: slow, obvious, and not a line of it is the evaluator's. A set is a list of members with names,
// those of instances or of groups, and everything is looked up by name.

// member is a value of a set; of a single value the name is "".
type member struct {
	name  string
	value float64
}

// modelledSet is an expression with its meaning.
type modelledSet struct {
	text  string
	float bool   // FLOAT, else DOUBLE
	plain bool   // a number, which in max(), min() and ?: has the type of the other operand
	over  string // the instances of a set: "bin", or groups of such, as "bin/kind"; "": it is a single value
	of    string // of groups: the instances in them

	values func(w *world) ([]member, pdu.Code)
	key    func(w *world, name string) (string, pdu.Code) // of groups: the key of one of the instances in them
}

// world is a sample as the model sees it.
type world struct {
	names map[pdu.Inst]string // "" is no name
	x, y  []member            // by "#INST"
	texts map[string]string   // by "#INST"
	kinds map[string]string   // a label
	whole map[string]string
	fails map[string]pdu.Code // of metrics
}

// named is the external name of a member.
func (w *world) named(over, name string) string {
	if over != "bin" {
		return name
	}
	var id pdu.Inst
	_, _ = fmt.Sscanf(name, "#%d", &id)
	return w.names[id]
}

func rounded32(float bool, v float64) float64 {
	if float {
		return float64(float32(v))
	}
	return v
}

// clean returns the name of the group of a key.
func clean(key string) string {
	return strings.NewReplacer(" ", "_", "\t", "_", "\x01", "?", "\xff", "?").Replace(key)
}

type groupModeller struct{ *rand.Rand }

func (r groupModeller) pick(texts ...string) string { return texts[r.IntN(len(texts))] }

// set makes an expression over the instances of bin.
func (r groupModeller) set(depth int) modelledSet {
	switch r.IntN(4 + min(depth, 3)) {
	case 0, 1:
		return modelledSet{text: "x", over: "bin", values: func(w *world) ([]member, pdu.Code) { return w.x, w.fails["x"] }}
	case 2, 3:
		return modelledSet{text: "y", over: "bin", values: func(w *world) ([]member, pdu.Code) { return w.y, w.fails["y"] }}
	case 4:
		return r.operate(r.set(depth-1), r.set(depth-1))
	case 5:
		if r.IntN(2) == 0 {
			return r.operate(r.group(depth-1), r.set(depth-1))
		}
		return r.operate(r.set(depth-1), r.group(depth-1))
	}
	return r.operate(r.single(depth-1), r.set(depth-1))
}

// single makes an expression with one value.
func (r groupModeller) single(depth int) modelledSet {
	if depth <= 0 || r.IntN(3) == 0 {
		n := float64(r.IntN(5))
		values := func(*world) ([]member, pdu.Code) { return []member{{"", n}}, 0 }
		return modelledSet{text: fmt.Sprintf("%.1f", n), plain: true, values: values}
	}
	if r.IntN(2) == 0 {
		return r.aggregate(r.set(depth-1), nil)
	}
	return r.aggregate(r.group(depth-1), nil)
}

// group makes an expression over groups.
func (r groupModeller) group(depth int) modelledSet {
	x := r.set(max(0, depth-1))
	switch r.IntN(3 + min(depth, 3)) {
	case 3:
		return r.operate(r.group(depth-1), r.group(depth-1))
	case 4:
		return r.operate(r.group(depth-1), r.single(depth-1))
	case 5:
		x = r.group(depth - 1)
	}
	made := r.aggregate(x, r.clause(x.over))
	switch r.IntN(6) {
	case 0:
		return matched(made, r.pick("^[a-m]", "[0-9]", "_"))
	case 1:
		made.text = "default(" + made.text + ", 7)" // it has all values that it can have
	}
	return made
}

// matched makes an expression of the groups whose names match.
func matched(x modelledSet, pattern string) modelledSet {
	made, re := x, regexp.MustCompilePOSIX(pattern)
	made.text = "matchinst(/" + pattern + "/, " + x.text + ")"
	made.values = func(w *world) ([]member, pdu.Code) {
		all, code := x.values(w)
		return slices.DeleteFunc(slices.Clone(all), func(m member) bool { return !re.MatchString(m.name) }), code
	}
	return made
}

// clause is a by (KEY).
type clause struct {
	text, label string
	metric      string // "": the key is a part of the name
	key         func(w *world, name string) (string, pdu.Code)
}

// clause makes one for the members of a set.
func (r groupModeller) clause(over string) *clause {
	c := &clause{}
	if over == "bin" && r.IntN(4) == 0 {
		c.text, c.label = "label(kind)", "kind"
		c.key = func(w *world, name string) (string, pdu.Code) { return w.kinds[name], 0 }
	} else if over == "bin" && r.IntN(2) == 0 {
		c.metric = r.pick("some.texts", "whole")
		c.text, c.label = c.metric, c.metric[strings.LastIndex(c.metric, ".")+1:]
		c.key = func(w *world, name string) (string, pdu.Code) {
			if c.metric == "whole" {
				return w.whole[name], w.fails["whole"]
			}
			return w.texts[name], w.fails["some.texts"]
		}
	} else {
		pattern := r.pick("^([a-z]+)", "[0-9]", "^(.)", "(a)|(b)", "x*", ".*", "nothing")
		re := regexp.MustCompilePOSIX(pattern)
		c.text, c.label = "/"+pattern+"/", "group"
		c.key = func(w *world, name string) (string, pdu.Code) {
			external := w.named(over, name)
			if external == "" {
				return "", 0
			}
			at := re.FindStringSubmatch(external)
			for _, part := range slices.Concat(at[min(1, len(at)):], at[:min(1, len(at))]) {
				if part != "" {
					return part, 0
				}
			}
			return "", 0
		}
	}
	if r.IntN(3) == 0 {
		c.label = r.pick("one", "two")
		c.text = c.label + "=" + c.text
	}
	return c
}

// aggregate makes an aggregate of x, for each group if there is a clause.
func (r groupModeller) aggregate(x modelledSet, by *clause) modelledSet {
	f, more, n := r.pick("sum", "avg", "max", "min", "count", "nth_percentile_inst"), "", r.IntN(101)
	if f == "nth_percentile_inst" {
		more = fmt.Sprintf(", %d", n)
	}
	made := modelledSet{text: f + "(" + x.text + more + ")", float: f == "avg" || f != "count" && x.float}
	reduce := func(all []member) float64 {
		if more != "" {
			all = slices.SortedFunc(slices.Values(all), func(x, y member) int { return cmp.Compare(x.value, y.value) })
			at := 0
			for 100*(at+1) < n*len(all) {
				at++
			}
			return all[at].value
		}
		result := all[0].value + 0 // no minus zero, as 0 comes first
		if f == "max" || f == "min" {
			result = all[0].value
		}
		for _, m := range all[1:] {
			switch f {
			case "sum":
				result = rounded32(x.float, result+m.value)
			case "avg":
				result += m.value
			case "max":
				result = max(result, m.value)
			case "min":
				result = min(result, m.value)
			}
		}
		switch f {
		case "avg":
			result = rounded32(true, result/float64(len(all)))
		case "count":
			result = float64(len(all))
		}
		return result
	}
	if by == nil {
		made.values = func(w *world) ([]member, pdu.Code) {
			all, code := x.values(w)
			switch {
			case f == "count" && (code < 0 || len(all) == 0), f == "sum" && code == 0 && len(all) == 0:
				return []member{{"", 0}}, 0
			case code < 0 || len(all) == 0:
				return nil, code
			}
			return []member{{"", reduce(all)}}, 0
		}
	} else {
		made.text += " by (" + by.text + ")"
		made.of, made.over, made.key = x.over, x.over+"/"+by.label, by.key
		made.values = func(w *world) ([]member, pdu.Code) {
			all, code := x.values(w)
			if code < 0 && f == "count" {
				all, code = nil, 0
			}
			if code == 0 {
				_, code = by.key(w, "")
			}
			if code < 0 {
				return nil, code
			}
			parts := map[string][]member{}
			for _, m := range all {
				key, _ := by.key(w, m.name)
				if key != "" {
					parts[clean(key)] = append(parts[clean(key)], m)
				}
			}
			var groups []member
			for name, part := range parts {
				groups = append(groups, member{name, reduce(part)})
			}
			slices.SortFunc(groups, func(x, y member) int { return strings.Compare(x.name, y.name) })
			return groups, 0
		}
	}
	if f == "count" {
		made.text += " / mkconst(1, units=count)" // a plain DOUBLE
		made.text = "(" + made.text + ")"
	}
	return made
}

// operate makes an operator of two expressions; x alone if they do not fit together.
func (r groupModeller) operate(x, y modelledSet) modelledSet {
	op := r.pick("+", "-", "*", "max", "min")
	made := modelledSet{float: x.float && y.float, over: x.over, of: x.of, key: x.key}
	made.text = "(" + x.text + " " + op + " " + y.text + ")"
	if len(op) > 1 {
		made.float = (x.float || x.plain) && (y.float || y.plain)
	}
	switch {
	case op == "min" && (x.float == y.float || x.plain || y.plain) && r.IntN(2) == 0:
		made.text = "(" + x.text + " < " + y.text + " ? " + x.text + " : " + y.text + ")"
	case len(op) > 1:
		made.text = op + "(" + x.text + ", " + y.text + ")"
	}
	var partner func(w *world, name string) (left, right string, code pdu.Code) // of a member of the result
	same := func(_ *world, name string) (string, string, pdu.Code) { return name, name, 0 }
	leads := &x // the operand whose members are those of the result
	switch {
	case x.over == "" || y.over == "":
		partner = func(_ *world, name string) (left, right string, code pdu.Code) {
			left, right = name, name
			if x.over == "" {
				left = ""
			}
			if y.over == "" {
				right = ""
			}
			return left, right, 0
		}
		if x.over == "" {
			leads = &y
		}
	case x.over == y.over:
		partner = same
		if x.key == nil {
			made.key = y.key
		}
	case y.of == x.over:
		partner = func(w *world, name string) (string, string, pdu.Code) {
			key, code := y.key(w, name)
			return name, clean(key), code
		}
	case x.of == y.over:
		leads = &y
		partner = func(w *world, name string) (string, string, pdu.Code) {
			key, code := x.key(w, name)
			return clean(key), name, code
		}
	case x.of != "" && y.of != "":
		partner = same
	default:
		return x
	}
	made.over, made.of = leads.over, leads.of
	if leads == &y {
		made.key = y.key
	}
	made.values = func(w *world) ([]member, pdu.Code) {
		left, code := x.values(w)
		if code < 0 {
			return nil, code
		}
		right, code := y.values(w)
		if code < 0 || len(left) == 0 || len(right) == 0 {
			return nil, code
		}
		all := left
		if leads == &y {
			all = right
		}
		var result []member
		for _, m := range all {
			ln, rn, code := partner(w, m.name)
			if code < 0 {
				return nil, code
			}
			i := slices.IndexFunc(left, func(m member) bool { return m.name == ln })
			k := slices.IndexFunc(right, func(m member) bool { return m.name == rn })
			if i < 0 || k < 0 {
				continue
			}
			v := 0.0
			switch a, b := left[i].value, right[k].value; op {
			case "+":
				v = a + b
			case "-":
				v = a - b
			case "*":
				v = a * b
			case "max":
				v = max(a, b)
			case "min":
				v = min(a, b)
			}
			result = append(result, member{m.name, rounded32(made.float, v)})
		}
		return result, 0
	}
	return made
}

// groupCatalog is the metrics of the model.
func groupCatalog() CatalogMap {
	cat := CatalogMap{}
	for i, name := range []string{"x", "y", "some.texts", "whole"} {
		t := []pdu.Type{pdu.TypeDouble, pdu.TypeDouble, pdu.TypeString, pdu.Type64}[i]
		cat[name] = pdu.Desc{PMID: pdu.NewPMID(29, 0, i+1), Type: t, Sem: pdu.SemInstant, InDom: derivedtest.BinInDom}
	}
	return cat
}

// moment makes a sample, and the same for the model.
func (r groupModeller) moment() (*moment, *world) {
	w := &world{
		names: map[pdu.Inst]string{}, texts: map[string]string{}, kinds: map[string]string{},
		whole: map[string]string{}, fails: map[string]pdu.Code{},
	}
	m := &moment{values: map[pdu.PMID]*Vector{}, names: map[pdu.InDom]*NameTable{}}
	known := map[pdu.Inst]string{}
	for id := range pdu.Inst(8) {
		if name := r.pick("sda", "sdb", "sd c", "dm-0", "dm-1 x", "b", "7", ""); name != "" {
			known[id], w.names[id] = name, name
		}
	}
	kinds := map[pdu.Inst]string{}
	for id := range pdu.Inst(8) {
		if kind := r.pick("ssd", "hard disk", "x\x01", "a", ""); kind != "" || r.IntN(2) == 0 {
			kinds[id], w.kinds[fmt.Sprintf("#%d", id)] = kind, kind
		}
	}
	m.names[derivedtest.BinInDom] = NewNameTable(known, nil).WithLabels(map[string]map[pdu.Inst]string{"kind": kinds})
	var last *InstSet
	for i, name := range []string{"x", "y", "some.texts", "whole"} {
		desc := groupCatalog()[name]
		v := &Vector{Type: desc.Type}
		m.values[desc.PMID] = v
		if r.IntN(15) == 0 {
			v.Code = codes[i]
			w.fails[name] = codes[i]
			continue
		}
		v.Insts = last
		if last == nil || r.IntN(3) == 0 {
			var ids []pdu.Inst
			for _, id := range r.Perm(8)[:r.IntN(9)] {
				ids = append(ids, pdu.Inst(id))
			}
			v.Insts = NewInstSet(ids)
			last = v.Insts
		}
		for _, id := range v.Insts.IDs() {
			who := fmt.Sprintf("#%d", id)
			switch name {
			case "some.texts":
				text := r.pick("root", "www data", "www_data", "", "x\x01", "\xff", "a")
				v.Blobs = append(v.Blobs, []byte(text))
				w.texts[who] = text
			case "whole":
				n := r.IntN(5) - 2
				v.Bits = append(v.Bits, uint64(int64(n)))
				w.whole[who] = fmt.Sprint(n)
			default:
				n := float64(r.IntN(2000)-1000) / 8
				v.Bits = append(v.Bits, math.Float64bits(n))
				if name == "x" {
					w.x = append(w.x, member{who, n})
				} else {
					w.y = append(w.y, member{who, n})
				}
			}
		}
	}
	return m, w
}

// shownBy is the result of the evaluator in the words of the model.
func shownBy(m *Metric, v *Vector, groups *Groups) string {
	if v.Code < 0 {
		return v.Code.Error()
	}
	var all []string
	for i, bits := range v.Bits {
		name := ""
		if v.Insts != nil {
			name = fmt.Sprintf("#%d", v.At(i))
			if m.Desc.InDom != derivedtest.BinInDom {
				name, _ = groups.Table(m.Desc.InDom).Name(v.At(i))
			}
		}
		all = append(all, fmt.Sprintf("%s=%v", name, m.Desc.Type.Float64(bits)+0))
	}
	return strings.Join(all, " ")
}

// Random expressions have the values that the model gives them, whatever was evaluated before.
func TestGroupsFollowTheModel(t *testing.T) {
	r := groupModeller{rand.New(rand.NewPCG(18, 1))}
	values := 0
	for range 1000 {
		var made []modelledSet
		var defs []*Definition
		for i := range 6 {
			x := r.group(3)
			if r.IntN(3) == 0 {
				x = r.set(4)
			}
			made = append(made, x)
			defs = append(defs, definition(t, fmt.Sprint("m", i), x.text))
		}
		set := Language{}.NewSet(defs, groupCatalog(), "derived")
		eval, groups := set.NewEvaluation(), NewGroups()
		eval.SetGroups(groups)
		for range 3 {
			sample, w := r.moment()
			eval.Reset(sample)
			for _, i := range r.Perm(len(made)) {
				m := set.Metrics()[i]
				require.Nil(t, m.Err, "%s", made[i].text)
				all, code := made[i].values(w)
				want := ""
				if code < 0 {
					want = code.Error()
				}
				var texts []string
				for _, one := range all {
					texts = append(texts, fmt.Sprintf("%s=%v", one.name, one.value+0)) // no minus zero
				}
				if code == 0 {
					want = strings.Join(texts, " ")
				}
				v := eval.Value(m)
				checkVector(t, m, v)
				require.Equal(t, want, shownBy(m, v, groups), "%s", made[i].text)
				values += len(all)
			}
		}
	}
	require.Greater(t, values, 10_000, "a test over nothing shows nothing")
}

// Groups that only the names of others have are listed as well: there is a value for them in this domain.
func TestRenamedGroupsAreListed(t *testing.T) {
	set, m := only(t, "default(sum(x) by (group=some.texts), sum(y) by (other=some.texts))", groupCatalog())
	require.Nil(t, m.Err)
	eval, groups := set.NewEvaluation(), NewGroups()
	eval.SetGroups(groups)
	cat := groupCatalog()
	two, one := NewInstSet([]pdu.Inst{1, 2}), NewInstSet([]pdu.Inst{1})
	x := &Vector{Type: pdu.TypeDouble, Insts: one, Bits: []uint64{math.Float64bits(1)}}
	y := &Vector{Type: pdu.TypeDouble, Insts: two, Bits: []uint64{math.Float64bits(2), math.Float64bits(3)}}
	texts := &Vector{Type: pdu.TypeString, Insts: two, Blobs: [][]byte{[]byte("a"), []byte("b")}}
	for s := int64(0); s <= 360; s += 10 {
		now := time.Unix(20_000*24*60*60+s, 0)
		groups.SetTime(now)
		values := map[pdu.PMID]*Vector{cat["x"].PMID: x, cat["y"].PMID: y, cat["some.texts"].PMID: texts}
		eval.Reset(&moment{at: now, values: values})
		v := eval.Value(m)
		require.Equal(t, []uint64{math.Float64bits(1), math.Float64bits(3)}, v.Bits)
		for i, id := range v.Insts.IDs() {
			found, _ := groups.Find(m.Desc.InDom, id, "")
			require.Equal(t, []string{"a", "b"}[i], found.Name)
		}
		var listed []string
		for _, in := range groups.Members(m.Desc.InDom) {
			listed = append(listed, in.Name)
		}
		require.Equal(t, []string{"a", "b"}, listed, "after %d s", s)
	}
}
