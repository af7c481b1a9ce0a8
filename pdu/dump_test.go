package pdu

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// field is one line of a golden vector: where a field lies, what it is called, what it holds.
type field struct {
	Offset, Size int
	Kind, Name   string
	Value        string // "" for padding; floats as the hex of their bits; the bytes of a text
}

// dumper lists the fields of a decoded message from a knowledge of the layouts that is its own,
// so that Decode is compared with the vectors and not with Append.
type dumper struct {
	t      testing.TB
	fields []field
	off    int
}

func dumpMessage(t testing.TB, m Message, from int32, length int) []field {
	t.Helper()
	d := &dumper{t: t}
	d.i32("len", int32(length))
	d.x32("type", uint32(m.Kind()))
	d.i32("from", from)
	switch m := m.(type) {
	case *Error:
		d.error(m)
	case *Creds:
		d.i32("numcreds", 1)
		d.add(1, "u8", "cred[0].type", "1")
		d.add(1, "u8", "cred[0].version", strconv.Itoa(int(m.Version)))
		d.add(2, "x16", "cred[0].flags", fmt.Sprintf("0x%04x", uint16(m.Features)))
	case *Result:
		d.i32("sec", m.Sec)
		d.i32("usec", m.Usec)
		d.i32("numpmid", int32(len(m.Sets)))
		d.sets(m.Sets)
	case *HighResResult:
		d.i32("numpmid", int32(len(m.Sets)))
		d.i64("sec", m.Sec)
		d.i64("nsec", m.Nsec)
		d.sets(m.Sets)
	case *Profile:
		d.profile(m)
	case *Fetch:
		d.fetch(m.Context, m.PMIDs)
	case *HighResFetch:
		d.fetch(m.Context, m.PMIDs)
	case *DescReq:
		d.pmid("pmid", m.PMID)
	case *DescReply:
		d.desc("", m.Desc)
	case *DescIDs:
		d.i32("sts", -1)
		d.pmids(m.PMIDs)
	case *Descs:
		d.i32("numdescs", int32(len(m.Descs)))
		for i, desc := range m.Descs {
			d.desc(fmt.Sprintf("desc[%d].", i), desc)
		}
	case *InstanceReq:
		d.indom("indom", m.InDom)
		d.i32("unused_sec", 0)
		d.i32("unused_usec", 0)
		d.i32("inst", int32(m.Inst))
		d.i32("namelen", int32(len(m.Name)))
		d.text("name", m.Name)
	case *InstanceReply:
		d.indom("indom", m.InDom)
		d.i32("numinst", int32(len(m.Instances)))
		for i, in := range m.Instances {
			d.i32(fmt.Sprintf("inst[%d].id", i), int32(in.ID))
			d.i32(fmt.Sprintf("inst[%d].namelen", i), int32(len(in.Name)))
			d.text(fmt.Sprintf("inst[%d].name", i), in.Name)
		}
	case *TextReq:
		if m.Type&TextInDom != 0 {
			d.indom("ident", InDom(m.Ident))
		} else {
			d.pmid("ident", PMID(m.Ident))
		}
		d.i32("textType", int32(m.Type))
	case *Text:
		d.x32("ident", m.Ident)
		d.i32("buflen", int32(len(m.Text)))
		d.text("text", m.Text)
	case *PMNSNames:
		d.names(m)
	case *PMNSIDs:
		d.i32("sts", m.Status)
		d.pmids(m.PMIDs)
	case *PMNSChild:
		subtype := int32(0)
		if m.WithStatus {
			subtype = 1
		}
		d.node(subtype, m.Name)
	case *PMNSTraverse:
		d.node(0, m.Name)
	case *Attr:
		d.i32("attr", int32(m.Attr))
		value := m.Value
		if m.NUL {
			value += "\x00"
		}
		d.str("value", value)
	case *LabelReq:
		d.labelIdent(m.Ident, m.Type)
	case *Labels:
		d.labels(m)
	default:
		require.Failf(t, "no dump", "kind %v", m.Kind())
	}
	return d.fields
}

func (d *dumper) add(size int, kind, name, value string) {
	d.fields = append(d.fields, field{d.off, size, kind, name, value})
	d.off += size
}

func (d *dumper) i32(name string, v int32) { d.add(4, "i32", name, strconv.Itoa(int(v))) }
func (d *dumper) i64(name string, v int64) { d.add(8, "i64", name, strconv.FormatInt(v, 10)) }
func (d *dumper) x32(name string, v uint32) {
	d.add(4, "x32", name, fmt.Sprintf("0x%08x", v))
}
func (d *dumper) pmid(name string, id PMID)      { d.add(4, "pmid", name, id.String()) }
func (d *dumper) indom(name string, indom InDom) { d.add(4, "indom", name, indom.String()) }

