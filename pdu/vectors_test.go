package pdu

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// vector is one golden PDU, captured from running PCP programs: see testdata/vectors/README.md.
type vector struct {
	name   string
	pdu    string
	frame  []byte
	fields []field
}

func (v vector) kind() Kind   { return Kind(binary.BigEndian.Uint32(v.frame[4:])) }
func (v vector) from() int32  { return int32(binary.BigEndian.Uint32(v.frame[8:])) }
func (v vector) body() []byte { return bytes.Clone(v.frame[HeaderSize:]) }

func loadVectors(t testing.TB) []vector {
	t.Helper()
	paths, err := filepath.Glob("testdata/vectors/*.vec")
	require.NoError(t, err)
	require.Greater(t, len(paths), 150)
	vectors := make([]vector, len(paths))
	for i, path := range paths {
		vectors[i] = loadVector(t, path)
	}
	return vectors
}

func loadVector(t testing.TB, path string) vector {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	v := vector{name: strings.TrimSuffix(filepath.Base(path), ".vec")}
	head, dump, ok := strings.Cut(string(text), "hex:\n")
	require.True(t, ok, path)
	v.frame, err = hex.DecodeString(strings.Join(strings.Fields(dump), ""))
	require.NoError(t, err, path)
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "pdu":
			v.pdu = value
		case "bytes":
			require.Equal(t, strconv.Itoa(len(v.frame)), value, path)
		case "field":
			v.addField(parseVectorField(t, value))
		}
	}
	return v
}

// addField adds a field. Those of event records, into which nobody looks here, become one: the bytes of the value.
func (v *vector) addField(f field) {
	if value, ok := strings.CutSuffix(f.Name, "nrecords"); ok {
		f.Kind, f.Name = "bytes", value+"value"
	}
	if strings.Contains(f.Name, ".record[") {
		last := &v.fields[len(v.fields)-1]
		last.Size += f.Size
		last.Value = hex.EncodeToString(v.frame[last.Offset : last.Offset+last.Size])
		return
	}
	v.fields = append(v.fields, f)
}

// parseVectorField reads "OFFSET SIZE KIND NAME VALUE" and brings the value into the form of the
// dumper.
func parseVectorField(t testing.TB, line string) field {
	t.Helper()
	part := strings.SplitN(line, " ", 5)
	require.Len(t, part, 5, line)
	offset, err := strconv.Atoi(part[0])
	require.NoError(t, err, line)
	size, err := strconv.Atoi(part[1])
	require.NoError(t, err, line)
	f := field{offset, size, part[2], part[3], part[4]}
	switch f.Kind {
	case "pad":
		f.Value = ""
	case "str":
		f.Value, err = strconv.Unquote(f.Value)
		require.NoError(t, err, line)
	case "f32", "f64":
		x, err := strconv.ParseFloat(f.Value, 8*f.Size)
		require.NoError(t, err, line)
		f.Value = floatBits(x)
	}
	return f
}

// recorded is one PDU of a recorded conversation.
type recorded struct {
	where string
	pdu   string
	frame []byte
}

func loadConversations(t testing.TB) []recorded {
	t.Helper()
	paths, err := filepath.Glob("testdata/vectors/conv-*.txt")
	require.NoError(t, err)
	require.Greater(t, len(paths), 15)
	var all []recorded
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			part := strings.Fields(line)
			if part[0] != "pdu:" || part[2] == "EOF" {
				continue
			}
			frame, err := hex.DecodeString(part[3])
			require.NoError(t, err, path)
			all = append(all, recorded{filepath.Base(path) + ":" + strconv.Itoa(n), part[2], frame})
		}
	}
	return all
}

func readFrame(t testing.TB, frame []byte) Frame {
	t.Helper()
	f, err := NewReader(bytes.NewReader(frame), ClientLimit).Next()
	require.NoError(t, err)
	return f
}

// assertSameBytes compares a PDU with what was encoded, except where the fields say padding.
func assertSameBytes(t testing.TB, want, got []byte, fields []field) {
	t.Helper()
	want, got = bytes.Clone(want), bytes.Clone(got)
	require.Equal(t, hex.Dump(want[:HeaderSize]), hex.Dump(got[:min(HeaderSize, len(got))]), "header")
	require.Len(t, got, len(want))
	for _, f := range fields {
		if f.Kind == "pad" {
			clear(want[f.Offset : f.Offset+f.Size])
			clear(got[f.Offset : f.Offset+f.Size])
		}
	}
	assert.Equal(t, hex.Dump(want), hex.Dump(got))
}

func TestVectors(t *testing.T) {
	for _, v := range loadVectors(t) {
		t.Run(v.name, func(t *testing.T) {
			f := readFrame(t, v.frame)
			assert.Equal(t, v.pdu, f.Kind.String())
			m, err := Decode(f)
			require.NoError(t, err)
			assert.Equal(t, f.Kind, m.Kind())
			assert.Equal(t, v.fields, dumpMessage(t, m, f.From, len(v.frame)))
			assertSameBytes(t, v.frame, m.Append(nil, f.From), v.fields)
			assert.NotContains(t, m.String(), "\n")
		})
	}
}

