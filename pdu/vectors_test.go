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

// field is one line of a golden vector: where a field lies, what it is called, what it holds.
type field struct {
	Offset, Size int
	Kind, Name   string
	Value        string
}

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
			v.fields = append(v.fields, parseVectorField(t, value))
		}
	}
	return v
}

// parseVectorField reads "OFFSET SIZE KIND NAME VALUE". It removes the quotes of a text.
func parseVectorField(t testing.TB, line string) field {
	t.Helper()
	part := strings.SplitN(line, " ", 5)
	require.Len(t, part, 5, line)
	offset, err := strconv.Atoi(part[0])
	require.NoError(t, err, line)
	size, err := strconv.Atoi(part[1])
	require.NoError(t, err, line)
	f := field{offset, size, part[2], part[3], part[4]}
	if f.Kind == "str" {
		f.Value, err = strconv.Unquote(f.Value)
		require.NoError(t, err, line)
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

// assertSameBytes demands that m is encoded to the PDU that it comes from, the padding of events excepted.
func assertSameBytes(t testing.TB, v vector, m Message) {
	t.Helper()
	want, got := bytes.Clone(v.frame), m.Append(nil, v.from())
	require.Len(t, got, len(want), v.name)
	for _, f := range v.fields {
		if f.Kind == "pad" && strings.Contains(v.name, "event") {
			clear(want[f.Offset : f.Offset+f.Size])
			clear(got[f.Offset : f.Offset+f.Size])
		}
	}
	assert.Equal(t, hex.Dump(want), hex.Dump(got), v.name)
}

// A message's trace has its content; testdata/trace.golden has the trace of each kind. The test compares the trace with
// the fields of the recording. Encoding a message returns the recorded bytes, padding included.
func TestVectors(t *testing.T) {
	for _, v := range loadVectors(t) {
		t.Run(v.name, func(t *testing.T) {
			f := readFrame(t, v.frame)
			assert.Equal(t, v.pdu, f.Kind.String())
			m, err := Decode(f)
			require.NoError(t, err)
			assert.Equal(t, f.Kind, m.Kind())
			assertSameBytes(t, v, m)
			trace := m.String()
			assert.NotContains(t, trace, "\n")
			for _, f := range v.fields {
				switch {
				case strings.Contains(trace, "..."), strings.Contains(f.Name, ".record["), strings.Contains(trace, "bytes="): // not shown
				case f.Kind == "pmid", f.Kind == "indom" && m.Kind() != KindDescs:
					assert.Contains(t, trace, f.Value, f.Name)
				case strings.HasSuffix(f.Name, "].lval"), f.Kind == "u64", f.Kind == "f32", f.Kind == "f64":
					assert.Contains(t, trace, ":"+strings.TrimSuffix(f.Value, ".0"), f.Name)
				case f.Kind == "str":
					assert.Contains(t, trace, quoted(strings.TrimSuffix(f.Value, "\x00")), f.Name)
				}
			}
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

func TestConversations(t *testing.T) {
	for _, r := range loadConversations(t) {
		f := readFrame(t, r.frame)
		assert.Equal(t, r.pdu, f.Kind.String(), r.where)
		m, err := Decode(f)
		require.NoError(t, err, r.where)
		assert.Equal(t, hex.Dump(r.frame), hex.Dump(m.Append(nil, f.From)), r.where)
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
			assertSameBytes(t, v, m)
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