func (d *dumper) str(name, s string) {
	if s != "" {
		d.add(len(s), "str", name, s)
	}
}

func (d *dumper) pad(name string, size int) {
	if n := -size & 3; n > 0 {
		d.add(n, "pad", name, "")
	}
}

func (d *dumper) text(name, s string) {
	d.str(name, s)
	d.pad(name+".pad", len(s))
}

func (d *dumper) error(m *Error) {
	d.i32("code", int32(m.Code))
	if m.Extended {
		d.add(1, "u8", "challenge.zero_version", strconv.Itoa(int(m.Challenge.Version)))
		d.add(1, "u8", "challenge.licensed", strconv.Itoa(int(m.Challenge.Licensed)))
		d.add(2, "x16", "challenge.features", fmt.Sprintf("0x%04x", uint16(m.Challenge.Features)))
	}
}

func (d *dumper) profile(p *Profile) {
	d.i32("ctxid", int32(p.Context))
	d.i32("g_state", int32(p.Default))
	d.i32("numprof", int32(len(p.InDoms)))
	d.add(4, "pad", "pad", "")
	for i, e := range p.InDoms {
		name := fmt.Sprintf("prof[%d].", i)
		d.indom(name+"indom", e.InDom)
		d.i32(name+"state", int32(e.State))
		d.i32(name+"numinst", int32(len(e.Insts)))
		d.add(4, "pad", name+"pad", "")
	}
	for i, e := range p.InDoms {
		for j, inst := range e.Insts {
			d.i32(fmt.Sprintf("prof[%d].inst[%d]", i, j), int32(inst))
		}
	}
}

func (d *dumper) fetch(ctx ContextID, ids []PMID) {
	d.i32("ctxid", int32(ctx))
	d.i32("unused_sec", 0)
	d.i32("unused_usec", 0)
	d.i32("numpmid", int32(len(ids)))
	for i, id := range ids {
		d.pmid(fmt.Sprintf("pmid[%d]", i), id)
	}
}

func (d *dumper) pmids(ids []PMID) {
	d.i32("numids", int32(len(ids)))
	for i, id := range ids {
		d.pmid(fmt.Sprintf("pmid[%d]", i), id)
	}
}

func (d *dumper) desc(prefix string, desc Desc) {
	u := desc.Units
	d.pmid(prefix+"pmid", desc.PMID)
	d.i32(prefix+"type", int32(desc.Type))
	d.indom(prefix+"indom", desc.InDom)
	d.i32(prefix+"sem", int32(desc.Sem))
	d.add(4, "units", prefix+"units", fmt.Sprintf(
		"dimSpace=%d dimTime=%d dimCount=%d scaleSpace=%d scaleTime=%d scaleCount=%d low8=%d",
		u.Space, u.Time, u.Count, u.SpaceScale, u.TimeScale, u.CountScale, uint8(u.Wire())))
}

func (d *dumper) names(m *PMNSNames) {
	sum := 0
	for _, name := range m.Names {
		sum += len(name) + 1
	}
	d.i32("nstrbytes", int32(sum))
	d.i32("numstatus", int32(len(m.Status)))
	if m.Code < 0 {
		d.i32("numnames", int32(m.Code))
		return
	}
	d.i32("numnames", int32(len(m.Names)))
	for i, name := range m.Names {
		prefix := fmt.Sprintf("name[%d].", i)
		if len(m.Status) > 0 {
			d.i32(prefix+"status", m.Status[i])
		}
		d.i32(prefix+"namelen", int32(len(name)))
		d.text(prefix+"name", name)
	}
}

func (d *dumper) node(subtype int32, name string) {
	d.i32("subtype", subtype)
	d.i32("namelen", int32(len(name)))
	d.text("name", name)
}

func (d *dumper) labelIdent(ident uint32, t LabelType) {
	switch t {
	case LabelInDom, LabelInstances:
		d.indom("ident", InDom(ident))
	case LabelCluster, LabelItem:
		d.pmid("ident", PMID(ident))
	default:
		d.i32("ident", int32(ident))
	}
	d.x32("labelType", uint32(t))
}

