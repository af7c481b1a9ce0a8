package command

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Characters that are written in parts come out whole, and bytes that are none as the sign for that.
func TestOutput(t *testing.T) {
	const text = "aé€𝄞\x1b[1m\xff\xe2\x82x\n"
	const want = "aé€𝄞\ufffd[1m\ufffd\ufffd\ufffdx\n"
	for size := 1; size <= len(text); size++ {
		var printed bytes.Buffer
		out := &output{w: &printed}
		for rest := text; rest != ""; {
			part := rest[:min(size, len(rest))]
			_, _ = out.Write([]byte(part))
			rest = rest[len(part):]
		}
		assert.Equal(t, want, printed.String(), "%d bytes at a time", size)
	}
	var printed bytes.Buffer
	head := []string{"Time", strings.Repeat("€", 5000)}
	(&printer{run: &run{stdout: &output{w: &printed}}}).writeCSV(head)
	assert.Equal(t, strings.Join(head, ",")+"\n", printed.String())
}

// The width of a terminal is known; elsewhere a variable has it.
func TestColumns(t *testing.T) {
	terminal := must(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(t)
	defer terminal.Close()
	require.NoError(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 132}))
	for _, row := range []struct {
		name, variable string
		w              io.Writer
		want           int
	}{
		{"terminal", "100", terminal, 132},
		{"variable", "100", io.Discard, 100},
		{"none", "", io.Discard, 80},
		{"wrong", "wide", io.Discard, 80},
		{"negative", "-1", io.Discard, 80},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, Columns(row.w, environment("COLUMNS", row.variable)))
		})
	}
}
