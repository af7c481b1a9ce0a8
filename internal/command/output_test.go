package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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