func (d *dumper) labels(m *Labels) {
	d.labelIdent(m.Ident, m.Type)
	d.i32("padding", 0)
	d.i32("nsets", int32(len(m.Sets)))
	json := d.off
	for _, set := range m.Sets {
		json += 16 + 8*len(set.Labels)
	}
	for i, set := range m.Sets {
		prefix := fmt.Sprintf("set[%d].", i)
		d.i32(prefix+"inst", int32(set.Inst))
		if set.Code < 0 {
			d.i32(prefix+"nlabels", int32(set.Code))
		} else {
			d.i32(prefix+"nlabels", int32(len(set.Labels)))
		}
		d.i32(prefix+"json", int32(json))
		d.i32(prefix+"jsonlen", int32(len(set.JSON)))
		json += len(set.JSON)
		for j, l := range set.Labels {
			prefix := fmt.Sprintf("%slabel[%d].", prefix, j)
			d.add(2, "u16", prefix+"name", strconv.Itoa(int(l.NameOffset)))
			d.add(1, "u8", prefix+"namelen", strconv.Itoa(int(l.NameLen)))
			d.add(1, "x8", prefix+"flags", fmt.Sprintf("0x%02x", uint8(l.Flags)))
			d.add(2, "u16", prefix+"value", strconv.Itoa(int(l.ValueOffset)))
			d.add(2, "u16", prefix+"valuelen", strconv.Itoa(int(l.ValueLen)))
		}
	}
	for i, set := range m.Sets {
		d.str(fmt.Sprintf("set[%d].jsontext", i), set.JSON)
	}
}

func (d *dumper) sets(sets []ValueSet) {
	block := d.off
	for _, set := range sets {
		block += 8
		if len(set.Values) > 0 {
			block += 4 + 8*len(set.Values)
		}
	}
	for i, set := range sets {
		prefix := fmt.Sprintf("vset[%d].", i)
		d.pmid(prefix+"pmid", set.PMID)
		if set.Code < 0 || len(set.Values) == 0 {
			d.i32(prefix+"numval", int32(set.Code))
			continue
		}
		d.i32(prefix+"numval", int32(len(set.Values)))
		d.i32(prefix+"valfmt", int32(set.Format))
		for j, v := range set.Values {
			prefix := fmt.Sprintf("%svalue[%d].", prefix, j)
			d.i32(prefix+"inst", int32(v.Inst))
			if set.Format == InSitu {
				d.i32(prefix+"lval", int32(v.Bits))
				continue
			}
			d.add(4, "u32", prefix+"index", strconv.Itoa(block/4))
			block += (4 + d.bodySize(v) + 3) &^ 3
		}
	}
	for i, set := range sets {
		if set.Format == InSitu {
			continue
		}
		for j, v := range set.Values {
			prefix := fmt.Sprintf("vset[%d].value[%d].", i, j)
			d.add(1, "u8", prefix+"vtype", strconv.Itoa(int(v.Type)))
			d.add(3, "u24", prefix+"vlen", strconv.Itoa(4+d.bodySize(v)))
			d.value(prefix, v)
		}
	}
}

func (d *dumper) bodySize(v Value) int {
	switch v.Type {
	case Type32, TypeU32, TypeFloat:
		return 4
	case Type64, TypeU64, TypeDouble:
		return 8
	case TypeString:
		return len(v.Bytes) + 1
	}
	return len(v.Bytes)
}

func (d *dumper) value(prefix string, v Value) {
	if v.Type == TypeString {
		d.text(prefix+"value", string(v.Bytes)+"\x00")
		return
	}
	d.scalar(prefix+"value", v.Type, v.Bits, v.Bytes)
}

func (d *dumper) scalar(name string, t Type, bits uint64, b []byte) {
	switch t {
	case Type32:
		d.i32(name, int32(bits))
	case TypeU32:
		d.add(4, "u32", name, strconv.FormatUint(bits, 10))
	case Type64:
		d.i64(name, int64(bits))
	case TypeU64:
		d.add(8, "u64", name, strconv.FormatUint(bits, 10))
	case TypeFloat:
		d.add(4, "f32", name, floatBits(float64(math.Float32frombits(uint32(bits)))))
	case TypeDouble:
		d.add(8, "f64", name, floatBits(math.Float64frombits(bits)))
	case TypeString:
		d.text(name, string(b))
	default:
		if len(b) > 0 {
			d.add(len(b), "bytes", name, hex.EncodeToString(b))
		}
		d.pad(name+".pad", len(b))
	}
}

func floatBits(x float64) string { return strconv.FormatUint(math.Float64bits(x), 16) }