func TestEveryKindHasAVector(t *testing.T) {
	seen := map[Kind]bool{}
	for _, v := range loadVectors(t) {
		seen[v.kind()] = true
	}
	for k := firstKind; k <= lastKind; k++ {
		if New(k) != nil {
			assert.True(t, seen[k], "%v", k)
		}
	}
}

// The bytes after the name of a stock sender's padding are '~': byte-identical means these too.
func TestPaddingByte(t *testing.T) {
	for _, v := range loadVectors(t) {
		switch v.kind() {
		case KindResult, KindHighResResult:
			if strings.Contains(v.name, "event") {
				continue // garbage inside event parameters
			}
		}
		t.Run(v.name, func(t *testing.T) {
			m, err := Decode(readFrame(t, v.frame))
			require.NoError(t, err)
			assert.Equal(t, hex.Dump(v.frame), hex.Dump(m.Append(nil, v.from())))
		})
	}
}

func TestConversations(t *testing.T) {
	for _, r := range loadConversations(t) {
		f := readFrame(t, r.frame)
		assert.Equal(t, r.pdu, f.Kind.String(), r.where)
		m, err := Decode(f)
		require.NoError(t, err, r.where)
		fields := dumpMessage(t, m, f.From, len(r.frame))
		assertSameBytes(t, r.frame, m.Append(nil, f.From), fields)
	}
}

// Messages are decoded again and again into the same struct: nothing of the last one may remain.
func TestDecodeIntoUsedMessage(t *testing.T) {
	vectors := loadVectors(t)
	used := map[Kind]Message{}
	for round := range 2 {
		for i := range vectors {
			v := vectors[i]
			if round == 1 {
				v = vectors[len(vectors)-1-i]
			}
			m := used[v.kind()]
			if m == nil {
				m = New(v.kind())
				used[v.kind()] = m
			}
			require.NoError(t, m.Decode(v.body()), v.name)
			assert.Equal(t, v.fields, dumpMessage(t, m, v.from(), len(v.frame)), v.name)
		}
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	for _, v := range loadVectors(t) {
		m, err := Decode(readFrame(t, v.frame))
		require.NoError(t, err, v.name)
		alone := m.Append(nil, v.from())
		got := m.Append([]byte("abc"), v.from())
		assert.Equal(t, "abc", string(got[:3]), v.name)
		assert.Equal(t, hex.Dump(alone), hex.Dump(got[3:]), v.name)
	}
}

// shortOK reports whether a PDU may end n bytes early: the exceptions from the rule that every
// prefix of a PDU is refused.
func shortOK(v vector, n int) bool {
	left := len(v.frame) - n
	last := v.fields[len(v.fields)-1]
	switch v.kind() {
	case KindError: // the challenge is an extension
		return left == 16
	case KindProfile: // 7.x accepts one without the pad when nothing follows
		return left == 24 && len(v.frame) == 28
	case KindAttr: // the value is what is there
		return left >= 16
	case KindInstanceReq, KindInstance, KindText, KindPMNSNames, KindPMNSChild, KindPMNSTraverse:
		return last.Kind == "pad" && n <= last.Size
	}
	return false
}

func TestEveryPrefixIsRefused(t *testing.T) {
	for _, v := range loadVectors(t) {
		t.Run(v.name, func(t *testing.T) {
			for n := 1; n <= len(v.frame)-HeaderSize; n++ {
				body := v.body()
				err := New(v.kind()).Decode(body[:len(body)-n])
				if shortOK(v, n) {
					require.NoError(t, err, "%d bytes short", n)
					continue
				}
				var wrong *DecodeError
				require.ErrorAs(t, err, &wrong, "%d bytes short", n)
				assert.ErrorIs(t, err, ErrIPC)
				assert.Equal(t, v.kind(), wrong.Kind)
				assert.NotEmpty(t, wrong.Field)
				assert.GreaterOrEqual(t, wrong.Offset, HeaderSize)
				assert.LessOrEqual(t, wrong.Offset, len(v.frame))
			}
		})
	}
}

// longOK reports whether a PDU may have n zero bytes more.
func longOK(v vector, n int) bool {
	switch v.kind() {
	case KindError: // the challenge is an extension
		return len(v.frame)+n == 20
	case KindAttr: // the value is what is there
		return true
	case KindLabel: // the texts may be padded
		return len(v.frame)+n <= (len(v.frame)+3)&^3
	}
	return false
}

func TestExtraBytesAreRefused(t *testing.T) {
	for _, v := range loadVectors(t) {
		t.Run(v.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 4, 5, 8, 16} {
				err := New(v.kind()).Decode(append(v.body(), make([]byte, n)...))
				if longOK(v, n) {
					assert.NoError(t, err, "%d more", n)
				} else {
					assert.ErrorIs(t, err, ErrIPC, "%d more", n)
				}
			}
		})
	}
}
