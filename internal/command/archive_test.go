package command

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/commandline"
)

// A terminal is shown how far an archive has been read, in all passes.
func TestProgress(t *testing.T) {
	start := time.Unix(1000, 0)
	var out bytes.Buffer
	p := &progress{w: &out, start: start, end: start.Add(100 * time.Second), passes: 2}
	for _, second := range []int{-10, 50, 100, 0, 80, 200} {
		p.shown = time.Time{}
		p.recordRead(start.Add(time.Duration(second) * time.Second))
	}
	p.clear()
	assert.Equal(t, "\r\033[K  0 % of the archive read\r\033[K 25 % of the archive read\r\033[K 50 % of the archive "+
		"read"+
		"\r\033[K 50 % of the archive read\r\033[K 90 % of the archive read\r\033[K100 % of the archive read\r\033[K",
		out.String())
	out.Reset()
	p = &progress{w: &out, began: time.Now(), passes: 1}
	p.recordRead(start)
	p.clear()
	assert.Empty(t, out.String(), "it does not take long")
}

// The readable part of a damaged archive is read, and the damage is reported.
func TestBrokenArchive(t *testing.T) {
	s := newSite(t)
	for _, ending := range []string{".0", ".meta", ".index"} {
		text := readFile(t, "../../examples/incident"+ending)
		if ending == ".0" {
			text = text[:len(text)/2]
		}
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, "half"+ending), []byte(text), 0o644))
	}
	out, errs, exit := s.run("eval", "-a", filepath.Join(s.dir, "half"), "-Z", "UTC", "-t", "5min", "-o", "csv",
		"max_inst(kernel.all.load)")
	assert.Equal(t, commandline.ExitOK, exit)
	assert.Contains(t, out, "2026-11-24 02:10:00.000,0.3\n")
	assert.NotContains(t, out, "02:20")
	assert.Contains(t, errs, "half.0 at byte ")
	out, errs, exit = s.run("replay", "-a", filepath.Join(s.dir, "half"), filepath.Join(s.dir, "out"))
	assert.Equal(t, commandline.ExitFailure, exit, out)
	assert.Contains(t, errs, "no metric can be written")
}
